// SPDX-License-Identifier: Apache-2.0

//  The bounds of seeks: those of ReadOptions and, where these have none, those
//  that the thread has set (plugin/search_bounds.h).

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "filter_policy/open_db/level_sums.h"
#include "filter_policy/range_filter.h"
#include "rocksdb/options.h"
#include "rocksdb/slice.h"
#include "rocksdb/slice_transform.h"

namespace ROCKSDB_NAMESPACE::protean {

// One thread's bounds. Immutable, since iterators share them with the thread.
class ThreadBounds {
 public:
  // User keys without timestamps, which are copied; nullptr for no bound.
  ThreadBounds(const Slice* lower, const Slice* upper) {
    if (lower != nullptr) lower_slice_ = lower_.emplace(lower->ToString());
    if (upper != nullptr) upper_slice_ = upper_.emplace(upper->ToString());
  }
  ThreadBounds(const ThreadBounds&) = delete;

  // The inclusive lower bound and the exclusive upper bound, or nullptr.
  const Slice* lower() const { return lower_ ? &lower_slice_ : nullptr; }
  const Slice* upper() const { return upper_ ? &upper_slice_ : nullptr; }

  // Returns true if a search that starts at `user_key` starts outside of the
  // bounds. A backward search may start at the upper bound itself.
  bool IsOutside(const Slice& user_key, bool backwards) const {
    return (lower() != nullptr && user_key.compare(*lower()) < 0) ||
           (upper() != nullptr &&
            user_key.compare(*upper()) >= (backwards ? 1 : 0));
  }

  // Returns true if both are the same keys, or both nullptr.
  static bool AreEqual(const ThreadBounds* a, const ThreadBounds* b) {
    return a == b || (a != nullptr && b != nullptr && a->lower_ == b->lower_ &&
                      a->upper_ == b->upper_);
  }

  // The calling thread's bounds, or nullptr.
  static const std::shared_ptr<const ThreadBounds>& Current() {
    return current_;
  }
  static void SetCurrent(std::shared_ptr<const ThreadBounds> bounds) {
    Use unused = Use::kNever;
    use_.compare_exchange_strong(unused, Use::kYes, std::memory_order_relaxed);
    current_ = std::move(bounds);
  }
  // False if no thread of this process has ever set bounds, which is cheaper to
  // check than the thread's own, or if bounds are ignored.
  static bool AreUsed() {
    return use_.load(std::memory_order_relaxed) == Use::kYes;
  }
  // Makes all searches of this process ignore bounds from their next seek on.
  static void Ignore() { use_.store(Use::kIgnored, std::memory_order_relaxed); }

 private:
  static inline thread_local std::shared_ptr<const ThreadBounds> current_;
  enum class Use { kNever, kYes, kIgnored };
  static inline std::atomic<Use> use_{Use::kNever};

  std::optional<std::string> lower_;
  std::optional<std::string> upper_;
  Slice lower_slice_;  // of lower_
  Slice upper_slice_;
};

// ---- Round bounds ----

// The thread's bounds in one round of a search. All seeks of a round are under
// the same bounds, or under none.
class RoundBounds {
 public:
  // Notes the bounds of the thread.
  void BeginRound() {
    bounds_ = ThreadBounds::AreUsed() ? ThreadBounds::Current() : nullptr;
    is_outside_ = false;
    skipped_ = 0;
  }

  // A file is about to be sought, for the key `target` or, if that is nullptr,
  // for its first or last key. Returns the thread's bounds if the search is
  // under them, or nullptr. A seek to a key outside of the bounds is not, nor
  // are the seeks that follow in its round. An iterator may reach a file that
  // is sought without a target by Next or Prev: then the bounds must be the
  // same as when the search began.
  std::shared_ptr<const ThreadBounds> Take(const Slice* target,
                                           bool backwards) {
    const std::shared_ptr<const ThreadBounds>& current =
        ThreadBounds::Current();
    const bool changed = !ThreadBounds::AreEqual(bounds_.get(), current.get());
    if (target != nullptr) {
      if (changed) is_outside_ = false;
      bounds_ = current;
      if (current != nullptr && current->IsOutside(*target, backwards)) {
        is_outside_ = true;
      }
    } else if (changed) {
      // Equal bounds that are set later belong to another search.
      bounds_.reset();
      return nullptr;
    }
    return is_outside_ ? nullptr : current;
  }

  // Returns true if a file may be skipped because all of its keys are below the
  // thread's lower bound. RocksDB's iterators then go on to the file before,
  // and so on, which costs more in the end than to read a block.
  bool MaySkip() { return skipped_++ < kMaxSkipped; }

 private:
  static constexpr uint32_t kMaxSkipped = 8;  // files in a round

  bool is_outside_ = false;
  uint32_t skipped_ = 0;
  // The bounds when the round began, or at its latest seek for a key.
  std::shared_ptr<const ThreadBounds> bounds_;
};

// ---- Seek bounds ----

// Stores where the keys end that have the prefix of `key`. Returns false if the
// key has no prefix, or all keys from there on have it.
inline bool FirstAfterPrefixOf(const Slice& key,
                               const SliceTransform& extractor,
                               std::string* end) {
  if (!extractor.InDomain(key)) return false;
  const Slice prefix = extractor.Transform(key);
  return key.starts_with(prefix) && FirstAfterPrefix(prefix, end);
}

// The bounds of an iterator's latest seek. RocksDB's iterators enforce those of
// ReadOptions. They do not know the bounds of the thread, so the table iterator
// has to stop at these itself.
struct SeekBounds {
  // Takes the bounds of `read_options` alone, as they are now: the keys behind
  // the pointers may change between seeks.
  void Take(const ReadOptions& read_options) {
    upper = read_options.iterate_upper_bound;
    lower = read_options.iterate_lower_bound;
    stops_at_upper = false;
    stops_at_lower = false;
  }
  // Adds the bounds of the thread, or none if that is nullptr, where Take found
  // none.
  void Add(std::shared_ptr<const ThreadBounds> bounds) {
    thread = std::move(bounds);
    if (thread == nullptr) return;
    if (upper == nullptr) {
      upper = thread->upper();
      stops_at_upper = upper != nullptr;
    }
    if (lower == nullptr) {
      lower = thread->lower();
      stops_at_lower = lower != nullptr;
    }
  }

  // Adds the end of the prefix of the target of a prefix seek, which finds
  // nothing from there on, where there is no upper bound. `stops` tells whether
  // RocksDB's iterator hides the keys of other prefixes.
  void AddPrefix(const Slice& target, const SliceTransform& extractor,
                 bool stops) {
    if (prefix_end == nullptr) prefix_end = std::make_unique<PrefixEnd>();
    if (!FirstAfterPrefixOf(target, extractor, &prefix_end->key)) return;
    prefix_end->slice = prefix_end->key;
    upper = &prefix_end->slice;
    stops_at_upper = stops;
  }
  // Returns true if the upper bound is from AddPrefix.
  bool EndsWithPrefix() const {
    return prefix_end != nullptr && upper == &prefix_end->slice;
  }

  SeekKind ForwardKind() const {
    return upper != nullptr ? SeekKind::kClosed : SeekKind::kOpen;
  }
  bool IsBelowLower(const Slice& user_key) const {
    return user_key.compare(*lower) < 0;
  }

  // User keys, or nullptr for no bound. The upper bound is exclusive.
  const Slice* upper = nullptr;
  const Slice* lower = nullptr;
  // True for a bound that RocksDB does not know, so that the table iterator
  // itself must stop there.
  bool stops_at_upper = false;
  bool stops_at_lower = false;                 // unless the seek may go below
  std::shared_ptr<const ThreadBounds> thread;  // keeps its keys
  struct PrefixEnd {
    std::string key;
    Slice slice;  // of the key
  };
  std::unique_ptr<PrefixEnd> prefix_end;  // if there was a prefix seek
};

}  // namespace ROCKSDB_NAMESPACE::protean
