// SPDX-License-Identifier: Apache-2.0

//  The filter of a file whose table has its filters in the block cache. RocksDB
//  would load the whole block for each question. Here its directory is read
//  when the file is opened and stays in memory, and the parts go through the
//  block cache, each by itself: a block at an offset within the filter block,
//  which RocksDB's functions read, insert, charge and count as they do any
//  other filter. RocksDB's table asks this filter in place of its own.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "filter_policy/open_db/filter_loads.h"
#include "filter_policy/parted_filter.h"
#include "rocksdb/filter_policy.h"
#include "table/block_based/cachable_entry.h"
#include "table/block_based/filter_block_reader_common.h"
#include "table/block_based/parsed_full_filter_block.h"
#include "table/block_based/partitioned_filter_block.h"
#include "table/multiget_context.h"

namespace ROCKSDB_NAMESPACE::protean {

// Keeps a part of a filter in memory while it is used.
using FilterHold = CachableEntry<ParsedFullFilterBlock>;

// A directory with its bytes.
struct OwnedDirectory {
  std::string bytes;
  FilterDirectory directory;
};

// Is told why a part cannot be used. Thread safe.
class PartReports {
 public:
  // RocksDB could not read the part, or Protean finds that it is damaged.
  virtual void ReportUnreadPart(const Status& why) const = 0;
  virtual void ReportDamagedPart(const Status& why) const = 0;

 protected:
  ~PartReports() = default;
};

// Which parts stay in memory as long as the file is open, and which are loaded
// when it is opened.
struct PartPinning {
  bool pin = false;
  bool prefetch = false;
};

// What RocksDB has instead of its own reader of the filter. Thread safe.
class CachedFilter final
    : public FilterBlockReaderCommon<ParsedFullFilterBlock> {
 public:
  // Makes a part's reader of its bytes, as a FilterPolicy does for RocksDB.
  static FilterBitsReader* NewPartReader(const FilterDirectory& directory,
                                         const Slice& bytes);

  // Reads the directory of the filter block at `handle` in the table's file.
  static Status ReadDirectory(const BlockBasedTable& table,
                              const ReadOptions& read_options,
                              const BlockHandle& handle,
                              OwnedDirectory* directory);

  // The table's filter policy has readers by NewPartReader. All arguments
  // outlive the object.
  CachedFilter(const BlockBasedTable& table, const BlockHandle& handle,
               const FilterDirectory& directory);

  // Loads all parts with one read. Parts that cannot be read are left to later.
  void Load(const ReadOptions& read_options, bool pin);
  // Set before the filter is asked.
  void SetReports(const PartReports* reports) { reports_ = reports; }

  const FilterDirectory& directory() const { return directory_; }
  // Stores a part, which `*hold`, an empty one, keeps in memory; nullptr if the
  // part may hold any key.
  const RangeFilter* GetPart(size_t index, const ReadOptions& read_options,
                             GetContext* get_context,
                             BlockCacheLookupContext* lookup_context,
                             FilterHold* hold) const;

  // FilterBlockReader:
  bool KeyMayMatch(const Slice& key, const Slice* internal_key,
                   GetContext* get_context,
                   BlockCacheLookupContext* lookup_context,
                   const ReadOptions& read_options) override;
  void KeysMayMatch(MultiGetRange* range,
                    BlockCacheLookupContext* lookup_context,
                    const ReadOptions& read_options) override;
  bool PrefixMayMatch(const Slice& prefix, const Slice* internal_key,
                      GetContext* get_context,
                      BlockCacheLookupContext* lookup_context,
                      const ReadOptions& read_options) override;
  size_t ApproximateMemoryUsage() const override;
  void EraseFromCacheBeforeDestruction(
      uint32_t uncache_aggressiveness) override;

 private:
  BlockHandle HandleOf(size_t index) const {
    const FilterPart& part = directory_.parts()[index];
    return BlockHandle(offset_ + part.offset, part.size());
  }
  Status Read(size_t index, FilePrefetchBuffer* prefetch_buffer,
              const ReadOptions& read_options, GetContext* get_context,
              BlockCacheLookupContext* lookup_context, FilterHold* hold) const;

  const FilterDirectory& directory_;
  const uint64_t offset_;  // of the block in the file
  // Lends the function by which RocksDB reads parts of filters.
  const PartitionedFilterBlockReader parts_;
  std::vector<FilterHold> pinned_;
  const PartReports* reports_ = nullptr;
};

// One caller's view of the filter, which holds the last two parts that it has
// asked: questions about a range go from one part to the next and back. Not
// thread safe.
class CachedFilterView final : public PartedFilter {
 public:
  // All arguments outlive the object. `get_context` may be nullptr.
  CachedFilterView(const CachedFilter& filter, const ReadOptions& read_options,
                   GetContext* get_context,
                   BlockCacheLookupContext* lookup_context)
      : PartedFilter(filter.directory()),
        filter_(filter),
        read_options_(read_options),
        get_context_(get_context),
        lookup_context_(lookup_context) {
    SetUp(/*only=*/nullptr, /*can_filter=*/true);
  }

 private:
  struct Slot {
    FilterHold hold;
    const RangeFilter* part = nullptr;
    size_t index = ~size_t{0};
  };

  const RangeFilter* PartOf(size_t index) const override;

  const CachedFilter& filter_;
  const ReadOptions& read_options_;
  GetContext* const get_context_;
  BlockCacheLookupContext* const lookup_context_;
  mutable Slot slots_[2];
  mutable int latest_ = 0;
};

}  // namespace ROCKSDB_NAMESPACE::protean
