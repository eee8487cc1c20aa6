// SPDX-License-Identifier: Apache-2.0

#include "table/filtered_file.h"

#include <algorithm>

#include "filter_policy/protean_filter_policy.h"
#include "monitoring/statistics_impl.h"
#include "rocksdb/env.h"
#include "table/seek/marker.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Whether the filter could not hold the file's keys. The file's properties tell
// before the filter is read.
bool HoldsNoKeys(const BlockBasedFile& file) {
  const auto properties = file.table()->GetTableProperties();
  if (properties == nullptr) return false;
  const auto kind = properties->user_collected_properties.find(kKindProperty);
  return kind != properties->user_collected_properties.end() &&
         kind->second == FindFilterType(FilterKind::kAlwaysTrue)->name;
}

FileDescription Describe(const BlockBasedFile& file,
                         uint64_t log_period_seconds) {
  FileDescription description;
  description.family = file.family();
  description.family_name = file.column_family();
  description.path = file.name();
  description.level = std::max(file.level(), -1);
  description.properties = file.table()->GetTableProperties();
  if (description.properties == nullptr) {
    // The file is older than table properties.
    description.properties = std::make_shared<TableProperties>();
  }
  description.cached_filter = file.cached_filter();
  description.filter_loads = file.filter_loads();
  description.env = file.env();
  description.info_log = file.info_log();
  description.log_period_seconds = log_period_seconds;
  return description;
}

// Whether a read has failed. Reads that may not go to the file, or run out of
// time, do not fail.
bool IsFailure(const Status& s) { return s.IsIOError() || s.IsMemoryLimit(); }

SequenceNumber MarkerSequenceOf(const BlockBasedFile& file) {
  const auto properties = file.table()->GetTableProperties();
  return MarkerSequence(file.level(),
                        properties == nullptr ? 0 : properties->num_entries);
}

}  // namespace

FilteredFile::FilteredFile(std::unique_ptr<BlockBasedFile>&& file,
                           FilterUse use, const ProteanFilterPolicy* policy,
                           const std::string& db_session_id,
                           uint64_t log_period_seconds)
    : file_(std::move(file)),
      open_file_(db_session_id, Describe(*file_, log_period_seconds), use,
                 policy),
      has_range_filter_(use == FilterUse::kUsed),
      is_partitioned_(file_->filter_state() ==
                      BlockBasedFile::FilterState::kPartitioned),
      allows_markers_(has_range_filter_ &&
                      file_->user_comparator() == BytewiseComparator()),
      timestamp_size_(file_->user_comparator()->timestamp_size()),
      first_get_counter_(open_file_.first_get_counter()),
      marker_sequence_(MarkerSequenceOf(*file_)),
      queue_(open_file_.queue()) {
  // A damaged filter is reported now if the table keeps it in memory, otherwise
  // when an iterator reads it.
  if (!has_range_filter_) return;
  if (!is_partitioned_) Checked(file_->GetPinnedFilter());
  if (HoldsNoKeys(*file_)) open_file_.SetUse(FilterUse::kUnheld);
}

const FileRangeFilter* FilteredFile::GetRangeFilter(
    const ReadOptions& read_options, TableReaderCaller caller,
    FilterView* view) const {
  if (!has_range_filter_) return nullptr;
  if (is_partitioned_) return GetParts(read_options, caller, view);
  FilterBitsReader* filter = file_->GetPinnedFilter();
  if (filter == nullptr) {
    BlockCacheLookupContext lookup_context(caller);
    ReportRead(
        file_->GetFilter(read_options, &lookup_context, &view->hold, &filter));
  }
  return Checked(filter);
}

const ProteanFilterBitsReader* FilteredFile::GetFilterOfKeys() const {
  if (!has_range_filter_ || is_partitioned_ || timestamp_size_ > 0 ||
      !file_->whole_key_filtering()) {
    return nullptr;
  }
  // Policies of Protean make no other readers.
  return static_cast<const ProteanFilterBitsReader*>(file_->GetPinnedFilter());
}

const FileRangeFilter* FilteredFile::GetParts(const ReadOptions& read_options,
                                              TableReaderCaller caller,
                                              FilterView* view) const {
  view->parts = std::make_unique<FilterInParts>(
      *file_, read_options, caller, static_cast<const PartReports*>(this));
  const Status s = view->parts->filter.Open();
  ReportRead(s);
  if (!s.ok()) view->parts.reset();
  return view->parts == nullptr ? nullptr : &view->parts->filter;
}

void FilteredFile::ReportRead(const Status& s) const {
  if (s.IsCorruption()) {
    open_file_.ReportDamage(s);
  } else if (IsFailure(s)) {
    open_file_.ReportFailure(s);
  }
}

void FilteredFile::ReportUnreadPart(const Status& why) const {
  if (why.IsCorruption()) {
    open_file_.ReportDamagedPart(why);
  } else if (IsFailure(why)) {
    open_file_.ReportFailedPart(why);
  }
}

void FilteredFile::ReportDamagedPart(const Status& why) const {
  if (open_file_.ReportDamagedPart(why)) CountDamage(why);
}

const FilterBlock* FilteredFile::Checked(FilterBitsReader* filter) const {
  if (filter == nullptr) return nullptr;
  // Policies of Protean make no other readers.
  const FilterBlock& block =
      static_cast<const ProteanFilterBitsReader*>(filter)->block();
  if (block.CanFilter()) {
    // An earlier read of the filter may have been damaged, but not the file.
    open_file_.SetUse(FilterUse::kUsed);
    return &block;
  }
  NoteUseless(block);
  return nullptr;
}

void FilteredFile::NoteUseless(const FilterBlock& filter) const {
  if (filter.status().ok()) {
    open_file_.SetUse(FilterUse::kUnheld);
  } else if (open_file_.ReportDamage(filter.status())) {
    CountDamage(filter.status());
  }
}

// RocksDB counts only the damage that it finds itself.
void FilteredFile::CountDamage(const Status& s) const {
  if (!s.IsCorruption()) return;
  RecordTick(file_->statistics(), BLOCK_CHECKSUM_MISMATCH_COUNT);
}

}  // namespace ROCKSDB_NAMESPACE::protean
