// SPDX-License-Identifier: Apache-2.0

//  The filter of an SST file that is read apart from its DB.

#pragma once

#include <memory>

#include "filter_policy/parted_filter.h"
#include "table/rocksdb_internals/block_based_file.h"

namespace ROCKSDB_NAMESPACE::protean {

// Whether the file's filter knows its keys in bytewise order: it may know
// prefixes of them only, and another comparator may make equal keys of
// different bytes.
bool FilterKnowsKeysInOrder(const BlockBasedFile& file);

// Thread safe.
class SeparateFilter {
 public:
  // Nullptr if the file has no filter that a policy of Protean has opened, or
  // if a cache holds it. The file must outlive the result.
  static std::shared_ptr<const SeparateFilter> Open(const BlockBasedFile& file);

  // Why the filter, or the first damaged part of it, is not used.
  const Status& status() const { return block_.status(); }
  const FilterBlockHeader& header() const { return block_.header(); }
  size_t num_parts() const { return block_.directory().parts().size(); }
  // What the filter and the file's properties tell.
  const FilterReport& report() const { return report_; }

  // The filter if it can be asked for ranges, else nullptr.
  const FileRangeFilter* range_filter() const {
    return block_.CanFilter() ? &block_ : nullptr;
  }
  // Whether an entry may be in the filter, as RocksDB asks: a key, or a prefix
  // of one.
  bool MayMatch(const Slice& entry) const {
    return block_.EntryMayMatch(entry);
  }

 private:
  SeparateFilter(const FilterBlock& block, FilterReport report)
      : block_(block), report_(std::move(report)) {}

  const FilterBlock& block_;
  const FilterReport report_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
