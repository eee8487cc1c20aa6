// SPDX-License-Identifier: Apache-2.0

//  What the filters of a level answered to Get and MultiGet, and where reads
//  of its files found their blocks.
//
//  Counting must not slow down reads, so no two threads write to the same
//  memory: for each level, each thread has a row of counters, to which
//  RocksDB's ThreadLocalPtr leads it, and a reader of the sums adds up the rows
//  of all threads. Where RocksDB's table asks the filter, it does not pass the
//  answer on, but counts it in the thread's perf context; the table's reader,
//  which knows the level and what was found, looks there. Where the reader
//  asks, it counts there itself. RocksDB's default perf level, kEnableCount,
//  suffices; below that, Gets have no answer.

#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "filter_policy/false_positive_price.h"
#include "rocksdb/perf_context.h"
#include "rocksdb/perf_level.h"
#include "rocksdb/rocksdb_namespace.h"
#include "util/thread_local.h"

namespace ROCKSDB_NAMESPACE::protean {

// Reads of files by Get and MultiGet.
struct GetCounts {
  uint64_t unasked = 0;  // no filter answered
  uint64_t negatives = 0;
  uint64_t positives = 0;
  uint64_t true_positives = 0;  // the part of them that found something

  GetCounts& operator+=(const GetCounts& other);
  bool IsZero() const {
    return unasked == 0 && negatives == 0 && positives == 0 &&
           true_positives == 0;
  }
};

// RocksDB's perf context of this thread and its perf level, which stay at one
// address as long as the thread lives: the pointers spare each read calls into
// RocksDB.
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
  // Reads by Gets and by iterators.
  ReadCounts LoadReads() const;

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
    std::array<std::atomic<uint64_t>, kNumbers> numbers{};
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
    std::atomic<uint64_t>& sum = row->numbers[number];
    sum.store(sum.load(std::memory_order_relaxed) + times,
              std::memory_order_relaxed);
  }
  [[gnu::noinline]] static void CountGetsFromFile(const FilterAnswers& answers,
                                                  Row* row);

  Row ended_;  // the sums of threads that have ended
  std::atomic<uint64_t> threads_ended_{0};
  mutable ThreadLocalPtr rows_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
