// SPDX-License-Identifier: Apache-2.0

//  The sample query queue (Proteus paper, section 6.1): a bounded queue of
//  recent queries that found nothing. Readers of a column family record every
//  Nth of these queries; a filter that designs itself takes a snapshot.
//
//  Recording must not slow down reads. As in Abseil's hashtablez sampler, a
//  thread counts down in its own memory, all other code is out of line, and a
//  sample that would have to wait for a lock is dropped and counted.

#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "filter_policy/kept_memory.h"
#include "filter_policy/query_demand.h"
#include "port/port.h"
#include "rocksdb/slice.h"
#include "util/atomic.h"
#include "util/random.h"

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

// The queries of a queue for which a file with keys from `smallest` to
// `largest` would be asked.
struct SamplesOfFile {
  std::vector<SampleQuery> queries;
  size_t per_query = 1;  // of those in the queue for which each query stands
  size_t outside = 0;    // queries in the queue that lie beyond the keys

  // The number of queries in the queue, roughly.
  size_t InQueue() const { return per_query * queries.size() + outside; }
};

// True if the query finds nothing in a file because it lies beyond all keys.
inline bool LiesBeyond(const SampleQuery& query, const Slice& smallest,
                       const Slice& largest) {
  return IsInverted(smallest, query.hi, query.hi_inclusive) ||
         Slice(query.lo).compare(largest) > 0;
}

// Thread safe.
class QueryQueue {
 public:
  static constexpr size_t kDefaultCapacity = 20000;
  static constexpr uint32_t kDefaultSampleEvery = 100;
  // Longer keys are not recorded: the queue must stay small.
  static constexpr size_t kMaxRecordedKey = 4096;
  // Maximum bytes of bounds per query, on average over a full queue. A queue of
  // longer queries holds fewer of them.
  static constexpr size_t kMaxBytesPerQuery = 256;

  // Holds the `capacity` latest queries, or at least one. Tick asks for every
  // `sample_every`-th query. 0 means 1.
  explicit QueryQueue(size_t capacity = kDefaultCapacity,
                      uint32_t sample_every = kDefaultSampleEvery);

  QueryQueue(const QueryQueue&) = delete;
  QueryQueue& operator=(const QueryQueue&) = delete;

  // Called by readers for each query that may find nothing. Returns true for
  // every `sample_every`-th call of a thread; the reader then records the
  // query. Threads start in between, so that those with few queries count too.
  bool Tick() {
    uint64_t& slot = countdowns_[slot_];
    // One comparison for two cases: the difference is large if the count has
    // run out, and if the slot belongs to another queue.
    if (--slot - owner_ < unsampled()) return false;
    return TickSlowly(&slot);
  }

  // Adds a query from the read path. Never waits: the query is dropped if
  // another thread is using the queue, if a key is longer than kMaxRecordedKey,
  // or if the range is inverted.
  void Record(const Slice& lo, const Slice& hi, bool hi_inclusive);

  // Adds a query, dropping the oldest ones if the queue is full.
  void Add(SampleQuery query);

  // All queries, oldest first.
  std::vector<SampleQuery> Snapshot() const;
  // About `most` of the queries that do not lie beyond these keys, within a
  // factor of two: evenly spread, or all if there are fewer.
  SamplesOfFile SnapshotFor(const Slice& smallest, const Slice& largest,
                            size_t most) const;
  // A hash of all queries, whatever their order.
  uint64_t Fingerprint() const;

  // Queries held, queries ever added by Add or Record, and queries that Record
  // dropped.
  size_t size() const { return size_.LoadRelaxed(); }
  uint64_t recorded() const { return recorded_.LoadRelaxed(); }
  uint64_t dropped() const { return dropped_.LoadRelaxed(); }

  // Queries that Record has added: sampled from reads since created(). Add has
  // added the other ones, which were restored or seeded.
  uint64_t sampled() const { return recorded() - added_.LoadRelaxed(); }
  std::chrono::steady_clock::time_point created() const { return created_; }
  // DemandCounts::QueriesPerKey for the queries that this queue has been told
  // of, each of which stands for those that were not sampled.
  double QueriesPerKey(uint64_t keys);

  size_t capacity() const { return capacity_.LoadRelaxed(); }
  uint32_t sample_every() const {
    return static_cast<uint32_t>(unsampled() + 1);
  }
  // If the queue holds more queries, the oldest ones go when the next one
  // comes.
  void SetLimits(size_t capacity, uint32_t sample_every);

  // Counts the queue's memory in a cap (kept_memory.h), or in none if that is
  // nullptr. From now on, the queue holds no more than it has room for there.
  void CountIn(const std::shared_ptr<Cache>& cap);

 private:
  // Number of queues that, made one after another, do not share a slot.
  static constexpr size_t kSlots = 64;

  [[gnu::noinline]] bool TickSlowly(uint64_t* slot);
  uint64_t unsampled() const { return unsampled_.LoadRelaxed(); }
  static size_t BytesOf(const SampleQuery& query) {
    return query.lo.size() + query.hi.size();
  }
  // These functions require mutex_.
  SampleQuery PopOldest();
  // Makes room for a query of `bytes` bytes. Returns a dropped query, if any,
  // whose memory may be used.
  SampleQuery MakeRoom(size_t bytes);
  // Returns false if there is no memory for the query. `wait` is as in
  // KeptMemory.
  bool Push(SampleQuery query, bool wait);
  // Sets counted_, for `bytes` bytes. Returns false if there is no room.
  bool Count(size_t bytes, bool wait);

  // In each slot, the upper half is the number of the queue that counts there,
  // which is never reused, and the lower half is the number of unsampled calls
  // before the next sampled one.
  inline static thread_local uint64_t countdowns_[kSlots] = {};

  RelaxedAtomic<size_t> capacity_;
  RelaxedAtomic<uint64_t> unsampled_;  // calls between two samples
  const uint64_t owner_;
  const size_t slot_;
  const std::chrono::steady_clock::time_point created_ =
      std::chrono::steady_clock::now();

  // On a cache line apart from the members above, which every Tick reads.
  alignas(CACHE_LINE_SIZE) mutable std::mutex mutex_;
  std::deque<SampleQuery> queries_;  // oldest first
  size_t bytes_ = 0;                 // of all bounds in queries_
  size_t memory_bytes_ = 0;          // that queries_ take
  size_t counted_ = 0;               // at least memory_bytes_
  uint64_t hashes_ = 0;              // the sum of those of all queries_
  DemandCounts demand_;
  RelaxedAtomic<uint32_t> starts_;
  RelaxedAtomic<size_t> size_;
  RelaxedAtomic<uint64_t> recorded_;
  RelaxedAtomic<uint64_t> added_;  // the part of recorded_ that Add has added
  RelaxedAtomic<uint64_t> dropped_;
  std::unique_ptr<KeptMemory> memory_;  // nullptr if it counts nowhere
};

// ---- Empty queries ----

// Queries that match no key of an SST file, to measure its filter with: sampled
// or generated ones. Both are found in one pass over the file's keys in
// ascending order. A key may be passed several times.

// Picks the queries that match no key from given ones.
class EmptySamples {
 public:
  // `queries` are in ascending order of their lower bounds.
  explicit EmptySamples(std::vector<const SampleQuery*> queries)
      : queries_(std::move(queries)) {}

  void Pass(const Slice& key) {
    // The first key at or above the lower bound of a query decides whether the
    // query is empty.
    for (; next_ < queries_.size() && key.compare(queries_[next_]->lo) >= 0;
         next_++) {
      const SampleQuery& query = *queries_[next_];
      if (IsInverted(key, query.hi, query.hi_inclusive)) {
        empty_.push_back(&query);
      }
    }
  }

  // Returns the empty queries. Called after the last key.
  std::vector<const SampleQuery*> Finish() {
    empty_.insert(empty_.end(),
                  queries_.begin() + static_cast<ptrdiff_t>(next_),
                  queries_.end());
    next_ = queries_.size();
    return std::move(empty_);
  }

 private:
  const std::vector<const SampleQuery*> queries_;
  size_t next_ = 0;  // the first undecided query
  std::vector<const SampleQuery*> empty_;
};

// Generates points and short ranges between adjacent keys, evenly spread over a
// file of `num_keys` keys. The same keys always give the same queries.
class GapQueries {
 public:
  static constexpr uint64_t kMaxQueries = 1000;

  explicit GapQueries(uint64_t num_keys)
      : every_(num_keys / kMaxQueries + 1), random_(301) {}

  void Pass(const Slice& key);

  // Returns the queries. Called after the last key.
  std::vector<SampleQuery> Finish() { return std::move(queries_); }

 private:
  void AddBetween(const Slice& low, const Slice& high);

  const uint64_t every_;
  uint64_t passed_ = 0;
  Random64 random_;
  std::string last_;
  std::vector<SampleQuery> queries_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
