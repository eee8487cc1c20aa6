// SPDX-License-Identifier: Apache-2.0

#include "table/protean_table_reader.h"

#include "table/existence_check.h"
#include "table/new_in.h"
#include "table/protean_table_iterator.h"
#include "table/range_counter.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

bool IsForUser(TableReaderCaller caller) {
  return caller == TableReaderCaller::kUserIterator ||
         caller == TableReaderCaller::kSSTFileReader;
}

}  // namespace

void ProteanTableReader::Sample(const MultiGetContext::Range& range) {
  for (auto key = range.begin(); key != range.end(); ++key) {
    if (key->s->ok()) Sample(key->ikey, *key->get_context);
  }
}

Status ProteanTableReader::MultiGetFilter(
    const ReadOptions& read_options, const SliceTransform* prefix_extractor,
    MultiGetContext::Range* range) {
  if (queue_ == nullptr) {
    return table_->MultiGetFilter(read_options, prefix_extractor, range);
  }
  MultiGetContext::Range dropped(*range, range->begin(), range->end());
  Status s = table_->MultiGetFilter(read_options, prefix_extractor, range);
  if (s.ok()) {
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
  const bool is_wrapped = file_.has_range_filter() || queue_ != nullptr;
  if (skip_filters || !is_wrapped || !IsForUser(caller)) {
    return table_->NewIterator(read_options, prefix_extractor, arena,
                               skip_filters, caller, compaction_readahead_size,
                               allow_unprepared_value);
  }
  const FileIterator::Arguments arguments = {prefix_extractor, arena, caller,
                                             compaction_readahead_size,
                                             allow_unprepared_value};
  return NewIn<ProteanTableIterator>(arena, &file_, read_options, arguments);
}

}  // namespace ROCKSDB_NAMESPACE::protean
