// SPDX-License-Identifier: Apache-2.0

//  The bounds that a thread sets for its searches where ReadOptions have none:
//  see plugin/search_bounds.h.

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "rocksdb/slice.h"

namespace ROCKSDB_NAMESPACE::protean {

// One thread's bounds. Immutable, since iterators share them with the thread.
class ThreadBounds {
 public:
  // User keys without timestamps, which are copied; nullptr for no bound.
  ThreadBounds(const Slice* lower, const Slice* upper)
      : lower_(lower), upper_(upper) {}

  // The inclusive lower bound and the exclusive upper bound, or nullptr.
  const Slice* lower() const { return lower_.get(); }
  const Slice* upper() const { return upper_.get(); }

  // Returns true if a search that starts at `user_key` starts outside of the
  // bounds. A backward search may start at the upper bound itself.
  bool IsOutside(const Slice& user_key, bool backwards) const {
    return (lower() != nullptr && user_key.compare(*lower()) < 0) ||
           (upper() != nullptr &&
            user_key.compare(*upper()) >= (backwards ? 1 : 0));
  }

  // Returns true if both are the same keys, or both nullptr.
  static bool AreEqual(const ThreadBounds* a, const ThreadBounds* b) {
    return a == b ||
           (a != nullptr && b != nullptr && Equal(a->lower(), b->lower()) &&
            Equal(a->upper(), b->upper()));
  }

  // The calling thread's bounds, or nullptr.
  static const std::shared_ptr<const ThreadBounds>& Current() {
    return CurrentSlot();
  }
  static void SetCurrent(std::shared_ptr<const ThreadBounds> bounds) {
    Use unused = Use::kNever;
    use_.compare_exchange_strong(unused, Use::kYes, std::memory_order_relaxed);
    CurrentSlot() = std::move(bounds);
  }
  // False if no thread of this process has ever set bounds, which is cheaper to
  // check than the thread's own, or if bounds are ignored.
  static bool AreUsed() {
    return use_.load(std::memory_order_relaxed) == Use::kYes;
  }
  // Makes all searches of this process ignore bounds from their next seek on.
  static void Ignore() { use_.store(Use::kIgnored, std::memory_order_relaxed); }

 private:
  static std::shared_ptr<const ThreadBounds>& CurrentSlot() {
    static thread_local std::shared_ptr<const ThreadBounds> current;
    return current;
  }
  enum class Use { kNever, kYes, kIgnored };
  static inline std::atomic<Use> use_{Use::kNever};

  class Bound {
   public:
    explicit Bound(const Slice* key)
        : exists_(key != nullptr),
          bytes_(exists_ ? key->ToString() : std::string()),
          slice_(bytes_) {}
    Bound(const Bound&) = delete;
    Bound& operator=(const Bound&) = delete;

    const Slice* get() const { return exists_ ? &slice_ : nullptr; }

   private:
    const bool exists_;
    const std::string bytes_;
    const Slice slice_;
  };

  static bool Equal(const Slice* a, const Slice* b) {
    return (a == nullptr) == (b == nullptr) && (a == nullptr || *a == *b);
  }

  const Bound lower_;
  const Bound upper_;
};

// ---- Round bounds ----

// The thread's bounds (thread_bounds.h) in one round of a search. All seeks of
// a round are under the same bounds, or under none.

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

  // Returns true if a file may be skipped because all of its keys are below the
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
