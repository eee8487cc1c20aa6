// SPDX-License-Identifier: Apache-2.0

#include "table/protean_table_reader.h"

#include "table/protean_table_iterator.h"
#include "table/rocksdb_internals/block_based_file.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

bool IsForUser(TableReaderCaller caller) {
  return caller == TableReaderCaller::kUserIterator ||
         caller == TableReaderCaller::kSSTFileReader;
}

}  // namespace

Status ProteanTableReader::Get(const ReadOptions& read_options,
                               const Slice& key, GetContext* get_context,
                               const SliceTransform* prefix_extractor,
                               bool skip_filters) {
  skip_filters = Skips(skip_filters);
  if (at_work<ExistenceCheck> != nullptr) {
    return GetExistence(file_, read_options, key, get_context, prefix_extractor,
                        skip_filters);
  }
  const size_t before = ProgressOf(*get_context);
  FilterAnswers answer;
  const bool asks = filter_of_keys_ != nullptr && !skip_filters;
  bool may_match = true;
  bool counts_more = false;  // in statistics, or by levels
  if (asks) {
    may_match =
        filter_of_keys_->EntryMayMatch(file_.UserKey(key)) && !IsKnownMiss(key);
    counts_more = answer.Add(may_match) || has_statistics_;
    if (counts_more) file().CountAnswer(may_match);
  } else if (!skip_filters) {
    may_match = !IsKnownMiss(key);
  }
  Status s = may_match ? table_->Get(read_options, key, get_context,
                                     prefix_extractor, skip_filters || asks)
                       : Status::OK();
  const bool found = ProgressOf(*get_context) != before;
  if (counts_more && found) file().CountTruePositive();
  file_.gets()->Count(answer, found);
  if (s.ok() && get_context->State() == GetContext::kNotFound) {
    // A callback, of a transaction, may hide what the file has.
    if (answer.positives() > 0 && !get_context->has_callback() &&
        file_.SeesAllVersions(ExtractInternalKeyFooter(key))) {
      const Slice user_key = file_.UserKey(key);
      file_.AddMiss(user_key, user_key.ToString() + '\0');
    }
    if (IsSampled()) Sample(key);
  }
  return s;
}

Status ProteanTableReader::MultiGetFilter(
    const ReadOptions& read_options, const SliceTransform* prefix_extractor,
    MultiGetContext::Range* range) {
  // RocksDB then reads the keys by MultiGet.
  if (Skips(false)) return Status::NotSupported();
  MultiGetContext::Range dropped(*range, range->begin(), range->end());
  const FilterAnswers answers;
  Status s = table_->MultiGetFilter(read_options, prefix_extractor, range);
  file_.gets()->CountBatchOfFilter(answers);
  if (s.ok() && IsSampled()) {
    for (auto key = range->begin(); key != range->end(); ++key) {
      dropped.SkipKey(key);
    }
    Sample(dropped);
  }
  return s;
}

InternalIterator* ProteanTableReader::NewIterator(
    const ReadOptions& read_options, const SliceTransform* prefix_extractor,
    Arena* arena, bool skip_filters, TableReaderCaller caller,
    size_t compaction_readahead_size, bool allow_unprepared_value) {
  if (IsForUser(caller)) {
    InternalIterator* const at_work =
        NewIteratorAtWork(&file_, read_options, arena);
    if (at_work != nullptr) return at_work;
  }
  skip_filters = Skips(skip_filters);
  const bool is_asked = !skip_filters && file_.IsOn() &&
                        (file_.has_range_filter() || file_.queue() != nullptr);
  // Where scans may skip deletions, all files of a search are part of it: those
  // that are not asked may have values that the deletions hide.
  if (!IsForUser(caller) || !(is_asked || file_.MayBeInSkippingSearch())) {
    return table_->NewIterator(read_options, prefix_extractor, arena,
                               skip_filters, caller, compaction_readahead_size,
                               allow_unprepared_value);
  }
  const FileIterator::Arguments arguments = {
      prefix_extractor, arena, caller, allow_unprepared_value, skip_filters};
  return NewProteanTableIterator(&file_, read_options, arguments);
}

}  // namespace ROCKSDB_NAMESPACE::protean
