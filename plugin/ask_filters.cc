// SPDX-License-Identifier: Apache-2.0

//  The functions of approximate_count.h, may_exist.h, sst_file_filter.h and
//  search_bounds.h.

#include <algorithm>
#include <memory>

#include "plugin/approximate_count.h"
#include "plugin/facts.h"
#include "plugin/may_exist.h"
#include "plugin/search_bounds.h"
#include "plugin/sst_file_filter.h"
#include "table/count_and_exist.h"
#include "table/protean_table_factory.h"
#include "table/rocksdb_internals/block_based_file.h"
#include "table/seek/thread_bounds.h"

namespace ROCKSDB_NAMESPACE::protean {

Status ApproximateCount(DB* db, const ReadOptions& read_options,
                        ColumnFamilyHandle* column_family,
                        const RangePtr& range, CountResult* result) {
  *result = CountResult();
  Status s = RequireProteanTable("ApproximateCount", db, column_family);
  if (!s.ok()) return s;

  CountTotals totals;
  s = CountKeysInRange(db, read_options, column_family, range.start,
                       range.limit, &totals);
  result->count = totals.in_files + totals.in_memtables;
  result->in_memtables = totals.in_memtables;
  result->sorted_runs = totals.sorted_runs;
  result->files = totals.files;
  result->files_scanned = totals.files_scanned;
  result->files_estimated = totals.files_estimated;
  result->deletions = totals.deletions;
  result->deletions_left_out = totals.deletions_left_out;
  result->unsure = totals.unsure;
  return s;
}

Record RecordOf(const CountResult& count) {
  Record record;
  record.Add("count", count.count);
  record.Add("in_memtables", count.in_memtables);
  record.Add("sorted_runs", count.sorted_runs);
  record.Add("files", count.files);
  record.Add("files_scanned", count.files_scanned);
  record.Add("files_estimated", count.files_estimated);
  record.Add("deletions", count.deletions);
  record.Add("deletions_left_out", count.deletions_left_out);
  record.Add("unsure", count.unsure);
  record.Add("is_exact", count.IsExact());
  return record;
}

// ---- May exist ----

Status KeysMayExist(DB* db, const ReadOptions& read_options,
                    ColumnFamilyHandle* column_family, size_t num_keys,
                    const Slice* keys, bool* may_exist) {
  std::fill_n(may_exist, num_keys, true);
  const Status s = RequireProteanTable("KeysMayExist", db, column_family);
  return s.ok() ? CheckKeysExist(db, read_options, column_family, num_keys,
                                 keys, may_exist)
                : s;
}

Status RangesMayExist(DB* db, const ReadOptions& read_options,
                      ColumnFamilyHandle* column_family, size_t num_ranges,
                      const RangePtr* ranges, bool* may_exist) {
  std::fill_n(may_exist, num_ranges, true);
  const Status s = RequireProteanTable("RangesMayExist", db, column_family);
  return s.ok() ? CheckRangesExist(db, read_options, column_family, num_ranges,
                                   ranges, may_exist)
                : s;
}

// ---- Sst file filter ----

namespace {

class SeparateSstFilter final : public SstFileFilter {
 public:
  explicit SeparateSstFilter(std::unique_ptr<BlockBasedFile> file)
      : file_(std::move(file)),
        filter_(file_->HasOrderOfFilters() && file_->whole_key_filtering()
                    ? file_->GetHeldBlock()
                    : nullptr),
        order_(*file_->user_comparator()) {}

  bool KeyMayExist(const Slice& key) const override {
    const FileRangeFilter* const filter = RangeFilter();
    return filter == nullptr || filter->KeyMayMatch(key);
  }
  bool RangeMayExist(const RangePtr& range) const override {
    const auto& [start, limit] = range;
    if (IsEmptyRange(range, order_)) return false;
    const FileRangeFilter* const filter = RangeFilter();
    if (filter == nullptr) return true;
    if (limit == nullptr) {
      return start == nullptr || filter->MayHaveKeyAtOrAbove(*start);
    }
    // No key is below the empty one.
    return filter->RangeMayMatch(start == nullptr ? Slice() : *start, *limit,
                                 /*hi_inclusive=*/false);
  }

 private:
  // Nullptr if no filter can answer.
  const FileRangeFilter* RangeFilter() const {
    return filter_ != nullptr && filter_->CanFilter() ? filter_ : nullptr;
  }

  const std::unique_ptr<BlockBasedFile> file_;
  const FilterBlock* const filter_;
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
