// SPDX-License-Identifier: Apache-2.0

//  What a seek or a count asks the filter of an SST file, whether the filter is
//  one block (filter_block.h) or many parts (table/partitioned_filter.h). Keys
//  are user keys without timestamps in bytewise order. Errors are one-sided:
//  where a function says "certainly", a filter that cannot be read says no.

#pragma once

#include <string>

#include "filter_policy/range_filter.h"
#include "rocksdb/slice.h"

namespace ROCKSDB_NAMESPACE::protean {

class FileRangeFilter {
 public:
  virtual ~FileRangeFilter() = default;

  // These answer as the functions of RangeFilter do, and also use what is known
  // of the smallest and the largest key.
  virtual bool KeyMayMatch(const Slice& key) const = 0;
  virtual bool RangeMayMatch(const Slice& lo, const Slice& hi,
                             bool hi_inclusive) const = 0;
  // A stored bound above `target` is not above the largest key.
  virtual bool LowerBound(const Slice& target, std::string* bound) const = 0;
  virtual bool LowerBoundIsLoose() const = 0;
  // Whether LowerBound(target) is slow.
  virtual bool LowerBoundIsSlow(const Slice& target) const = 0;
  // A quick LowerBound: it uses nothing but what is known of the smallest and
  // the largest key.
  virtual bool QuickLowerBound(const Slice& target,
                               std::string* bound) const = 0;
  // Filters of every kind can count a range that encloses all keys.
  virtual bool CountRange(const Slice& lo, const Slice& hi, bool hi_inclusive,
                          RangeCount* count) const = 0;

  // False if certainly all keys are below, or above, `bound`.
  virtual bool MayHaveKeyAtOrAbove(const Slice& bound) const = 0;
  virtual bool MayHaveKeyAtOrBelow(const Slice& bound) const = 0;
  // True only if the file certainly holds a key below, or not below, `bound`.
  virtual bool HasKeyBelow(const Slice& bound) const = 0;
  virtual bool HasKeyAtOrAbove(const Slice& bound) const = 0;
  // True only if the file certainly holds a key.
  virtual bool HasKeys() const = 0;

  // The smallest and the largest key, or the first
  // FilterBlockHeader::kMaxStoredKey bytes of them. Valid until the next call
  // of any function.
  virtual Slice smallest() const = 0;
  virtual Slice largest() const = 0;
};

}  // namespace ROCKSDB_NAMESPACE::protean
