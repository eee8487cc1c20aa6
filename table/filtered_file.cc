// SPDX-License-Identifier: Apache-2.0

#include "table/filtered_file.h"

#include "filter_policy/filter_properties.h"
#include "table/seek/seek_decision.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// The stretches of deletions that the file's properties tell of; nullptr if
// there are none.
std::unique_ptr<const DeletionStretches> DeletionsOf(
    const BlockBasedFile& file) {
  auto stretches = std::make_unique<DeletionStretches>(
      PropertyText(file.properties()->user_collected_properties,
                   kDeletionStretchesProperty));
  if (stretches->size() == 0) return nullptr;
  return stretches;
}

std::atomic<uint64_t> last_number{0};

}  // namespace

FilteredFile::FilteredFile(std::unique_ptr<BlockBasedFile>&& file,
                           FilterUse use, const ProteanFilterPolicy* policy,
                           const std::string& db_session_id,
                           uint64_t log_period_seconds,
                           std::shared_ptr<const FilterSwitch> filter_switch,
                           size_t miss_cache_size)
    : file_(std::move(file)),
      open_file_(db_session_id, file_->Describe(log_period_seconds), use,
                 policy),
      is_bytewise_(file_->user_comparator() == BytewiseComparator()),
      number_(++last_number),
      // Outside of a DB, the sequence numbers of the file are not known.
      miss_cache_size_(use == FilterUse::kUsed && !db_session_id.empty() &&
                               is_bytewise_
                           ? miss_cache_size
                           : 0),
      has_range_filter_(use == FilterUse::kUsed),
      has_range_deletions_(file_->MayHaveRangeDeletions()),
      dead_range_number_(miss_cache_size_ > 0 && allows_markers() &&
                                 !has_range_deletions_ &&
                                 file_->hides_by_sequence()
                             ? number_
                             : 0),
      deletions_(allows_markers() ? DeletionsOf(*file_) : nullptr),
      timestamp_size_(file_->user_comparator()->timestamp_size()),
      gets_(open_file_.gets()),
      marker_sequence_(
          MarkerSequence(file_->level(), file_->properties()->num_entries)),
      queue_(open_file_.queue()),
      switch_(std::move(filter_switch)) {
  if (has_range_filter_) OpenFilter();
}

FilteredFile::~FilteredFile() {
  if (has_dead_ranges() && open_file_.db()->misses() != nullptr) {
    open_file_.db()->misses()->dead_ranges().Forget(dead_range_number_);
  }
}

void FilteredFile::OpenFilter() {
  if (file_->filter_state() == BlockBasedFile::FilterState::kCached) {
    CachedFilter* const cached = file_->cached_filter();
    cached->SetOwner(&open_file_);
    if (!cached->directory().parts().empty()) cached_ = cached;
  } else {
    held_ = file_->GetHeldBlock();
    const Status& s = held_->status();
    if (held_->CanFilter()) {
      if (!s.ok()) open_file_.ReportDamage(OpenFile::kPart, s);
    } else {
      held_ = nullptr;
      if (!s.ok()) {
        open_file_.SetUse(FilterUse::kDamaged);
        open_file_.ReportDamage("its filter", s);
      }
    }
  }
  // The filter may not have been able to hold the file's keys.
  if (PropertyText(file_->properties()->user_collected_properties,
                   kKindProperty) ==
      FindFilterType(FilterKind::kAlwaysTrue)->name) {
    open_file_.SetUse(FilterUse::kUnfilterable);
  }
}

const FileRangeFilter* FilteredFile::GetRangeFilter(
    AskedFor asked_for, const ReadOptions& read_options,
    TableReaderCaller caller, FilterView* view) const {
  if (!IsOn()) return nullptr;
  if (held_ != nullptr) return held_;
  if (cached_ == nullptr) return nullptr;
  *view = std::make_unique<FilterInCache>(*cached_, asked_for, read_options,
                                          caller);
  return &(*view)->filter;
}

}  // namespace ROCKSDB_NAMESPACE::protean
