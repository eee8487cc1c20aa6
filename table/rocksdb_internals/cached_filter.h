// SPDX-License-Identifier: Apache-2.0

//  The filter of a file whose table has its filters in the block cache. RocksDB
//  would load the whole block for each question. Here its directory stays in
//  memory while the file is open, and the parts go through the block cache,
//  each unit by itself: a block within the filter block, which RocksDB's
//  functions read, insert, charge and count as they do any other filter.

#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "filter_policy/open_db/open_families.h"
#include "filter_policy/parted_filter.h"
#include "rocksdb/filter_policy.h"
#include "table/block_based/cachable_entry.h"
#include "table/block_based/filter_block_reader_common.h"
#include "table/block_based/parsed_full_filter_block.h"
#include "table/block_based/partitioned_filter_block.h"
#include "table/multiget_context.h"

namespace ROCKSDB_NAMESPACE::protean {

// Keeps a unit of a filter in memory while it is used.
using FilterHold = CachableEntry<ParsedFullFilterBlock>;

// A unit in the block cache, opened. It outlives the table.
class UnitReader final : public FilterBitsReader {
 public:
  UnitReader(const FilterDirectory& directory, const Slice& bytes);

  // CachedFilter asks the unit itself.
  bool MayMatch(const Slice& /*entry*/) override { return true; }

  const UnitName& name() const { return name_; }
  const Slice& bytes() const { return bytes_; }
  const Status& status() const { return status_; }
  const RangeFilter& filter() const { return *filter_; }  // if status() is OK

 private:
  const Slice bytes_;
  const UnitName name_;
  Status status_;
  std::unique_ptr<RangeFilter> filter_;
};

// A directory with its bytes.
struct OwnedDirectory {
  std::string bytes;
  FilterDirectory directory;
};

// How a caller reads units. All that the members refer to outlives the object.
struct UnitRead {
  const ReadOptions& given;
  GetContext* const get_context;  // may be nullptr
  BlockCacheLookupContext* const lookup_context;

  // RocksDB has no checksum for units, but they have their own.
  const ReadOptions& options() const {
    if (!unverified.has_value()) {
      unverified = given;
      unverified->verify_checksums = false;
    }
    return *unverified;
  }
  mutable std::optional<ReadOptions> unverified{};
};

// What RocksDB has instead of its own reader of the filter. Thread safe.
class CachedFilter final
    : public FilterBlockReaderCommon<ParsedFullFilterBlock> {
 public:
  // Reads the directory of the filter block at `handle` in the table's file.
  static Status ReadDirectory(const BlockBasedTable& table,
                              const ReadOptions& read_options,
                              const BlockHandle& handle,
                              OwnedDirectory* directory);

  // The table's filter policy has UnitReaders. All arguments outlive the
  // object.
  CachedFilter(const BlockBasedTable& table, const BlockHandle& handle,
               const FilterDirectory& directory);

  // Loads the first units, or all if they are pinned, with one read. Units that
  // cannot be read are left to later.
  void Load(const ReadOptions& read_options, bool pin);
  // The file is told why a unit cannot be used. Set before the filter is asked.
  void SetOwner(OpenFile* owner) { owner_ = owner; }

  const FilterDirectory& directory() const { return directory_; }
  // Returns a unit, which `*hold`, an empty one, keeps in memory; nullptr if
  // the part may hold any key.
  const UnitReader* Get(const UnitName& unit, const UnitRead& read,
                        FilterHold* hold) const;
  // Called when the first unit of a part has let a query through. Returns the
  // second one in the same way; nullptr if it is not to be asked. REQUIRES:
  // there is one
  const UnitReader* GetSecond(size_t part, AskedFor asked_for,
                              const UnitRead& read, FilterHold* hold) const;

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
  BlockHandle HandleOf(const UnitName& unit) const {
    const FilterUnit& bytes = directory_.UnitOf(unit);
    return BlockHandle(offset_ + bytes.offset, bytes.size());
  }
  // The place of a unit in the block.
  size_t IndexOf(const UnitName& unit) const {
    return unit.second ? directory_.parts().size() + unit.part : unit.part;
  }
  // All units in the order of the block, or without `with_second`, the first
  // ones of all parts.
  std::vector<UnitName> Units(bool with_second) const;
  // `options` are those of `read`, or such as look in memory only.
  Status Read(const UnitName& unit, FilePrefetchBuffer* prefetch_buffer,
              const ReadOptions& options, const UnitRead& read,
              FilterHold* hold) const;
  const FilterHold* Pinned(const UnitName& unit) const;
  // The reader of a unit that has been read; nullptr if it is damaged.
  const UnitReader* ReaderIn(const FilterHold& hold,
                             const UnitName& unit) const;

  const FilterDirectory& directory_;
  const uint64_t offset_;  // of the block in the file
  // Lends the function by which RocksDB reads parts of filters.
  const PartitionedFilterBlockReader parts_;
  std::vector<FilterHold> pinned_;  // by IndexOf
  // The heat of each part, if some have two units; else nullptr.
  std::unique_ptr<UnitHeat[]> heats_;
  OpenFile* owner_ = nullptr;
};

// One caller's view of the filter, which holds the last two parts that it has
// asked: questions about a range go from one part to the next and back. Not
// thread safe.
class CachedFilterView final : public FileRangeFilter {
 public:
  // All arguments outlive the object. `get_context` may be nullptr.
  CachedFilterView(const CachedFilter& filter, AskedFor asked_for,
                   const ReadOptions& read_options, GetContext* get_context,
                   BlockCacheLookupContext* lookup_context)
      : FileRangeFilter(filter.directory()),
        filter_(filter),
        asked_for_(asked_for),
        read_{read_options, get_context, lookup_context} {
    SetUp(/*only=*/nullptr, /*can_filter=*/true);
  }

 private:
  // A part that is held. If it has two units, and the first one lets a key or a
  // range through, the second one is got and asked, too.
  class Slot final : public RangeFilter {
   public:
    size_t index() const { return index_; }
    const RangeFilter* part() const { return part_; }
    void Load(const CachedFilterView& view, size_t index);

    bool KeyMayMatch(const Slice& key) const override {
      return First().KeyMayMatch(key) &&
             (Second() == nullptr || Second()->filter().KeyMayMatch(key));
    }
    bool RangeMayMatch(const Slice& lo, const Slice& hi,
                       bool hi_inclusive) const override {
      return First().RangeMayMatch(lo, hi, hi_inclusive) &&
             (Both() == nullptr || Both()->RangeMayMatch(lo, hi, hi_inclusive));
    }
    bool LowerBound(const Slice& target, std::string* bound) const override {
      return First().LowerBound(target, bound);
    }
    bool LowerBoundIsLoose() const override {
      return First().LowerBoundIsLoose();
    }
    bool LowerBoundIsSlow() const override {
      return First().LowerBoundIsSlow();
    }
    bool CountRange(const Slice& lo, const Slice& hi, bool hi_inclusive,
                    RangeCount* count) const override {
      return First().CountRange(lo, hi, hi_inclusive, count);
    }

   private:
    const RangeFilter& First() const { return first_->filter(); }
    const UnitReader* Second() const;
    // Both units as one filter, which knows that a range has to hold a prefix
    // that both let through; nullptr without the second one.
    const RangeFilter* Both() const;

    const CachedFilterView* view_ = nullptr;
    size_t index_ = ~size_t{0};
    FilterHold first_hold_;
    mutable FilterHold second_hold_;
    const RangeFilter* part_ = nullptr;  // what the view asks
    const UnitReader* first_ = nullptr;
    mutable const UnitReader* second_ = nullptr;
    mutable bool second_is_known_ = false;
    mutable std::unique_ptr<RangeFilter> both_;
  };

  const RangeFilter* PartOf(size_t index) const override;

  const CachedFilter& filter_;
  const AskedFor asked_for_;
  const UnitRead read_;
  mutable Slot slots_[2];
  mutable int latest_ = 0;
};

}  // namespace ROCKSDB_NAMESPACE::protean
