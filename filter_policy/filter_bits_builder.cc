// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/filter_bits_builder.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cache/cache_reservation_manager.h"
#include "filter_policy/decimal.h"
#include "filter_policy/filter_block.h"
#include "rocksdb/env.h"
#include "rocksdb/table.h"
#include "table/block_based/filter_policy_internal.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// The keys of a file whose comparator reverses the bytewise order, kept until
// all are there: builders take keys in ascending order.
class DescendingKeys {
 public:
  bool empty() const { return ends_.empty(); }
  size_t size() const { return ends_.size(); }
  Slice last() const { return At(ends_.size() - 1); }

  void Add(const Slice& key) {
    bytes_.append(key.data(), key.size());
    ends_.push_back(bytes_.size());
  }
  void MoveTo(RangeFilterBuilder* builder) {
    for (size_t i = ends_.size(); i-- > 0;) builder->AddKey(At(i));
    *this = DescendingKeys();
  }
  size_t MemoryUsage() const {
    return bytes_.capacity() + ends_.capacity() * sizeof(size_t);
  }

 private:
  Slice At(size_t index) const {
    const size_t begin = index == 0 ? 0 : ends_[index - 1];
    return Slice(bytes_.data() + begin, ends_[index] - begin);
  }

  std::string bytes_;
  std::vector<size_t> ends_;
};

// How the filter was designed, for the log; empty if the options prescribe the
// design.
std::string LogLine(const FilterReport& report) {
  if (report.basis.empty()) return "";
  std::string text = report.design + " " + report.basis;
  if (report.predicted_fpr < 0) return text;
  return text + ": predicted false positive rate " +
         DecimalText(report.predicted_fpr, 5) + ", modelled in " +
         DecimalText(static_cast<double>(report.model_micros) / 1000, 1) +
         " ms";
}

// RocksDB's FilterBitsBuilder has had these functions since 10.9. Declared
// without `override`, they compile with every version.
class SizingFilterBitsBuilder : public FilterBitsBuilder {
 public:
  virtual size_t CalculateSpace(size_t num_entries) = 0;
  virtual double EstimatedFpRate(size_t num_entries, size_t bytes) = 0;
};

// Makes one filter block: feeds keys to a RangeFilterBuilder and puts its
// result into the envelope.
class BlockBuilder {
 public:
  BlockBuilder(std::unique_ptr<RangeFilterBuilder> builder,
               const FilterBlockHeader& header)
      : builder_(std::move(builder)), header_(header) {
    if (header.is_part) builder_->ExpectParts();
    builder_->SetSalt(header.salt);
    // The salt is written where something is hashed.
    header_.salt = FilterSalt();
  }

  void AddKey(const Slice& key) {
    if (unordered_ || !descending_.empty() || !builder_->AddKey(key)) {
      AddOutOfOrder(key);
    }
    header_.key_lengths |= FilterBlockHeader::LengthBit(key);
  }
  void AddFlags(uint16_t flags) {
    header_.flags = static_cast<uint16_t>(header_.flags | flags);
  }
  // The first key, which comes next, is the last one of the part before.
  void CountFirstKeyBefore() { header_.keys_before--; }

  uint64_t num_keys() const {
    return builder_->num_keys() + descending_.size() + unordered_keys_;
  }
  size_t MemoryUsage() const {
    return builder_->MemoryUsage() + descending_.MemoryUsage();
  }
  Slice first_key() const { return builder_->first_key(); }
  Slice last_key() const { return builder_->last_key(); }
  bool KeepsRange() const {
    return builder_->KeepsRange() && builder_->num_keys() > 0;
  }

  // Called after the last key. Returns why the block cannot hold the keys: then
  // it says so.
  Status Finish() {
    header_.num_keys = num_keys();
    descending_.MoveTo(builder_.get());
    header_.smallest = builder_->first_key();
    header_.largest = builder_->last_key();
    if ((header_.flags & FilterBlockHeader::kAskedForPrefixes) != 0) {
      builder_->ExpectPrefixesOnly();
    }
    const Status s = unordered_ ? Status::NotSupported(
                                      "its keys are in neither ascending nor "
                                      "descending bytewise order")
                                : builder_->Finish(&payload_size_);
    if (s.ok()) {
      header_.salt = builder_->Salt();
    } else {
      HoldNoKeys();
      payload_size_ = 0;
    }
    return s;
  }
  bool WaitsForParts() const { return filters() && builder_->WaitsForParts(); }
  std::unique_ptr<RangeFilterBuilder> NextPart() {
    return builder_->NextPart();
  }

  // The size of the block, after Finish.
  size_t size() const { return FilterBlockSize(header_, payload_size_); }
  // Writes the block to size() zero bytes.
  void Write(char* block) {
    const size_t size = this->size();
    if (header_.is_part) {
      const uint64_t payload_size =
          filters() ? builder_->WritePart(PayloadOfPart(block), payload_size_)
                    : 0;
      FinishPart(header_, payload_size, block, size);
    } else {
      char* const payload = StartFilterBlock(header_, block);
      if (filters()) builder_->Write(payload);
      FinishFilterBlock(block, size);
    }
  }
  // Makes the block of a part one that says that it holds no keys.
  void Overwrite(char* block) {
    const size_t size = this->size();
    memset(block, 0, size);
    HoldNoKeys();
    FinishPart(header_, /*payload_size=*/0, block, size);
  }

  FilterKind kind() const { return header_.kind; }
  uint16_t flags() const { return header_.flags; }
  uint64_t finished_keys() const { return header_.num_keys; }
  FilterReport Report() const { return builder_->Report(); }

 private:
  bool filters() const { return header_.kind != FilterKind::kAlwaysTrue; }
  void HoldNoKeys() {
    header_.kind = FilterKind::kAlwaysTrue;
    header_.smallest = Slice();
    header_.largest = Slice();
    header_.key_lengths = 0;
  }

  // Takes a key that is not above the one before it. If the keys are in neither
  // ascending nor descending bytewise order, no filter can hold them: they are
  // still counted, and the file gets a filter block that says so.
  void AddOutOfOrder(const Slice& key) {
    if (!unordered_ && descending_.empty() && builder_->num_keys() == 1) {
      descending_.Add(builder_->first_key());
      builder_->TakeBackKey();
    }
    if (!descending_.empty()) {
      const int order = key.compare(descending_.last());
      if (order < 0) descending_.Add(key);
      if (order <= 0) return;
      unordered_keys_ = descending_.size();
      descending_ = DescendingKeys();
    }
    unordered_ = true;
    if (unordered_keys_ > 0 && key == last_unordered_key_) return;
    unordered_keys_++;
    last_unordered_key_.assign(key.data(), key.size());
  }

  const std::unique_ptr<RangeFilterBuilder> builder_;
  FilterBlockHeader header_;
  uint64_t payload_size_ = 0;
  DescendingKeys descending_;
  bool unordered_ = false;
  uint64_t unordered_keys_ = 0;
  std::string last_unordered_key_;
};

// What is reported of a file's filter: sums over its parts, and of the designs
// the one that most keys have.
class FileReport {
 public:
  void Add(const BlockBuilder& block, const FilterReport& report) {
    keys_ += block.finished_keys();
    bytes_ += block.size();
    if (block.KeepsRange()) {
      if (!range_.has_value()) range_.emplace(block.first_key().ToString(), "");
      range_->second = block.last_key().ToString();
    }
    model_micros_ += report.model_micros;
    if (report.predicted_fpr >= 0) {
      predicted_ +=
          report.predicted_fpr * static_cast<double>(block.finished_keys());
      predicted_keys_ += block.finished_keys();
    }
    for (Design& design : designs_) {
      if (design.report.design != report.design ||
          design.kind != block.kind()) {
        continue;
      }
      design.keys += block.finished_keys();
      return;
    }
    designs_.push_back({report, block.kind(), block.finished_keys()});
  }

  UserCollectedProperties Properties() const {
    const auto most = std::max_element(
        designs_.begin(), designs_.end(),
        [](const Design& a, const Design& b) { return a.keys < b.keys; });
    FilterReport report = most->report;
    report.model_micros = model_micros_;
    if (predicted_keys_ > 0) {
      report.predicted_fpr = predicted_ / static_cast<double>(predicted_keys_);
    }
    if (designs_.size() > 1) {
      report.design += " and " + std::to_string(designs_.size() - 1) + " more";
    }
    UserCollectedProperties properties = MakeFilterProperties(
        FindFilterType(most->kind)->name,
        8.0 * static_cast<double>(bytes_) /
            static_cast<double>(std::max<uint64_t>(keys_, 1)),
        report);
    if (range_.has_value()) {
      AddKeyRange(range_->first, range_->second, &properties);
    }
    return properties;
  }

 private:
  struct Design {
    FilterReport report;
    FilterKind kind;
    uint64_t keys;
  };

  uint64_t keys_ = 0;
  uint64_t bytes_ = 0;
  uint32_t model_micros_ = 0;
  double predicted_ = 0;
  uint64_t predicted_keys_ = 0;
  std::vector<Design> designs_;
  std::optional<std::pair<std::string, std::string>> range_;
};

// Charges the block cache for the memory that building takes, if its options
// say so. Memory that the cache has no room for is used all the same, as by
// RocksDB's Bloom filters.
class BuildingCharge {
 public:
  BuildingCharge(const BlockBasedTableOptions& options, Logger* info_log)
      : info_log_(info_log) {
    const auto charge = options.cache_usage_options.options_overrides.find(
        CacheEntryRole::kFilterConstruction);
    if (options.block_cache != nullptr &&
        charge != options.cache_usage_options.options_overrides.end() &&
        charge->second.charged == CacheEntryRoleOptions::Decision::kEnabled) {
      reservation_ = std::make_unique<
          CacheReservationManagerImpl<CacheEntryRole::kFilterConstruction>>(
          options.block_cache);
    }
  }

  void Set(size_t bytes) {
    if (reservation_ == nullptr) return;
    const Status s = reservation_->UpdateCacheReservation(bytes);
    if (s.ok() || failure_logged_) return;
    failure_logged_ = true;
    Log(InfoLogLevel::WARN_LEVEL, info_log_,
        "Protean: the block cache has no room for the memory that building "
        "this file's filter takes: %s",
        s.ToString().c_str());
  }

 private:
  Logger* const info_log_;
  std::unique_ptr<CacheReservationManager> reservation_;
  bool failure_logged_ = false;
};

class ProteanFilterBitsBuilder : public SizingFilterBitsBuilder {
 public:
  using NewBuilder = std::function<std::unique_ptr<RangeFilterBuilder>()>;

  ProteanFilterBitsBuilder(FilterKind kind, NewBuilder new_builder,
                           const FilterBuildingContext& context,
                           std::shared_ptr<UserCollectedProperties> properties)
      : kind_(kind),
        new_builder_(std::move(new_builder)),
        info_log_(context.info_log),
        properties_(std::move(properties)),
        partitioned_(context.table_options.partition_filters),
        verify_(context.table_options.detect_filter_construct_corruption),
        charge_(context.table_options, context.info_log) {
    std::unique_ptr<RangeFilterBuilder> builder = new_builder_();
    bits_per_key_ = builder->ApproximateBitsPerKey();
    StartBlock(std::move(builder));
  }

  void AddKey(const Slice& key) override {
    // RocksDB adds the prefix of the last part's last key in this way.
    if (prefixes_ && block_->num_keys() == 0) {
      block_->AddFlags(FilterBlockHeader::kMayHoldPrefixes);
    }
    last_is_prefix_ = false;
    Add(key);
  }

  void AddKeyAndAlt(const Slice& key, const Slice& alt) override {
    prefixes_ = true;
    block_->AddFlags(FilterBlockHeader::kAskedForPrefixes);
    if (!key.starts_with(alt)) {
      block_->AddFlags(FilterBlockHeader::kPrefixesUnknown);
    }
    last_is_prefix_ = key.size() == alt.size();
    // RocksDB adds the prefix of the next part's first key in this way. The
    // last key, if it starts with that prefix, answers for it.
    if (last_is_prefix_ && partitioned_ && block_->num_keys() > 0 &&
        Slice(last_key_).starts_with(key)) {
      return;
    }
    Add(key);
  }

  // RocksDB asks after the last part, before it writes the parts.
  size_t EstimateEntriesAdded() override {
    if (block_ == nullptr) return finished_keys_;
    if (block_->num_keys() == 0 && !waiting_.empty()) WriteWaiting();
    return block_->num_keys();
  }

  Slice Finish(std::unique_ptr<const char[]>* buf) override {
    return Finish(buf, nullptr);
  }

  Slice Finish(std::unique_ptr<const char[]>* buf, Status* status) override {
    if (status != nullptr) *status = Status::OK();
    if (last_is_prefix_ && partitioned_) {
      block_->AddFlags(FilterBlockHeader::kMayHoldPrefixes);
    }
    const Status s = block_->Finish();
    if (!s.ok()) {
      // A budget that is used up is logged once (file_budget.h).
      if (!s.IsMemoryLimit()) {
        Log(InfoLogLevel::WARN_LEVEL, info_log_,
            "Protean: no filter for this %s: %s",
            partitioned_ ? "part of a file" : "file", s.ToString().c_str());
      }
      if (failure_.empty()) {
        failure_ = s.IsMemoryLimit() ? s.getState() : s.ToString();
      }
    }
    finished_keys_ += block_->finished_keys();
    const size_t size = block_->size();
    charge_.Set(block_->MemoryUsage() + finished_bytes_ + size);
    finished_bytes_ += size;
    std::unique_ptr<char[]> bytes(new char[size]());
    char* const start = bytes.get();
    *buf = std::move(bytes);
    waiting_.push_back({std::move(block_), start});
    if (!partitioned_) {
      WriteWaiting();
      charge_.Set(finished_bytes_);
    } else {
      BlockBuilder& finished = *waiting_.back().block;
      if (finished.WaitsForParts()) {
        StartBlock(finished.NextPart());
      } else {
        WriteWaiting();
      }
    }
    return Slice(start, size);
  }

  // A part is verified when it is written.
  Status MaybePostVerify(const Slice& filter_content) override {
    if (!verify_ || partitioned_) return Status::OK();
    return FilterBlock(filter_content).status();
  }

  size_t ApproximateNumEntries(size_t bytes) override {
    return static_cast<size_t>(8.0 * static_cast<double>(bytes) /
                               bits_per_key_);
  }

  size_t CalculateSpace(size_t num_entries) override {
    return static_cast<size_t>(static_cast<double>(num_entries) *
                               bits_per_key_ / 8);
  }

  // The rate depends on the keys and queries, so the only safe estimate is the
  // worst.
  double EstimatedFpRate(size_t /*num_entries*/, size_t /*bytes*/) override {
    return 1.0;
  }

 private:
  static constexpr size_t kBytesPerCharge = 64 << 10;

  // A finished block whose contents have not been written yet. RocksDB owns the
  // bytes, and reads them when the last part is finished.
  struct Waiting {
    std::unique_ptr<BlockBuilder> block;
    char* bytes;
  };

  void StartBlock(std::unique_ptr<RangeFilterBuilder> builder) {
    FilterBlockHeader header;
    header.kind = kind_;
    header.salt = salt_;
    header.is_part = partitioned_;
    header.keys_before = finished_keys_;
    if (prefixes_) header.flags = FilterBlockHeader::kAskedForPrefixes;
    block_ = std::make_unique<BlockBuilder>(std::move(builder), header);
  }

  void Add(const Slice& key) {
    if (partitioned_) {
      // Several versions of a key may lie in two parts.
      if (block_->num_keys() == 0 && finished_keys_ > 0 && key == last_key_) {
        block_->CountFirstKeyBefore();
        finished_keys_--;
      }
      last_key_.assign(key.data(), key.size());
    }
    block_->AddKey(key);
    uncharged_bytes_ += key.size();
    if (uncharged_bytes_ >= kBytesPerCharge) {
      charge_.Set(block_->MemoryUsage() + finished_bytes_);
      uncharged_bytes_ = 0;
    }
  }

  // Writes the blocks that wait, and starts the next part.
  void WriteWaiting() {
    for (const Waiting& waiting : waiting_) {
      BlockBuilder& block = *waiting.block;
      block.Write(waiting.bytes);
      FilterReport report = block.Report();
      if (partitioned_ && verify_) {
        const Status s =
            FilterBlock(Slice(waiting.bytes, block.size())).status();
        if (!s.ok()) {
          Log(InfoLogLevel::ERROR_LEVEL, info_log_,
              "Protean: a part of a filter goes unused: %s",
              s.ToString().c_str());
          block.Overwrite(waiting.bytes);
        }
      }
      if (block.kind() == FilterKind::kAlwaysTrue) {
        report = FilterReport();
        report.design = failure_;
      }
      // Parts that are designed together are logged once.
      if (const std::string text = LogLine(report);
          !text.empty() && (!partitioned_ || report.model_micros > 0)) {
        Log(InfoLogLevel::INFO_LEVEL, info_log_, "Protean: %s", text.c_str());
      }
      report_.Add(block, report);
    }
    waiting_.clear();
    if (properties_ != nullptr) *properties_ = report_.Properties();
    if (partitioned_) {
      StartBlock(new_builder_());
    }
  }

  const FilterKind kind_;
  const NewBuilder new_builder_;
  Logger* const info_log_;
  const std::shared_ptr<UserCollectedProperties> properties_;
  const bool partitioned_;
  const bool verify_;
  double bits_per_key_;
  const FilterSalt salt_ = FilterSalt::Draw();
  BuildingCharge charge_;
  size_t uncharged_bytes_ = 0;           // of keys since the last charge
  std::unique_ptr<BlockBuilder> block_;  // nullptr after the file's only block
  std::vector<Waiting> waiting_;
  uint64_t finished_keys_ = 0;
  size_t finished_bytes_ = 0;
  std::string last_key_;
  // Whether RocksDB adds prefixes, and whether the last entry may be one.
  bool prefixes_ = false;
  bool last_is_prefix_ = false;
  FileReport report_;
  std::string failure_;
};

}  // namespace

std::unique_ptr<FilterBitsBuilder> NewFilterBitsBuilder(
    FilterKind kind,
    std::function<std::unique_ptr<RangeFilterBuilder>()> new_builder,
    const FilterBuildingContext& context,
    std::shared_ptr<UserCollectedProperties> properties) {
  return std::make_unique<ProteanFilterBitsBuilder>(
      kind, std::move(new_builder), context, std::move(properties));
}

}  // namespace ROCKSDB_NAMESPACE::protean
