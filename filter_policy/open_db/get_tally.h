// SPDX-License-Identifier: Apache-2.0

//  What the filters of a level answered to Get and MultiGet.
//
//  Counting must not slow down reads, so no two threads write to the same
//  memory: each thread has a row of counters for each level, and a reader of
//  the sums adds up the rows of all threads. The filter notes its answer in the
//  thread's memory, because RocksDB's table, which asks it, does not pass the
//  answer on; the table's reader, which knows the level and what was found,
//  counts it.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "rocksdb/rocksdb_namespace.h"

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

// The counts of a level. Thread safe.
class GetTally {
 public:
  GetTally();
  ~GetTally();
  GetTally(const GetTally&) = delete;
  GetTally& operator=(const GetTally&) = delete;

  GetCounts Load() const;
  // Identifies the level to ThreadGets.
  size_t first_counter() const { return first_counter_; }

 private:
  const size_t first_counter_;
  // What was counted there for an earlier level.
  const GetCounts before_;
};

// The answers that this thread gets.
class ThreadGets {
 public:
  // Called before a table is asked for a key, or for several keys.
  static void Begin() { here_.answer = kNoAnswer; }
  static void BeginBatch() { here_.negatives = here_.positives = 0; }

  // Called by filters.
  static void Note(bool may_match) {
    here_.answer = may_match ? kPositive : kNegative;
  }
  static void NoteBatch(const bool* may_match, size_t keys) {
    size_t positives = 0;
    for (size_t i = 0; i < keys; i++) positives += may_match[i] ? 1 : 0;
    here_.positives += positives;
    here_.negatives += keys - positives;
  }

  // Counts the answer since Begin; `found` is whether the file has told
  // something of the key.
  static void Count(size_t first_counter, bool found) {
    const size_t counter = first_counter + (found ? kFound : 0) + here_.answer;
    if (counter >= here_.size) return CountSlowly(counter, 1);
    std::atomic<uint64_t>& number = here_.counters[counter];
    number.store(number.load(std::memory_order_relaxed) + 1,
                 std::memory_order_relaxed);
  }
  // Counts the answers since BeginBatch to `keys` keys, or to all that have
  // got one.
  static void CountBatch(size_t first_counter, size_t keys, size_t found);
  static void CountBatchOfFilter(size_t first_counter);
  // Counts keys that were found after CountBatchOfFilter.
  static void CountFound(size_t first_counter, size_t found);

 private:
  friend class GetTally;
  friend class ThreadRows;

  // A row of counters: one for each answer, and again where something was
  // found. Rows fill a cache line.
  static constexpr size_t kNoAnswer = 0;
  static constexpr size_t kNegative = 1;
  static constexpr size_t kPositive = 2;
  static constexpr size_t kFound = 4;
  // A batch whose positives are counted when the filter has answered.
  static constexpr size_t kFoundLater = kFound - 1;
  static constexpr size_t kRow = 8;

  struct Here {
    size_t answer;
    // The counters of this thread, which only this thread changes.
    size_t size;
    std::atomic<uint64_t>* counters;
    // The answers to the keys of a batch.
    size_t negatives;
    size_t positives;
  };

  // Counts where the thread has no counter yet.
  [[gnu::noinline]] static void CountSlowly(size_t counter, uint64_t times);
  static void Add(size_t counter, uint64_t times);

  inline static thread_local Here here_ = {};
};

}  // namespace ROCKSDB_NAMESPACE::protean
