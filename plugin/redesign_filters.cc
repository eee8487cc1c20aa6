// SPDX-License-Identifier: Apache-2.0

//  One call of RefreshFilters where a policy of Protean designs the filters.
//
//  The file that saves most per byte comes first. What a new filter saves is
//  known only after all keys of the file have been read, but it cannot save
//  more than the old filter lets through. So files wait in the order of that
//  limit. The first file is tried, and waits again with what it really saves;
//  it is rewritten when it comes first again. The files behind it cannot be
//  better, and need not be read if the limit is reached.
//
//  A file that was read in vain is not read again while its filter lets through
//  the same part of its samples: the queries are like those of that time. That
//  is no proof, since a filter that knows nothing lets through all queries of
//  any kind. So one of these files is read now and then, and if that pays, all
//  of them are.
//
//  If all files are to have the filters of a policy, they come level by level,
//  and have the sizes of a tree of which all is rewritten (tree_plan.h). Files
//  that have such a filter already are rewritten only if that pays, as always:
//  samples change all the time. So a refresh which was interrupted goes on
//  where it was. The files of a tree with a budget have such sizes in any case:
//  a file that holds much more than its share is rewritten for what it gives
//  back.

#include "plugin/redesign_filters.h"

#include <memory>
#include <queue>
#include <utility>
#include <vector>

#include "filter_policy/open_db/tree_plan.h"
#include "plugin/redesign/redesign_state.h"
#include "plugin/redesign/screen_candidate.h"
#include "plugin/redesign/try_candidate.h"
#include "util/random.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// The candidate that comes first is the largest.
struct ComesAfter {
  bool by_level;

  bool operator()(const RedesignCandidate* a,
                  const RedesignCandidate* b) const {
    if (by_level) return a->file->level > b->file->level;
    return a->Value() < b->Value();
  }
};
using WaitingCandidates =
    std::priority_queue<RedesignCandidate*, std::vector<RedesignCandidate*>,
                        ComesAfter>;

Status CheckRangeFilters(const RefreshRun& run) {
  const Comparator* comparator = run.family_options().comparator;
  if ((comparator != BytewiseComparator() &&
       comparator != BytewiseComparatorWithU64Ts()) ||
      !run.table().whole_key_filtering) {
    return Status::NotSupported(
        "range filters are off in column family " +
        run.column_family()->GetName() + ": they need the comparator " +
        BytewiseComparator()->Name() + " and whole_key_filtering");
  }
  return run.CheckWritable();
}

std::vector<FileFilter> FilesOfTree(
    const std::vector<RedesignCandidate>& candidates) {
  std::vector<FileFilter> files;
  for (const RedesignCandidate& candidate : candidates) {
    files.push_back(candidate.in_tree);
  }
  return files;
}

// Decides about files that were read in vain before. Now and then, reads one of
// them, which may make all of them wait.
Status LookAtFutile(const std::vector<RedesignCandidate*>& futile,
                    RedesignState* state, WaitingCandidates* waiting) {
  // Number of calls of RefreshFilters in one of which such a file is read.
  constexpr uint64_t kRunsPerLook = 4;
  RefreshRun& run = state->run;
  Status s;
  bool pays = false;
  if (!futile.empty() && state->memory.runs % kRunsPerLook == 0) {
    Random64 random(state->memory.runs);
    RedesignCandidate* const drawn = futile[random.Uniform(futile.size())];
    if (!run.ExceedsLimit(*drawn->file)) s = TryCandidate(state, drawn);
    pays = drawn->is_tried && drawn->is_undecided();
  }
  for (RedesignCandidate* candidate : futile) {
    if (!s.ok()) break;
    if (!candidate->is_undecided()) continue;
    if (pays) {
      waiting->push(candidate);
    } else {
      run.Decide(candidate->file, RefreshOutcome::kTooLittleGain);
    }
  }
  return s;
}

// Decides about files by their old filters. The others wait, or are stored if
// they were read in vain before.
Status ScreenAll(RedesignState* state, WaitingCandidates* waiting,
                 std::vector<RedesignCandidate*>* futile) {
  Status s;
  for (RedesignCandidate& candidate : state->candidates) {
    if (s.ok() && candidate.is_undecided()) {
      s = ScreenCandidate(state, &candidate);
    }
    if (!candidate.is_undecided()) continue;
    if (!candidate.is_due && state->IsFutile(candidate)) {
      futile->push_back(&candidate);
    } else {
      waiting->push(&candidate);
    }
  }
  return s;
}

// Tries and rewrites the files that wait, the best one first.
Status RewriteBest(RedesignState* state, WaitingCandidates* waiting) {
  Status s;
  while (s.ok() && !waiting->empty()) {
    RedesignCandidate* const best = waiting->top();
    waiting->pop();
    if (best->is_tried || state->run.ExceedsLimit(*best->file)) {
      s = state->run.Rewrite(best->file);
    } else {
      s = TryCandidate(state, best);
      if (s.ok() && best->is_undecided()) waiting->push(best);
    }
  }
  return s;
}

}  // namespace

Status RedesignFilters(RefreshRun* run) {
  Status s = CheckRangeFilters(*run);
  if (!s.ok()) return s;
  RedesignState state(run);
  const bool all_files = run->options().all_files;
  const bool plans = all_files || state.policy.FilterMemory() > 0;
  const TreePlan plan(
      state.policy,
      {run->family_options().info_log.get(), run->column_family()->GetName()},
      plans ? FilesOfTree(state.candidates) : std::vector<FileFilter>());
  const std::shared_ptr<void> searching = state.policy.SearchAllDesigns();
  WaitingCandidates waiting(ComesAfter{all_files});
  std::vector<RedesignCandidate*> futile;
  s = ScreenAll(&state, &waiting, &futile);
  if (s.ok()) s = LookAtFutile(futile, &state, &waiting);
  if (s.ok()) s = RewriteBest(&state, &waiting);
  s = run->Finish(s);
  RememberRefresh(&state);
  return s;
}

}  // namespace ROCKSDB_NAMESPACE::protean
