#include "table/protean_table_iterator.h"

#include "db/dbformat.h"
#include "monitoring/perf_context_imp.h"
#include "monitoring/statistics_impl.h"

namespace ROCKSDB_NAMESPACE::protean {

// The inner iterator counts whether a seek that found something had passed a
// filter, but it can only know of RocksDB's own prefix filters, and keeps that
// knowledge private. Explicit instantiation may name private members: this is
// the one place where the statistics are told of our filter. Returns false if
// the seek is marked already.
bool MarkFilterUsed(BlockBasedTableIterator* iterator);

template <auto kState, auto kFilterUsed>
bool MarkFilterUsedIn(BlockBasedTableIterator* iterator) {
  auto& state = iterator->*kState;
  if ((state & kFilterUsed) != 0) return false;
  state = static_cast<decltype(kFilterUsed)>(state | kFilterUsed);
  return true;
}

template <auto kState, auto kFilterUsed>
struct SeekStatistics {
  friend bool MarkFilterUsed(BlockBasedTableIterator* iterator) {
    return MarkFilterUsedIn<kState, kFilterUsed>(iterator);
  }
};

template struct SeekStatistics<&BlockBasedTableIterator::seek_stat_state_,
                               BlockBasedTableIterator::kFilterUsed>;

void ProteanTableIterator::MakeInner() {
  inner_ = static_cast<BlockBasedTableIterator*>(reader_->table()->NewIterator(
      read_options_, arguments_.prefix_extractor, arguments_.arena,
      /*skip_filters=*/false, arguments_.caller,
      arguments_.compaction_readahead_size, arguments_.allow_unprepared_value));
  if (pinned_iters_manager_ != nullptr) {
    inner_->SetPinnedItersMgr(pinned_iters_manager_);
  }
  if (readahead_.has_value()) inner_->SetReadaheadState(&*readahead_);
}

bool ProteanTableIterator::AskFilter(const Slice& lo, bool* asked) {
  *asked = false;
  filtered_ = false;
  const Slice* upper_bound = read_options_.iterate_upper_bound;
  if (upper_bound == nullptr) return true;
  CachableEntry<ParsedFullFilterBlock> entry;
  const FilterBlock* filter =
      reader_->GetFilter(read_options_, &lookup_context_, &entry);
  if (filter == nullptr) return true;
  *asked = true;
  if (filter->RangeMayMatch(lo, *upper_bound, /*hi_inclusive=*/false)) {
    PERF_COUNTER_ADD(bloom_sst_hit_count, 1);
    return true;
  }
  PERF_COUNTER_ADD(bloom_sst_miss_count, 1);
  filtered_ = true;
  filtered_bound_ = filter->HasKeyAtOrAbove(*upper_bound)
                        ? IterBoundCheck::kOutOfBound
                        : IterBoundCheck::kUnknown;
  const BlockBasedTable* table = reader_->table();
  RecordTick(table->GetStatistics(), table->IsLastLevel()
                                         ? LAST_LEVEL_SEEK_FILTERED
                                         : NON_LAST_LEVEL_SEEK_FILTERED);
  return false;
}

void ProteanTableIterator::RecordFilterMatch() {
  if (!MarkFilterUsed(inner_)) return;
  const BlockBasedTable* table = reader_->table();
  RecordTick(table->GetStatistics(), table->IsLastLevel()
                                         ? LAST_LEVEL_SEEK_FILTER_MATCH
                                         : NON_LAST_LEVEL_SEEK_FILTER_MATCH);
}

void ProteanTableIterator::Seek(const Slice& target) {
  // With async_io, a seek whose block is on its way is repeated to finish it.
  const bool resumed = read_options_.async_io && status().IsTryAgain();
  bool asked = false;
  if (resumed || AskFilter(ExtractUserKey(target), &asked)) {
    Inner()->Seek(target);
    if (asked) RecordFilterMatch();
  }
  if (reader_->queue() != nullptr) Sample(target);
}

// Not sampled: where a search that began in the file before goes on in this
// one, only the iterator over the level knows its target.
void ProteanTableIterator::SeekToFirst() {
  bool asked;
  if (!AskFilter(Slice(), &asked)) return;
  Inner()->SeekToFirst();
  if (asked) RecordFilterMatch();
}

}  // namespace ROCKSDB_NAMESPACE::protean
