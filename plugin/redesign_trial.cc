// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "db/dbformat.h"
#include "filter_policy/false_positive_price.h"
#include "filter_policy/filter_properties.h"
#include "filter_policy/open_db/file_budget.h"
#include "filter_policy/samples/query_queue.h"
#include "filter_policy/samples/sample_store.h"
#include "plugin/redesign.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Lists the files that enclose the query, by the order of the files in the
// metadata.
//
// A query that begins or ends outside of a file's keys, and yet overlaps it,
// finds the file's first or last key. So a query can be empty only in a file
// that encloses it; in all other files it is decided without a filter.
std::vector<size_t> FilesThatEnclose(const SampleQuery& query,
                                     const ColumnFamilyMetaData& metadata,
                                     size_t timestamp_size) {
  const auto user_key = [timestamp_size](const std::string& key) {
    return StripTimestampFromUserKey(key, timestamp_size);
  };
  std::vector<size_t> enclosing;
  size_t level_begin = 0;
  for (const LevelMetaData& level : metadata.levels) {
    const std::vector<SstFileMetaData>& files = level.files;
    auto file = files.begin();
    auto end = files.end();
    if (level.level > 0) {
      file = std::partition_point(file, end, [&](const SstFileMetaData& f) {
        return user_key(f.largestkey).compare(query.lo) <= 0;
      });
      if (file != end) end = file + 1;
    }
    for (; file != end; ++file) {
      if (user_key(file->smallestkey).compare(query.lo) < 0 &&
          IsInverted(user_key(file->largestkey), query.hi,
                     query.hi_inclusive)) {
        enclosing.push_back(level_begin +
                            static_cast<size_t>(file - files.begin()));
      }
    }
    level_begin += files.size();
  }
  return enclosing;
}

size_t NumberOfFiles(const ColumnFamilyMetaData& metadata) {
  size_t files = 0;
  for (const LevelMetaData& level : metadata.levels) {
    files += level.files.size();
  }
  return files;
}

}  // namespace

RefreshSamples::RefreshSamples(const ProteanFilterPolicy& policy, DB* db,
                               ColumnFamilyHandle* column_family) {
  const std::shared_ptr<SampleStore> store = policy.Samples();
  if (store == nullptr) return;
  const std::shared_ptr<QueryQueue> queue =
      store->Queue(column_family->GetName(), db->GetEnv(), /*logger=*/nullptr);
  samples_ = queue->Snapshot();
  std::sort(
      samples_.begin(), samples_.end(),
      [](const SampleQuery& a, const SampleQuery& b) { return a.lo < b.lo; });
  rate_known_ = queue->sampled() > 0;
  const std::chrono::duration<double> elapsed =
      std::chrono::steady_clock::now() - queue->created();
  questions_per_second_ = static_cast<double>(queue->sampled()) *
                          queue->sample_every() /
                          std::max(elapsed.count(), 1e-6);
}

std::vector<SampledQueries> RefreshSamples::SpreadOver(
    const ColumnFamilyMetaData& metadata, size_t timestamp_size) {
  std::vector<SampledQueries> queries(NumberOfFiles(metadata));
  weights_.resize(samples_.size());
  for (size_t i = 0; i < samples_.size(); i++) {
    const std::vector<size_t> enclosing =
        FilesThatEnclose(samples_[i], metadata, timestamp_size);
    if (enclosing.empty()) continue;
    weights_[i] = 1 / static_cast<double>(enclosing.size());
    for (size_t file : enclosing) queries[file].push_back(&samples_[i]);
  }
  return queries;
}

double RefreshSamples::Share(const SampledQueries& queries) const {
  double sum = 0;
  for (const SampleQuery* query : queries) {
    sum += weights_[static_cast<size_t>(query - samples_.data())];
  }
  return sum / static_cast<double>(samples_.size());
}

// ---- Screen candidate ----

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
  return PropertyText(trial.old_properties(), kDesignInputsProperty) ==
         DesignInputsHash(policy, run.column_family()->GetName(),
                          run.db()->GetEnv(),
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

// ---- Try candidate ----

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
