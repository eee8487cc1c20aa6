// SPDX-License-Identifier: Apache-2.0

//  The filter of an SST file that is read apart from its DB, whole or in parts.

#pragma once

#include <memory>
#include <string>

#include "filter_policy/filter_block.h"
#include "table/partitioned_filter.h"
#include "table/rocksdb_internals/block_based_file.h"

namespace ROCKSDB_NAMESPACE::protean {

// Whether the file's filter knows its keys in bytewise order: it may know
// prefixes of them only, and another comparator may make equal keys of
// different bytes.
bool FilterKnowsKeysInOrder(const BlockBasedFile& file);

// Not thread safe.
class SeparateFilter {
 public:
  // Opens the filter and looks at all its parts. Nullptr if the file has no
  // filter that a policy of Protean reads. The file must outlive the result.
  static std::shared_ptr<const SeparateFilter> Open(const BlockBasedFile& file);

  SeparateFilter(const SeparateFilter&) = delete;
  SeparateFilter& operator=(const SeparateFilter&) = delete;

  // Why the filter, or the first damaged part of it, is not used.
  const Status& status() const { return status_; }
  // Number of parts; 0 if the filter is not partitioned.
  size_t num_parts() const { return num_parts_; }
  // The header of the whole filter, or what those of the parts amount to.
  const FilterBlockHeader& header() const { return header_; }
  // What the filter reports, or the file's properties of all its parts.
  const FilterReport& report() const { return report_; }

  // The filter if it can be asked for ranges, else nullptr.
  const FileRangeFilter* range_filter() const { return filter_; }
  // Whether an entry may be in the filter, as RocksDB asks: `key`, or a prefix
  // of it.
  bool MayMatch(const Slice& entry, const Slice& key) const;

 private:
  explicit SeparateFilter(const BlockBasedFile& file);
  void LookAtBlock(const FilterBlock& block);
  void LookAtParts(const BlockBasedFile& file);
  void TakeReport(const BlockBasedFile& file);

  const ReadOptions read_options_;
  mutable BlockCacheLookupContext lookup_context_{
      TableReaderCaller::kUncategorized};
  const FilterBlock* block_ = nullptr;
  std::unique_ptr<PartitionedFilter> parts_;
  // The filter that can be asked for ranges.
  const FileRangeFilter* filter_ = nullptr;
  size_t num_parts_ = 0;
  Status status_;
  FilterBlockHeader header_;
  // The header refers to these.
  std::string smallest_;
  std::string largest_;
  FilterReport report_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
