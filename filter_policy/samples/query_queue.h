//  The sample query queue (Proteus paper, section 6.1): a bounded, first in
//  first out queue of recent queries that found nothing. Readers of a column
//  family fill it, every Nth time; a filter that designs itself takes a
//  snapshot when it is built.
//
//  Filling it must not be felt on the read path. As in Abseil's hashtablez
//  sampler, a thread counts down in memory of its own, all else is out of line,
//  and a sample that would have to wait is dropped and counted.

#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "port/port.h"
#include "rocksdb/slice.h"

namespace ROCKSDB_NAMESPACE::protean {

// A query for the keys in [lo, hi], or in [lo, hi) unless `hi_inclusive`. A
// point query if lo == hi.
struct SampleQuery {
  std::string lo;
  std::string hi;
  bool hi_inclusive = true;

  bool operator==(const SampleQuery& other) const {
    return lo == other.lo && hi == other.hi &&
           hi_inclusive == other.hi_inclusive;
  }
};

// True if no key can lie in the range, whatever the keys.
inline bool IsInverted(const Slice& lo, const Slice& hi, bool hi_inclusive) {
  const int order = lo.compare(hi);
  return order > 0 || (order == 0 && !hi_inclusive);
}

// Thread safe.
class QueryQueue {
 public:
  static constexpr size_t kDefaultCapacity = 20000;
  static constexpr uint32_t kDefaultSampleEvery = 100;
  // Longer keys are not recorded: the queue must stay small.
  static constexpr size_t kMaxRecordedKey = 4096;
  // So many bytes of bounds a query, on average, are kept if the queue is full.
  // Of longer queries there are fewer.
  static constexpr size_t kMostBytesPerQuery = 256;

  // Holds the `capacity` latest queries, or as many of them as have capacity *
  // kMostBytesPerQuery bytes, and at least one. Tick asks for every
  // `sample_every`-th query. A 0 is taken for 1.
  explicit QueryQueue(size_t capacity = kDefaultCapacity,
                      uint32_t sample_every = kDefaultSampleEvery);

  QueryQueue(const QueryQueue&) = delete;
  QueryQueue& operator=(const QueryQueue&) = delete;

  // Readers call it for each query that found nothing, or that may turn out to
  // have been in vain, and record the query, then or later, if it returns true,
  // which it does for every `sample_every`-th call of a thread. The first
  // thread starts with a full count, others in between, so that threads that
  // make a few queries each are sampled too.
  bool Tick() {
    uint64_t& slot = countdowns_[slot_];
    // One comparison: the difference is large if the count has run out, and
    // also if the slot is another queue's.
    if (--slot - owner_ < unsampled_) return false;
    return TickSlowly(&slot);
  }

  // Adds a query from the read path. Never waits: it is dropped while another
  // thread uses the queue, and if a key is longer than kMaxRecordedKey. A range
  // that cannot hold a key is no query, and is dropped too.
  void Record(const Slice& lo, const Slice& hi, bool hi_inclusive);

  // Adds a query, dropping the oldest ones if the queue is full.
  void Add(SampleQuery query);

  // All queries, oldest first.
  std::vector<SampleQuery> Snapshot() const;

  // Queries held, those ever added by Add or Record, and those that Record
  // dropped. Exact while nobody adds any.
  size_t size() const { return size_.load(std::memory_order_relaxed); }
  uint64_t recorded() const {
    return recorded_.load(std::memory_order_relaxed);
  }
  uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

  // Those that Record has added: sampled from queries since created(). The
  // others have been restored or seeded.
  uint64_t sampled() const {
    return recorded() - added_.load(std::memory_order_relaxed);
  }
  std::chrono::steady_clock::time_point created() const { return created_; }

  size_t capacity() const { return capacity_; }
  uint32_t sample_every() const { return sample_every_; }

 private:
  // So many queues that are made one after another do not share a slot.
  static constexpr size_t kSlots = 64;

  [[gnu::noinline]] bool TickSlowly(uint64_t* slot);
  static size_t BytesOf(const SampleQuery& query) {
    return query.lo.size() + query.hi.size();
  }
  // Makes room for a query of that many bytes. Returns an object for it, in
  // whose strings may be memory of a query that was dropped. Requires mutex_.
  SampleQuery MakeRoom(size_t bytes);
  // Requires mutex_.
  void Push(SampleQuery query);

  // For each slot, the number of the queue that counts there in the upper half,
  // and in the lower one the calls that will not be sampled before one is.
  // Numbers are never used twice, so a queue cannot be taken for one that has
  // been at the same address.
  inline static thread_local uint64_t countdowns_[kSlots] = {};

  const size_t capacity_;
  const uint32_t sample_every_;
  const uint64_t unsampled_ = sample_every_ - 1;  // between two samples
  const uint64_t owner_;
  const size_t slot_;
  const std::chrono::steady_clock::time_point created_ =
      std::chrono::steady_clock::now();

  // Apart from the above, which every Tick reads.
  alignas(CACHE_LINE_SIZE) mutable std::mutex mutex_;
  std::deque<SampleQuery> queries_;  // oldest first
  size_t bytes_ = 0;                 // of all of them
  std::atomic<uint32_t> starts_{0};
  std::atomic<size_t> size_{0};
  std::atomic<uint64_t> recorded_{0};
  std::atomic<uint64_t> added_{0};  // of these, by Add
  std::atomic<uint64_t> dropped_{0};
};

}  // namespace ROCKSDB_NAMESPACE::protean
