#include "table/range_counter.h"

#include "db/column_family.h"
#include "db/db_impl/db_impl.h"
#include "db/dbformat.h"
#include "db/range_del_aggregator.h"
#include "memory/arena.h"
#include "rocksdb/table_properties.h"
#include "table/protean_table_reader.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

thread_local RangeCounter* current = nullptr;

// The block-based table's iterator over all of a file.
using FileIterator = std::unique_ptr<InternalIterator>;

ReadOptions WithoutBounds(ReadOptions options) {
  options.iterate_lower_bound = nullptr;
  options.iterate_upper_bound = nullptr;
  return options;
}

}  // namespace

// Finds no key, but counts those that a search would find.
class CountingIterator : public InternalIterator {
 public:
  CountingIterator(RangeCounter* counter, ProteanTableReader* reader)
      : counter_(counter),
        reader_(reader),
        options_(WithoutBounds(*counter->read_options_)) {}

  // A search in a sorted run begins with a seek, and goes on in the next files
  // with SeekToFirst.
  void Seek(const Slice& target) override {
    counter_->run_is_new_ = true;
    const Slice lo = reader_->UserKey(target);
    Count(&lo);
  }
  void SeekToFirst() override { Count(nullptr); }
  void SeekForPrev(const Slice& /*target*/) override {}
  void SeekToLast() override {}

  bool Valid() const override { return false; }
  void Next() override {}
  void Prev() override {}
  Slice key() const override { return Slice(); }
  Slice value() const override { return Slice(); }
  Status status() const override { return status_; }

 private:
  // From `lo` on, or from the beginning of the file if that is nullptr.
  void Count(const Slice* lo);
  bool CountByFilter(const Slice& lo, const Slice& hi, uint64_t* count);
  void CountByScan(const Slice* lo, const Slice& hi, uint64_t* count);

  FileIterator NewFileIterator() const {
    return FileIterator(reader_->table()->NewIterator(
        options_, /*prefix_extractor=*/nullptr, /*arena=*/nullptr,
        /*skip_filters=*/true, TableReaderCaller::kUserApproximateSize,
        /*compaction_readahead_size=*/0, /*allow_unprepared_value=*/true));
  }
  // Moves to the first entry at or above a key.
  void SeekUserKey(const Slice& key, InternalIterator* it) const {
    std::string target;
    AppendKeyWithMaxTimestamp(&target, key, timestamp_size());
    PutFixed64(&target,
               PackSequenceAndType(kMaxSequenceNumber, kValueTypeForSeek));
    it->Seek(target);
  }
  // Whether the first key at or above a bound begins with the first `shared`
  // bytes of the bound; also, whether it is the bound itself.
  bool FirstKeyShares(const Slice& bound, size_t shared, bool* is_bound);

  const Comparator* comparator() const {
    return reader_->table()->get_rep()->internal_comparator.user_comparator();
  }
  size_t timestamp_size() const { return comparator()->timestamp_size(); }

  RangeCounter* const counter_;
  ProteanTableReader* const reader_;
  const ReadOptions options_;
  Status status_;
};

void CountingIterator::Count(const Slice* lo) {
  status_ = Status::OK();
  if (!counter_->files_.insert(reader_->table()->get_rep()->file->file_name())
           .second) {
    return;
  }
  const Slice& hi = *counter_->read_options_->iterate_upper_bound;
  RangeCounter::Totals& totals = counter_->totals_;
  uint64_t count = 0;
  if (!CountByFilter(lo == nullptr ? Slice() : *lo, hi, &count) &&
      status_.ok()) {
    totals.files_scanned++;
    CountByScan(lo, hi, &count);
  }
  if (!status_.ok()) return;
  totals.files++;
  if (const auto properties = reader_->GetTableProperties()) {
    totals.deletions += properties->num_deletions;  // of ranges too
  }
  totals.keys += count;
  if (count > 0 && counter_->run_is_new_) {
    counter_->run_is_new_ = false;
    totals.sorted_runs++;
  }
}

bool CountingIterator::FirstKeyShares(const Slice& bound, size_t shared,
                                      bool* is_bound) {
  const FileIterator it = NewFileIterator();
  SeekUserKey(bound, it.get());
  status_ = it->status();
  if (!it->Valid()) return false;
  const Slice key = reader_->UserKey(it->key());
  *is_bound = key == bound;
  return key.starts_with(Slice(bound.data(), shared));
}

bool CountingIterator::CountByFilter(const Slice& lo, const Slice& hi,
                                     uint64_t* count) {
  BlockCacheLookupContext lookup_context{
      TableReaderCaller::kUserApproximateSize};
  CachableEntry<ParsedFullFilterBlock> entry;
  const FilterBlock* filter =
      reader_->GetRangeFilter(options_, &lookup_context, &entry);
  RangeCount counted;
  if (filter == nullptr ||
      !filter->CountRange(lo, hi, /*hi_inclusive=*/false, &counted)) {
    return false;
  }
  *count = counted.count;
  // The ambiguous key is the first one at or above the bound, or the last one
  // below; no other key begins as it does.
  bool low_is_below = false;
  bool is_bound = false;
  if (counted.low_ambiguous) {
    low_is_below = !FirstKeyShares(lo, counted.low_shared, &is_bound);
    if (!status_.ok()) return false;
    if (low_is_below) --*count;
  }
  // If the same key is at both bounds, it has been taken off already.
  if (counted.high_ambiguous && !(low_is_below && counted.count == 1)) {
    const bool high_is_above =
        FirstKeyShares(hi, counted.high_shared, &is_bound);
    if (!status_.ok()) return false;
    if (high_is_above) --*count;
  }
  return true;
}

void CountingIterator::CountByScan(const Slice* lo, const Slice& hi,
                                   uint64_t* count) {
  const FileIterator it = NewFileIterator();
  if (lo == nullptr) {
    it->SeekToFirst();
  } else {
    SeekUserKey(*lo, it.get());
  }
  std::string last;
  for (bool first = true; it->Valid(); it->Next()) {
    const Slice key = reader_->UserKey(it->key());
    if (comparator()->CompareWithoutTimestamp(key, /*a_has_ts=*/false, hi,
                                              /*b_has_ts=*/false) >= 0) {
      break;
    }
    if (!first && key == last) continue;
    first = false;
    last.assign(key.data(), key.size());
    ++*count;
  }
  status_ = it->status();
}

RangeCounter::RangeCounter(const ReadOptions* read_options)
    : read_options_(read_options) {
  current = this;
}

RangeCounter::~RangeCounter() { current = nullptr; }

RangeCounter* RangeCounter::Current() { return current; }

InternalIterator* RangeCounter::NewIterator(ProteanTableReader* reader,
                                            Arena* arena) {
  if (arena == nullptr) return new CountingIterator(this, reader);
  return new (arena->AllocateAligned(sizeof(CountingIterator)))
      CountingIterator(this, reader);
}

uint64_t DeletionsInMemtables(DB* db, ColumnFamilyHandle* column_family) {
  // No property of the DB tells of deletions of ranges.
  auto* impl = static_cast<DBImpl*>(db->GetRootDB());
  ColumnFamilyData* family =
      static_cast<ColumnFamilyHandleImpl*>(column_family)->cfd();
  SuperVersion* super_version = impl->GetAndRefSuperVersion(family);
  uint64_t deletions = super_version->mem->NumDeletion() +
                       super_version->mem->NumRangeDeletion() +
                       super_version->imm->GetTotalNumDeletes();
  ReadRangeDelAggregator ranges(&family->internal_comparator(),
                                kMaxSequenceNumber);
  super_version->imm
      ->AddRangeTombstoneIterators(ReadOptions(), /*arena=*/nullptr, &ranges)
      .PermitUncheckedError();
  if (!ranges.IsEmpty()) deletions++;
  impl->ReturnAndCleanupSuperVersion(family, super_version);
  return deletions;
}

}  // namespace ROCKSDB_NAMESPACE::protean
