// SPDX-License-Identifier: Apache-2.0

//  Builds the filter block of a file, whose keys RocksDB gives to a
//  FilterBitsBuilder, by the RangeFilterBuilders of a policy. When a builder
//  has enough keys, its parts are written, and another builder goes on.
//
//  RocksDB gives keys in the order of its comparator, which need not be the
//  bytewise one. Descending keys are kept, and turned round at the end. Keys in
//  neither order are in no filter: the block says so.

#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cache/cache_reservation_manager.h"
#include "filter_policy/filter_block.h"
#include "filter_policy/filter_kinds.h"
#include "filter_policy/open_db/level_sums.h"
#include "rocksdb/table.h"
#include "rocksdb/table_properties.h"
#include "table/block_based/filter_policy_internal.h"

namespace ROCKSDB_NAMESPACE::protean {

// ---- Where filters are kept ----

// Which filters stay in memory as long as their files are open.
PinningTier FilterPinning(const BlockBasedTableOptions& options);

// Returns true if filters are cut into parts, each of which comes and goes in
// the block cache by itself. One that is pinned is not: that makes it larger.
bool CutsFilters(const BlockBasedTableOptions& options);

// ---- File filter builder ----

// The facts of a finished filter, for the table builder.
struct FinishedFilter {
  UserCollectedProperties properties;  // filter_properties.h
  BuildCounts counts;
};

// How a policy has the filter of one file built.
struct FileBuilders {
  FilterKind kind = FilterKind::kAlwaysTrue;
  // Makes builders, one after the other. Empty if there is to be no filter.
  std::function<std::unique_ptr<RangeFilterBuilder>(const FilterTask& task)>
      make;
  // If true, the properties of the file keep the range of its keys.
  bool keep_range = false;
  // If true, point queries may be answered from the lengths of the keys.
  bool tell_lengths = true;
};

// RocksDB's FilterBitsBuilder has had these functions since 10.9. Declared
// without `override`, they compile with every version.
class SizingFilterBitsBuilder : public FilterBitsBuilder {
 public:
  virtual size_t CalculateSpace(size_t num_entries) = 0;
  virtual double EstimatedFpRate(size_t num_entries, size_t bytes) = 0;
};

// Builds one filter after the other: RocksDB's own table, with
// partition_filters, has each part of a file built like the filter of a file.
// Not thread safe.
class FileFilterBuilder final : public SizingFilterBitsBuilder {
 public:
  // Unless `built` is nullptr, it is set when the filter is finished. All that
  // `builders` refers to must outlive the object. Parts of a filter that is cut
  // have metadata_block_size bytes, less block_size_deviation percent.
  FileFilterBuilder(FileBuilders builders, const FilterBuildingContext& context,
                    std::shared_ptr<FinishedFilter> built);

  void AddKey(const Slice& key) override {
    header_.key_lengths |= FilterBlockHeader::LengthBit(key);
    if (builder_ == nullptr || !builder_->AddKey(key)) return AddOther(key);
    NoteAdded(key);
  }
  void AddKeyAndAlt(const Slice& key, const Slice& alt) override;
  size_t EstimateEntriesAdded() override { return NumKeys(); }

  Slice Finish(std::unique_ptr<const char[]>* buf) override {
    return Finish(buf, nullptr);
  }
  Slice Finish(std::unique_ptr<const char[]>* buf, Status* status) override;
  Status MaybePostVerify(const Slice& filter_content) override;

  size_t ApproximateNumEntries(size_t bytes) override {
    return static_cast<size_t>(8.0 * static_cast<double>(bytes) /
                               bits_per_key_);
  }
  // The maximum size of the filter of the entries that have been added, and
  // about the size of as many more as `num_entries` has.
  size_t CalculateSpace(size_t num_entries) override {
    const size_t added = EstimateEntriesAdded();
    const size_t more = num_entries > added ? num_entries - added : 0;
    return MaxSize() +
           static_cast<size_t>(static_cast<double>(more) * bits_per_key_ / 8);
  }
  // The rate depends on the keys and queries, so the only safe estimate is the
  // worst.
  double EstimatedFpRate(size_t /*num_entries*/, size_t /*bytes*/) override {
    return 1.0;
  }

 private:
  // Calls a function and adds the time that it takes to what is told of the
  // filter. The function must not call this one.
  template <typename Function>
  void Timed(const Function& function) {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point begin = Clock::now();
    function();
    if (built_ == nullptr) return;
    built_->counts.nanos += static_cast<uint64_t>(
        std::chrono::nanoseconds(Clock::now() - begin).count());
  }

  bool HoldsNoKeys() const { return !failure_.empty(); }
  uint64_t NumKeys() const {
    return header_.num_keys + descending_.size() +
           (builder_ == nullptr ? 0 : builder_->num_keys());
  }
  size_t MaxSize() const;
  size_t Memory() const {
    return writer_.part_bytes() + descending_.MemoryUsage() +
           (builder_ == nullptr ? 0 : builder_->MemoryUsage());
  }

  // Charges for memory, and ends a builder that is full, each time that
  // note_bytes_ bytes of keys have come.
  void NoteAdded(const Slice& key) {
    unnoted_bytes_ += key.size();
    if (unnoted_bytes_ >= note_bytes_) NoteMemory();
  }
  void NoteMemory();

  // Adds a key that is the first one of a builder, or not above the one before.
  void AddOther(const Slice& key);
  // Ends the builder, and adds its parts to the block.
  void EndBuilder(bool more_follow);
  // Writes the block, and returns its size.
  size_t FinishBlock(std::unique_ptr<const char[]>* buf);

  // Gives up filtering, and says why; or since this key is not in order.
  void Fail(const Status& why);
  void FailAt(const Slice& key);
  // Counts a key that no filter holds.
  void CountKey(const Slice& key);

  // Charges the block cache for this memory, if its options say so. Memory that
  // the cache has no room for is used all the same, as by RocksDB's Bloom
  // filters.
  void Charge(size_t bytes);

  const FileBuilders builders_;
  FilterTask task_;
  Logger* const info_log_;
  const std::shared_ptr<FinishedFilter> built_;
  const bool verify_;
  size_t note_bytes_;
  size_t unnoted_bytes_ = 0;
  double bits_per_key_;
  std::unique_ptr<CacheReservationManager> charged_;  // nullptr if not charged
  bool charge_failed_ = false;

  std::unique_ptr<RangeFilterBuilder> builder_;  // nullptr between two of them
  std::string builder_begin_;                    // see FilterPart
  // The size of what the last builder gave, as a fraction of its MaxSize().
  double fill_ = 1;
  FilterBlockWriter writer_;
  FilterBlockHeader header_;
  // The header refers to these. The last key is that of the last builder.
  std::string smallest_;
  std::string last_key_;
  KeyList descending_;    // descending keys, kept until all are there
  bool in_order_ = true;  // whether all keys are

  // The report of each builder, and the number of its keys.
  std::vector<std::pair<FilterReport, uint64_t>> reports_;
  std::string failure_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
