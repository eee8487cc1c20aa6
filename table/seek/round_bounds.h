// SPDX-License-Identifier: Apache-2.0

//  The thread's bounds (thread_bounds.h) in one round of a search. All seeks of
//  a round are under the same bounds, or under none.

#pragma once

#include <cstdint>
#include <memory>

#include "table/seek/thread_bounds.h"

namespace ROCKSDB_NAMESPACE::protean {

class RoundBounds {
 public:
  // A file is about to be sought; the first one of the round notes the bounds
  // of the thread.
  void BeginSeek() {
    if (has_begun_) return;
    has_begun_ = true;
    if (ThreadBounds::AreUsed()) bounds_ = ThreadBounds::Current();
  }
  void EndRound() {
    has_begun_ = false;
    is_outside_ = false;
    skipped_ = 0;
    if (bounds_ != nullptr) bounds_.reset();
  }

  // EndRound and BeginSeek where the last round had no bounds, and none are
  // used; else false, and nothing is done.
  bool Repeat() {
    if (bounds_ != nullptr || !has_begun_ || ThreadBounds::AreUsed()) {
      return false;
    }
    is_outside_ = false;
    skipped_ = 0;
    return true;
  }

  // A file is about to be sought, for the key `target` or, if that is nullptr,
  // for its first or last key. Returns the thread's bounds if the search is
  // under them, or nullptr. A seek to a key outside of the bounds is not, nor
  // are the seeks that follow in its round. A file that is sought without a
  // target may be one that an iterator reaches by Next or Prev: then the bounds
  // must be the same as when the search began.
  const std::shared_ptr<const ThreadBounds>& Take(const Slice* target,
                                                  bool backwards);

  // Whether a file may be skipped because all of its keys are below the
  // thread's lower bound. RocksDB's iterators then go on to the file before,
  // and so on, which costs more in the end than to read a block.
  bool MaySkip() { return skipped_++ < kMaxSkipped; }

 private:
  static constexpr uint32_t kMaxSkipped = 8;  // files in a round

  bool has_begun_ = false;
  bool is_outside_ = false;
  uint32_t skipped_ = 0;
  // The bounds when the round began, or at its latest seek for a key.
  std::shared_ptr<const ThreadBounds> bounds_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
