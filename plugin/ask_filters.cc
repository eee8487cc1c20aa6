// SPDX-License-Identifier: Apache-2.0

//  The functions of may_exist.h, sst_file_filter.h and search_bounds.h.

#include <algorithm>
#include <memory>
#include <string>

#include "plugin/may_exist.h"
#include "plugin/search_bounds.h"
#include "plugin/sst_file_filter.h"
#include "table/at_work.h"
#include "table/filter_trial.h"
#include "table/protean_table_factory.h"
#include "table/rocksdb_internals/block_based_file.h"
#include "table/seek/seek_decision.h"
#include "table/seek/thread_bounds.h"

namespace ROCKSDB_NAMESPACE::protean {

// ---- Existence check ----

namespace {

// Returns true if the start of a range, without a timestamp, is not below its
// limit: nothing lies in it.
bool IsEmptyRange(const RangePtr& range, const Comparator& order) {
  return range.start != nullptr && range.limit != nullptr &&
         order.CompareWithoutTimestamp(*range.start, /*a_has_ts=*/false,
                                       *range.limit, /*b_has_ts=*/false) >= 0;
}

// Finds out whether keys or ranges may exist. RocksDB seeks or gets as usual,
// over memtables, files, range deletions and snapshots. Keys that it finds are
// in the memtables, since files tell the check alone.
struct ExistenceCheck final : AtWork {
  ExistenceCheck() : AtWork(/*in_gets=*/true) {}

  // Asks whether the file may have a value from `lo` on, below the limit.
  IterBoundCheck Ask(const FilteredFile& file, const ReadOptions& read_options,
                     const Slice* lo, Status* /*status*/) override {
    // Nothing more is to be learned in this run.
    if (file_may_match) return IterBoundCheck::kOutOfBound;
    FilterView view;
    const FileRangeFilter* const filter =
        file.GetRangeFilter(AskedFor::kClosedSeek, read_options,
                            TableReaderCaller::kUserIterator, &view);
    SeekDecision decision;
    if (filter != nullptr && limit != nullptr) {
      decision = lo == nullptr
                     ? DecideSeekToFirst(*filter, *limit)
                     : DecideSeek(*filter, *lo, limit, Waiting::kForbidden,
                                  /*marker=*/nullptr);
    } else if (filter != nullptr && lo != nullptr &&
               !filter->MayHaveKeyAtOrAbove(*lo)) {
      decision = SeekDecision::Empty();
    }
    if (decision.action == SeekDecision::kRead && limit != nullptr &&
        HoldsNoValue(file, lo == nullptr ? Slice() : *lo)) {
      decision = SeekDecision::Empty();
    }
    file_may_match = decision.action != SeekDecision::kEmpty;
    return file_may_match || decision.has_key_beyond
               ? IterBoundCheck::kOutOfBound
               : IterBoundCheck::kUnknown;
  }
  // Returns true if the file has no key, or deletions only, from `lo` on below
  // the limit, which is not nullptr.
  bool HoldsNoValue(const FilteredFile& file, const Slice& lo) const {
    std::string next;
    return file.IsKnownEmpty(lo, *limit) ||
           (file.deletions() != nullptr &&
            !NextValue(/*filter=*/nullptr, file.deletions(), /*position=*/lo,
                       /*from=*/lo, limit, &next));
  }

  // The end of the range that is being asked for, or nullptr.
  const Slice* limit = nullptr;
  // True if a file may hold a key of the range.
  bool file_may_match = false;
};

}  // namespace

Status KeysMayExist(DB* db, const ReadOptions& read_options,
                    ColumnFamilyHandle* column_family, size_t num_keys,
                    const Slice* keys, bool* may_exist) {
  std::fill_n(may_exist, num_keys, true);
  Status s = RequireProteanTable("KeysMayExist", db, column_family);
  if (!s.ok()) return s;
  ExistenceCheck check;
  for (size_t i = 0; i < num_keys; i++) {
    PinnableSlice value;
    s = db->Get(read_options, column_family, keys[i], &value);
    if (s.IsNotFound()) {
      may_exist[i] = false;
    } else if (!s.ok() && !s.IsIncomplete()) {
      return s;
    }
  }
  return Status::OK();
}

Status RangesMayExist(DB* db, const ReadOptions& read_options,
                      ColumnFamilyHandle* column_family, size_t num_ranges,
                      const RangePtr* ranges, bool* may_exist) {
  std::fill_n(may_exist, num_ranges, true);
  Status s = RequireProteanTable("RangesMayExist", db, column_family);
  if (!s.ok()) return s;
  ExistenceCheck check;
  ReadOptions options = WithoutBounds(read_options);
  const Comparator& order = *column_family->GetComparator();
  Slice bound;                             // of the iterator with a limit
  std::unique_ptr<Iterator> iterators[2];  // without a limit, and with one
  for (size_t i = 0; i < num_ranges; i++) {
    const auto& [start, limit] = ranges[i];
    if (IsEmptyRange(ranges[i], order)) {
      may_exist[i] = false;
      continue;
    }
    if (limit != nullptr) bound = *limit;
    check.limit = limit == nullptr ? nullptr : &bound;
    check.file_may_match = false;
    std::unique_ptr<Iterator>& it = iterators[limit == nullptr ? 0 : 1];
    if (it == nullptr) {
      options.iterate_upper_bound = check.limit;
      it.reset(db->NewIterator(options, column_family));
    }
    if (start == nullptr) {
      it->SeekToFirst();
    } else {
      it->Seek(*start);
    }
    // The read tier may forbid to open a file, which may hold anything then.
    s = it->status();
    may_exist[i] = !s.ok() || it->Valid() || check.file_may_match;
    if (!s.ok() && !s.IsIncomplete()) return s;
  }
  return Status::OK();
}

// ---- Sst file filter ----

namespace {

class SeparateSstFilter final : public SstFileFilter {
 public:
  explicit SeparateSstFilter(std::unique_ptr<BlockBasedFile> file)
      : file_(std::move(file)),
        filter_(file_->HasOrderOfFilters()
                    ? AskedFilter::Of(*file_).range_filter()
                    : nullptr),
        order_(*file_->user_comparator()) {}

  bool KeyMayExist(const Slice& key) const override {
    return filter_ == nullptr || filter_->KeyMayMatch(key);
  }
  bool RangeMayExist(const RangePtr& range) const override {
    const auto& [start, limit] = range;
    if (IsEmptyRange(range, order_)) return false;
    if (filter_ == nullptr) return true;
    if (limit == nullptr) {
      return start == nullptr || filter_->MayHaveKeyAtOrAbove(*start);
    }
    // No key is below the empty one.
    return filter_->RangeMayMatch(start == nullptr ? Slice() : *start, *limit,
                                  /*hi_inclusive=*/false);
  }

 private:
  const std::unique_ptr<BlockBasedFile> file_;
  const FileRangeFilter* const filter_;  // nullptr if none can answer
  const Comparator& order_;
};

}  // namespace

Status SstFileFilter::Open(const Options& options, const std::string& path,
                           std::unique_ptr<SstFileFilter>* opened) {
  opened->reset();
  Status s = RequireProteanTable("SstFileFilter", "the Options object",
                                 options.table_factory.get());
  if (!s.ok()) return s;
  std::unique_ptr<BlockBasedFile> file;
  s = BlockBasedFile::OpenApart(options, path, &file);
  if (s.ok()) *opened = std::make_unique<SeparateSstFilter>(std::move(file));
  return s;
}

// ---- Search bounds ----

SearchBoundsScope::SearchBoundsScope(const Slice* lower, const Slice* upper)
    : before_(ThreadBounds::Current()) {
  ThreadBounds::SetCurrent(std::make_shared<const ThreadBounds>(lower, upper));
}

SearchBoundsScope::~SearchBoundsScope() { ThreadBounds::SetCurrent(before_); }

}  // namespace ROCKSDB_NAMESPACE::protean
