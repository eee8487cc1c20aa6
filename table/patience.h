//  Whether it pays to wait at markers (protean_table_iterator.h) in open seeks,
//  which ask the filter for nothing else. A marker spares a read if the search
//  ends before it, and costs a little if the search comes by, as it always does
//  where there is a single sorted run; so does a filter that is asked and knows
//  nothing. Whoever has come to find that stops waiting for a while, then tries
//  again.

#pragma once

#include <atomic>
#include <cstdint>

#include "rocksdb/rocksdb_namespace.h"

namespace ROCKSDB_NAMESPACE::protean {

// That of one iterator. It starts with what earlier iterators over the files of
// a level have come to, and leaves it to later ones.
class Patience {
 public:
  // What iterators share. May lose updates, which costs little.
  using Shared = std::atomic<uint64_t>;

  explicit Patience(Shared* shared)
      : shared_(shared), state_(shared->load(std::memory_order_relaxed)) {
    before_ = state_;
  }
  ~Patience() {
    if (state_ != before_) shared_->store(state_, std::memory_order_relaxed);
  }
  Patience(const Patience&) = delete;
  Patience& operator=(const Patience&) = delete;

  // Called for each seek that could wait.
  bool MayWait() {
    if (state_ < kPauseUnit) return true;
    state_ -= kPauseUnit;
    return false;
  }
  // The search has come to the marker, or there was nothing to wait for.
  void Reached() {
    if (++state_ >= kMostReached) {
      state_ = kPause * kPauseUnit + kMostReached - kTries;
    }
  }
  // The search has ended before the marker: a read was spared.
  void Passed() { state_ = 0; }

 private:
  // Searches in a row that come to their markers before there is a pause, those
  // that follow without waiting, and those that try again after it.
  static constexpr uint64_t kMostReached = 32;
  static constexpr uint64_t kPause = 1000;
  static constexpr uint64_t kTries = 4;

  // The rest of the pause in the upper half, the markers reached in a row in
  // the lower one.
  static constexpr uint64_t kPauseUnit = uint64_t{1} << 32;

  Shared* const shared_;
  uint64_t state_;
  uint64_t before_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
