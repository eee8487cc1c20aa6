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
//  and have the sizes of a tree of which all is rewritten (file_budget.h).
//  Files that have such a filter already are rewritten only if that pays, as
//  always: samples change all the time. So a refresh which was interrupted goes
//  on where it was. The files of a tree with a budget have such sizes in any
//  case: a file that holds much more than its share is rewritten for what it
//  gives back.

#include "plugin/redesign.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "db/dbformat.h"
#include "filter_policy/false_positive_price.h"
#include "filter_policy/filter_properties.h"
#include "filter_policy/open_db/file_budget.h"
#include "table/rocksdb_internals/handles.h"
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

// ---- Redesign state ----

namespace {

// What is remembered of the column family and holds under the present policy.
RefreshMemory RecallRefreshes(const ProteanFilterPolicy& policy,
                              RefreshRun* run) {
  RefreshMemory memory;
  const std::shared_ptr<DBSession> session = SessionOf(run->db());
  if (session != nullptr) {
    memory = session->RefreshMemoryOf(FamilyOf(run->column_family()));
  }
  const std::string text = policy.DesignOptions();
  if (memory.policy != text) memory = RefreshMemory();
  memory.policy = text;
  memory.runs++;
  return memory;
}

// The prices of false positives in the levels of the files.
std::map<int, uint64_t> FindPrices(RefreshRun* run) {
  std::map<int, uint64_t> prices;
  const std::shared_ptr<DBSession> session = SessionOf(run->db());
  if (session == nullptr) return prices;
  for (const RefreshedFile& file : run->result()->files) {
    if (prices.count(file.level) > 0) continue;
    prices[file.level] =
        session->PriceOf(FamilyOf(run->column_family()), file.level,
                         run->family_options().statistics.get());
  }
  return prices;
}

}  // namespace

RedesignState::RedesignState(RefreshRun* refresh)
    : run(*refresh),
      policy(*AsProteanFilterPolicy(refresh->table().filter_policy.get())),
      samples(policy, refresh->db(), refresh->column_family()),
      candidates(MakeCandidates(refresh->ListFiles(), refresh, &samples)),
      memory(RecallRefreshes(policy, refresh)),
      prices(FindPrices(refresh)) {
  run.result()->samples = samples.size();
  run.result()->rate_known = samples.rate_known();
}

uint64_t RedesignState::PriceAt(int level) const {
  const auto price = prices.find(level);
  return price == prices.end() ? 0 : price->second;
}

bool RedesignState::PaysBack(const RefreshedFile& file, double saved) const {
  return !samples.rate_known() ||
         saved * samples.questions_per_second() *
                 run.options().payback_seconds >=
             BlocksOfRewrite(file.bytes, run.table().block_size);
}

bool RedesignState::IsFutile(const RedesignCandidate& candidate) const {
  const auto found = memory.futile.find(candidate.file->name);
  if (found == memory.futile.end()) return false;
  const RejectedRefresh& trial = found->second;
  if (candidate.passed.DiffersFrom(trial.passed, candidate.min_gain)) {
    return false;
  }
  return trial.gain < candidate.min_gain || trial.saved <= 0 ||
         !PaysBack(*candidate.file, trial.saved);
}

void RememberRefresh(RedesignState* state) {
  RefreshRun& run = state->run;
  const std::shared_ptr<DBSession> session = SessionOf(run.db());
  if (session == nullptr) return;
  RefreshMemory& memory = state->memory;
  // Files that are gone, or have been rewritten, are forgotten.
  std::map<std::string, RejectedRefresh> futile;
  for (const RefreshedFile& file : run.result()->files) {
    const auto trial = memory.futile.find(file.name);
    if (trial != memory.futile.end()) futile.insert(*trial);
  }
  memory.futile = std::move(futile);
  session->SetRefreshMemory(FamilyOf(run.column_family()), memory);
}

// ---- Redesign candidate ----

std::vector<RedesignCandidate> MakeCandidates(
    const ColumnFamilyMetaData& metadata, RefreshRun* run,
    RefreshSamples* samples) {
  const size_t timestamp_size =
      run->family_options().comparator->timestamp_size();
  const auto user_key = [timestamp_size](const std::string& key) {
    return StripTimestampFromUserKey(key, timestamp_size).ToString();
  };
  std::vector<RedesignCandidate> candidates;
  for (const LevelMetaData& level : metadata.levels) {
    for (const SstFileMetaData& file : level.files) {
      RedesignCandidate candidate;
      candidate.file = &run->result()->files[candidates.size()];
      candidate.min_gain = run->options().min_gain;
      candidate.is_due = run->options().all_files;
      candidate.path = file.directory + "/" + file.relative_filename;
      candidate.in_tree = {level.level, file.num_entries, 0,
                           user_key(file.smallestkey),
                           user_key(file.largestkey)};
      candidate.asked =
          static_cast<double>(file.size) /
          static_cast<double>(std::max<uint64_t>(metadata.size, 1));
      candidate.saved = candidate.asked;
      candidates.push_back(std::move(candidate));
    }
  }
  if (samples->empty()) return candidates;
  std::vector<SampledQueries> queries =
      samples->SpreadOver(metadata, timestamp_size);
  for (size_t i = 0; i < candidates.size(); i++) {
    candidates[i].queries = std::move(queries[i]);
    candidates[i].asked = samples->Share(candidates[i].queries);
    candidates[i].file->queries = candidates[i].queries.size();
  }
  return candidates;
}

std::unique_ptr<FilterTrial> OpenCandidate(const RedesignCandidate& candidate,
                                           RefreshRun* run) {
  std::unique_ptr<FilterTrial> trial;
  const Status s =
      FilterTrial::Open(run->family_options(), candidate.path, &trial);
  if (!s.ok()) {
    run->DecideUnreadable(candidate.file, s);
    return nullptr;
  }
  candidate.file->old_design = trial->old_filter().Describe();
  return trial;
}

// ---- Redesign rules ----

bool HasPriceOfNow(const ProteanFilterPolicy& policy, uint64_t known,
                   const UserCollectedProperties& properties) {
  // Filters without a model have no price.
  if (PropertyText(properties, kBasisProperty).empty()) return true;
  // The file's own price stays while nothing is known of its level's.
  const uint64_t of_file = PriceOf(properties);
  return of_file == policy.PriceFor(known == 0 ? of_file : known);
}

double MinGainOf(double min_gain, const ProteanFilterPolicy& policy,
                 uint64_t known, const UserCollectedProperties& properties) {
  if (known == 0) return min_gain;
  const uint64_t now = std::min(policy.PriceFor(known), kUsualPrice);
  return PriceOf(properties) < now ? std::min(min_gain, MaxRateForTime(now))
                                   : min_gain;
}

namespace {

// Small filters are less exact: their sizes are rounded, and they have headers.
double RoundedBits(uint64_t entries) {
  constexpr double kRoundedBits = 1024;  // of the filter
  return kRoundedBits / std::max<double>(1, static_cast<double>(entries));
}

// A filter that has this many bits per key more than now is too large.
constexpr double kMoreBits = 1;

}  // namespace

bool HasSizeOfNow(double bits, double bits_now, uint64_t entries,
                  bool shrinks) {
  // Where fewer bits than these are missing, more of them hardly pay.
  constexpr double kSameBits = 0.5;
  const double more = bits - bits_now;
  const double rounded = RoundedBits(entries);
  return -more < kSameBits + rounded &&
         (!shrinks || more < kMoreBits + rounded);
}

bool HoldsTooMuch(double bits, double bits_now, uint64_t entries) {
  // A file is not rewritten for the differences that growth always leaves.
  constexpr double kMuch = 1.25;
  return bits > kMuch * bits_now + kMoreBits + RoundedBits(entries);
}

double BlocksOfRewrite(uint64_t bytes, uint64_t block_size) {
  return 2 * static_cast<double>(bytes) /
         static_cast<double>(std::max<uint64_t>(block_size, 1));
}

// ---- Filter comparison ----

double FilterComparison::Gain() const {
  // If the filters were equally good, each query that only one of them denies
  // would be denied by either with equal probability: this is two standard
  // deviations of chance.
  const auto differing =
      static_cast<double>(denied_by_new.size() + denied_by_old.size());
  const bool by_chance = MoreDenied() < 2 * std::sqrt(differing);
  return by_chance ? 0 : old_fpr - new_fpr;
}

FilterComparison CompareFilters(
    const AskedFilter& old_filter, const AskedFilter& new_filter,
    const std::vector<const SampleQuery*>& queries) {
  FilterComparison comparison;
  uint64_t old_positives = 0;
  for (const SampleQuery* query : queries) {
    const bool by_old = old_filter.MayMatch(*query);
    const bool by_new = new_filter.MayMatch(*query);
    if (by_old) old_positives++;
    if (by_old && !by_new) comparison.denied_by_new.push_back(query);
    if (by_new && !by_old) comparison.denied_by_old.push_back(query);
  }
  const auto all = static_cast<double>(queries.size());
  comparison.old_fpr = static_cast<double>(old_positives) / all;
  comparison.new_fpr = comparison.old_fpr - comparison.MoreDenied() / all;
  return comparison;
}

}  // namespace ROCKSDB_NAMESPACE::protean
