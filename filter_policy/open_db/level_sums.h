// SPDX-License-Identifier: Apache-2.0

//  Counts of filters that are built, loaded and asked, and their sums by level,
//  which the statistics (plugin/filter_statistics.h) and the DB's log show.

#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "filter_policy/query_demand.h"
#include "rocksdb/perf_context.h"
#include "rocksdb/perf_level.h"
#include "rocksdb/rocksdb_namespace.h"
#include "rocksdb/table_properties.h"
#include "util/atomic.h"
#include "util/thread_local.h"

namespace ROCKSDB_NAMESPACE::protean {

// ---- Counts of a family and of a file ----

// Filters that were built for new files.
struct BuildCounts {
  uint64_t filters = 0;
  uint64_t keys = 0;
  uint64_t bytes = 0;
  uint64_t nanos = 0;  // from the last key on, or the last key of each part
  uint64_t model_nanos = 0;  // the part of that time that models took

  BuildCounts& operator+=(const BuildCounts& other) {
    filters += other.filters;
    keys += other.keys;
    bytes += other.bytes;
    nanos += other.nanos;
    model_nanos += other.model_nanos;
    return *this;
  }
};

// The refreshes of a column family since its DB was opened, for the statistics.
struct RefreshCounts {
  uint64_t runs = 0;      // that have ended
  uint64_t failures = 0;  // the part of them that ended with an error
  int64_t last_end = 0;   // seconds since 1970; 0 before the first end
  // These include the refreshes that are running.
  uint64_t files_rewritten = 0;
  uint64_t bytes_read = 0;
  uint64_t bytes_rewritten = 0;
  // The number of refreshes that are running, and how far the one that began
  // last is: the bytes of all files, and of the files whose outcome is known.
  uint64_t running = 0;
  std::chrono::steady_clock::time_point began;
  uint64_t bytes = 0;
  uint64_t bytes_decided = 0;
};

// Filter blocks that were read for a file: whole filters, or parts of them. A
// block that is in memory already is not counted again: where counts keep
// rising, filters do not stay in memory.
struct FilterLoads {
  uint64_t blocks = 0;
  uint64_t bytes = 0;
  uint64_t failed = 0;  // blocks that could not be read, or are damaged

  FilterLoads& operator+=(const FilterLoads& other) {
    blocks += other.blocks;
    bytes += other.bytes;
    failed += other.failed;
    return *this;
  }
  bool IsZero() const { return blocks == 0 && failed == 0; }
};

// Thread safe.
class SharedFilterLoads {
 public:
  void Add(size_t bytes) {
    blocks_.FetchAddRelaxed(1);
    bytes_.FetchAddRelaxed(bytes);
  }
  void AddFailed() { failed_.FetchAddRelaxed(1); }
  FilterLoads Load() const {
    return {blocks_.LoadRelaxed(), bytes_.LoadRelaxed(), failed_.LoadRelaxed()};
  }

 private:
  RelaxedAtomic<uint64_t> blocks_;
  RelaxedAtomic<uint64_t> bytes_;
  RelaxedAtomic<uint64_t> failed_;
};

// kUsed if seeks ask the filter of a file; otherwise the reason why not.
enum class FilterUse : uint8_t {
  kUsed,
  kNone,          // no filter, or none that the column family's policy knows
  kForeign,       // RocksDB built the filter; it still answers Get
  kComparator,    // keys are not in the order that the filters need
  kPartialKeys,   // whole_key_filtering=false
  kUnfilterable,  // the filter could not hold the file's keys and knows nothing
  kDamaged,       // the filter is damaged or could not be read
};
inline constexpr const char* kFilterUseNames[] = {
    "used",          "no_filter",         "rocksdb_filter", "other_comparator",
    "no_whole_keys", "unfilterable_keys", "damaged"};
inline const char* ToString(FilterUse use) {
  return kFilterUseNames[static_cast<size_t>(use)];
}

// ---- Seek counts ----

// Outcomes of seeks in SST files whose filters were asked, as
// plugin/filter_statistics.h defines them. Counting must not slow down reads:
// an iterator counts in plain numbers of its own, and hands them over now and
// then to the counts of its file, which other threads read and add to.

// Whether a seek has a bound in its direction.
enum class SeekKind : uint8_t { kClosed, kOpen };

enum class SeekEvent : uint8_t {
  kNegative,  // the filter knew that the range is empty
  kPassed,    // the search ended before the marker at which the file waited
  kReached,   // the search came to the marker; counted as a positive as well
  kTruePositive,
  kFalsePositive,
  kDeletionsSkipped,  // a stretch of deletions was skipped; not an outcome
};

inline constexpr size_t kSeekEvents = 6;

// One number for each kind of seek and each event.
template <typename Number>
struct SeekTable : std::array<Number, 2 * kSeekEvents> {
  SeekTable() { this->fill(0); }
  Number& operator()(SeekKind kind, SeekEvent event) {
    return (*this)[IndexOf(kind, event)];
  }
  Number operator()(SeekKind kind, SeekEvent event) const {
    return (*this)[IndexOf(kind, event)];
  }

 private:
  static constexpr size_t IndexOf(SeekKind kind, SeekEvent event) {
    return static_cast<size_t>(kind) * kSeekEvents + static_cast<size_t>(event);
  }
};

// One iterator's events, which it hands over long before they overflow.
using SeekTally = SeekTable<uint16_t>;

struct SeekCounts : SeekTable<uint64_t> {
  SeekCounts& operator+=(const SeekCounts& other) {
    for (size_t i = 0; i < size(); i++) (*this)[i] += other[i];
    return *this;
  }

  // All events of seeks of one kind.
  uint64_t All(SeekKind kind) const {
    return (*this)(kind, SeekEvent::kNegative) +
           (*this)(kind, SeekEvent::kPassed) +
           (*this)(kind, SeekEvent::kTruePositive) +
           (*this)(kind, SeekEvent::kFalsePositive);
  }

  bool IsZero() const { return *this == SeekCounts(); }
};

// Thread safe.
class SharedSeekCounts {
 public:
  // `events` is the sum of the tally. The loop ends when all events are found,
  // because most numbers are 0, often all but the first.
  void Add(const SeekTally& tally, uint32_t events) {
    for (size_t i = 0; events > 0; i++) {
      if (tally[i] == 0) continue;
      numbers_[i].FetchAddRelaxed(tally[i]);
      events -= tally[i];
    }
  }
  SeekCounts Load() const {
    SeekCounts counts;
    for (size_t i = 0; i < counts.size(); i++) {
      counts[i] = numbers_[i].LoadRelaxed();
    }
    return counts;
  }

 private:
  std::array<RelaxedAtomic<uint64_t>, 2 * kSeekEvents> numbers_;
};

// ---- Get tally ----

// The counts of a level: the answers of its filters to Get and MultiGet, and
// the reads of its files, by whether their blocks were in the cache.
//
// Counting must not slow down reads, so no two threads write to the same
// memory: for each level, each thread has a row of counters, and a reader of
// the sums adds up the rows of all threads (docs/internals/reads.md, "Counting
// what filters do").

// Reads of files by Get and MultiGet.
struct GetCounts {
  uint64_t unasked = 0;  // no filter answered
  uint64_t negatives = 0;
  uint64_t positives = 0;
  uint64_t true_positives = 0;  // the part of them that found something
  ReadCounts reads;             // by Gets and by iterators

  GetCounts& operator+=(const GetCounts& other) {
    unasked += other.unasked;
    negatives += other.negatives;
    positives += other.positives;
    true_positives += other.true_positives;
    reads += other.reads;
    return *this;
  }
  bool IsZero() const {
    return unasked + negatives + positives + true_positives + reads.all() == 0;
  }
};

// RocksDB's perf context of this thread and its perf level. The pointers spare
// each read calls into RocksDB.
class ThreadPerf {
 public:
  static PerfContext& Context() {
    if (context_ == nullptr) Find();
    return *context_;
  }
  // Returns true if the context counts. REQUIRES: Context() has been called
  static bool Counts() { return *level_ >= PerfLevel::kEnableCount; }

 private:
  static void Find();

  inline static thread_local PerfContext* context_ = nullptr;
  inline static thread_local const PerfLevel* level_ = nullptr;
};

// The answers that this thread has got from filters since this was made.
class FilterAnswers {
 public:
  uint64_t negatives() const {
    return counters_.bloom_sst_miss_count - negatives_before_;
  }
  uint64_t positives() const {
    return counters_.bloom_sst_hit_count - positives_before_;
  }
  // Blocks that this thread has read from files meanwhile. The block of a
  // filter counts, too: a cache that does not keep it hardly keeps data.
  uint64_t blocks() const {
    return counters_.block_read_count - blocks_before_;
  }
  // Counts an answer as RocksDB's filters do. Returns true if RocksDB counts by
  // levels, too, which is left to the caller.
  bool Add(bool may_match) {
    if (!ThreadPerf::Counts()) return false;
    (may_match ? counters_.bloom_sst_hit_count
               : counters_.bloom_sst_miss_count)++;
    return counters_.per_level_perf_context_enabled;
  }

 private:
  PerfContext& counters_ = ThreadPerf::Context();
  const uint64_t negatives_before_ = counters_.bloom_sst_miss_count;
  const uint64_t positives_before_ = counters_.bloom_sst_hit_count;
  const uint64_t blocks_before_ = counters_.block_read_count;
};

// The counts of a level. Thread safe.
class GetTally {
 public:
  GetTally() : rows_(&EndRow) {}
  GetTally(const GetTally&) = delete;
  GetTally& operator=(const GetTally&) = delete;

  GetCounts Load() const;

  // Counts the answer for a key, made when the filter was about to be asked.
  // `found` is whether the file has told something of the key.
  void Count(const FilterAnswers& answer, bool found) {
    Row& row = RowOfThread();
    Add((found ? kFound : 0) + (answer.negatives() > 0   ? kNegative
                                : answer.positives() > 0 ? kPositive
                                                         : kNoAnswer),
        1, &row);
    if (answer.blocks() > 0) CountGetsFromFile(answer, &row);
  }
  // Counts the answers for `keys` keys, or for all that have got one.
  void CountBatch(const FilterAnswers& answers, size_t keys, size_t found);
  void CountBatchOfFilter(const FilterAnswers& answers);
  // Counts keys that were found after CountBatchOfFilter.
  void CountFound(size_t found) { Add(kFoundLater, found, &RowOfThread()); }
  // Counts a file's read for a seek.
  void CountSeek(bool from_cache) {
    Add(from_cache ? kSeekFromCache : kSeekFromFile, 1, &RowOfThread());
  }

 private:
  // A row has a number for each answer, and again where something was found;
  // and then those of reads. The answers fill a cache line.
  static constexpr size_t kNoAnswer = 0;
  static constexpr size_t kNegative = 1;
  static constexpr size_t kPositive = 2;
  static constexpr size_t kFound = 4;
  // A batch whose positives are counted when the filter has answered.
  static constexpr size_t kFoundLater = kFound - 1;
  static constexpr size_t kSeekFromCache = 8;
  static constexpr size_t kSeekFromFile = 9;
  // Positive answers to Gets that led to reads from files, and those that led
  // to reads of which nothing is known.
  static constexpr size_t kGetFromFile = 10;
  static constexpr size_t kGetUnknown = 11;
  static constexpr size_t kNumbers = 12;

  using Sums = std::array<uint64_t, kNumbers>;
  struct alignas(64) Row {
    std::array<RelaxedAtomic<uint64_t>, kNumbers> numbers;
    GetTally* tally = nullptr;
  };

  Row& RowOfThread() {
    void* const row = rows_.Get();
    return row != nullptr ? *static_cast<Row*>(row) : MakeRow();
  }
  [[gnu::noinline]] Row& MakeRow();
  // Called by RocksDB when the thread of a row, or the tally, ends.
  static void EndRow(void* row);
  Sums SumRows() const;

  // Adds to a number that only this thread changes.
  static void Add(size_t number, uint64_t times, Row* row) {
    RelaxedAtomic<uint64_t>& sum = row->numbers[number];
    sum.StoreRelaxed(sum.LoadRelaxed() + times);
  }
  [[gnu::noinline]] static void CountGetsFromFile(const FilterAnswers& answers,
                                                  Row* row);

  Row ended_;  // the sums of threads that have ended
  std::atomic<uint64_t> threads_ended_{0};
  mutable ThreadLocalPtr rows_;
};

// ---- Level sums ----

// What happened with the filters of some files.
struct FileCounts {
  SeekCounts seeks;
  FilterLoads loads;

  FileCounts& operator+=(const FileCounts& other) {
    seeks += other.seeks;
    loads += other.loads;
    return *this;
  }
  bool IsZero() const { return seeks.IsZero() && loads.IsZero(); }
};

// The bases of designs: sample queries and the file's keys, the file's keys
// alone, or the policy's options.
inline constexpr const char* kDesignBases[] = {"samples", "keys", "prescribed"};

// An open file, at one moment.
struct FileState {
  std::string path;
  int level = -1;  // that the file was opened for; -1 if unknown
  FilterUse use = FilterUse::kNone;
  std::shared_ptr<const TableProperties> properties;
  FileCounts counts;
};

// A column family, at one moment.
struct FamilyState {
  struct Level {
    FileCounts closed_files;
    GetCounts gets;  // in open and closed files
  };
  std::vector<FileState> open_files;
  std::map<int, Level> levels;
  BuildCounts builds;
  RefreshCounts refreshes;
};

// Sums over the files of a level, or of several levels.
struct LevelSums {
  // These are of open files.
  uint64_t files = 0;
  uint64_t entries = 0;
  std::map<std::string, uint64_t> unused_files;  // by reason
  // These are of the open files whose filters are used.
  uint64_t used_files = 0;
  uint64_t keys = 0;
  uint64_t filter_bytes = 0;
  std::map<std::string, uint64_t> files_by_basis;
  uint64_t model_micros = 0;
  // Sum of each file's predicted false positive rate times its keys, and the
  // keys of the files that have a prediction.
  double predicted_positives = 0;
  double predicted_keys = 0;
  // These are of open and closed files.
  FileCounts counts;
  GetCounts gets;
  // Reads that filters have spared, each as the share of a request that reads
  // of its level are on average.
  double requests_saved = 0;

  void Add(const FileState& file);

  // 0 if there are no keys.
  double BitsPerKey() const {
    return keys == 0 ? 0
                     : 8 * static_cast<double>(filter_bytes) /
                           static_cast<double>(keys);
  }
  // The mean by keys; negative if unknown.
  double PredictedFpr() const {
    return predicted_keys == 0 ? -1 : predicted_positives / predicted_keys;
  }
};

// Returns the sums by level, which is -1 if unknown. Adds all files to
// `*total`.
std::map<int, LevelSums> SumByLevel(const FamilyState& family,
                                    LevelSums* total);

// One line for a log, without the name of the column family.
std::string ToLogLine(const std::map<int, LevelSums>& levels);

}  // namespace ROCKSDB_NAMESPACE::protean
