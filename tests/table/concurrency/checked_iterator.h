// SPDX-License-Identifier: Apache-2.0

//  An iterator of a DB that other threads write to, which knows what it must
//  show.

#pragma once

#include <memory>
#include <optional>
#include <string>

#include "rocksdb/db.h"
#include "tests/table/concurrency/truth.h"
#include "tests/table/differential/dice.h"

namespace ROCKSDB_NAMESPACE::protean {

class CheckedIterator {
 public:
  // The bounds, as slots.
  struct Bounds {
    std::optional<size_t> lower;
    std::optional<size_t> upper;
    bool of_thread = false;
  };
  static Bounds RandomBounds(Dice* dice);

  // `versions` are those that the iterator must show: of the snapshot, or
  // no other thread writes.
  CheckedIterator(DB* db, std::shared_ptr<ColumnFamilyHandle> family,
                  const Snapshot* snapshot,
                  std::shared_ptr<const Versions> versions,
                  const Bounds& bounds, Dice* dice);

  CheckedIterator(const CheckedIterator&) = delete;
  CheckedIterator& operator=(const CheckedIterator&) = delete;

  // Seeks to a random place, and makes some steps. Returns what is wrong, or an
  // empty string. Each call may come from another thread.
  std::string Walk(Dice* dice);

  // Releases the column family's handle, without which RocksDB's iterators
  // cannot seek: from now on, Walk only makes steps.
  void LeaveFamily() { family_.reset(); }

  // Refreshes the iterator to a later snapshot.
  Status Refresh(const Snapshot* snapshot,
                 std::shared_ptr<const Versions> versions);

 private:
  static constexpr size_t kNowhere = kNumKeys;

  size_t Lower() const { return bounds_.lower.value_or(0); }
  size_t Upper() const { return bounds_.upper.value_or(kSlots); }
  // The first existing key from a slot on, and the last one at or before it,
  // within the bounds.
  size_t FirstFrom(size_t slot) const;
  size_t LastUpTo(size_t slot) const;

  std::string WalkOn(Dice* dice);
  void Seek(Dice* dice);
  void Step(Dice* dice);
  // Whether the iterator is at the right position.
  bool IsRight() const;
  std::string Describe() const;

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
