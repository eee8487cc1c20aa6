// SPDX-License-Identifier: Apache-2.0

//  Whether waiting at markers (table/protean_table_iterator.h) pays in open
//  seeks, which ask the filter for nothing else (docs/internals/reads.md, "When
//  waiting pays").

#pragma once

#include <algorithm>
#include <cstdint>

#include "rocksdb/rocksdb_namespace.h"
#include "util/atomic.h"

namespace ROCKSDB_NAMESPACE::protean {

// One iterator's backoff state; loaded from and stored to the level's, so that
// each iterator starts with what earlier iterators have learned.
class SeekBackoff {
  struct State {
    uint32_t pause = 0;  // seeks until the next one that waits
    uint16_t debt = 0;   // cost of waits so far, less the reads they spared
    uint16_t cheap = 0;  // whether reads were cheap at the latest update
    bool operator==(const State& other) const {
      return pause == other.pause && debt == other.debt && cheap == other.cheap;
    }
  };

 public:
  // The state that iterators share. Concurrent iterators may overwrite each
  // other's updates, which costs little.
  using Shared = RelaxedAtomic<State>;
  // Consecutive reads from the cache, of any file of a level: on level 0, each
  // of many files is read rarely.
  using CachedReads = RelaxedAtomic<uint32_t>;

  SeekBackoff(Shared* shared, CachedReads* cached)
      : shared_(shared),
        cached_(cached),
        state_(shared->LoadRelaxed()),
        loaded_(state_) {}
  ~SeekBackoff() {
    if (!(state_ == loaded_)) shared_->StoreRelaxed(state_);
  }
  SeekBackoff(const SeekBackoff&) = delete;
  SeekBackoff& operator=(const SeekBackoff&) = delete;

  // Called once for each seek that could wait.
  bool ShouldWait() {
    UpdateReadCost();
    if (state_.pause == 0) return true;
    state_.pause--;
    return false;
  }
  // The search has come to the marker, or the filter gave no key to wait at.
  void OnReached() {
    UpdateReadCost();
    state_.debt += state_.cheap ? kCachedWaitCost : 1;
    if (state_.debt >= kMaxDebt) {
      state_.pause = kPause;
      state_.debt = kMaxDebt - kRetryDebt;
    }
  }
  // The search has ended before the marker: a read was spared.
  void OnPassed() { state_.debt -= std::min(state_.debt, kReadWorth); }

  // The file has been read for a seek.
  void OnRead(bool from_cache) {
    const uint32_t before = cached_->LoadRelaxed();
    const uint32_t now = from_cache ? std::min(before + 1, kMaxCachedReads) : 0;
    if (now != before) cached_->StoreRelaxed(now);
  }
  // Returns true if the last kMaxCachedReads reads of the level's files were
  // all served by the block cache.
  bool ReadsAreCheap() const {
    return cached_->LoadRelaxed() == kMaxCachedReads;
  }

 private:
  // Starts over when blocks come from the disk again: what was learned with
  // cached blocks says nothing about reads from a disk.
  void UpdateReadCost() {
    const bool cheap = ReadsAreCheap();
    if (state_.cheap && !cheap) state_ = State();
    state_.cheap = cheap;
  }

  // A read from a disk is worth the time of 64 waits, a read from the cache
  // that of 8. A pause follows 256 useless waits, or 32 with cheap reads; the
  // next pause follows 32 more, or 4.
  static constexpr uint16_t kReadWorth = 64;
  static constexpr uint16_t kCachedWaitCost = 8;
  static constexpr uint16_t kMaxDebt = 256;
  static constexpr uint16_t kRetryDebt = 32;
  static constexpr uint32_t kPause = 1000;
  static constexpr uint32_t kMaxCachedReads = 64;

  Shared* const shared_;
  CachedReads* const cached_;
  State state_;
  const State loaded_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
