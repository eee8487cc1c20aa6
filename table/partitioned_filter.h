// SPDX-License-Identifier: Apache-2.0

//  The filter of a file that has one in parts, each over a contiguous range of
//  the file's keys (RocksDB's partition_filters). A question reads the parts
//  that it needs (part_search.h). A part that cannot be read, or is damaged,
//  may hold any key, and the other parts go on filtering.

#pragma once

#include <functional>
#include <string>

#include "filter_policy/file_range_filter.h"
#include "table/part_cursor.h"

namespace ROCKSDB_NAMESPACE::protean {

// One caller's view of the filter. Not thread safe.
class PartitionedFilter final : public FileRangeFilter {
 public:
  // The arguments are those of PartCursor's constructor. Only if `in_order` is
  // true may other questions be asked than EntryMayMatch.
  PartitionedFilter(const BlockBasedFile& file, const ReadOptions& read_options,
                    BlockCacheLookupContext* lookup_context, bool in_order,
                    const PartReports* reports)
      : parts_(file, read_options, lookup_context, in_order, reports) {}

  // Gets the index of the parts. Called once, before all other functions.
  Status Open() { return parts_.Open(); }

  // Whether an entry may be in the filter, as RocksDB asks: `key`, or a prefix
  // of it, in the part where that key would be.
  bool EntryMayMatch(const Slice& entry, const Slice& key) const;

  bool KeyMayMatch(const Slice& key) const override;
  bool RangeMayMatch(const Slice& lo, const Slice& hi,
                     bool hi_inclusive) const override;

  bool LowerBound(const Slice& target, std::string* bound) const override;
  bool QuickLowerBound(const Slice& target, std::string* bound) const override;
  bool LowerBoundIsLoose() const override { return true; }
  bool LowerBoundIsSlow(const Slice& target) const override;
  bool CountRange(const Slice& lo, const Slice& hi, bool hi_inclusive,
                  RangeCount* count) const override;

  bool MayHaveKeyAtOrAbove(const Slice& bound) const override;
  bool MayHaveKeyAtOrBelow(const Slice& bound) const override;
  bool HasKeyBelow(const Slice& bound) const override;
  bool HasKeyAtOrAbove(const Slice& bound) const override;
  bool HasKeys() const override { return true; }

  Slice smallest() const override;
  Slice largest() const override;

  // Calls visit(status, part) for all parts in order: the block that a part
  // holds, or nullptr, and why it is not used.
  void ForEachPart(
      const std::function<void(const Status& status, const FilterBlock* part)>&
          visit) const;

 private:
  // Questions move the cursor and change the parts that it holds.
  mutable PartCursor parts_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
