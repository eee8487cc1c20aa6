// SPDX-License-Identifier: Apache-2.0

#include "plugin/approximate_count.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "db/dbformat.h"
#include "plugin/facts.h"
#include "rocksdb/table_properties.h"
#include "table/at_work.h"
#include "table/protean_table_factory.h"
#include "table/rocksdb_internals/handles.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

Status CheckOptions(const ReadOptions& read_options) {
  const std::pair<bool, const char*> refused[] = {
      {read_options.snapshot != nullptr, "snapshot"},
      {read_options.timestamp != nullptr, "timestamp"},
      {read_options.iter_start_ts != nullptr, "iter_start_ts"},
      // RocksDB's iterators refuse this, too.
      {read_options.read_tier == kPersistedTier, "read_tier kPersistedTier"}};
  for (const auto& [is_given, option] : refused) {
    if (!is_given) continue;
    return Status::NotSupported(
        std::string("ApproximateCount counts the present state of the DB, "
                    "without regard to ReadOptions::") +
        option);
  }
  return Status::OK();
}

// Stores a string above all keys of a file. Returns false if none is known: the
// largest key may go on after the bytes that are stored, which are all 0xff, or
// the filter may not know it.
bool StringAbove(const FileRangeFilter& filter, std::string* above) {
  if (filter.largest().size() < FilterBlockHeader::kMaxStoredKey) {
    *above = filter.largest().ToString() + '\0';
  } else if (!FirstAfterPrefix(filter.largest(), above)) {
    return false;
  }
  return !filter.HasKeys() || !filter.MayHaveKeyAtOrAbove(*above);
}

// The search, and what it has counted (docs/internals/reads.md#counting).
class RangeCounter final : public AtWork {
 public:
  // All arguments must outlive the object. `file_options` have no bounds.
  RangeCounter(const RangePtr& range, const ReadOptions& file_options,
               const Comparator* order, CountResult* result)
      : AtWork(/*in_gets=*/false),
        start_(range.start),
        limit_(range.limit),
        options_(file_options),
        comparator_(order),
        result_(result) {}

  // Goes to the keys of the memtables, which are counted, and has the files
  // counted.
  void Count(InternalIterator* it) {
    if (start_ != nullptr) {
      it->Seek(FirstEntryOf(*start_, timestamp_size()));
    } else {
      lists_first_files_ = true;
      it->SeekToFirst();
      lists_first_files_ = false;
      it->SeekToFirst();
    }
    std::string last;
    bool first = true;
    for (; it->Valid(); it->Next()) {
      const Slice key =
          ExtractUserKeyAndStripTimestamp(it->key(), timestamp_size());
      if (!IsBeforeLimit(key)) break;
      const bool deleted = IsDeletion(ExtractValueType(it->key()));
      if (deleted) result_->deletions++;
      // The newest entry of a key comes first.
      if (first || key != last) {
        first = false;
        last.assign(key.data(), key.size());
        if (!deleted) result_->in_memtables++;
      }
    }
    result_->count += result_->in_memtables;
  }

  // A search in a sorted run begins with a seek, and goes on in the next files
  // from their first keys. Without a start, it begins so, too.
  IterBoundCheck Ask(const FilteredFile& file, const ReadOptions& /*options*/,
                     const Slice* lo, Status* status) override {
    if (lists_first_files_) {
      first_files_.insert(&file);
      return IterBoundCheck::kOutOfBound;
    }
    if (lo != nullptr || first_files_.count(&file) > 0) {
      run_is_new_ = true;
      run_end_.reset();
    }
    file_ = &file;
    CountFile(lo);
    *status = status_;
    return IterBoundCheck::kUnknown;
  }

 private:
  // The smallest or the largest key of a file, or its beginning.
  struct EndKey {
    std::string key;
    bool is_whole;
  };

  size_t timestamp_size() const { return comparator_->timestamp_size(); }
  int Compare(const Slice& a, const Slice& b) const {
    return comparator_->CompareWithoutTimestamp(a, /*a_has_ts=*/false, b,
                                                /*b_has_ts=*/false);
  }
  // Returns true if a key is below the limit.
  bool IsBeforeLimit(const Slice& key) const {
    return limit_ == nullptr || Compare(key, *limit_) < 0;
  }

  // Counts the file's keys from `lo` on, or all if that is nullptr.
  void CountFile(const Slice* lo) {
    status_ = Status::OK();
    first_.reset();
    last_.reset();
    uint64_t count = 0;
    if (!CountByFilter(lo == nullptr ? Slice() : *lo, &count) && status_.ok()) {
      if (CountByIndex(lo, &count)) {
        result_->files_estimated++;
      } else if (status_.ok()) {
        result_->files_scanned++;
        CountByScan(lo, &count);
      }
    }
    if (!status_.ok()) return;
    LeaveOutDeletions(lo, &count);
    result_->deletions += file_->file().properties()->num_deletions;
    AddFile(count);
  }

  bool CountByFilter(const Slice& lo, uint64_t* count) {
    FilterView view;
    const FileRangeFilter* filter =
        file_->GetRangeFilter(AskedFor::kClosedSeek, options_,
                              TableReaderCaller::kUserApproximateSize, &view);
    if (filter == nullptr) return false;
    const bool has_limit = limit_ != nullptr;
    std::string above;
    if (!has_limit && !StringAbove(*filter, &above)) return false;
    const Slice hi = has_limit ? *limit_ : Slice(above);
    RangeCount counted;
    if (!filter->CountRange(lo, hi, /*hi_inclusive=*/false, &counted)) {
      return false;
    }
    if (!has_limit) counted.high_ambiguous = false;
    const auto end_key = [](const Slice& stored) {
      return EndKey{stored.ToString(),
                    stored.size() < FilterBlockHeader::kMaxStoredKey};
    };
    // The ends are needed where the range goes on in the next file. If the file
    // has a key behind the range, it does not.
    if (lo.empty()) first_ = end_key(filter->smallest());
    if (!filter->HasKeyAtOrAbove(hi)) last_ = end_key(filter->largest());
    // The ambiguous key is the first one at or above the bound, or the last one
    // below; no other key begins as it does.
    const bool low_is_below =
        counted.low_ambiguous &&
        !FirstKeyShares(lo, counted.low_shared, counted.low_limit);
    // If the same key is at both bounds, it has been taken off already.
    const bool high_is_above =
        counted.high_ambiguous && status_.ok() &&
        !(low_is_below && counted.count == 1) &&
        FirstKeyShares(hi, counted.high_shared, counted.high_limit);
    *count = counted.count - (low_is_below ? 1 : 0) - (high_is_above ? 1 : 0);
    return status_.ok();
  }

  // Estimates from where the index says that the range begins and ends. Returns
  // false if these places are close.
  bool CountByIndex(const Slice* lo, uint64_t* count) {
    constexpr double kMinBytes = 64 << 10;
    const auto size = static_cast<double>(file_->file().file_size());
    const Slice* const bounds[] = {lo, limit_};
    // The shares of the file before the blocks where the bounds lie.
    double shares[] = {0, 1};
    for (size_t i = 0; i < 2; i++) {
      if (bounds[i] == nullptr) continue;
      const uint64_t offset = file_->file().table()->ApproximateOffsetOf(
          options_, FirstEntryOf(*bounds[i], timestamp_size()),
          TableReaderCaller::kUserApproximateSize);
      shares[i] = static_cast<double>(offset) / size;
    }
    const double share = shares[1] - shares[0];
    if (share * size < kMinBytes) return false;
    // An offset does not tell whether the index could be read.
    for (const Slice* bound : bounds) {
      if (bound != nullptr) IteratorAt(bound);
      if (!status_.ok()) return false;
    }
    const auto entries = file_->file().properties()->num_entries;
    *count = static_cast<uint64_t>(share * static_cast<double>(entries) + .5);
    return true;
  }

  void CountByScan(const Slice* lo, uint64_t* count) {
    const auto it = IteratorAt(lo);
    for (; it->Valid(); it->Next()) {
      const Slice key = file_->UserKey(it->key());
      if (!IsBeforeLimit(key)) break;
      if (last_.has_value() && key == last_->key) continue;
      last_ = EndKey{key.ToString(), /*is_whole=*/true};
      if (*count == 0) first_ = last_;
      ++*count;
    }
    status_ = it->status();
  }

  // Takes off the keys of stretches of deletions that lie within the range.
  void LeaveOutDeletions(const Slice* lo, uint64_t* count) {
    if (file_->deletions() == nullptr) return;
    uint64_t deletions = 0;
    for (const DeletionStretch& stretch : *file_->deletions()) {
      if (lo != nullptr && stretch.begin.compare(*lo) < 0) continue;
      if (limit_ != nullptr && stretch.end.compare(*limit_) > 0) break;
      deletions += stretch.deletions;
    }
    *count -= std::min(*count, deletions);
    result_->deletions_left_out += deletions;
  }

  // Returns true if the first key at or above a bound begins with the first
  // `shared` bytes of the bound, and is below `limit`, if that is not empty.
  bool FirstKeyShares(const Slice& bound, size_t shared,
                      const std::string& limit) {
    const auto it = IteratorAt(&bound);
    if (!it->Valid()) return false;
    const Slice key = file_->UserKey(it->key());
    return key.starts_with(Slice(bound.data(), shared)) &&
           (limit.empty() || key.compare(limit) < 0);
  }

  // An iterator over the file's keys, at the first one at or above `lo`, or at
  // the first of all if that is nullptr.
  std::unique_ptr<InternalIterator> IteratorAt(const Slice* lo) {
    auto it = file_->file().NewIterator(
        options_, /*keys_only=*/true, TableReaderCaller::kUserApproximateSize);
    if (lo == nullptr) {
      it->SeekToFirst();
    } else {
      it->Seek(FirstEntryOf(*lo, timestamp_size()));
    }
    status_ = it->status();
    return it;
  }

  // Adds what the file has to the result.
  void AddFile(uint64_t count) {
    if (first_.has_value() && run_end_.has_value()) {
      // The file before may hold other versions of the first key.
      if (first_->is_whole && run_end_->is_whole) {
        const bool is_in_range =
            (start_ == nullptr || Compare(first_->key, *start_) >= 0) &&
            IsBeforeLimit(first_->key);
        if (count > 0 && first_->key == run_end_->key && is_in_range) count--;
      } else if (Slice(first_->key).starts_with(run_end_->key) ||
                 Slice(run_end_->key).starts_with(first_->key)) {
        result_->unsure = true;
      }
    }
    run_end_ = std::move(last_);
    result_->files++;
    result_->count += count;
    if (count > 0 && run_is_new_) {
      run_is_new_ = false;
      result_->sorted_runs++;
    }
  }

  const Slice* const start_;
  const Slice* const limit_;
  const ReadOptions& options_;
  const Comparator* const comparator_;
  CountResult* const result_;
  // True while the search goes to the first file of each run and no further.
  // Without a start, these files are found before anything is counted.
  bool lists_first_files_ = false;
  std::set<const FilteredFile*> first_files_{};
  bool run_is_new_ = false;          // nothing of it has been counted
  std::optional<EndKey> run_end_{};  // of the run's file before
  // The file that is being counted, and its first and last key, if they are
  // known and the range goes on in the files before and after it.
  const FilteredFile* file_ = nullptr;
  std::optional<EndKey> first_{};
  std::optional<EndKey> last_{};
  Status status_;
};

}  // namespace

Status ApproximateCount(DB* db, const ReadOptions& read_options,
                        ColumnFamilyHandle* column_family,
                        const RangePtr& range, CountResult* result) {
  *result = CountResult();
  Status s = RequireProteanTable("ApproximateCount", db, column_family);
  if (s.ok()) s = CheckOptions(read_options);
  if (!s.ok()) return s;
  // For files and memtables alike. What is deleted in ranges is counted.
  ReadOptions file_options = WithoutBounds(read_options);
  file_options.ignore_range_deletions = true;
  ReadOptions options = file_options;
  options.iterate_upper_bound = range.limit;
  RangeCounter counter(range, file_options, column_family->GetComparator(),
                       result);

  // One version is counted, whatever changes meanwhile.
  const ColumnFamilyVersion version(db, column_family, options);
  counter.Count(version.iterator());
  result->deletions += version.RangeDeletions();
  if (version.MayHoldUncommitted()) result->unsure = true;
  return version.iterator()->status();
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

}  // namespace ROCKSDB_NAMESPACE::protean
