// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/building/file_filter_builder.h"

#include <algorithm>
#include <map>

#include "filter_policy/filter_properties.h"
#include "filter_policy/option_types.h"
#include "filter_policy/parted_filter.h"
#include "rocksdb/env.h"

namespace ROCKSDB_NAMESPACE::protean {

// ---- Where filters are kept ----

PinningTier FilterPinning(const BlockBasedTableOptions& options) {
  const MetadataCacheOptions& pinning = options.metadata_cache_options;
  const PinningTier tier = options.partition_filters
                               ? pinning.partition_pinning
                               : pinning.unpartitioned_pinning;
  if (tier != PinningTier::kFallback) return tier;
  return options.pin_l0_filter_and_index_blocks_in_cache
             ? PinningTier::kFlushedAndSimilar
             : PinningTier::kNone;
}

bool CutsFilters(const BlockBasedTableOptions& options) {
  // RocksDB's table pins a whole filter if unpartitioned ones are pinned.
  const bool are_pinned =
      FilterPinning(options) == PinningTier::kAll &&
      options.metadata_cache_options.unpartitioned_pinning == PinningTier::kAll;
  return options.cache_index_and_filter_blocks && !are_pinned;
}

// ---- File filter builder ----

namespace {

// How often the memory of building is looked at where parts are large.
constexpr size_t kUsualNoteBytes = 64 << 10;

// How the filter was designed, for the log; empty if the options prescribe the
// design.
std::string LogLine(const FilterReport& report) {
  if (report.basis.empty()) return "";
  std::string text = report.design + " " + report.basis;
  if (report.demand.price != kUsualPrice) {
    text += ", at " + PriceText(report.demand.price) + " a false positive";
  }
  if (report.demand.WasFoundLow()) {
    text += ", for " + DecimalText(report.demand.queries_per_key, 3) +
            " queries a key";
  }
  if (report.predicted_fpr < 0) return text;
  return text + ": predicted false positive rate " +
         DecimalText(report.predicted_fpr, 5) +
         (report.origin == DesignOrigin::kSearched ? ", searched in "
                                                   : ", kept in ") +
         DecimalText(static_cast<double>(report.model_micros) / 1000, 1) +
         " ms";
}

// The report of a file's filter: sums and averages over its builders, and the
// design that most of the keys have.
FilterReport WholeOf(
    const std::vector<std::pair<FilterReport, uint64_t>>& reports) {
  uint32_t model_micros = 0;
  double predicted = 0;
  uint64_t predicted_keys = 0;
  std::map<std::string, uint64_t> keys_of;  // by design
  for (const auto& [report, keys] : reports) {
    model_micros += report.model_micros;
    keys_of[report.design] += keys;
    if (report.predicted_fpr < 0) continue;
    predicted += report.predicted_fpr * static_cast<double>(keys);
    predicted_keys += keys;
  }
  FilterReport whole;
  uint64_t most = 0;
  for (const auto& [report, keys] : reports) {
    if (keys_of[report.design] <= most) continue;
    most = keys_of[report.design];
    whole = report;
  }
  whole.model_micros = model_micros;
  if (predicted_keys > 0) {
    whole.predicted_fpr = predicted / static_cast<double>(predicted_keys);
  }
  if (keys_of.size() > 1) {
    whole.design += " and " + std::to_string(keys_of.size() - 1) + " more";
  }
  return whole;
}

}  // namespace

FileFilterBuilder::FileFilterBuilder(FileBuilders builders,
                                     const FilterBuildingContext& context,
                                     std::shared_ptr<FinishedFilter> built)
    : builders_(std::move(builders)),
      info_log_(context.info_log),
      built_(std::move(built)),
      verify_(context.table_options.detect_filter_construct_corruption) {
  const BlockBasedTableOptions& table = context.table_options;
  const auto& roles = table.cache_usage_options.options_overrides;
  const auto role = roles.find(CacheEntryRole::kFilterConstruction);
  if (table.block_cache != nullptr && role != roles.end() &&
      role->second.charged == CacheEntryRoleOptions::Decision::kEnabled) {
    charged_ = std::make_unique<
        CacheReservationManagerImpl<CacheEntryRole::kFilterConstruction>>(
        table.block_cache);
  }
  task_.salt = FilterSalt::Draw();
  if (CutsFilters(table)) {
    // A part is as large as RocksDB's own partitions.
    const int deviation = std::clamp(table.block_size_deviation, 0, 100);
    task_.part_bytes =
        std::max<uint64_t>(1, table.metadata_block_size *
                                  static_cast<uint64_t>(100 - deviation) / 100);
  }
  note_bytes_ = task_.part_bytes == 0
                    ? kUsualNoteBytes
                    : std::min<size_t>(task_.part_bytes, kUsualNoteBytes);
  builder_ = builders_.make(task_);
  bits_per_key_ = builder_->ApproximateBitsPerKey();
}

void FileFilterBuilder::AddKeyAndAlt(const Slice& key, const Slice& alt) {
  header_.flags |= FilterBlockHeader::kAskedForPrefixes;
  if (!key.starts_with(alt)) {
    header_.flags |= FilterBlockHeader::kPrefixesUnknown;
  }
  AddKey(key);
}

void FileFilterBuilder::Charge(size_t bytes) {
  if (charged_ == nullptr) return;
  const Status s = charged_->UpdateCacheReservation(bytes);
  if (s.ok() || charge_failed_) return;
  charge_failed_ = true;
  Log(InfoLogLevel::WARN_LEVEL, info_log_,
      "Protean: the block cache has no room for the memory that building this "
      "file's filter takes: %s",
      s.ToString().c_str());
}

// ---- Keys ----

void FileFilterBuilder::NoteMemory() {
  unnoted_bytes_ = 0;
  Charge(Memory());
  if (builder_ == nullptr) return;
  // A builder that does not cut parts has enough keys for one.
  const bool is_part_full = task_.part_bytes > 0 && !builder_->CutsParts() &&
                            fill_ * static_cast<double>(builder_->MaxSize()) >=
                                static_cast<double>(task_.part_bytes);
  if (builder_->IsFull() || is_part_full) {
    Timed([&] { EndBuilder(/*more_follow=*/true); });
  }
}

void FileFilterBuilder::AddOther(const Slice& key) {
  if (HoldsNoKeys()) return CountKey(key);
  if (builder_ != nullptr) {
    if (writer_.num_parts() > 0 || builder_->num_keys() > 1) {
      return FailAt(key);
    }
    descending_.Add(builder_->first_key());
    builder_.reset();
    descending_.Add(key);
    return;
  }
  const bool descends = !descending_.empty();
  if (descends || header_.num_keys > 0) {
    const int order = key.compare(descends ? descending_.back() : last_key_);
    if (order == 0) return;  // another version of the key
    if (descends == (order > 0)) return FailAt(key);
  }
  if (descends) {
    descending_.Add(key);
  } else {
    if (header_.num_keys > 0) ShortestBegin(last_key_, key, &builder_begin_);
    builder_ = builders_.make(task_);
    builder_->AddKey(key);
  }
  NoteAdded(key);
}

void FileFilterBuilder::CountKey(const Slice& key) {
  const int order = key.compare(last_key_);
  if (order == 0) return;
  in_order_ = in_order_ && order > 0;
  header_.num_keys++;
  last_key_.assign(key.data(), key.size());
}

void FileFilterBuilder::Fail(const Status& why) {
  // A budget that is used up is logged once (file_budget.h).
  if (!why.IsMemoryLimit()) {
    Log(InfoLogLevel::WARN_LEVEL, info_log_,
        "Protean: no filter for this file: %s", why.ToString().c_str());
  }
  failure_ = why.IsMemoryLimit() ? why.getState() : why.ToString();
  header_.num_keys = NumKeys();
  if (builder_ != nullptr) {
    last_key_ = builder_->last_key().ToString();
  } else if (!descending_.empty()) {
    last_key_ = descending_.back().ToString();
  }
  builder_.reset();
  descending_ = KeyList();
  writer_ = FilterBlockWriter();
}

void FileFilterBuilder::FailAt(const Slice& key) {
  in_order_ = false;
  Fail(Status::NotSupported(
      "its keys are in neither ascending nor descending bytewise order"));
  CountKey(key);
}

// ---- Parts ----

void FileFilterBuilder::EndBuilder(bool more_follow) {
  KeysEnd end;
  end.prefixes_only =
      (header_.flags & FilterBlockHeader::kAskedForPrefixes) != 0;
  end.more_follow = more_follow;
  const uint64_t max_size = builder_->MaxSize();
  if (header_.num_keys == 0) smallest_ = builder_->first_key().ToString();
  std::vector<PlannedPart> plan;
  const Status s = builder_->Finish(end, &plan);
  if (!s.ok()) return Fail(s);
  const uint64_t bytes_before = writer_.part_bytes();
  for (size_t i = 0; i < plan.size(); i++) {
    const PlannedPart& part = plan[i];
    char* const payload =
        writer_.AddPart(part.num_keys, i == 0 ? builder_begin_ : part.begin,
                        part.design, part.payload_size);
    // Writing the first part builds what all of them share.
    if (i <= 1) Charge(Memory());
    builder_->Write(i, payload);
    if (part.second_size > 0) {
      builder_->WriteSecond(i, writer_.AddSecondUnit(part.second_size));
    }
  }
  const uint64_t bytes = writer_.part_bytes() - bytes_before;
  fill_ = static_cast<double>(bytes) / static_cast<double>(max_size);
  reports_.emplace_back(builder_->Report(), builder_->num_keys());
  if (const std::string text = LogLine(reports_.back().first); !text.empty()) {
    Log(InfoLogLevel::INFO_LEVEL, info_log_, "Protean: %s", text.c_str());
  }
  last_key_ = builder_->last_key().ToString();
  header_.num_keys += builder_->num_keys();
  builder_.reset();
  Charge(Memory());
}

Slice FileFilterBuilder::Finish(std::unique_ptr<const char[]>* buf,
                                Status* status) {
  if (status != nullptr) *status = Status::OK();
  if (!descending_.empty()) {
    const KeyList keys = std::move(descending_);
    descending_ = KeyList();
    builder_ = builders_.make(task_);
    for (size_t i = keys.size(); i-- > 0;) AddKey(keys[i]);
  }
  size_t size = 0;
  Timed([&] {
    if (builder_ != nullptr && builder_->num_keys() > 0) {
      EndBuilder(/*more_follow=*/false);
    }
    size = FinishBlock(buf);
  });
  // Another filter may follow.
  unnoted_bytes_ = 0;
  builder_.reset();
  builder_begin_.clear();
  fill_ = 1;
  writer_ = FilterBlockWriter();
  header_ = FilterBlockHeader();
  smallest_.clear();
  last_key_.clear();
  in_order_ = true;
  reports_.clear();
  failure_.clear();
  return Slice(buf->get(), size);
}

size_t FileFilterBuilder::FinishBlock(std::unique_ptr<const char[]>* buf) {
  if (HoldsNoKeys()) {
    header_.key_lengths = 0;
  } else {
    header_.kind = builders_.kind;
    header_.smallest = smallest_;
    header_.largest = last_key_;
    header_.salt = task_.salt;
    if (!builders_.tell_lengths) header_.key_lengths = 0;
  }
  const size_t size = writer_.Size(header_);
  Charge(writer_.part_bytes() + size);
  char* const bytes = new char[size]();
  buf->reset(bytes);
  writer_.Write(header_, bytes);
  Charge(size);
  if (built_ == nullptr) return size;
  FilterReport report;
  if (HoldsNoKeys()) {
    report.design = failure_;
  } else {
    report = WholeOf(reports_);
  }
  const uint64_t keys = header_.num_keys;
  built_->properties =
      MakeFilterProperties(FindFilterType(header_.kind)->name,
                           8.0 * static_cast<double>(size) /
                               static_cast<double>(std::max<uint64_t>(keys, 1)),
                           report);
  if (builders_.keep_range && in_order_ && keys > 0) {
    AddKeyRange(smallest_, last_key_, &built_->properties);
  }
  if (std::any_of(reports_.begin(), reports_.end(), [](const auto& reported) {
        return reported.first.origin == DesignOrigin::kKept;
      })) {
    built_->properties[kKeptDesignProperty] = "1";
  }
  BuildCounts& counts = built_->counts;
  counts.filters = 1;
  counts.keys = keys;
  counts.bytes = size;
  counts.model_nanos = uint64_t{1000} * report.model_micros;
  return size;
}

Status FileFilterBuilder::MaybePostVerify(const Slice& filter_content) {
  return verify_ ? FilterBlock(filter_content).status() : Status::OK();
}

uint64_t FileFilterBuilder::MaxSize() const {
  uint64_t size = writer_.part_bytes() + writer_.MaxDirectorySize();
  if (builder_ != nullptr && builder_->num_keys() > 0) {
    size += builder_->MaxSize();
  }
  // A guess, since the keys are not in the filter yet: text takes up to four
  // times of what is usual.
  constexpr double kMore = 4;
  return size + static_cast<uint64_t>(kMore * bits_per_key_ / 8 *
                                      static_cast<double>(descending_.size()));
}

}  // namespace ROCKSDB_NAMESPACE::protean
