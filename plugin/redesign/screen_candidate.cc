// SPDX-License-Identifier: Apache-2.0

#include "plugin/redesign/screen_candidate.h"

#include <memory>
#include <string>

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

// Returns the bits per key that the file would get, or 0 if they do not depend
// on other files.
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

// Returns true if the file's filter has all that the policy gives the file now,
// but for what its design follows from samples: it was designed by the same
// options and for the same price, and has the size that it would get.
bool IsOfPolicyNow(const RedesignState& state,
                   const ProteanFilterPolicy& policy,
                   const RedesignCandidate& candidate,
                   const FilterTrial& trial) {
  const RefreshedFile& file = *candidate.file;
  const RefreshRun& run = state.run;
  const UserCollectedProperties properties = trial.old_properties();
  if (PropertyText(properties, kOptionsProperty) != HashOfOptions(policy) ||
      !HasPriceOfNow(policy, state.PriceAt(file.level), properties) ||
      !trial.OldFilterHasFormOf(run.family_options())) {
    return false;
  }
  const double bits_now = BitsNow(state, policy, candidate);
  return bits_now == 0 ||
         HasSizeOfNow(PropertyNumber(properties, kBitsPerKeyProperty, 0),
                      bits_now, file.entries, run.options().all_files);
}

// Returns true if a search would find the design that the file's filter has.
bool IsDesignedForNow(const RefreshRun& run, const ProteanFilterPolicy& policy,
                      const FilterTrial& trial) {
  return PropertyText(trial.old_properties(), kPurposeProperty) ==
         PurposeOf(policy, run.column_family()->GetName(), run.db()->GetEnv(),
                   run.family_options().info_log.get());
}

// Decides about a file that would get the filter that it has, and finds out
// whether a file is due.
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
    if (GivesBack(*state, *own, *candidate, trial)) {
      candidate->is_due = true;
      return;
    }
    if (!IsOfPolicyNow(*state, *own, *candidate, trial)) return;
    candidate->is_due = false;
    if (IsDesignedForNow(run, *own, trial)) {
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
  if (file->old_fpr < candidate->min_gain) {
    state->run.Decide(file, RefreshOutcome::kTooLittleGain);
  }
}

}  // namespace

Status ScreenCandidate(RedesignState* state, RedesignCandidate* candidate) {
  RefreshRun& run = state->run;
  const bool has_samples = !state->samples.empty();
  // With a budget, a file may be due because of the sizes of other filters.
  if (has_samples && candidate->queries.empty() && !candidate->is_due &&
      state->policy.FilterMemory() == 0) {
    run.Decide(candidate->file, RefreshOutcome::kNotAsked);
    return Status::OK();
  }
  const std::unique_ptr<FilterTrial> trial = OpenCandidate(*candidate, &run);
  if (trial == nullptr) return Status::OK();
  DecideIfSame(*trial, state, candidate);
  if (candidate->is_undecided()) {
    // If all files are to have the filters of the policy, this one has such a
    // filter unless it is due.
    const bool is_done = run.options().all_files && !candidate->is_due;
    if (candidate->is_due || (!has_samples && !is_done)) return Status::OK();
    if (candidate->queries.empty()) {
      run.Decide(candidate->file, RefreshOutcome::kNotAsked);
    } else {
      AskOldFilter(trial->old_filter(), state, candidate);
    }
  }
  return run.GoOn(trial->opened_bytes());
}

}  // namespace ROCKSDB_NAMESPACE::protean
