// SPDX-License-Identifier: Apache-2.0

//  Outcomes of seeks in SST files whose filters were asked.
//  plugin/filter_statistics.h defines the outcomes.
//
//  Counting must not slow down reads. An iterator counts in plain numbers of
//  its own, and hands them over now and then to the counts of its file, which
//  other threads read and add to.

#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "rocksdb/rocksdb_namespace.h"

namespace ROCKSDB_NAMESPACE::protean {

// Whether a seek has a bound in its direction.
enum class SeekKind : uint8_t { kClosed, kOpen };

enum class SeekEvent : uint8_t {
  kNegative,  // the filter knew that the range is empty
  kPassed,    // the search ended before the marker at which the file waited
  kReached,   // the search came to the marker; counted as a positive as well
  kTruePositive,
  kFalsePositive,
};

// One number for each kind of seek and each event.
template <typename Number>
class SeekTable {
 public:
  static constexpr size_t kEvents = 5;
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

}  // namespace ROCKSDB_NAMESPACE::protean
