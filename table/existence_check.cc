// SPDX-License-Identifier: Apache-2.0

#include "table/existence_check.h"

#include "table/at_work.h"
#include "table/filtered_file.h"
#include "table/seek/seek_decision.h"

namespace ROCKSDB_NAMESPACE::protean {

// Finds no key, but tells the check whether a search might find one.
class ExistenceIterator final : public FindsNothing {
 public:
  ExistenceIterator(ExistenceCheck* check, const FilteredFile& file,
                    const ReadOptions& read_options)
      : check_(check), file_(file), read_options_(read_options) {}

  void Seek(const Slice& target) override {
    const Slice lo = file_.UserKey(target);
    Ask([&](const FileRangeFilter& filter) {
      return check_->limit() == nullptr && !filter.MayHaveKeyAtOrAbove(lo)
                 ? SeekDecision::Empty(/*has_key_beyond=*/false)
                 : DecideSeek(filter, lo, check_->limit(), Waiting::kForbidden,
                              /*marker=*/nullptr);
    });
  }
  // The search has come from the file before.
  void SeekToFirst() override {
    Ask([&](const FileRangeFilter& filter) {
      return check_->limit() == nullptr
                 ? SeekDecision::Read()
                 : DecideSeekToFirst(filter, *check_->limit());
    });
  }
  Status status() const override { return Status::OK(); }
  IterBoundCheck UpperBoundCheckResult() override { return bound_check_; }

 private:
  template <typename Decide>
  void Ask(const Decide& decide) {
    // Nothing more is to be learned in this run.
    bound_check_ = IterBoundCheck::kOutOfBound;
    if (check_->file_may_match_) return;
    FilterView view;
    const FileRangeFilter* const filter =
        file_.GetRangeFilter(AskedFor::kClosedSeek, read_options_,
                             TableReaderCaller::kUserIterator, &view);
    const SeekDecision decision =
        filter == nullptr ? SeekDecision::Read() : decide(*filter);
    check_->file_may_match_ = decision.action != SeekDecision::Action::kEmpty;
    if (!check_->file_may_match_ && !decision.has_key_beyond) {
      bound_check_ = IterBoundCheck::kUnknown;
    }
  }

  ExistenceCheck* const check_;
  const FilteredFile& file_;
  const ReadOptions& read_options_;
  IterBoundCheck bound_check_ = IterBoundCheck::kUnknown;
};

InternalIterator* ExistenceCheck::NewIterator(FilteredFile* file,
                                              const ReadOptions& read_options,
                                              Arena* arena) {
  return NewIn<ExistenceIterator>(arena, this, *file, read_options);
}

Status ExistenceCheck::Get(const FilteredFile& file,
                           const ReadOptions& read_options,
                           const Slice& internal_key, GetContext* get_context,
                           const SliceTransform* prefix_extractor,
                           bool skip_filters) {
  FilterView view;
  const FileRangeFilter* const filter = file.GetRangeFilter(
      AskedFor::kGet, read_options, TableReaderCaller::kUserGet, &view);
  if (filter != nullptr) {
    return filter->KeyMayMatch(file.UserKey(internal_key))
               ? Status::Incomplete("the key may be there")
               : Status::OK();
  }
  // A filter of RocksDB's, or none. What is in the cache may tell more.
  ReadOptions cached = read_options;
  cached.read_tier = kBlockCacheTier;
  return file.file().table()->Get(cached, internal_key, get_context,
                                  prefix_extractor, skip_filters);
}

Status ExistenceCheck::CheckRange(const Slice* start, Iterator* it,
                                  bool* may_exist) {
  file_may_match_ = false;
  if (start == nullptr) {
    it->SeekToFirst();
  } else {
    it->Seek(*start);
  }
  // The read tier may forbid to open a file, which may hold anything then.
  const Status s = it->status();
  *may_exist = !s.ok() || it->Valid() || file_may_match_;
  return s.IsIncomplete() ? Status::OK() : s;
}

Status ExistenceCheck::CheckRanges(DB* db, const ReadOptions& read_options,
                                   ColumnFamilyHandle* column_family,
                                   size_t num_ranges, const RangePtr* ranges,
                                   bool* may_exist) {
  ExistenceCheck check;
  const AtWork<ExistenceCheck> at_work(&check);
  ReadOptions options = read_options;
  options.iterate_lower_bound = nullptr;
  options.total_order_seek = true;
  options.prefix_same_as_start = false;
  options.auto_prefix_mode = false;
  options.async_io = false;
  options.tailing = false;
  const Comparator& order = *column_family->GetComparator();
  std::unique_ptr<Iterator> iterators[2];  // without a limit, and with one
  Status s;
  for (size_t i = 0; s.ok() && i < num_ranges; i++) {
    const auto& [start, limit] = ranges[i];
    check.has_limit_ = limit != nullptr;
    if (check.has_limit_) check.limit_ = *limit;
    if (start != nullptr && check.has_limit_ &&
        order.CompareWithoutTimestamp(*start, /*a_has_ts=*/false, *limit,
                                      /*b_has_ts=*/false) >= 0) {
      may_exist[i] = false;
      continue;
    }
    std::unique_ptr<Iterator>& it = iterators[check.has_limit_ ? 1 : 0];
    if (it == nullptr) {
      options.iterate_upper_bound = check.limit();
      it.reset(db->NewIterator(options, column_family));
    }
    s = check.CheckRange(start, &*it, &may_exist[i]);
  }
  return s;
}

Status ExistenceCheck::CheckKeys(DB* db, const ReadOptions& read_options,
                                 ColumnFamilyHandle* column_family,
                                 size_t num_keys, const Slice* keys,
                                 bool* may_exist) {
  ExistenceCheck check;
  const AtWork<ExistenceCheck> at_work(&check);
  for (size_t i = 0; i < num_keys; i++) {
    PinnableSlice value;
    const Status s = db->Get(read_options, column_family, keys[i], &value);
    if (s.IsNotFound()) {
      may_exist[i] = false;
    } else if (!s.ok() && !s.IsIncomplete()) {
      return s;
    }
  }
  return Status::OK();
}

}  // namespace ROCKSDB_NAMESPACE::protean
