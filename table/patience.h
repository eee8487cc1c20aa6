//  Whether it pays to wait at markers (protean_table_iterator.h) in open seeks,
//  which ask the filter for nothing else. A marker spares a read if the search
//  ends before it, and costs a little if the search comes by, as it always does
//  where there is a single sorted run; so does a filter that is asked and knows
//  nothing. Whoever has come to find that stops waiting for a while, then tries
//  again. And where a filter takes as long to ask as a block that is in the
//  cache takes to read, it pays only if blocks are not in the cache.

#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>

#include "rocksdb/rocksdb_namespace.h"

namespace ROCKSDB_NAMESPACE::protean {

// That of one iterator. It starts with what earlier iterators over the files of
// a level have come to, and leaves it to later ones.
class Patience {
 public:
  // What iterators share. May lose updates, which costs little.
  using Shared = std::atomic<uint64_t>;
  // Reads from the cache in a row, of any file of a level. All iterators over
  // them learn of a read at once: on level 0, each of many files is read
  // rarely.
  using CachedReads = std::atomic<uint32_t>;

  Patience(Shared* shared, CachedReads* cached)
      : shared_(shared),
        cached_(cached),
        state_(Unpack(shared->load(std::memory_order_relaxed))),
        before_(state_) {}
  ~Patience() {
    if (!(state_ == before_)) {
      shared_->store(Pack(state_), std::memory_order_relaxed);
    }
  }
  Patience(const Patience&) = delete;
  Patience& operator=(const Patience&) = delete;

  // Called for each seek that could wait.
  bool MayWait() {
    WeighReads();
    if (state_.pause == 0) return true;
    state_.pause--;
    return false;
  }
  // The search has come to the marker, or there was nothing to wait for.
  void Reached() {
    WeighReads();
    state_.doubt += state_.cheap ? kTimeOfCheapWait : 1;
    if (state_.doubt >= kMostDoubt) {
      state_.pause = kPause;
      state_.doubt = kMostDoubt - kTries;
    }
  }
  // The search has ended before the marker: a read was spared.
  void Passed() { state_.doubt -= std::min(state_.doubt, kWorth); }

  // The file has been read for a seek.
  void Read(bool from_cache) {
    const uint32_t before = cached_->load(std::memory_order_relaxed);
    const uint32_t now = from_cache ? std::min(before + 1, kMostCached) : 0;
    if (now != before) cached_->store(now, std::memory_order_relaxed);
  }
  // Whether the files of the level have been read from the cache for long.
  bool ReadsAreCheap() const {
    return cached_->load(std::memory_order_relaxed) == kMostCached;
  }

 private:
  struct State {
    uint32_t pause = 0;  // seeks until the next one that waits
    uint16_t doubt = 0;  // the time of waits, less what they were worth
    uint16_t cheap = 0;  // whether reads were, then
    bool operator==(const State& other) const {
      return pause == other.pause && doubt == other.doubt &&
             cheap == other.cheap;
    }
  };
  static_assert(sizeof(State) == sizeof(uint64_t));

  // What has been found out in the cache does not count on the disk.
  void WeighReads() {
    const bool cheap = ReadsAreCheap();
    if (state_.cheap && !cheap) state_ = State();
    state_.cheap = cheap;
  }

  static State Unpack(uint64_t word) {
    State state;
    memcpy(static_cast<void*>(&state), &word, sizeof(state));
    return state;
  }
  static uint64_t Pack(const State& state) {
    uint64_t word;
    memcpy(&word, &state, sizeof(word));
    return word;
  }

  // A read from a disk is worth the time of 64 waits, one from the cache is
  // worth that of 8. A pause follows 256 or 32 waits that were of no use; after
  // it, 32 or 4 more.
  static constexpr uint16_t kWorth = 64;
  static constexpr uint16_t kTimeOfCheapWait = 8;
  static constexpr uint16_t kMostDoubt = 256;
  static constexpr uint16_t kTries = 32;
  static constexpr uint32_t kPause = 1000;
  static constexpr uint32_t kMostCached = 64;

  Shared* const shared_;
  CachedReads* const cached_;
  State state_;
  State before_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
