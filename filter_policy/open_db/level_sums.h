// SPDX-License-Identifier: Apache-2.0

//  Counts of filters that are built, loaded and asked, and the sums over the
//  open files of a column family, by level. The statistics
//  (plugin/filter_statistics.h) and the line in the DB's log both show these
//  sums.

#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "filter_policy/open_db/get_tally.h"
#include "filter_policy/open_db/refresh_memory.h"
#include "rocksdb/rocksdb_namespace.h"
#include "rocksdb/table_properties.h"

namespace ROCKSDB_NAMESPACE::protean {

// ---- Build counts ----

// Filters that were built for new files, and the time that it took once their
// keys were known.

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

// ---- Filter loads ----

// Filter blocks that were read for a file: whole filters, or parts of
// partitioned ones. A block that is in memory already, in the block cache or
// elsewhere, is not counted again: where counts keep rising, filters do not
// stay in memory.

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
    blocks_.fetch_add(1, std::memory_order_relaxed);
    bytes_.fetch_add(bytes, std::memory_order_relaxed);
  }
  void AddFailed() { failed_.fetch_add(1, std::memory_order_relaxed); }
  FilterLoads Load() const {
    return {blocks_.load(std::memory_order_relaxed),
            bytes_.load(std::memory_order_relaxed),
            failed_.load(std::memory_order_relaxed)};
  }

 private:
  std::atomic<uint64_t> blocks_{0};
  std::atomic<uint64_t> bytes_{0};
  std::atomic<uint64_t> failed_{0};
};

// ---- Filter use ----

// Whether seeks ask the filter of a file.

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
inline constexpr size_t kFilterUses = 7;

// The name of a reason, such as "no_filter"; "used" for kUsed.
inline const char* ToString(FilterUse use) {
  constexpr const char* kNames[kFilterUses] = {
      "used",           "no_filter",
      "rocksdb_filter", "other_comparator",
      "no_whole_keys",  "unfilterable_keys",
      "damaged"};
  return kNames[static_cast<size_t>(use)];
}

// ---- Seek counts ----

// Outcomes of seeks in SST files whose filters were asked.
// plugin/filter_statistics.h defines the outcomes.
//
// Counting must not slow down reads. An iterator counts in plain numbers of
// its own, and hands them over now and then to the counts of its file, which
// other threads read and add to.

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

// One number for each kind of seek and each event.
template <typename Number>
class SeekTable {
 public:
  static constexpr size_t kEvents = 6;
  static constexpr size_t kSize = 2 * kEvents;

  Number& operator()(SeekKind kind, SeekEvent event) {
    return numbers_[Index(kind, event)];
  }
  const Number& operator()(SeekKind kind, SeekEvent event) const {
    return numbers_[Index(kind, event)];
  }
  // Access by position; all tables have the same order.
  Number& operator[](size_t i) { return numbers_[i]; }
  const Number& operator[](size_t i) const { return numbers_[i]; }

 private:
  static constexpr size_t Index(SeekKind kind, SeekEvent event) {
    return static_cast<size_t>(kind) * kEvents + static_cast<size_t>(event);
  }

  std::array<Number, kSize> numbers_{};
};

// One iterator's events, which it hands over long before they overflow.
using SeekTally = SeekTable<uint16_t>;

class SeekCounts : public SeekTable<uint64_t> {
 public:
  SeekCounts& operator+=(const SeekCounts& other) {
    for (size_t i = 0; i < kSize; i++) (*this)[i] += other[i];
    return *this;
  }

  // All events of seeks of one kind.
  uint64_t All(SeekKind kind) const {
    return (*this)(kind, SeekEvent::kNegative) +
           (*this)(kind, SeekEvent::kPassed) +
           (*this)(kind, SeekEvent::kTruePositive) +
           (*this)(kind, SeekEvent::kFalsePositive);
  }

  bool IsZero() const {
    for (size_t i = 0; i < kSize; i++) {
      if ((*this)[i] != 0) return false;
    }
    return true;
  }
};

// Thread safe.
class SharedSeekCounts {
 public:
  // `events` is the sum of the tally. The loop ends when all events are found,
  // because most numbers are 0, often all but the first.
  void Add(const SeekTally& tally, uint32_t events) {
    for (size_t i = 0; events > 0; i++) {
      if (tally[i] == 0) continue;
      numbers_[i].fetch_add(tally[i], std::memory_order_relaxed);
      events -= tally[i];
    }
  }
  SeekCounts Load() const {
    SeekCounts counts;
    for (size_t i = 0; i < SeekCounts::kSize; i++) {
      counts[i] = numbers_[i].load(std::memory_order_relaxed);
    }
    return counts;
  }

 private:
  SeekTable<std::atomic<uint64_t>> numbers_;
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

// What the design of a filter rests on.
enum class DesignBasis : uint8_t {
  kSamples,     // sample queries and the file's keys
  kKeys,        // the file's keys alone
  kPrescribed,  // the policy's options; no model was asked
};
inline constexpr size_t kDesignBases = 3;

// The name of a basis for people and programs: "samples", "keys" or
// "prescribed".
inline const char* ToString(DesignBasis basis) {
  constexpr const char* kNames[kDesignBases] = {"samples", "keys",
                                                "prescribed"};
  return kNames[static_cast<size_t>(basis)];
}

// The basis of a filter of Protean with these properties.
DesignBasis BasisOf(const UserCollectedProperties& properties);

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
  std::vector<FileState> open_files;
  // Counts of files that have been closed since, by level.
  std::map<int, FileCounts> closed_files;
  // Counts of all files, open or closed, by level.
  std::map<int, GetCounts> gets;
  // Filters that have been built since the DB was opened, and refreshes.
  BuildCounts builds;
  RefreshCounts refreshes;
};

// Sums over the files of a level, or of several levels.
struct LevelSums {
  // These are of open files.
  uint64_t files = 0;
  uint64_t entries = 0;
  std::array<uint64_t, kFilterUses> files_by_use{};
  // These are of the open files whose filters are used.
  uint64_t keys = 0;
  uint64_t filter_bytes = 0;
  std::array<uint64_t, kDesignBases> files_by_basis{};
  uint64_t model_micros = 0;
  // Sum of each file's predicted false positive rate times its keys, and the
  // keys of the files that have a prediction.
  double predicted_positives = 0;
  double predicted_keys = 0;
  // Counts of open files and of files that have been closed.
  FileCounts counts;
  GetCounts gets;

  void Add(const FileState& file);

  uint64_t used() const {
    return files_by_use[static_cast<size_t>(FilterUse::kUsed)];
  }
  // 0 if there are no keys.
  double BitsPerKey() const;
  // Mean of the predicted rates, weighted by keys. Negative without any
  // prediction.
  double PredictedFpr() const;
};

// Returns the sums by level, which is -1 if unknown. Adds all files to
// `*total`.
std::map<int, LevelSums> SumByLevel(const FamilyState& family,
                                    LevelSums* total);

// One line for a log, without the name of the column family.
std::string ToLogLine(const std::map<int, LevelSums>& levels);

}  // namespace ROCKSDB_NAMESPACE::protean
