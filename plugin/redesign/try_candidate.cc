// SPDX-License-Identifier: Apache-2.0

#include "plugin/redesign/try_candidate.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "filter_policy/false_positive_price.h"
#include "filter_policy/samples/empty_queries.h"
#include "plugin/redesign/filter_comparison.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// The queries that match no key of the file: samples, or generated ones if
// there are no samples.
class EmptyQueries {
 public:
  EmptyQueries(bool from_samples, RedesignCandidate* candidate)
      : from_samples_(from_samples),
        samples_(std::move(candidate->queries)),
        gaps_(candidate->file->entries) {}

  // Called with the keys in ascending order.
  void Pass(const Slice& key) {
    if (from_samples_) {
      samples_.Pass(key);
    } else {
      gaps_.Pass(key);
    }
  }
  // Returns the queries, which live as long as this object and the samples.
  // Called once, after the last key.
  SampledQueries Finish() {
    SampledQueries empty = samples_.Finish();
    generated_ = gaps_.Finish();
    for (const SampleQuery& query : generated_) empty.push_back(&query);
    return empty;
  }

 private:
  const bool from_samples_;
  EmptySamples samples_;
  GapQueries gaps_;
  std::vector<SampleQuery> generated_;
};

// Reads the file and builds its new filter. `*stopped` is an error if
// refreshing must end. Returns an error if the file cannot be read.
Status BuildNewFilter(const RefreshedFile& file, FilterTrial* trial,
                      RedesignState* state, EmptyQueries* queries,
                      BuiltFilter* new_filter, Status* stopped) {
  RefreshRun& run = state->run;
  const double entry_bytes =
      static_cast<double>(file.bytes) /
      static_cast<double>(std::max<uint64_t>(file.entries, 1));
  constexpr double kBytesPerReport = 64 << 10;
  double unreported = 0;
  const auto report = [&] {
    const auto bytes = static_cast<uint64_t>(unreported);
    unreported = 0;
    run.CountRead(bytes);
    *stopped = run.GoOn(bytes);
    return stopped->ok();
  };
  const uint64_t price = state->PriceAt(file.level);
  std::vector<BuiltFilter> built;
  const Status s = trial->Build(
      {run.family_options(), run.column_family()->GetName(), file.level,
       price == 0 ? kUsualPrice : price},
      {&state->policy},
      [&](const Slice& key) {
        queries->Pass(key);
        unreported += entry_bytes;
        return unreported < kBytesPerReport || report();
      },
      &built);
  if (!s.ok()) return s;
  report();
  *new_filter = std::move(built[0]);
  return s;
}

// Notes what the new filter saves, for the caller and in the result.
void NoteSavings(const FilterComparison& comparison,
                 const SampledQueries& queries, const RedesignState& state,
                 RedesignCandidate* candidate) {
  RefreshedFile* const file = candidate->file;
  const RefreshSamples& samples = state.samples;
  file->old_fpr = comparison.old_fpr;
  file->new_fpr = comparison.new_fpr;
  if (samples.empty()) {
    candidate->saved = candidate->asked * comparison.MoreDenied() /
                       static_cast<double>(queries.size());
  } else {
    candidate->asked = samples.Share(queries);
    candidate->saved = samples.Share(comparison.denied_by_new) -
                       samples.Share(comparison.denied_by_old);
  }
  if (samples.rate_known()) {
    const double all = samples.questions_per_second();
    file->asked_per_second = candidate->asked * all;
    file->saved_reads_per_second = candidate->saved * all;
  }
}

// Compares the filters, and decides about a file that is not worth a rewrite.
void CompareAndDecide(const AskedFilter& old_filter,
                      const AskedFilter& new_filter,
                      const SampledQueries& queries, RedesignState* state,
                      RedesignCandidate* candidate) {
  RefreshRun& run = state->run;
  RefreshedFile* const file = candidate->file;
  file->new_design = new_filter.Describe();
  file->queries = queries.size();
  if (queries.empty()) {
    if (!candidate->is_due) run.Decide(file, RefreshOutcome::kNotAsked);
    return;
  }
  const FilterComparison comparison =
      CompareFilters(old_filter, new_filter, queries);
  NoteSavings(comparison, queries, *state, candidate);
  const double gain = comparison.Gain();
  const bool is_worth_it = gain >= candidate->min_gain &&
                           candidate->saved > 0 &&
                           state->PaysBack(*file, candidate->saved);
  if (is_worth_it || candidate->is_due) return;
  run.Decide(file, RefreshOutcome::kTooLittleGain);
  state->memory.futile[file->name] = {candidate->passed, gain,
                                      candidate->saved};
}

}  // namespace

Status TryCandidate(RedesignState* state, RedesignCandidate* candidate) {
  RefreshRun& run = state->run;
  RefreshedFile* const file = candidate->file;
  candidate->is_tried = true;
  const std::unique_ptr<FilterTrial> trial = OpenCandidate(*candidate, &run);
  if (trial == nullptr) return Status::OK();
  EmptyQueries queries(!state->samples.empty(), candidate);
  BuiltFilter built;
  Status stopped;
  const Status s =
      BuildNewFilter(*file, trial.get(), state, &queries, &built, &stopped);
  if (!stopped.ok()) return stopped;
  if (!s.ok()) {
    run.DecideUnreadable(file, s);
  } else if (built.reader == nullptr) {
    const bool loses_filter = candidate->is_due && trial->has_old_filter();
    if (!loses_filter) run.Decide(file, RefreshOutcome::kUnfiltered);
  } else {
    CompareAndDecide(trial->old_filter(), built.filter, queries.Finish(), state,
                     candidate);
  }
  return Status::OK();
}

}  // namespace ROCKSDB_NAMESPACE::protean
