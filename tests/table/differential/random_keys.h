// SPDX-License-Identifier: Apache-2.0

//  The keys of a column family, out of families that hurt, and strings around
//  them.

#pragma once

#include <string>
#include <vector>

#include "rocksdb/comparator.h"
#include "rocksdb/slice_transform.h"
#include "tests/dice.h"

namespace ROCKSDB_NAMESPACE::protean {

// All timestamps are of this size.
constexpr size_t kTimestampSize = sizeof(uint64_t);

class KeyPool {
 public:
  KeyPool() = default;
  // Keys of one family, about `size` of them, of `shortest` bytes or more.
  KeyPool(Dice* dice, const Comparator* order, size_t size, size_t shortest);

  const std::vector<std::string>& keys() const { return keys_; }
  const Comparator* order() const { return order_; }
  const std::string& name() const { return name_; }

  bool Less(const std::string& a, const std::string& b) const {
    return order_->CompareWithoutTimestamp(a, /*a_has_ts=*/false, b,
                                           /*b_has_ts=*/false) < 0;
  }

  const std::string& Pick(Dice* dice) const { return dice->In(keys_); }
  // A key, a string next to one, or one that has nothing to do with them; if
  // there is a `domain`, one that lies in it.
  std::string PickAround(Dice* dice,
                         const SliceTransform* domain = nullptr) const;
  // A key after `from`, mostly within a few keys.
  std::string PickAfter(Dice* dice, const std::string& from) const;

 private:
  std::string AnyString(Dice* dice) const;

  std::vector<std::string> keys_;  // in the order of order_
  const Comparator* order_ = nullptr;
  size_t shortest_ = 0;
  std::string name_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
