// SPDX-License-Identifier: Apache-2.0

//  An SST file with its filter: what the iterators over it and the counter of
//  its keys ask for. It is also the file's entry with its DB (open_families.h).

#pragma once

#include <strings.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>

#include "filter_policy/deletion_stretches.h"
#include "filter_policy/filter_properties.h"
#include "filter_policy/open_db/open_families.h"
#include "filter_policy/protean_filter_policy.h"
#include "rocksdb/rocksdb_namespace.h"
#include "table/rocksdb_internals/block_based_file.h"
#include "table/seek/seek_decision.h"

namespace ROCKSDB_NAMESPACE::protean {

// ---- Filter switch ----

// Whether the files of a column family ask Protean's filters, and sample what
// they are asked: for the hour when nothing else helps. Thread safe.
struct FilterSwitch {
  // The environment variable for all filters of the process, whatever options
  // say: 0, off, false or no, in any case, switches them off. Unset, empty, 1,
  // on, true or yes changes nothing.
  static constexpr char kVariable[] = "PROTEAN_RANGE_FILTERS";
  enum class Variable { kOn, kOff, kUnknown };
  // The meaning of the variable's value, which is read once.
  static Variable OfProcess() {
    static const Variable variable = [] {
      const char* const value = getenv(kVariable);
      const auto is_any_of = [value](std::initializer_list<const char*> words) {
        return std::any_of(words.begin(), words.end(), [&](const char* word) {
          return strcasecmp(value, word) == 0;
        });
      };
      return value == nullptr || is_any_of({"", "1", "on", "true", "yes"})
                 ? Variable::kOn
             : is_any_of({"0", "off", "false", "no"}) ? Variable::kOff
                                                      : Variable::kUnknown;
    }();
    return variable;
  }

  bool IsOn() const {
    return wanted.load(std::memory_order_relaxed) && may_be_on;
  }

  std::atomic<bool> wanted{true};  // the option range_filters
  const bool may_be_on = OfProcess() != Variable::kOff;
};

// ---- Filtered file ----

// A view of a filter in the block cache.
struct FilterInCache {
  FilterInCache(const CachedFilter& cached, AskedFor asked_for,
                const ReadOptions& read_options, TableReaderCaller caller)
      : lookup_context(caller),
        filter(cached, asked_for, read_options, /*get_context=*/nullptr,
               &lookup_context) {}

  BlockCacheLookupContext lookup_context;
  CachedFilterView filter;
};

// Keeps those parts of a file's filter in memory that one caller uses. Every
// seek makes one, and most files have their filters in memory.
using FilterView = std::unique_ptr<FilterInCache>;

// Thread safe.
class FilteredFile {
 public:
  // `use` is kUsed if `file` has a filter that was opened by a policy of
  // Protean, and its user keys are in bytewise order without their timestamps.
  // `policy`, `db_session_id` and `log_period_seconds` are those of OpenFile,
  // and of its FileDescription. `miss_cache_size` is the size of the DB's cache
  // of misses, if the file is the first to need it; 0 if nothing is remembered.
  FilteredFile(std::unique_ptr<BlockBasedFile>&& file, FilterUse use,
               const ProteanFilterPolicy* policy,
               const std::string& db_session_id, uint64_t log_period_seconds,
               std::shared_ptr<const FilterSwitch> filter_switch,
               size_t miss_cache_size)
      : file_(std::move(file)),
        open_file_(db_session_id, file_->Describe(log_period_seconds), use,
                   policy),
        is_bytewise_(file_->user_comparator() == BytewiseComparator()),
        number_(++last_number_),
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
  FilteredFile(const FilteredFile&) = delete;
  FilteredFile& operator=(const FilteredFile&) = delete;
  ~FilteredFile() {
    if (has_dead_ranges() && open_file_.db()->misses() != nullptr) {
      open_file_.db()->misses()->dead_ranges().Forget(dead_range_number_);
    }
  }

  // Returns true if the filter is asked, and queries are sampled. May change at
  // any time.
  bool IsOn() const { return switch_->IsOn(); }

  // ---- Known misses (filter_policy/open_db/miss_cache.h) ----

  // Returns true if an earlier false positive has shown that the file has no
  // key in [key, *end), and stores that end, which is above the key.
  bool FindMiss(const Slice& key, std::string* end) const {
    return has_misses_.load(std::memory_order_relaxed) && IsOn() &&
           open_file_.db()->misses()->Find(number_, key, end);
  }
  // Returns true if one has shown that the file does not have the key, or has
  // no key in [lo, hi).
  bool IsKnownAbsent(const Slice& key) const {
    std::string end;
    return FindMiss(key, &end);
  }
  bool IsKnownEmpty(const Slice& lo, const Slice& hi) const {
    std::string end;
    return FindMiss(lo, &end) && hi.compare(end) <= 0;
  }
  // Counts a read that a known miss has spared.
  void CountMissHit() const { open_file_.db()->misses()->CountHit(); }
  // Returns true if a search for an internal key with this footer sees all
  // versions of its user key in the file. Else it tells nothing of the key: the
  // snapshot may be older, or RocksDB's iterator seeks behind all versions.
  bool SeesAllVersions(uint64_t footer) const {
    return footer >=
           PackSequenceAndType(file_->largest_seqno(), kValueTypeForSeek);
  }
  bool remembers_misses() const { return miss_cache_size_ > 0; }
  // Remembers, if misses are, that the file has no key in [lo, hi).
  void AddMiss(const Slice& lo, const Slice& hi) const {
    if (!remembers_misses()) return;
    open_file_.RememberMisses(miss_cache_size_)->Add(number_, lo, hi);
    if (!has_misses_.load(std::memory_order_relaxed)) {
      has_misses_.store(true, std::memory_order_relaxed);
    }
  }

  // ---- Dead ranges (filter_policy/open_db/dead_ranges.h) ----

  // The number by which dead ranges know the file; 0 if it takes no part.
  uint64_t dead_range_number() const { return dead_range_number_; }
  // Returns true if a known range may have entries of the file.
  bool has_dead_ranges() const {
    return has_dead_ranges_.load(std::memory_order_relaxed);
  }
  void NoteDeadRange() {
    if (!has_dead_ranges()) {
      has_dead_ranges_.store(true, std::memory_order_relaxed);
    }
  }
  void KeepDeadRange(DeadRange range) const {
    if (dead_range_number_ == 0) return;
    MissCache* const misses = open_file_.RememberMisses(miss_cache_size_);
    misses->dead_ranges().Add(std::move(range));
  }
  // The known range with entries of the file that has this key in it.
  std::shared_ptr<const DeadRange> FindDeadRange(const Slice& key) const {
    MissCache* const misses = open_file_.db()->misses();
    return misses == nullptr || dead_range_number_ == 0
               ? nullptr
               : misses->dead_ranges().Find(dead_range_number_, key);
  }

  // Returns true if GetRangeFilter may return a filter.
  bool has_range_filter() const { return has_range_filter_; }

  // Returns true if keys are in bytewise order, and have no timestamps. Then
  // other files of the column family may have deletions() that iterators skip.
  bool is_bytewise() const { return is_bytewise_; }
  // Returns true if iterators over the file may wait at markers, as far as the
  // file tells: it has a range filter, and keys without timestamps.
  bool allows_markers() const { return has_range_filter_ && is_bytewise_; }

  // The stretches of the file that have deletions and no values; nullptr if
  // none are known.
  const DeletionStretches* deletions() const { return deletions_.get(); }
  bool has_range_deletions() const { return has_range_deletions_; }

  // The file's filter, which the table keeps in memory, or of which `*view`
  // loads and keeps parts for the caller. `read_options` must outlive it.
  // Nullptr if the filter cannot be used, or is switched off.
  [[gnu::noinline]] const FileRangeFilter* GetRangeFilter(
      AskedFor asked_for, const ReadOptions& read_options,
      TableReaderCaller caller, FilterView* view) const {
    if (!IsOn()) return nullptr;
    if (held_ != nullptr) return held_;
    if (cached_ == nullptr) return nullptr;
    *view = std::make_unique<FilterInCache>(*cached_, asked_for, read_options,
                                            caller);
    return &(*view)->filter;
  }
  // The file's filter, which never changes, if whole keys without timestamps
  // can be asked of it without RocksDB: the table itself keeps the filter in
  // memory, and has no use for the answer. Else nullptr.
  const FilterBlock* GetFilterOfKeys() const {
    return has_range_filter_ && timestamp_size_ == 0 &&
                   file_->whole_key_filtering() && !file_->GetUsesAnswer()
               ? held_
               : nullptr;
  }
  // The user key without its timestamp, as filters know it.
  Slice UserKey(const Slice& internal_key) const {
    return ExtractUserKeyAndStripTimestamp(internal_key, timestamp_size_);
  }

  const BlockBasedFile& file() const { return *file_; }

  // The sequence number of markers (protean_table_iterator.h), which no write
  // has.
  SequenceNumber marker_sequence() const { return marker_sequence_; }

  // Returns true if an iterator has noted that the filter is slow to find the
  // next key (LowerBoundIsSlow).
  bool IsSlow() const { return is_slow_.load(std::memory_order_relaxed); }
  // Writes once: many threads read the cache line at each seek.
  void NoteSlow() {
    if (!IsSlow()) is_slow_.store(true, std::memory_order_relaxed);
  }

  // The queue that samples queries that found nothing in this file, or nullptr.
  QueryQueue* queue() const { return queue_; }

  // Where reads of files of this level are counted.
  GetTally* gets() const { return gets_; }

  // The file's entry with its DB.
  OpenFile* open_file() { return &open_file_; }

 private:
  // The stretches of deletions that the file's properties tell of; nullptr if
  // there are none.
  static std::unique_ptr<const DeletionStretches> DeletionsOf(
      const BlockBasedFile& file) {
    auto stretches = std::make_unique<DeletionStretches>(
        PropertyText(file.properties()->user_collected_properties,
                     kDeletionStretchesProperty));
    if (stretches->size() == 0) return nullptr;
    return stretches;
  }

  void OpenFilter() {
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

  static inline std::atomic<uint64_t> last_number_{0};

  const std::unique_ptr<BlockBasedFile> file_;
  OpenFile open_file_;
  const bool is_bytewise_;  // in order, and so without timestamps
  const uint64_t number_;   // that no other file of the process has had
  const size_t miss_cache_size_;
  mutable std::atomic<bool> has_misses_{false};
  // These members share a cache line, on which reads do not write.
  const bool has_range_filter_;
  // One of these, or none.
  const FilterBlock* held_ = nullptr;
  const CachedFilter* cached_ = nullptr;
  const bool has_range_deletions_;
  const uint64_t dead_range_number_;
  std::atomic<bool> has_dead_ranges_{false};
  const std::unique_ptr<const DeletionStretches> deletions_;
  const size_t timestamp_size_;
  GetTally* const gets_;
  const SequenceNumber marker_sequence_;
  QueryQueue* const queue_;
  const std::shared_ptr<const FilterSwitch> switch_;
  std::atomic<bool> is_slow_{false};
};

}  // namespace ROCKSDB_NAMESPACE::protean
