// SPDX-License-Identifier: Apache-2.0

//  A cursor over the parts of a file's partitioned filter. It reads them
//  through the block cache, checks them, and holds two at a time: questions
//  about a range go from one part to the next and back.
//
//  The index of the parts has a checksum, but an index that is wrong by itself
//  must not hide a part, for "no part" means "no key". RocksDB writes the parts
//  one behind the other and then their index, so a missing part leaves a gap in
//  the file. A part beside a gap may hold any key, as does one whose keys are
//  not those that the index says.

#pragma once

#include <string>

#include "filter_policy/filter_block.h"
#include "table/rocksdb_internals/filter_parts.h"

namespace ROCKSDB_NAMESPACE::protean {

// Is told why a part cannot be used.
class PartReports {
 public:
  // RocksDB could not read the part, or Protean finds that it is damaged.
  virtual void ReportUnreadPart(const Status& why) const = 0;
  virtual void ReportDamagedPart(const Status& why) const = 0;

 protected:
  ~PartReports() = default;
};

// A Parts of part_search.h. Not thread safe.
class PartCursor {
 public:
  // `in_order` tells whether the parts hold whole keys in bytewise order. The
  // arguments must outlive the object; `reports` may be nullptr.
  PartCursor(const BlockBasedFile& file, const ReadOptions& read_options,
             BlockCacheLookupContext* lookup_context, bool in_order,
             const PartReports* reports)
      : parts_(file, read_options, lookup_context),
        in_order_(in_order),
        reports_(reports) {}

  // Gets the index of the parts, of which there must be one. Called once,
  // before all other functions.
  Status Open();

  void Seek(const Slice& key) { parts_.Seek(key); }
  void SeekToFirst() { parts_.SeekToFirst(); }
  void SeekToLast() { parts_.SeekToLast(); }
  void Next() { parts_.Next(); }
  bool Valid() const { return parts_.Valid(); }
  bool AtEnd();
  // Whether the part at the cursor is the last one. Leaves the cursor there.
  bool IsLast();
  Slice end() const { return parts_.end(); }

  const FilterBlock* Part();
  // Stores the block of the part at the cursor, or nullptr. Returns why it is
  // not to be used: a part that no filter could hold is no error.
  Status Load(const FilterBlock** block);

 private:
  struct Slot {
    FilterHold hold;
    const FilterBlock* part = nullptr;
    uint64_t offset = ~uint64_t{0};
  };

  // Compares a part with what the index says of it and of its neighbors.
  Status Check(const FilterBlock& block);
  void ReportDamaged(const Status& s) const {
    if (reports_ != nullptr) reports_->ReportDamagedPart(s);
  }

  FilterParts parts_;
  const bool in_order_;
  const PartReports* const reports_;
  Slot slots_[2];
  int latest_ = 0;
};

}  // namespace ROCKSDB_NAMESPACE::protean
