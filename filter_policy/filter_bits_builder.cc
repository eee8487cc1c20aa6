// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/filter_bits_builder.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "filter_policy/building/block_builder.h"
#include "filter_policy/building/building_charge.h"
#include "filter_policy/building/file_report.h"
#include "filter_policy/decimal.h"
#include "filter_policy/filter_properties.h"
#include "filter_policy/segments/segmented_block.h"
#include "rocksdb/env.h"
#include "table/block_based/filter_policy_internal.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// How the filter was designed, for the log; empty if the options prescribe the
// design.
std::string LogLine(const FilterReport& report) {
  if (report.basis.empty()) return "";
  std::string text = report.design + " " + report.basis;
  if (report.price != kUsualPrice) {
    text += ", at " + PriceText(report.price) + " a false positive";
  }
  if (report.predicted_fpr < 0) return text;
  return text + ": predicted false positive rate " +
         DecimalText(report.predicted_fpr, 5) +
         (report.origin == DesignOrigin::kSearched ? ", searched in "
                                                   : ", kept in ") +
         DecimalText(static_cast<double>(report.model_micros) / 1000, 1) +
         " ms";
}

// The flags of a filter to which RocksDB has added a key with its prefix.
uint16_t PrefixFlags(const Slice& key, const Slice& prefix) {
  return key.starts_with(prefix) ? FilterBlockHeader::kAskedForPrefixes
                                 : FilterBlockHeader::kAskedForPrefixes |
                                       FilterBlockHeader::kPrefixesUnknown;
}

// RocksDB's FilterBitsBuilder has had these functions since 10.9. Declared
// without `override`, they compile with every version.
class SizingFilterBitsBuilder : public FilterBitsBuilder {
 public:
  virtual size_t CalculateSpace(size_t num_entries) = 0;
  virtual double EstimatedFpRate(size_t num_entries, size_t bytes) = 0;
};

// What both adapters do.
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
  size_t CalculateSpace(size_t num_entries) final {
    return static_cast<size_t>(static_cast<double>(num_entries) *
                               bits_per_key_ / 8);
  }
  // The rate depends on the keys and queries, so the only safe estimate is the
  // worst.
  double EstimatedFpRate(size_t /*num_entries*/, size_t /*bytes*/) final {
    return 1.0;
  }

 protected:
  virtual Slice FinishBlock(std::unique_ptr<const char[]>* buf) = 0;

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
  void NoteFailure(const char* what, const Status& s) {
    // A budget that is used up is logged once (file_budget.h).
    if (!s.IsMemoryLimit()) {
      Log(InfoLogLevel::WARN_LEVEL, info_log_,
          "Protean: no filter for this %s: %s", what, s.ToString().c_str());
    }
    if (failure_.empty()) {
      failure_ = s.IsMemoryLimit() ? s.getState() : s.ToString();
    }
  }
  bool verify() const { return verify_; }
  // Returns whether a written block is as it should be. Logs if it is not.
  bool Verify(const Slice& block) const {
    const Status s = FilterBlock(block).status();
    if (!s.ok()) {
      Log(InfoLogLevel::ERROR_LEVEL, info_log_,
          "Protean: a part of a filter goes unused: %s", s.ToString().c_str());
    }
    return s.ok();
  }

  // Adds a block that has been written to the report. Blocks that are designed
  // together are logged once.
  void Report(const BlockBuilder& block) {
    FilterReport report = block.Report();
    if (block.header().kind == FilterKind::kAlwaysTrue) {
      report = FilterReport();
      report.design = failure_;
    }
    if (const std::string text = LogLine(report);
        !text.empty() && (!block.header().is_part || report.model_micros > 0)) {
      Log(InfoLogLevel::INFO_LEVEL, info_log_, "Protean: %s", text.c_str());
    }
    is_kept_ = is_kept_ || report.origin == DesignOrigin::kKept;
    report_.Add(block.header().kind, block.header().num_keys, block.size(),
                report);
    if (block.KeepsRange()) {
      report_.AddRange(block.first_key(), block.last_key());
    }
  }
  // The report of a file whose keys no filter can hold, whatever was added.
  void ReportNoFilter(uint64_t keys, uint64_t bytes) {
    FilterReport none;
    none.design = failure_;
    report_.Replace(FilterKind::kAlwaysTrue, keys, bytes, none);
  }
  void PublishReport() {
    if (built_ == nullptr) return;
    built_->properties = report_.Properties();
    if (is_kept_) built_->properties[kKeptDesignProperty] = "1";
    BuildCounts& counts = built_->counts;
    counts.filters = 1;
    counts.keys = report_.keys();
    counts.bytes = report_.bytes();
    counts.model_nanos = uint64_t{1000} * report_.model_micros();
  }

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

// Builds the one block of a file's whole filter.
class WholeFilterBuilder final : public FileFilterBuilder {
 public:
  WholeFilterBuilder(FilterKind kind, NewBuilder new_builder,
                     const FilterBuildingContext& context,
                     std::shared_ptr<FinishedFilter> built)
      : FileFilterBuilder(kind, std::move(new_builder), context,
                          std::move(built)) {
    block_ = NewBlock(NewFilter(), FilterBlockHeader());
  }

  void AddKey(const Slice& key) override {
    if (block_ == nullptr && !BeginSegment(key)) return;
    block_->AddKey(key);
    if (IsChargeDue(key)) ChargeForKeys();
  }

  void AddKeyAndAlt(const Slice& key, const Slice& alt) override {
    flags_ |= PrefixFlags(key, alt);
    AddKey(key);
  }

  size_t EstimateEntriesAdded() override {
    return plain_keys_ + segments_.num_keys() +
           (block_ == nullptr ? 0 : block_->num_keys());
  }

  Status MaybePostVerify(const Slice& filter_content) override {
    return verify() ? FilterBlock(filter_content).status() : Status::OK();
  }

 protected:
  Slice FinishBlock(std::unique_ptr<const char[]>* buf) override {
    return segments_.empty() ? FinishPlain(buf) : FinishSegments(buf);
  }

 private:
  Slice FinishPlain(std::unique_ptr<const char[]>* buf) {
    EndBlock();
    const size_t size = block_->size();
    Charge(block_->MemoryUsage() + size);
    char* const bytes = new char[size]();
    buf->reset(bytes);
    block_->Write(bytes);
    Report(*block_);
    PublishReport();
    plain_keys_ = block_->header().num_keys;
    block_.reset();
    Charge(size);
    return Slice(bytes, size);
  }

  Slice FinishSegments(std::unique_ptr<const char[]>* buf) {
    if (block_ != nullptr) EndSegment();
    const size_t size = segments_.EndAll(flags_);
    Charge(segments_.bytes() + size);
    char* const bytes = new char[size]();
    buf->reset(bytes);
    segments_.Write(bytes);
    if (segments_.HoldsNoKeys()) ReportNoFilter(segments_.num_keys(), size);
    PublishReport();
    Charge(size);
    return Slice(bytes, size);
  }

  // Code that few keys need is out of line, so that AddKey needs no registers
  // for it.
  [[gnu::noinline]] void ChargeForKeys() {
    Charge(block_->MemoryUsage() + segments_.bytes());
    if (block_->IsFull()) Timed([&] { EndSegment(); });
  }

  // Begins a segment with a key. Returns false if the key belongs to none: no
  // segment can hold the keys, or it is the last one of the segment before. A
  // key may come in several versions.
  [[gnu::noinline]] bool BeginSegment(const Slice& key) {
    if (segments_.HoldsNoKeys()) {
      segments_.CountKey(key);
      return false;
    }
    const int order = key.compare(segments_.last_key());
    if (order == 0) return false;
    FilterBlockHeader header;
    header.keys_before = segments_.num_keys();
    block_ = NewBlock(NewFilter(), header);
    if (order > 0) {
      segments_.EndLast(key);
    } else {
      block_->SetUnordered();
    }
    return true;
  }

  void EndSegment() {
    block_->MakePart();
    EndBlock();
    const size_t size = block_->size();
    Charge(block_->MemoryUsage() + segments_.bytes() + size);
    std::unique_ptr<char[]> bytes(new char[size]());
    block_->Write(bytes.get());
    Report(*block_);
    segments_.Add(block_->header(), block_->last_key(), std::move(bytes), size);
    block_.reset();
    Charge(segments_.bytes());
  }

  void EndBlock() {
    block_->AddFlags(flags_);
    const Status s = block_->Finish();
    if (!s.ok()) NoteFailure("file", s);
  }

  std::unique_ptr<BlockBuilder> block_;  // nullptr between two segments
  SegmentedBlock segments_;
  uint64_t plain_keys_ = 0;  // of a finished filter that has no segments
  uint16_t flags_ = 0;       // of the header
};

// What RocksDB is told of the number of entries in a part, so that parts have
// the size that is asked for.
//
// Before each key, RocksDB asks, and if the part has as many entries as should
// fit into it, requests a cut of the index. The request holds until the index
// is cut, behind a data block, and then the filter is cut, too. But RocksDB
// asks once more before that: a second request would stay behind, and cut off a
// part of one data block. Therefore only one answer says that a part is full.
// When RocksDB cuts, it asks again, and then wants the right number: without a
// key in between, or with the prefix of the next key only.
//
// The number that should fit is known before the first key. The parts that are
// finished tell how many fit.
class CutRequests {
 public:
  // A part is to have `bytes` bytes, for which RocksDB expects `entries`.
  void SetPartSize(size_t entries, size_t bytes) {
    expected_ = fitting_ = next_ = entries;
    part_bytes_ = bytes;
  }
  // A part of that size is finished; one without a filter has 0 bytes.
  void FinishPart(size_t entries, size_t bytes) {
    if (bytes > 0) {
      finished_entries_ += entries;
      finished_bytes_ += bytes;
    }
    if (finished_bytes_ > 0) {
      fitting_ = std::clamp(part_bytes_ * finished_entries_ / finished_bytes_,
                            expected_ / 4, 4 * expected_);
    }
    last_ = ~size_t{0};
    next_ = fitting_;
  }
  // `may_cut` tells that the last entry may be the prefix of the next key.
  size_t Answer(size_t entries, bool may_cut) {
    const bool is_repeated = entries == last_;
    last_ = entries;
    if (is_repeated || may_cut || expected_ < kMinExpected) return entries;
    // With a prefix extractor, RocksDB expects an entry less.
    if (entries < next_) return std::min(entries, expected_ - 2);
    // Should the request be lost, there is another one.
    next_ = entries + fitting_ / 4 + 1;
    return std::max(entries, expected_);
  }

 private:
  static constexpr size_t kMinExpected = 8;

  size_t expected_ = 0;
  size_t part_bytes_ = 0;
  size_t fitting_ = 0;
  size_t finished_entries_ = 0;
  size_t finished_bytes_ = 0;
  // The number at which RocksDB has asked last, and that of the next request.
  size_t last_ = ~size_t{0};
  size_t next_ = 0;
};

// Builds the parts of a partitioned filter.
class PartitionedFilterBuilder final : public FileFilterBuilder {
 public:
  PartitionedFilterBuilder(FilterKind kind, NewBuilder new_builder,
                           const FilterBuildingContext& context,
                           std::shared_ptr<FinishedFilter> built)
      : FileFilterBuilder(kind, std::move(new_builder), context,
                          std::move(built)),
        whole_keys_(context.table_options.whole_key_filtering) {
    StartBlock(NewFilter());
  }

  void AddKey(const Slice& key) override {
    last_is_prefix_ = false;
    // RocksDB adds the prefix of the last part's last key in this way.
    if (prefixes_ && block_->num_keys() == 0 && !has_first_) {
      has_first_ = true;
      first_.assign(key.data(), key.size());
    } else {
      Add(key);
    }
  }

  void AddKeyAndAlt(const Slice& key, const Slice& alt) override {
    prefixes_ = true;
    block_->AddFlags(PrefixFlags(key, alt));
    last_is_prefix_ = key.size() == alt.size();
    // RocksDB adds the prefix of the next part's first key in this way. The
    // last key, if it starts with that prefix, answers for it.
    if (last_is_prefix_ && block_->num_keys() > 0 &&
        Slice(last_key_).starts_with(key)) {
      return;
    }
    Add(key);
  }

  // RocksDB asks after the last part, before it writes the parts.
  size_t EstimateEntriesAdded() override {
    const size_t entries = block_->num_keys() + (has_first_ ? 1 : 0);
    if (entries == 0 && !waiting_.empty()) Timed([&] { WriteWaiting(); });
    return requests_.Answer(entries, last_is_prefix_);
  }

  size_t ApproximateNumEntries(size_t bytes) override {
    const size_t entries = FileFilterBuilder::ApproximateNumEntries(bytes);
    // Where all entries are prefixes, any may be that of the next key.
    if (whole_keys_) requests_.SetPartSize(entries, bytes);
    return entries;
  }

  // A part is verified when it is written.
  Status MaybePostVerify(const Slice& /*filter_content*/) override {
    return Status::OK();
  }

 protected:
  Slice FinishBlock(std::unique_ptr<const char[]>* buf) override {
    if (has_first_) AddFirst();
    if (last_is_prefix_) {
      block_->AddFlags(FilterBlockHeader::kMayHoldPrefixes);
    }
    const Status s = block_->Finish();
    if (!s.ok()) NoteFailure("part of a file", s);
    finished_keys_ += block_->header().num_keys;
    const size_t size = block_->size();
    const bool filters = block_->header().kind != FilterKind::kAlwaysTrue;
    requests_.FinishPart(block_->header().num_keys, filters ? size : 0);
    Charge(block_->MemoryUsage() + finished_bytes_ + size);
    finished_bytes_ += size;
    char* const bytes = new char[size]();
    buf->reset(bytes);
    waiting_.push_back({std::move(block_), bytes});
    BlockBuilder& finished = *waiting_.back().block;
    if (finished.WaitsForParts()) {
      StartBlock(finished.NextPart());
    } else {
      WriteWaiting();
    }
    return Slice(bytes, size);
  }

 private:
  // A finished block whose contents have not been written yet. RocksDB owns the
  // bytes, and reads them when the last part is finished.
  struct Waiting {
    std::unique_ptr<BlockBuilder> block;
    char* bytes;
  };

  void StartBlock(std::unique_ptr<RangeFilterBuilder> builder) {
    FilterBlockHeader header;
    header.is_part = true;
    header.keys_before = finished_keys_;
    if (prefixes_) header.flags = FilterBlockHeader::kAskedForPrefixes;
    block_ = NewBlock(std::move(builder), header);
  }

  void AddFirst() {
    has_first_ = false;
    block_->AddFlags(FilterBlockHeader::kMayHoldPrefixes);
    block_->AddKey(first_);
  }

  void Add(const Slice& key) {
    if (has_first_) {
      // In descending order, a prefix is not in its place before a key that
      // starts with it. The key answers for it.
      if (key.starts_with(first_) && key.compare(last_key_) < 0) {
        has_first_ = false;
      } else {
        AddFirst();
      }
    }
    // Several versions of a key may lie in two parts.
    if (block_->num_keys() == 0 && finished_keys_ > 0 && key == last_key_) {
      block_->CountFirstKeyBefore();
      finished_keys_--;
    }
    last_key_.assign(key.data(), key.size());
    block_->AddKey(key);
    if (IsChargeDue(key)) Charge(block_->MemoryUsage() + finished_bytes_);
  }

  // Writes the blocks that wait, and starts the next part.
  void WriteWaiting() {
    for (const Waiting& waiting : waiting_) {
      BlockBuilder& block = *waiting.block;
      block.Write(waiting.bytes);
      // Writing the first block builds what all of them share.
      if (&waiting == waiting_.data()) {
        Charge(block.MemoryUsage() + finished_bytes_);
      }
      if (verify() && !Verify(Slice(waiting.bytes, block.size()))) {
        block.Overwrite(waiting.bytes);
      }
      Report(block);
    }
    waiting_.clear();
    Charge(finished_bytes_);
    PublishReport();
    StartBlock(NewFilter());
  }

  const bool whole_keys_;
  std::unique_ptr<BlockBuilder> block_;
  CutRequests requests_;
  std::vector<Waiting> waiting_;
  uint64_t finished_keys_ = 0;
  size_t finished_bytes_ = 0;
  std::string last_key_;
  // Whether RocksDB adds prefixes, and whether the last entry may be one.
  bool prefixes_ = false;
  bool last_is_prefix_ = false;
  // The first entry of the block if it may be a prefix and is not added yet.
  bool has_first_ = false;
  std::string first_;
};

}  // namespace

std::unique_ptr<FilterBitsBuilder> NewFilterBitsBuilder(
    FilterKind kind,
    std::function<std::unique_ptr<RangeFilterBuilder>()> new_builder,
    const FilterBuildingContext& context,
    std::shared_ptr<FinishedFilter> built) {
  if (context.table_options.partition_filters) {
    return std::make_unique<PartitionedFilterBuilder>(
        kind, std::move(new_builder), context, std::move(built));
  }
  return std::make_unique<WholeFilterBuilder>(kind, std::move(new_builder),
                                              context, std::move(built));
}

}  // namespace ROCKSDB_NAMESPACE::protean
