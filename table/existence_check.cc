// SPDX-License-Identifier: Apache-2.0

#include "table/existence_check.h"

#include "table/filtered_file.h"
#include "table/new_in.h"
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
      return DecideSeek(filter, lo, &check_->limit_, Waiting::kForbidden,
                        /*marker=*/nullptr);
    });
  }
  // The search has come from the file before.
  void SeekToFirst() override {
    Ask([&](const FileRangeFilter& filter) {
      return DecideSeekToFirst(filter, check_->limit_);
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

Status ExistenceCheck::CheckRanges(DB* db, const ReadOptions& read_options,
                                   ColumnFamilyHandle* column_family,
                                   const std::vector<Range>& ranges,
                                   std::vector<bool>* may_exist) {
  may_exist->assign(ranges.size(), true);
  ExistenceCheck check;
  const AtWork<ExistenceCheck> at_work(&check);
  ReadOptions options = read_options;
  options.iterate_lower_bound = nullptr;
  // The bound is that of each range in turn.
  options.iterate_upper_bound = &check.limit_;
  options.total_order_seek = true;
  options.prefix_same_as_start = false;
  options.auto_prefix_mode = false;
  options.async_io = false;
  options.tailing = false;
  const Comparator& order = *column_family->GetComparator();
  std::unique_ptr<Iterator> it;
  for (size_t i = 0; i < ranges.size(); i++) {
    if (order.CompareWithoutTimestamp(ranges[i].start, /*a_has_ts=*/false,
                                      ranges[i].limit,
                                      /*b_has_ts=*/false) >= 0) {
      (*may_exist)[i] = false;
      continue;
    }
    check.limit_ = ranges[i].limit;
    check.file_may_match_ = false;
    if (it == nullptr) it.reset(db->NewIterator(options, column_family));
    it->Seek(ranges[i].start);
    // The read tier may forbid to open a file, which may hold anything then.
    const Status s = it->status();
    if (!s.ok() && !s.IsIncomplete()) return s;
    (*may_exist)[i] = !s.ok() || it->Valid() || check.file_may_match_;
  }
  return Status::OK();
}

Status ExistenceCheck::CheckKeys(DB* db, const ReadOptions& read_options,
                                 ColumnFamilyHandle* column_family,
                                 const std::vector<Slice>& keys,
                                 std::vector<bool>* may_exist) {
  may_exist->assign(keys.size(), true);
  ExistenceCheck check;
  const AtWork<ExistenceCheck> at_work(&check);
  for (size_t i = 0; i < keys.size(); i++) {
    PinnableSlice value;
    const Status s = db->Get(read_options, column_family, keys[i], &value);
    if (s.IsNotFound()) {
      (*may_exist)[i] = false;
    } else if (!s.ok() && !s.IsIncomplete()) {
      return s;
    }
  }
  return Status::OK();
}

}  // namespace ROCKSDB_NAMESPACE::protean
