// SPDX-License-Identifier: Apache-2.0

#include "table/protean_table_reader.h"

#include "table/count_and_exist.h"
#include "table/protean_table_iterator.h"
#include "table/rocksdb_internals/block_based_file.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

bool IsForUser(TableReaderCaller caller) {
  return caller == TableReaderCaller::kUserIterator ||
         caller == TableReaderCaller::kSSTFileReader;
}

}  // namespace

void ProteanTableReader::Sample(const MultiGetContext::Range& range) {
  for (auto key = range.begin(); key != range.end(); ++key) {
    if (key->s->ok() && key->get_context->State() == GetContext::kNotFound) {
      Sample(key->ikey);
    }
  }
}

ProteanTableReader::BatchProgress::BatchProgress(
    const MultiGetContext::Range& range) {
  for (auto key = range.begin(); key != range.end(); ++key) {
    gets_[keys_] = key->get_context;
    progress_[keys_] = ProgressOf(*key->get_context);
    keys_++;
  }
}

size_t ProteanTableReader::BatchProgress::CountFound() const {
  size_t found = 0;
  for (size_t i = 0; i < keys_; i++) {
    if (ProgressOf(*gets_[i]) != progress_[i]) found++;
  }
  return found;
}

Status ProteanTableReader::GetByTable(const ReadOptions& read_options,
                                      const Slice& key, GetContext* get_context,
                                      const SliceTransform* prefix_extractor,
                                      bool skip_filters) {
  if (ExistenceCheck::Current() != nullptr) {
    return ExistenceCheck::Get(file_, read_options, key, get_context,
                               prefix_extractor, skip_filters);
  }
  if (get_context->State() != GetContext::kNotFound) {
    return GetMore(read_options, key, get_context, prefix_extractor,
                   skip_filters);
  }
  const FilterAnswers answer;
  Status s = table_->Get(read_options, key, get_context, prefix_extractor,
                         skip_filters);
  const bool found = get_context->State() != GetContext::kNotFound;
  ThreadGets::Count(get_counter_, answer, found);
  if (!found && IsSampled() && s.ok()) Sample(key);
  return s;
}

Status ProteanTableReader::GetLetThrough(
    const ReadOptions& read_options, const Slice& key, GetContext* get_context,
    const SliceTransform* prefix_extractor) {
  PerfContext* const perf =
      get_uses_answer_ ? nullptr : ThreadGets::PlainPerfContext();
  if (perf == nullptr) {
    const ProteanFilterBitsReader::LetThrough let_through(filter_of_keys_);
    return GetByTable(read_options, key, get_context, prefix_extractor,
                      /*skip_filters=*/false);
  }
  // The table need not ask again. This counts as the table would.
  perf->bloom_sst_hit_count++;
  const uint64_t blocks_before = perf->block_read_count;
  Status s = table_->Get(read_options, key, get_context, prefix_extractor,
                         /*skip_filters=*/true);
  const bool found = get_context->State() != GetContext::kNotFound;
  ThreadGets::CountLetThrough(get_counter_, found);
  if (perf->block_read_count != blocks_before) {
    ThreadGets::CountGetFromFile(get_counter_);
  }
  if (!found && IsSampled() && s.ok()) Sample(key);
  return s;
}

Status ProteanTableReader::GetMore(const ReadOptions& read_options,
                                   const Slice& key, GetContext* get_context,
                                   const SliceTransform* prefix_extractor,
                                   bool skip_filters) {
  const size_t before = ProgressOf(*get_context);
  const FilterAnswers answer;
  Status s = table_->Get(read_options, key, get_context, prefix_extractor,
                         skip_filters);
  ThreadGets::Count(get_counter_, answer, ProgressOf(*get_context) != before);
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
  ThreadGets::CountBatchOfFilter(get_counter_, answers);
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
    if (RangeCounter* counter = RangeCounter::Current()) {
      return counter->NewIterator(&file_, arena);
    }
    if (ExistenceCheck* check = ExistenceCheck::Current()) {
      return check->NewIterator(&file_, read_options, arena);
    }
  }
  const bool is_wrapped =
      (file_.has_range_filter() || queue_ != nullptr) && file_.IsOn();
  skip_filters = Skips(skip_filters);
  if (skip_filters || !is_wrapped || !IsForUser(caller)) {
    return table_->NewIterator(read_options, prefix_extractor, arena,
                               skip_filters, caller, compaction_readahead_size,
                               allow_unprepared_value);
  }
  const FileIterator::Arguments arguments = {prefix_extractor, arena, caller,
                                             allow_unprepared_value};
  return NewIn<ProteanTableIterator>(arena, &file_, read_options, arguments);
}

}  // namespace ROCKSDB_NAMESPACE::protean
