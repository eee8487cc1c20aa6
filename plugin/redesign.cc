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
//  and have the sizes of a tree of which all is rewritten (file_budget.h). The
//  files of a tree with a budget have such sizes in any case: a file that holds
//  much more than its share is rewritten for what it gives back.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "db/dbformat.h"
#include "filter_policy/filter_budget.h"
#include "filter_policy/filter_properties.h"
#include "filter_policy/open_db/file_budget.h"
#include "filter_policy/open_db/open_families.h"
#include "filter_policy/protean_filter_policy.h"
#include "filter_policy/query_demand.h"
#include "filter_policy/samples/query_queue.h"
#include "filter_policy/samples/sample_store.h"
#include "plugin/refresh_run.h"
#include "table/filter_trial.h"
#include "table/protean_table_factory.h"
#include "table/rocksdb_internals/handles.h"
#include "util/random.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

using Outcome = RefreshOutcome;

// ---- Samples ----

// Some of the samples, ordered by lower bound.
using SampledQueries = std::vector<const SampleQuery*>;

// The sample queries of a column family, and the part of all questions to
// filters that each of them stands for.
struct RefreshSamples {
  // Takes the samples that the policy has for the column family now.
  RefreshSamples(const ProteanFilterPolicy& policy, DB* db,
                 ColumnFamilyHandle* column_family) {
    const std::shared_ptr<SampleStore> store = policy.Samples();
    if (store == nullptr) return;
    const std::shared_ptr<QueryQueue> queue = store->Queue(
        column_family->GetName(), db->GetEnv(), /*logger=*/nullptr);
    queries = queue->Snapshot();
    std::sort(
        queries.begin(), queries.end(),
        [](const SampleQuery& a, const SampleQuery& b) { return a.lo < b.lo; });
    weights.resize(queries.size());
    rate_known = queue->sampled() > 0;
    const std::chrono::duration<double> elapsed =
        std::chrono::steady_clock::now() - queue->created();
    questions_per_second = static_cast<double>(queue->sampled()) *
                           queue->sample_every() /
                           std::max(elapsed.count(), 1e-6);
  }

  bool empty() const { return queries.empty(); }
  // The share of some of the queries in all questions that they stand for.
  double Share(const SampledQueries& some) const {
    double sum = 0;
    for (const SampleQuery* query : some) {
      sum += weights[static_cast<size_t>(query - queries.data())];
    }
    return sum / static_cast<double>(queries.size());
  }

  // Ordered by lower bound; none if the policy has no use for samples.
  std::vector<SampleQuery> queries;
  // The weight of each query, for each file whose filter decides it.
  std::vector<double> weights;
  bool rate_known = false;  // whether any is from the time since the DB opened
  double questions_per_second = 0;  // that all queries stand for
};

// ---- Comparison of filters ----

// How much better a new filter of a file does than the old one.
struct FilterComparison {
  // Asks both filters about the queries, which match no key of the file. There
  // is at least one.
  FilterComparison(const AskedFilter& old_filter, const AskedFilter& new_filter,
                   const SampledQueries& queries) {
    uint64_t old_positives = 0;
    for (const SampleQuery* query : queries) {
      const bool by_old = old_filter.MayMatch(*query);
      const bool by_new = new_filter.MayMatch(*query);
      if (by_old) old_positives++;
      if (by_old && !by_new) denied_by_new.push_back(query);
      if (by_new && !by_old) denied_by_old.push_back(query);
    }
    const auto all = static_cast<double>(queries.size());
    old_fpr = static_cast<double>(old_positives) / all;
    new_fpr = old_fpr - MoreDenied() / all;
  }

  // How many more queries the new filter denies than the old one.
  double MoreDenied() const {
    return static_cast<double>(denied_by_new.size()) -
           static_cast<double>(denied_by_old.size());
  }
  // The fall of the false positive rate; 0 if that may be chance.
  double Gain() const {
    // If the filters were equally good, each query that only one of them denies
    // would be denied by either with equal probability: this is two standard
    // deviations of chance.
    const auto differing =
        static_cast<double>(denied_by_new.size() + denied_by_old.size());
    const bool by_chance = MoreDenied() < 2 * std::sqrt(differing);
    return by_chance ? 0 : old_fpr - new_fpr;
  }

  // False positive rates.
  double old_fpr;
  double new_fpr;
  // The queries that only one of the two filters denies.
  SampledQueries denied_by_new;
  SampledQueries denied_by_old;
};

// ---- Rules ----

// Returns true if a filter with these properties was designed for the price of
// a false positive that the policy designs filters for now. `known` is the
// price at the file's level, or 0 if that is unknown.
bool HasPriceOfNow(const ProteanFilterPolicy& policy, uint64_t known,
                   const UserCollectedProperties& properties) {
  // Filters without a model have no price.
  if (PropertyText(properties, kBasisProperty).empty()) return true;
  // The file's own price stays while nothing is known of its level's.
  const uint64_t of_file = PriceOf(properties);
  return of_file == policy.PriceFor(known == 0 ? of_file : known);
}

// Returns by how much a new filter has to lower the false positive rate for a
// rewrite to be worth it: by `min_gain`, or by less if the file's filter was
// designed for cheaper reads than those of its level are by now.
double MinGainOf(double min_gain, const ProteanFilterPolicy& policy,
                 uint64_t known, const UserCollectedProperties& properties) {
  if (known == 0) return min_gain;
  const uint64_t now = policy.PriceFor(known);
  return PriceOf(properties) < now ? std::min(min_gain, MaxRateForTime(now))
                                   : min_gain;
}

// Small filters are less exact: their sizes are rounded, and they have headers.
double RoundedBits(uint64_t entries) {
  constexpr double kRoundedBits = 1024;  // of the filter
  return kRoundedBits / std::max<double>(1, static_cast<double>(entries));
}

// A filter that has this many bits per key more than now is too large.
constexpr double kMoreBits = 1;

// Returns true if a filter of `entries` entries that has `bits` per key is of
// the size that it would get now, which is `bits_now`, or 0 if that does not
// depend on other files. A larger one is, too, unless `shrinks`.
bool HasSizeOfNow(double bits, double bits_now, uint64_t entries,
                  bool shrinks) {
  // Where fewer bits than these are missing, more of them hardly pay.
  constexpr double kSameBits = 0.5;
  const double more = bits - bits_now;
  const double rounded = RoundedBits(entries);
  return bits_now == 0 || (-more < kSameBits + rounded &&
                           (!shrinks || more < kMoreBits + rounded));
}

// Returns true if a filter of `entries` entries that has `bits` per key holds
// much more than its share of a budget, which is `bits_now`, or 0 without one.
bool HoldsTooMuch(double bits, double bits_now, uint64_t entries) {
  // A file is not rewritten for the differences that growth always leaves.
  constexpr double kMuch = 1.25;
  return bits_now > 0 &&
         bits > kMuch * bits_now + kMoreBits + RoundedBits(entries);
}

// ---- Candidates ----

// A file whose filter may be designed anew.
struct Candidate {
  RefreshedFile* file;
  FileFilter in_tree;  // without bits
  std::string path;
  SampledQueries queries;  // that its filter decides
  PassedSamples passed;    // the part of the queries
  double asked = 0;        // its share of all questions to filters
  double saved = 0;        // part of `asked`; an upper limit until `is_tried`
  bool is_tried = false;
  bool is_due = false;  // it is rewritten whatever a new filter gains
  double min_gain;      // below which the file is not rewritten

  bool is_undecided() const { return file->outcome == Outcome::kNotReached; }
  // What rewriting the file saves per byte.
  double Value() const {
    return saved / static_cast<double>(std::max<uint64_t>(file->bytes, 1));
  }
};

// The candidate that comes first is the largest.
struct ComesAfter {
  bool by_level;

  bool operator()(const Candidate* a, const Candidate* b) const {
    if (by_level) return a->file->level > b->file->level;
    return a->Value() < b->Value();
  }
};

// ---- Redesign ----

class Redesign {
 public:
  // Lists the files of the column family, takes its samples, and recalls what
  // earlier calls have found out.
  explicit Redesign(RefreshRun* run)
      : run_(*run),
        policy_(*OwnPolicyOf(run->family_options)),
        samples_(policy_, run->db, run->column_family),
        tree_{run->family_options.info_log.get(),
              run->column_family->GetName()},
        waiting_(ComesAfter{run->options.all_files}) {
    run_.result->samples = samples_.queries.size();
    run_.result->rate_known = samples_.rate_known;
    MakeCandidates();
    Recall();
  }
  Redesign(const Redesign&) = delete;
  Redesign& operator=(const Redesign&) = delete;

  Status Run() {
    std::vector<FileFilter> files;
    if (run_.options.all_files || policy_.FilterMemory() > 0) {
      for (const Candidate& candidate : candidates_) {
        files.push_back(candidate.in_tree);
      }
    }
    const auto plan = PlanTree(policy_, tree_, files);
    const std::shared_ptr<void> searching = policy_.SearchAllDesigns();
    Status s = ScreenAll();
    if (s.ok()) s = LookAtFutile();
    if (s.ok()) s = RewriteBest();
    s = run_.Finish(s);
    Remember();
    return s;
  }

 private:
  // Lists the files with the samples that each file's filter decides. Files
  // share the questions by their sizes if there are no samples.
  void MakeCandidates() {
    const ColumnFamilyMetaData metadata = run_.ListFiles();
    const size_t timestamp_size =
        run_.family_options.comparator->timestamp_size();
    const auto user_key = [timestamp_size](const std::string& key) {
      return StripTimestampFromUserKey(key, timestamp_size).ToString();
    };
    for (const LevelMetaData& level : metadata.levels) {
      for (const SstFileMetaData& file : level.files) {
        // Each file of level 0 is a sorted run, and so is a deeper level.
        if (level.level == 0 || &file == level.files.data()) {
          runs_.push_back(candidates_.size());
        }
        Candidate candidate;
        candidate.file = &run_.result->files[candidates_.size()];
        candidate.min_gain = run_.options.min_gain;
        candidate.is_due = run_.options.all_files;
        candidate.path = file.directory + "/" + file.relative_filename;
        candidate.in_tree = {level.level, file.num_entries, 0,
                             user_key(file.smallestkey),
                             user_key(file.largestkey)};
        candidate.asked =
            static_cast<double>(file.size) /
            static_cast<double>(std::max<uint64_t>(metadata.size, 1));
        candidate.saved = candidate.asked;
        candidates_.push_back(std::move(candidate));
      }
    }
    runs_.push_back(candidates_.size());
    if (samples_.empty()) return;
    for (size_t i = 0; i < samples_.queries.size(); i++) SpreadQuery(i);
    for (Candidate& candidate : candidates_) {
      candidate.asked = samples_.Share(candidate.queries);
      candidate.file->queries = candidate.queries.size();
    }
  }

  // Gives a query to the files whose filters decide it, for all of which it
  // counts in equal parts: those that enclose it. A query that begins or ends
  // outside of a file's keys, and yet overlaps it, finds the file's first or
  // last key, so it is decided without a filter.
  void SpreadQuery(size_t number) {
    const SampleQuery& query = samples_.queries[number];
    std::vector<Candidate*> enclosing;
    for (size_t run = 0; run + 1 < runs_.size(); run++) {
      Candidate* const end = candidates_.data() + runs_[run + 1];
      Candidate* const file = std::partition_point(
          candidates_.data() + runs_[run], end, [&](const Candidate& each) {
            return each.in_tree.largest <= query.lo;
          });
      if (file != end && file->in_tree.smallest < query.lo &&
          IsInverted(file->in_tree.largest, query.hi, query.hi_inclusive)) {
        enclosing.push_back(file);
      }
    }
    for (Candidate* const file : enclosing) {
      file->queries.push_back(&query);
      samples_.weights[number] = 1 / static_cast<double>(enclosing.size());
    }
  }

  // Recalls what is known of the column family, and holds under the present
  // policy; and what false positives cost in the levels of the files.
  void Recall() {
    const void* const family = FamilyOf(run_.column_family);
    DBSession* const session = run_.session.get();
    if (session != nullptr) {
      session->WithRefreshes(
          family,
          [&](RefreshCounts*, RefreshMemory* memory) { memory_ = *memory; });
      for (const RefreshedFile& file : run_.result->files) {
        if (prices_.count(file.level) > 0) continue;
        prices_[file.level] = session->PriceOf(
            family, file.level, run_.family_options.statistics.get());
      }
    }
    const std::string text = policy_.DesignOptions();
    if (memory_.policy != text) memory_ = RefreshMemory();
    memory_.policy = text;
    memory_.runs++;
  }

  // Lets later calls recall what this one has found out.
  void Remember() {
    if (run_.session == nullptr) return;
    // Files that are gone, or have been rewritten, are forgotten.
    std::map<std::string, RejectedRefresh> futile;
    for (const RefreshedFile& file : run_.result->files) {
      futile.insert(memory_.futile.extract(file.name));
    }
    memory_.futile = std::move(futile);
    run_.session->WithRefreshes(
        FamilyOf(run_.column_family),
        [&](RefreshCounts*, RefreshMemory* memory) { *memory = memory_; });
  }

  // Returns true if a rewrite of the file pays back in time, if that can be
  // told, with a new filter that saves this share of all questions.
  bool PaysBack(const RefreshedFile& file, double saved) const {
    // Rewriting reads and writes each block.
    const double blocks =
        2 * static_cast<double>(file.bytes) /
        static_cast<double>(std::max<uint64_t>(run_.table().block_size, 1));
    return !samples_.rate_known || saved * samples_.questions_per_second *
                                           run_.options.payback_seconds >=
                                       blocks;
  }

  // Returns true if the file was read in vain before, and nothing has changed
  // since then that would make a difference.
  bool IsFutile(const Candidate& candidate) const {
    const auto found = memory_.futile.find(candidate.file->name);
    if (found == memory_.futile.end()) return false;
    const RejectedRefresh& trial = found->second;
    if (candidate.passed.DiffersFrom(trial.passed, candidate.min_gain)) {
      return false;
    }
    return trial.gain < candidate.min_gain || trial.saved <= 0 ||
           !PaysBack(*candidate.file, trial.saved);
  }

  // Opens the candidate's file, and notes the design that its filter has.
  // Decides about the file and returns nullptr if it cannot be opened.
  std::unique_ptr<BlockBasedFile> Open(const Candidate& candidate) {
    std::unique_ptr<BlockBasedFile> opened;
    const Status s =
        BlockBasedFile::OpenApart(run_.family_options, candidate.path, &opened);
    if (!s.ok()) {
      run_.DecideUnreadable(candidate.file, s);
      return nullptr;
    }
    candidate.file->old_design = AskedFilter::Of(*opened).Describe();
    return opened;
  }

  // ---- Decisions by old filters ----

  // These functions, and those below, return an error only if refreshing must
  // end.

  // Decides about files by their old filters. The others wait, or are stored if
  // they were read in vain before.
  Status ScreenAll() {
    Status s;
    for (Candidate& candidate : candidates_) {
      if (s.ok() && candidate.is_undecided()) s = Screen(&candidate);
      if (!candidate.is_undecided()) continue;
      if (!candidate.is_due && IsFutile(candidate)) {
        futile_.push_back(&candidate);
      } else {
        waiting_.push(&candidate);
      }
    }
    return s;
  }

  // Decides about a file that needs no new filter: it is not asked, would get
  // the filter that it has, or lets through too few queries. Otherwise finds
  // the upper limit of what a new filter saves.
  Status Screen(Candidate* candidate) {
    const bool has_samples = !samples_.empty();
    // With a budget, a file may be due because of the sizes of other filters.
    if (has_samples && candidate->queries.empty() && !candidate->is_due &&
        policy_.FilterMemory() == 0) {
      run_.Decide(candidate->file, Outcome::kNotAsked);
      return Status::OK();
    }
    const std::unique_ptr<BlockBasedFile> opened = Open(*candidate);
    if (opened == nullptr) return Status::OK();
    DecideIfSame(*opened, candidate);
    if (candidate->is_undecided()) {
      // If all files are to have the filters of the policy, this one has such a
      // filter unless it is due.
      const bool is_done = run_.options.all_files && !candidate->is_due;
      if (candidate->is_due || (!has_samples && !is_done)) return Status::OK();
      if (candidate->queries.empty()) {
        run_.Decide(candidate->file, Outcome::kNotAsked);
      } else {
        AskOldFilter(AskedFilter::Of(*opened), candidate);
      }
    }
    // Roughly the bytes that were read to open the file.
    const auto properties = opened->properties();
    return run_.GoOn(properties->filter_size + properties->index_size);
  }

  // Decides about a file that would get the filter that it has, and finds out
  // whether a file is due.
  void DecideIfSame(const BlockBasedFile& opened, Candidate* candidate) {
    RefreshedFile* const file = candidate->file;
    const Options& options = run_.family_options;
    const FilterPolicy* const of_level = policy_.ForLevel(file->level);
    const ProteanFilterPolicy* const policy = AsProteanFilterPolicy(of_level);
    if (policy == nullptr) {
      // The level has RocksDB's filters or none.
      if (FilterIsLikeThatOf(
              opened, of_level,
              {options, run_.column_family->GetName(), file->level})) {
        run_.Decide(file, opened.HasFilter() ? Outcome::kHasFilter
                                             : Outcome::kUnfiltered);
      }
      return;
    }
    const UserCollectedProperties properties =
        opened.properties()->user_collected_properties;
    const uint64_t price = prices_[file->level];
    candidate->min_gain =
        MinGainOf(run_.options.min_gain, *policy, price, properties);
    // The bits per key that the filter has, and that it would get now.
    const double bits = PropertyNumber(properties, kBitsPerKeyProperty, 0);
    const auto bits_now = [&] {
      return BitsOfFileNow(*policy, tree_, candidate->in_tree,
                           run_.db->GetEnv());
    };
    // A filter of a budget gives back what other files lack.
    if (policy->FilterMemory() > 0 &&
        HoldsTooMuch(bits, bits_now(), file->entries)) {
      candidate->is_due = true;
      return;
    }
    // The filter has all that the policy gives the file now, but for what its
    // design follows from samples, if it was designed by the same options and
    // for the same price, and has the size that it would get. One that was
    // built for few queries may be smaller, and stays until samples show that
    // there are queries.
    const bool is_for_few = properties.count(kQueriesPerKeyProperty) > 0;
    const bool is_of_policy =
        PropertyText(properties, kOptionsProperty) == HashOfOptions(*policy) &&
        HasPriceOfNow(*policy, price, properties) &&
        FilterHasFormOf(opened, options) &&
        (is_for_few ? samples_.empty()
                    : HasSizeOfNow(bits, bits_now(), file->entries,
                                   run_.options.all_files));
    if (!is_of_policy) return;
    candidate->is_due = false;
    // A search would find the design that the filter has.
    if (PropertyText(properties, kDesignInputsProperty) ==
        DesignInputsHash(*policy, run_.column_family->GetName(),
                         run_.db->GetEnv(), options.info_log.get())) {
      run_.Decide(file, Outcome::kTooLittleGain);
    }
  }

  // Asks the old filter about the candidate's queries. Decides about a file
  // whose filter denies most of them.
  void AskOldFilter(const AskedFilter& filter, Candidate* candidate) {
    SampledQueries positives;
    for (const SampleQuery* query : candidate->queries) {
      if (filter.MayMatch(*query)) positives.push_back(query);
    }
    candidate->saved = samples_.Share(positives);
    const auto asked = static_cast<double>(candidate->queries.size());
    RefreshedFile* const file = candidate->file;
    file->old_fpr = static_cast<double>(positives.size()) / asked;
    candidate->passed = {file->old_fpr, asked};
    if (file->old_fpr < candidate->min_gain) {
      run_.Decide(file, Outcome::kTooLittleGain);
    }
  }

  // ---- Decisions by keys ----

  // Decides about files that were read in vain before. Now and then, reads one
  // of them, which may make all of them wait.
  Status LookAtFutile() {
    // Number of calls of RefreshFilters in one of which such a file is read.
    constexpr uint64_t kRunsPerLook = 4;
    Status s;
    bool pays = false;
    if (!futile_.empty() && memory_.runs % kRunsPerLook == 0) {
      Random64 random(memory_.runs);
      Candidate* const drawn = futile_[random.Uniform(futile_.size())];
      if (!run_.ExceedsLimit(*drawn->file)) s = Try(drawn);
      pays = drawn->is_tried && drawn->is_undecided();
    }
    for (Candidate* candidate : futile_) {
      if (!s.ok()) break;
      if (!candidate->is_undecided()) continue;
      if (pays) {
        waiting_.push(candidate);
      } else {
        run_.Decide(candidate->file, Outcome::kTooLittleGain);
      }
    }
    return s;
  }

  // Tries and rewrites the files that wait, the best one first.
  Status RewriteBest() {
    Status s;
    while (s.ok() && !waiting_.empty()) {
      Candidate* const best = waiting_.top();
      waiting_.pop();
      if (best->is_tried || run_.ExceedsLimit(*best->file)) {
        s = run_.Rewrite(best->file);
      } else {
        s = Try(best);
        if (s.ok() && best->is_undecided()) waiting_.push(best);
      }
    }
    return s;
  }

  // Reads the file, builds its new filter in memory, and compares it with the
  // old one. Decides about a file that is not worth a rewrite, and otherwise
  // finds what the new filter saves.
  Status Try(Candidate* candidate) {
    RefreshedFile* const file = candidate->file;
    candidate->is_tried = true;
    const std::unique_ptr<BlockBasedFile> opened = Open(*candidate);
    if (opened == nullptr) return Status::OK();
    // The queries that match no key of the file: samples, or generated ones if
    // there are no samples.
    EmptySamples samples(std::move(candidate->queries));
    GapQueries gaps(file->entries);
    const double entry_bytes =
        static_cast<double>(file->bytes) /
        static_cast<double>(std::max<uint64_t>(file->entries, 1));
    constexpr double kBytesPerReport = 64 << 10;
    double unreported = 0;
    Status stopped;
    const auto report = [&] {
      const auto bytes = static_cast<uint64_t>(unreported);
      unreported = 0;
      run_.CountRead(bytes);
      stopped = run_.GoOn(bytes);
      return stopped.ok();
    };
    const auto on_key = [&](const Slice& key) {
      samples.Pass(key);
      if (samples_.empty()) gaps.Pass(key);
      unreported += entry_bytes;
      return unreported < kBytesPerReport || report();
    };
    const uint64_t price = prices_[file->level];
    std::vector<BuiltFilter> built;
    const Status s =
        TryPolicies(*opened,
                    {run_.family_options, run_.column_family->GetName(),
                     file->level, price == 0 ? kUsualPrice : price},
                    {&policy_}, on_key, &built);
    if (s.ok()) report();
    if (!stopped.ok()) return stopped;
    if (!s.ok()) {
      run_.DecideUnreadable(file, s);
    } else if (built[0].reader == nullptr) {
      const bool loses_filter = candidate->is_due && opened->HasFilter();
      if (!loses_filter) run_.Decide(file, Outcome::kUnfiltered);
    } else {
      SampledQueries empty = samples.Finish();
      const std::vector<SampleQuery> generated = gaps.Finish();
      for (const SampleQuery& query : generated) empty.push_back(&query);
      CompareAndDecide(AskedFilter::Of(*opened), built[0].filter, empty,
                       candidate);
    }
    return Status::OK();
  }

  // Compares the filters, and notes what the new one saves. Decides about a
  // file that is not worth a rewrite.
  void CompareAndDecide(const AskedFilter& old_filter,
                        const AskedFilter& new_filter,
                        const SampledQueries& queries, Candidate* candidate) {
    RefreshedFile* const file = candidate->file;
    file->new_design = new_filter.Describe();
    file->queries = queries.size();
    if (queries.empty()) {
      if (!candidate->is_due) run_.Decide(file, Outcome::kNotAsked);
      return;
    }
    const FilterComparison comparison(old_filter, new_filter, queries);
    file->old_fpr = comparison.old_fpr;
    file->new_fpr = comparison.new_fpr;
    if (samples_.empty()) {
      candidate->saved = candidate->asked * comparison.MoreDenied() /
                         static_cast<double>(queries.size());
    } else {
      candidate->asked = samples_.Share(queries);
      candidate->saved = samples_.Share(comparison.denied_by_new) -
                         samples_.Share(comparison.denied_by_old);
    }
    if (samples_.rate_known) {
      const double all = samples_.questions_per_second;
      file->asked_per_second = candidate->asked * all;
      file->saved_reads_per_second = candidate->saved * all;
    }
    const double gain = comparison.Gain();
    const bool is_worth_it = gain >= candidate->min_gain &&
                             candidate->saved > 0 &&
                             PaysBack(*file, candidate->saved);
    if (is_worth_it || candidate->is_due) return;
    run_.Decide(file, Outcome::kTooLittleGain);
    memory_.futile[file->name] = {candidate->passed, gain, candidate->saved};
  }

  RefreshRun& run_;
  const ProteanFilterPolicy& policy_;
  RefreshSamples samples_;
  const TreeFilters::Tree tree_;
  std::vector<Candidate> candidates_;  // in the order of the result
  std::vector<size_t> runs_;  // where each sorted run begins, and the last ends
  RefreshMemory memory_;
  // The price of a false positive by level; 0 or missing if it is unknown.
  std::map<int, uint64_t> prices_;
  std::priority_queue<Candidate*, std::vector<Candidate*>, ComesAfter> waiting_;
  std::vector<Candidate*> futile_;  // were read in vain before
};

}  // namespace

Status RedesignFilters(RefreshRun* run) {
  if (!IsOrderOfFilters(run->family_options.comparator) ||
      !run->table().whole_key_filtering) {
    return Status::NotSupported(
        "range filters are off in column family " +
        run->column_family->GetName() + ": they need the comparator " +
        BytewiseComparator()->Name() + " and whole_key_filtering");
  }
  const Status s = run->CheckWritable();
  return s.ok() ? Redesign(run).Run() : s;
}

}  // namespace ROCKSDB_NAMESPACE::protean
