// SPDX-License-Identifier: Apache-2.0

//  The truth about a DB that many threads use for a while, each in its own way
//  and all at once, and iterators that know it.
//
//  The DB's possible keys are numbered in order. Each key either always exists,
//  or comes and goes, or is never written. So a thread can check much of an
//  answer without knowing the state of the writers. A thread that stops the
//  writers while it takes a snapshot knows everything that the snapshot must
//  show.

#pragma once

#include <cstdlib>
#include <optional>
#include <shared_mutex>

#include "tests/dice.h"
#include "tests/protean_db.h"

namespace ROCKSDB_NAMESPACE::protean {

constexpr size_t kNumKeys = 3000;

inline uint64_t Mix(uint64_t number) {
  number = (number ^ number >> 31) * 0x9e3779b97f4a7c15;
  return number ^ number >> 29;
}

// The two bytes by which all keys differ.
constexpr size_t kStep = 20;
static_assert(kStep * kNumKeys < 0xffff);

inline std::string TwoBytes(size_t number) {
  return {static_cast<char>(number >> 8), static_cast<char>(number & 0xff)};
}

inline std::string PossibleKey(size_t key) {
  if (key == 0) return "";
  if (key == kNumKeys - 1) return "\xff\xff\xff";
  std::string tail = "/user/" + std::to_string(Mix(key));
  tail.resize(Mix(key + 1) % tail.size());
  return TwoBytes(kStep * key) + tail;
}

// A slot is a place in the order of all strings: slot 2i is key i, and slot 2i
// + 1 is a string between key i and the next one. These functions return
// strings at a slot.
constexpr size_t kSlots = 2 * kNumKeys;
inline std::string StringAt(size_t slot) {
  const size_t key = slot / 2;
  if (slot % 2 == 0) return PossibleKey(key);
  // A string close to the key, or anywhere before the next one.
  if (key == 0 || key == kNumKeys - 1 || Mix(slot) % 2 == 0) {
    return PossibleKey(key) + '\0';
  }
  return TwoBytes(kStep * key + 1 + Mix(slot) % (kStep - 1));
}
inline std::string KeyAt(size_t key) { return StringAt(2 * key); }
// The first key at or after a slot; kNumKeys if there is none.
constexpr size_t FirstKeyAt(size_t slot) { return (slot + 1) / 2; }

enum class KeyKind { kAlways, kSometimes, kNever };
inline KeyKind KindOf(size_t key) {
  // Keys of some stripes never exist, so that whole ranges are empty.
  const bool is_between = key > 0 && key + 1 < kNumKeys;
  const uint64_t chance = Mix(key) % 8;
  return is_between && key / 16 % 3 == 0 ? KeyKind::kNever
         : chance < 2                    ? KeyKind::kAlways
         : chance < 5                    ? KeyKind::kSometimes
                                         : KeyKind::kNever;
}

// The version that a write gives to a key, a number from 1 on.
using Version = uint32_t;
// The version of each key; 0 for a key that does not exist.
using Versions = std::vector<Version>;

inline std::string ValueOf(size_t key, Version version) {
  std::string value = std::to_string(key) + ":" + std::to_string(version);
  return value + std::string(Mix(version) % 100, '.');
}
inline bool IsValueOf(size_t key, const Slice& value) {
  const std::string text = value.ToString();
  const size_t colon = text.find(':');
  return colon != std::string::npos &&
         text == ValueOf(key, static_cast<Version>(strtoul(
                                  text.c_str() + colon + 1, nullptr, 10)));
}

// The versions that the DB holds. Thread safe.
class Truth {
 public:
  Truth() : versions_(kNumKeys, 0) {}

  // Calls `write`, which writes to the DB and to the versions of keys that no
  // other thread writes.
  template <typename Write>
  void Change(const Write& write) {
    // Gives threads that wait for exclusive access their turn.
    { const std::lock_guard<std::mutex> turn(turn_); }
    const std::shared_lock<std::shared_mutex> lock(mutex_);
    write(&versions_);
  }

  // Calls `act` while no writer writes.
  template <typename Act>
  void Alone(const Act& act) {
    const std::lock_guard<std::mutex> turn(turn_);
    const std::lock_guard<std::shared_mutex> lock(mutex_);
    act(&versions_);
  }

 private:
  std::mutex turn_;
  std::shared_mutex mutex_;
  Versions versions_;
};

// ---- Iterators that know what they must show ----

// Two slots in their order.
inline std::pair<size_t, size_t> RandomSlots(Dice* dice) {
  const size_t one = dice->Below(kSlots);
  const size_t other = dice->Below(kSlots);
  return {std::min(one, other), std::max(one, other)};
}

class CheckedIterator {
 public:
  struct Bounds {
    std::optional<size_t> lower;
    std::optional<size_t> upper;
    bool of_thread = false;
  };
  static Bounds RandomBounds(Dice* dice) {
    Bounds bounds;
    bounds.of_thread = dice->OneIn(5);
    auto [lower, upper] = RandomSlots(dice);
    // Half of the ranges are so narrow that many are empty.
    if (dice->OneIn(2)) upper = std::min(kSlots - 1, lower + dice->Below(60));
    // Backwards, a seek within the bounds of a thread may begin at the upper
    // bound, and then shows the key there, if any.
    if (bounds.of_thread) upper |= 1;
    if (dice->OneIn(2)) bounds.lower = lower;
    if (dice->OneIn(2)) bounds.upper = upper;
    return bounds;
  }

  // `versions` are those that the iterator must show: of the snapshot, or
  // no other thread writes.
  CheckedIterator(DB* db, std::shared_ptr<ColumnFamilyHandle> family,
                  const Snapshot* snapshot,
                  std::shared_ptr<const Versions> versions,
                  const Bounds& bounds, Dice* dice)
      : versions_(std::move(versions)),
        bounds_(bounds),
        lower_(StringAt(Lower())),
        upper_(bounds.upper ? StringAt(*bounds.upper) : ""),
        lower_slice_(lower_),
        upper_slice_(upper_),
        family_(std::move(family)) {
    // RocksDB copies these options.
    ReadOptions options;
    options.snapshot = snapshot;
    options.fill_cache = !dice->OneIn(4);
    options.verify_checksums = !dice->OneIn(4);
    options.pin_data = dice->OneIn(8);
    options.async_io = dice->OneIn(8);
    options.adaptive_readahead = dice->OneIn(8);
    options.background_purge_on_iterator_cleanup = dice->OneIn(2);
    if (!bounds_.of_thread) {
      if (bounds_.lower) options.iterate_lower_bound = &lower_slice_;
      if (bounds_.upper) options.iterate_upper_bound = &upper_slice_;
    }
    iterator_.reset(db->NewIterator(options, family_.get()));
  }

  CheckedIterator(const CheckedIterator&) = delete;
  CheckedIterator& operator=(const CheckedIterator&) = delete;

  // A seek and some steps. Returns what is wrong, or an empty string. Each call
  // may come from another thread.
  std::string Walk(Dice* dice) {
    if (family_ == nullptr) return expected_ == kNowhere ? "" : WalkOn(dice);
    if (!bounds_.of_thread) {
      Seek(dice);
      return WalkOn(dice);
    }
    // There is nothing between equal bounds, so no seek can begin there.
    if (Lower() >= Upper()) return "";
    SetSearchBounds(bounds_.lower ? &lower_slice_ : nullptr,
                    bounds_.upper ? &upper_slice_ : nullptr);
    Seek(dice);
    std::string wrong = WalkOn(dice);
    ClearSearchBounds();
    return wrong;
  }

  // Releases the column family's handle, without which RocksDB's iterators
  // cannot seek: from now on, Walk only makes steps.
  void LeaveFamily() { family_.reset(); }

  Status Refresh(const Snapshot* snapshot,
                 std::shared_ptr<const Versions> versions) {
    const Status s = iterator_->Refresh(snapshot);
    if (s.ok()) versions_ = std::move(versions);
    return s;
  }

 private:
  static constexpr size_t kNowhere = kNumKeys;

  size_t Lower() const { return bounds_.lower.value_or(0); }
  size_t Upper() const { return bounds_.upper.value_or(kSlots); }
  // The first existing key from a slot on, within the bounds.
  size_t FirstFrom(size_t slot) const {
    for (size_t key = FirstKeyAt(std::max(slot, Lower())); 2 * key < Upper();
         key++) {
      if ((*versions_)[key] != 0) return key;
    }
    return kNowhere;
  }
  // The last one at or before a slot.
  size_t LastUpTo(size_t slot) const {
    if (Upper() == 0) return kNowhere;
    slot = std::min(slot, Upper() - 1);
    for (size_t key = slot / 2 + 1; key-- > FirstKeyAt(Lower());) {
      if ((*versions_)[key] != 0) return key;
    }
    return kNowhere;
  }

  std::string WalkOn(Dice* dice) {
    bool right = IsRight();
    for (size_t steps = dice->Below(12);
         right && expected_ != kNowhere && steps > 0; steps--) {
      Step(dice);
      right = IsRight();
    }
    return right ? "" : Describe();
  }

  void Seek(Dice* dice) {
    const size_t kind = dice->Below(8);
    // Seeks with bounds of a thread must begin within the bounds.
    if (kind == 0 && !(bounds_.of_thread && bounds_.lower)) {
      history_ = "SeekToFirst";
      expected_ = FirstFrom(0);
      return iterator_->SeekToFirst();
    }
    if (kind == 1 && !(bounds_.of_thread && bounds_.upper)) {
      history_ = "SeekToLast";
      expected_ = LastUpTo(kSlots - 1);
      return iterator_->SeekToLast();
    }
    const bool backwards = kind <= 3;
    size_t slot = dice->Below(kSlots);
    if (bounds_.of_thread || dice->OneIn(2)) {
      const size_t size = Upper() - Lower() + (backwards ? 1 : 0);
      slot = Lower() + (size == 0 ? 0 : dice->Below(size));
      slot = std::min(slot, kSlots - 1);
    }
    history_ = (backwards ? "SeekForPrev " : "Seek ") + std::to_string(slot);
    const std::string target = StringAt(slot);
    expected_ = backwards ? LastUpTo(slot) : FirstFrom(slot);
    backwards ? iterator_->SeekForPrev(target) : iterator_->Seek(target);
  }

  void Step(Dice* dice) {
    if (dice->OneIn(3)) {
      history_ += " -";
      expected_ = expected_ == 0 ? kNowhere : LastUpTo(2 * expected_ - 1);
      iterator_->Prev();
    } else {
      history_ += " +";
      expected_ = FirstFrom(2 * expected_ + 1);
      iterator_->Next();
    }
  }

  bool IsRight() const {
    if (!iterator_->status().ok()) return false;
    if (!iterator_->Valid()) return expected_ == kNowhere;
    const Slice key = iterator_->key();
    if (expected_ == kNowhere) {
      // Iterators may go beyond the bounds of a thread.
      return bounds_.of_thread && ((bounds_.lower && key.compare(lower_) < 0) ||
                                   (bounds_.upper && key.compare(upper_) >= 0));
    }
    return key == KeyAt(expected_) &&
           iterator_->value() == ValueOf(expected_, (*versions_)[expected_]);
  }

  std::string Describe() const {
    std::string text = history_ + " in [" + std::to_string(Lower()) + ", " +
                       std::to_string(Upper()) + ")";
    if (bounds_.of_thread) text += " of the thread";
    text += ": expected ";
    text += expected_ == kNowhere
                ? "nothing"
                : Hex(KeyAt(expected_)) + " => " +
                      ValueOf(expected_, (*versions_)[expected_]);
    text += ", got ";
    text += iterator_->Valid()
                ? Hex(iterator_->key()) + " => " + iterator_->value().ToString()
                : "nothing, " + iterator_->status().ToString();
    return text;
  }

  std::shared_ptr<const Versions> versions_;
  const Bounds bounds_;
  const std::string lower_;
  const std::string upper_;
  const Slice lower_slice_;
  const Slice upper_slice_;
  std::shared_ptr<ColumnFamilyHandle> family_;
  std::unique_ptr<Iterator> iterator_;
  size_t expected_ = kNowhere;  // key
  std::string history_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
