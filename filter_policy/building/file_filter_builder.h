// SPDX-License-Identifier: Apache-2.0

//  What the builders of whole and of partitioned filters do alike: log how a
//  filter was designed and why there is none, report it, charge the memory of
//  building, and take the time.

#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "filter_policy/building/block_builder.h"
#include "filter_policy/building/building_charge.h"
#include "filter_policy/building/file_report.h"
#include "filter_policy/building/finished_filter.h"
#include "table/block_based/filter_policy_internal.h"

namespace ROCKSDB_NAMESPACE::protean {

// RocksDB's FilterBitsBuilder has had these functions since 10.9. Declared
// without `override`, they compile with every version.
class SizingFilterBitsBuilder : public FilterBitsBuilder {
 public:
  virtual size_t CalculateSpace(size_t num_entries) = 0;
  virtual double EstimatedFpRate(size_t num_entries, size_t bytes) = 0;
};

class FileFilterBuilder : public SizingFilterBitsBuilder {
 public:
  using NewBuilder = std::function<std::unique_ptr<RangeFilterBuilder>()>;

  FileFilterBuilder(FilterKind kind, NewBuilder new_builder,
                    const FilterBuildingContext& context,
                    std::shared_ptr<FinishedFilter> built)
      : kind_(kind),
        new_builder_(std::move(new_builder)),
        info_log_(context.info_log),
        built_(std::move(built)),
        verify_(context.table_options.detect_filter_construct_corruption),
        charge_(context.table_options, context.info_log) {}

  Slice Finish(std::unique_ptr<const char[]>* buf) final {
    return Finish(buf, nullptr);
  }
  Slice Finish(std::unique_ptr<const char[]>* buf, Status* status) final {
    if (status != nullptr) *status = Status::OK();
    return Timed([&] { return FinishBlock(buf); });
  }

  size_t ApproximateNumEntries(size_t bytes) override {
    return static_cast<size_t>(8.0 * static_cast<double>(bytes) /
                               bits_per_key_);
  }
  // The maximum size of the filter of the entries that have been added, and
  // about the size of as many more as `num_entries` has.
  size_t CalculateSpace(size_t num_entries) final {
    const size_t added = EstimateEntriesAdded();
    const size_t more = num_entries > added ? num_entries - added : 0;
    return MaxSize() +
           static_cast<size_t>(static_cast<double>(more) * bits_per_key_ / 8);
  }
  // The rate depends on the keys and queries, so the only safe estimate is the
  // worst.
  double EstimatedFpRate(size_t /*num_entries*/, size_t /*bytes*/) final {
    return 1.0;
  }

 protected:
  virtual Slice FinishBlock(std::unique_ptr<const char[]>* buf) = 0;
  // The maximum size of the filter, if no more keys come.
  virtual size_t MaxSize() const = 0;
  // Returns true if RocksDB asks how large the file would be (FinishedFilter).
  bool IsAskedForSize() const {
    return built_ != nullptr && built_->is_asked_for_size;
  }

  // The flags of a filter to which RocksDB has added a key with its prefix.
  static uint16_t PrefixFlags(const Slice& key, const Slice& prefix) {
    return key.starts_with(prefix) ? FilterBlockHeader::kAskedForPrefixes
                                   : FilterBlockHeader::kAskedForPrefixes |
                                         FilterBlockHeader::kPrefixesUnknown;
  }

  // Calls a function and adds the time that it takes to what is told of the
  // filter. The function must not call this one.
  template <typename Function>
  auto Timed(const Function& function) -> decltype(function()) {
    class Stopwatch {
     public:
      explicit Stopwatch(FinishedFilter* built) : built_(built) {}
      ~Stopwatch() {
        if (built_ == nullptr) return;
        built_->counts.nanos += static_cast<uint64_t>(
            std::chrono::nanoseconds(Clock::now() - begin_).count());
      }

     private:
      using Clock = std::chrono::steady_clock;
      FinishedFilter* const built_;
      const Clock::time_point begin_ = Clock::now();
    };
    const Stopwatch stopwatch(built_.get());
    return function();
  }

  std::unique_ptr<BlockBuilder> NewBlock(
      std::unique_ptr<RangeFilterBuilder> builder, FilterBlockHeader header) {
    header.kind = kind_;
    header.salt = salt_;
    return std::make_unique<BlockBuilder>(std::move(builder), header);
  }
  std::unique_ptr<RangeFilterBuilder> NewFilter() {
    std::unique_ptr<RangeFilterBuilder> builder = new_builder_();
    if (bits_per_key_ == 0) bits_per_key_ = builder->ApproximateBitsPerKey();
    return builder;
  }

  // Whether the memory of building has to be charged, now that this key has
  // come.
  bool IsChargeDue(const Slice& key) {
    constexpr size_t kBytesPerCharge = 64 << 10;
    uncharged_bytes_ += key.size();
    if (uncharged_bytes_ < kBytesPerCharge) return false;
    uncharged_bytes_ = 0;
    return true;
  }
  void Charge(size_t bytes) { charge_.Set(bytes); }

  // Logs why `what` cannot hold its keys.
  void NoteFailure(const char* what, const Status& s);
  bool verify() const { return verify_; }
  // Returns whether a written block is as it should be. Logs if it is not.
  bool Verify(const Slice& block) const;

  // Adds a block that has been written to the report. Blocks that are designed
  // together are logged once.
  void Report(const BlockBuilder& block);
  // The report of a file whose keys no filter can hold, whatever was added.
  void ReportNoFilter(uint64_t keys, uint64_t bytes);
  // Stores the report where it was asked for.
  void PublishReport();

 private:
  const FilterKind kind_;
  const NewBuilder new_builder_;
  Logger* const info_log_;
  const std::shared_ptr<FinishedFilter> built_;
  const bool verify_;
  double bits_per_key_ = 0;
  const FilterSalt salt_ = FilterSalt::Draw();
  BuildingCharge charge_;
  size_t uncharged_bytes_ = 0;  // of keys since the last charge
  FileReport report_;
  bool is_kept_ = false;  // whether a design is that of another file
  std::string failure_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
