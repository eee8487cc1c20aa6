// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/protean_filter_policy.h"

#include "cache/cache_reservation_manager.h"
#include "filter_policy/decimal.h"
#include "rocksdb/db.h"
#include "rocksdb/env.h"
#include "rocksdb/table.h"

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

// Feeds the keys of one SST file to a RangeFilterBuilder and puts its result
// into a filter block.
class ProteanFilterBitsBuilder : public SizingFilterBitsBuilder {
 public:
  ProteanFilterBitsBuilder(const RangeFilterPolicy& policy,
                           const FilterBuildingContext& context, Env* env,
                           std::shared_ptr<UserCollectedProperties> properties)
      : builder_(policy.NewRangeFilterBuilder(context, env)),
        properties_(std::move(properties)),
        info_log_(context.info_log),
        verify_(context.table_options.detect_filter_construct_corruption) {
    header_.kind = policy.kind();
    builder_->SetSalt(FilterSalt::Draw());
    const BlockBasedTableOptions& options = context.table_options;
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

  void AddKey(const Slice& key) override {
    if (unordered_ || !descending_.empty() || !builder_->AddKey(key)) {
      AddOutOfOrder(key);
    }
    header_.key_lengths |= FilterBlockHeader::LengthBit(key);
    uncharged_bytes_ += key.size();
    if (uncharged_bytes_ >= kBytesPerCharge) {
      Charge(builder_->MemoryUsage() + descending_.MemoryUsage());
      uncharged_bytes_ = 0;
    }
  }

  void AddKeyAndAlt(const Slice& key, const Slice& alt) override {
    header_.flags |= FilterBlockHeader::kAskedForPrefixes;
    if (!key.starts_with(alt)) {
      header_.flags |= FilterBlockHeader::kPrefixesUnknown;
    }
    AddKey(key);
  }

  size_t EstimateEntriesAdded() override {
    return builder_ == nullptr
               ? header_.num_keys
               : builder_->num_keys() + descending_.size() + unordered_keys_;
  }

  Slice Finish(std::unique_ptr<const char[]>* buf) override {
    return Finish(buf, nullptr);
  }

  Slice Finish(std::unique_ptr<const char[]>* buf, Status* status) override {
    if (status != nullptr) *status = Status::OK();
    header_.num_keys = EstimateEntriesAdded();
    descending_.MoveTo(builder_.get());
    header_.smallest = builder_->first_key();
    header_.largest = builder_->last_key();
    if ((header_.flags & FilterBlockHeader::kAskedForPrefixes) != 0) {
      builder_->ExpectPrefixesOnly();
    }
    uint64_t payload_size = 0;
    const Status s =
        unordered_ ? Status::NotSupported(
                         "its keys are in neither ascending nor descending "
                         "bytewise order")
                   : builder_->Finish(&payload_size);
    const bool filters = s.ok();
    FilterReport report;
    if (filters) {
      report = builder_->Report();
      header_.salt = builder_->Salt();
    } else {
      report.design = s.ToString();
      Log(InfoLogLevel::WARN_LEVEL, info_log_,
          "Protean: no filter for this file: %s", s.ToString().c_str());
    }
    if (const std::string text = LogLine(report); !text.empty()) {
      Log(InfoLogLevel::INFO_LEVEL, info_log_, "Protean: %s", text.c_str());
    }
    if (!filters) {
      header_.kind = FilterKind::kAlwaysTrue;
      header_.smallest = Slice();
      header_.largest = Slice();
      header_.key_lengths = 0;
      payload_size = 0;
    }
    const size_t size = FilterBlockSize(header_, payload_size);
    Charge(builder_->MemoryUsage() + size);
    std::unique_ptr<char[]> block(new char[size]());
    char* const payload = StartFilterBlock(header_, block.get());
    if (filters) builder_->Write(payload);
    FinishFilterBlock(block.get(), size);
    builder_.reset();
    Charge(size);
    if (properties_ != nullptr) {
      const double bits_per_key = 8.0 * static_cast<double>(size) /
                                  std::max<double>(header_.num_keys, 1);
      *properties_ = MakeFilterProperties(FindFilterType(header_.kind)->name,
                                          bits_per_key, report);
    }
    *buf = std::move(block);
    return Slice(buf->get(), size);
  }

  Status MaybePostVerify(const Slice& filter_content) override {
    if (!verify_) return Status::OK();
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

  // Charges the block cache. Memory that the cache has no room for is used all
  // the same, as by RocksDB's Bloom filters.
  void Charge(size_t bytes) {
    if (reservation_ == nullptr) return;
    const Status s = reservation_->UpdateCacheReservation(bytes);
    if (s.ok() || uncharged_logged_) return;
    uncharged_logged_ = true;
    Log(InfoLogLevel::WARN_LEVEL, info_log_,
        "Protean: the block cache has no room for the memory that building "
        "this file's filter takes: %s",
        s.ToString().c_str());
  }

  std::unique_ptr<RangeFilterBuilder> builder_;
  const std::shared_ptr<UserCollectedProperties> properties_;
  Logger* const info_log_;
  const bool verify_;
  const double bits_per_key_ = builder_->ApproximateBitsPerKey();
  std::unique_ptr<CacheReservationManager> reservation_;
  FilterBlockHeader header_;
  size_t uncharged_bytes_ = 0;  // of keys since the last charge
  bool uncharged_logged_ = false;
  DescendingKeys descending_;
  bool unordered_ = false;
  uint64_t unordered_keys_ = 0;
  std::string last_unordered_key_;
};

}  // namespace

Status PartitionedFiltersRefused(const FilterPolicy& policy) {
  return Status::InvalidArgument(
      std::string(
          "partition_filters=true is not supported with filter_policy ") +
      policy.Name() +
      "; allowed: partition_filters=false, or filter_policy=nullptr, since "
      "ProteanTable has this policy where none is named");
}

const std::string& ColumnFamilyOf(const FilterBuildingContext& context) {
  return context.column_family_name.empty() ? kDefaultColumnFamilyName
                                            : context.column_family_name;
}

Status ProteanFilterPolicy::ValidateOptions(
    const DBOptions& db_opts, const ColumnFamilyOptions& cf_opts) const {
  const auto* table_options =
      cf_opts.table_factory == nullptr
          ? nullptr
          : cf_opts.table_factory->GetOptions<BlockBasedTableOptions>();
  if (table_options != nullptr && table_options->partition_filters) {
    return PartitionedFiltersRefused(*this);
  }
  if (const std::shared_ptr<SampleStore> samples = Samples()) {
    const Status s = samples->Validate(db_opts.env);
    if (!s.ok()) return s;
  }
  return FilterPolicy::ValidateOptions(db_opts, cf_opts);
}

FilterBitsBuilder* RangeFilterPolicy::NewBuilder(
    const FilterBuildingContext& context, Env* env,
    std::shared_ptr<UserCollectedProperties> properties) const {
  if (context.table_options.partition_filters) {
    Log(InfoLogLevel::WARN_LEVEL, context.info_log,
        "Protean: no filter for this file: %s",
        PartitionedFiltersRefused(*this).ToString().c_str());
    return nullptr;
  }
  return new ProteanFilterBitsBuilder(*this, context, env,
                                      std::move(properties));
}

}  // namespace ROCKSDB_NAMESPACE::protean
