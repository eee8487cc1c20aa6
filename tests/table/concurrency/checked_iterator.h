// SPDX-License-Identifier: Apache-2.0

//  An iterator of a DB that other threads write to, which knows what it must
//  show.

#pragma once

#include <optional>

#include "tests/dice.h"
#include "tests/protean_db.h"
#include "tests/table/concurrency/round.h"

namespace ROCKSDB_NAMESPACE::protean {

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

  // Seeks to a random place, and makes some steps. Returns what is wrong, or an
  // empty string. Each call may come from another thread.
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
