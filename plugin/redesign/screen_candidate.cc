// SPDX-License-Identifier: Apache-2.0

#include "plugin/redesign/screen_candidate.h"

#include <memory>
#include <string>

#include "file/filename.h"
#include "filter_policy/filter_properties.h"
#include "filter_policy/open_db/tree_plan.h"
#include "plugin/redesign/redesign_rules.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// The policy for files of a level, or nullptr if that is RocksDB's or none.
// Stores the policy if it is for this level alone.
const ProteanFilterPolicy* PolicyOfLevel(
    const ProteanFilterPolicy& policy, int level,
    std::shared_ptr<const FilterPolicy>* of_level) {
  return policy.ForLevel(level, of_level)
             ? AsProteanFilterPolicy(of_level->get())
             : &policy;
}

// The bits per key that the file would get, if that depends on other files.
double BitsNow(const RedesignState& state, const ProteanFilterPolicy& policy,
               const RedesignCandidate& candidate) {
  const RefreshRun& run = state.run;
  return BitsOfFileNow(
      policy,
      {run.family_options().info_log.get(), run.column_family()->GetName()},
      candidate.in_tree, run.db()->GetEnv());
}

// Returns true if the file's filter holds what other files of a budget lack.
bool GivesBack(const RedesignState& state, const ProteanFilterPolicy& policy,
               const RedesignCandidate& candidate, const FilterTrial& trial) {
  if (policy.FilterMemory() == 0) return false;
  const double bits_now = BitsNow(state, policy, candidate);
  return bits_now > 0 && HoldsTooMuch(PropertyNumber(trial.old_properties(),
                                                     kBitsPerKeyProperty, 0),
                                      bits_now, candidate.file->entries);
}

// Whether the file would get the same filter again: it was designed for what
// the policy designs filters for now, and has the size that it would get.
bool IsDesignedForNow(const RedesignState& state,
                      const ProteanFilterPolicy& policy,
                      const RedesignCandidate& candidate,
                      const FilterTrial& trial) {
  const RefreshedFile& file = *candidate.file;
  const RefreshRun& run = state.run;
  const UserCollectedProperties properties = trial.old_properties();
  const std::string purpose = PropertyText(properties, kPurposeProperty);
  if (purpose.empty() ||
      !HasPriceOfNow(policy, state.PriceAt(file.level), properties) ||
      !trial.OldFilterHasFormOf(run.family_options())) {
    return false;
  }
  const std::string& family = run.column_family()->GetName();
  Env* const env = run.db()->GetEnv();
  Logger* const log = run.family_options().info_log.get();
  const bool all_files = run.options().all_files;
  // While the DB is open, its samples go on changing.
  const bool is_of_this_refresh =
      all_files && state.memory.first_new_file > 0 &&
      TableFileNameToNumber(file.name) >= state.memory.first_new_file;
  if (!is_of_this_refresh && purpose != PurposeOf(policy, family, env, log)) {
    return false;
  }
  const double bits_now = BitsNow(state, policy, candidate);
  return bits_now == 0 ||
         HasSizeOfNow(PropertyNumber(properties, kBitsPerKeyProperty, 0),
                      bits_now, file.entries, all_files);
}

// Decides about a file that would get the filter that it has.
void DecideIfSame(const FilterTrial& trial, RedesignState* state,
                  RedesignCandidate* candidate) {
  RefreshRun& run = state->run;
  RefreshedFile* const file = candidate->file;
  std::shared_ptr<const FilterPolicy> of_level;
  const ProteanFilterPolicy* const own =
      PolicyOfLevel(state->policy, file->level, &of_level);
  if (own != nullptr) {
    candidate->min_gain =
        MinGainOf(run.options().min_gain, *own, state->PriceAt(file->level),
                  trial.old_properties());
    candidate->gives_back = GivesBack(*state, *own, *candidate, trial);
    if (!candidate->gives_back &&
        IsDesignedForNow(*state, *own, *candidate, trial)) {
      run.Decide(file, RefreshOutcome::kTooLittleGain);
    }
  } else if (trial.OldFilterIsLikeThatOf(
                 of_level.get(),
                 {run.family_options(), run.column_family()->GetName(),
                  file->level})) {
    run.Decide(file, trial.has_old_filter() ? RefreshOutcome::kHasFilter
                                            : RefreshOutcome::kUnfiltered);
  }
}

// Asks the old filter about the candidate's queries. Decides about a file whose
// filter denies most of them.
void AskOldFilter(const AskedFilter& filter, RedesignState* state,
                  RedesignCandidate* candidate) {
  SampledQueries positives;
  for (const SampleQuery* query : candidate->queries) {
    if (filter.MayMatch(*query)) positives.push_back(query);
  }
  candidate->saved = state->samples.Share(positives);
  const auto asked = static_cast<double>(candidate->queries.size());
  RefreshedFile* const file = candidate->file;
  file->old_fpr = static_cast<double>(positives.size()) / asked;
  candidate->passed = {file->old_fpr, asked};
  if (file->old_fpr < candidate->min_gain && !candidate->gives_back) {
    state->run.Decide(file, RefreshOutcome::kTooLittleGain);
  }
}

}  // namespace

Status ScreenCandidate(RedesignState* state, RedesignCandidate* candidate) {
  RefreshRun& run = state->run;
  const bool asks = !run.options().all_files && !state->samples.empty();
  const bool is_asked = !asks || !candidate->queries.empty();
  if (!is_asked && state->policy.FilterMemory() == 0) {
    run.Decide(candidate->file, RefreshOutcome::kNotAsked);
    return Status::OK();
  }
  const std::unique_ptr<FilterTrial> trial = OpenCandidate(*candidate, &run);
  if (trial == nullptr) return Status::OK();
  DecideIfSame(*trial, state, candidate);
  if (candidate->is_undecided()) {
    if (!asks) return Status::OK();
    if (is_asked) {
      AskOldFilter(trial->old_filter(), state, candidate);
    } else if (!candidate->gives_back) {
      run.Decide(candidate->file, RefreshOutcome::kNotAsked);
    }
  }
  return run.GoOn(trial->opened_bytes());
}

}  // namespace ROCKSDB_NAMESPACE::protean
