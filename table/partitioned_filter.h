// SPDX-License-Identifier: Apache-2.0

//  The filter of a file that has one in parts, each over a contiguous range of
//  the file's keys (RocksDB's partition_filters). A question reads the parts
//  that it needs, through the block cache, and holds one at a time:
//
//  - A range needs the part in which it begins and, if it ends in another one,
//    that other part. No other parts are needed: where one lies between the
//    two, it has a key, and all its keys are in the range.
//  - A seek needs the part of its target, and the next one if that part ends
//    below all keys that it could find.
//  - A count needs the parts in which the range begins and ends. Each part
//  tells
//    how many keys the parts before it hold.
//
//  A part that cannot be read, or is damaged, may hold any key, and the other
//  parts go on filtering.

#pragma once

#include <functional>
#include <string>

#include "filter_policy/file_range_filter.h"
#include "filter_policy/filter_block.h"
#include "table/rocksdb_internals/filter_parts.h"

namespace ROCKSDB_NAMESPACE::protean {

// Is told why a part cannot be used.
class PartReports {
 public:
  virtual void ReportPart(const Status& why) const = 0;

 protected:
  ~PartReports() = default;
};

// One caller's view of the filter. Not thread safe.
class PartitionedFilter final : public FileRangeFilter {
 public:
  // The arguments must outlive the object; `reports` may be nullptr.
  PartitionedFilter(const BlockBasedFile& file, const ReadOptions& read_options,
                    BlockCacheLookupContext* lookup_context,
                    const PartReports* reports)
      : parts_(file, read_options, lookup_context), reports_(reports) {}

  // Gets the index of the parts. Called once, before all other functions.
  Status Open() { return parts_.Open(); }

  bool KeyMayMatch(const Slice& key) const override;
  bool RangeMayMatch(const Slice& lo, const Slice& hi,
                     bool hi_inclusive) const override;
  bool PrefixMayMatch(const Slice& prefix) const override;

  bool LowerBound(const Slice& target, std::string* bound) const override {
    return Bound(target, &FilterBlock::LowerBound, bound);
  }
  bool QuickLowerBound(const Slice& target, std::string* bound) const override {
    return Bound(target, &FilterBlock::QuickLowerBound, bound);
  }
  bool LowerBoundIsLoose() const override { return true; }
  bool LowerBoundIsSlow(const Slice& target) const override;
  bool CountRange(const Slice& lo, const Slice& hi, bool hi_inclusive,
                  RangeCount* count) const override;

  bool MayHaveKeyAtOrAbove(const Slice& bound) const override;
  bool MayHaveKeyAtOrBelow(const Slice& bound) const override;
  bool HasKeyBelow(const Slice& bound) const override;
  bool HasKeyAtOrAbove(const Slice& bound) const override;
  bool HasKeys() const override;

  Slice smallest() const override;
  Slice largest() const override;

  // Calls visit(status, part) for all parts in order: the block that a part
  // holds, or nullptr, and why it is not used.
  void ForEachPart(
      const std::function<void(const Status& status, const FilterBlock* part)>&
          visit) const;

 private:
  using BoundFunction = bool (FilterBlock::*)(const Slice& target,
                                              std::string* bound) const;

  // The part at the cursor, or nullptr if it cannot be used.
  const FilterBlock* Part() const;
  // Gets the block of the part at the cursor, or nullptr, and holds it. Returns
  // why it is not to be used: a part without keys is no error.
  Status Load(const FilterBlock** block) const;
  Status Check(const FilterBlock& block) const;
  // LowerBound, by a function of the parts.
  bool Bound(const Slice& target, BoundFunction bound_in,
             std::string* bound) const;
  // Whether the part at the cursor is the last one. Leaves the cursor there.
  bool IsLast() const;

  // Questions move the cursor and change the part that is held.
  mutable FilterParts parts_;
  const PartReports* const reports_;
  mutable FilterHold hold_;
  mutable const FilterBlock* part_ = nullptr;
  mutable uint64_t part_offset_ = ~uint64_t{0};
};

}  // namespace ROCKSDB_NAMESPACE::protean
