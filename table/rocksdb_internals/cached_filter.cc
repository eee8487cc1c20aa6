// SPDX-License-Identifier: Apache-2.0

#include "table/rocksdb_internals/cached_filter.h"

#include <algorithm>
#include <array>

#include "cache/cache_helpers.h"
#include "file/file_prefetch_buffer.h"
#include "monitoring/perf_context_imp.h"
#include "table/block_based/block_based_table_reader.h"
#include "table/block_based/block_cache.h"
#include "test_util/sync_point.h"

namespace ROCKSDB_NAMESPACE::protean {

// Explicit instantiation may name private members. A friend function of the
// instantiated class lends this one to the rest of the file.
Status GetPartBlock(const PartitionedFilterBlockReader& reader,
                    FilePrefetchBuffer* prefetch_buffer,
                    const BlockHandle& handle, GetContext* get_context,
                    BlockCacheLookupContext* lookup_context,
                    const ReadOptions& read_options, FilterHold* hold);

template <auto kGet>
struct PartBlockOf {
  friend Status GetPartBlock(const PartitionedFilterBlockReader& reader,
                             FilePrefetchBuffer* prefetch_buffer,
                             const BlockHandle& handle, GetContext* get_context,
                             BlockCacheLookupContext* lookup_context,
                             const ReadOptions& read_options,
                             FilterHold* hold) {
    return (reader.*kGet)(prefetch_buffer, handle, get_context, lookup_context,
                          read_options, hold);
  }
};

template struct PartBlockOf<
    &PartitionedFilterBlockReader::GetFilterPartitionBlock>;

namespace {

// A directory of usual size is read at once.
constexpr size_t kFirstRead = 8 << 10;

// A part in the block cache, opened. It outlives the table.
class PartReader final : public FilterBitsReader {
 public:
  PartReader(const FilterDirectory& directory, const Slice& bytes)
      : number_(FilterDirectory::NumberOf(bytes)) {
    status_ = number_ < directory.parts().size()
                  ? directory.OpenPart(number_, bytes, &filter_)
                  : Status::Corruption("filter block has a part too many");
  }

  // CachedFilter asks the part itself.
  bool MayMatch(const Slice& /*entry*/) override { return true; }

  size_t number() const { return number_; }
  const Status& status() const { return status_; }
  const RangeFilter* filter() const { return filter_.get(); }

 private:
  const size_t number_;
  Status status_;
  std::unique_ptr<RangeFilter> filter_;
};

// The options of a read of parts. RocksDB has no checksum for them, but they
// have their own.
ReadOptions OptionsOfParts(const ReadOptions& read_options) {
  ReadOptions options = read_options;
  options.verify_checksums = false;
  return options;
}

Status ReadAt(const BlockBasedTable::Rep& rep, const ReadOptions& read_options,
              uint64_t offset, size_t size, std::string* bytes) {
  IOOptions io_options;
  Status s = rep.file->PrepareIOOptions(read_options, io_options);
  if (!s.ok()) return s;
  bytes->resize(size);
  Slice result;
  s = rep.file->Read(io_options, offset, size, &result, bytes->data(), nullptr);
  if (!s.ok()) return s;
  if (result.size() != size) {
    return Status::Corruption("filter block is cut short");
  }
  if (result.data() != bytes->data()) bytes->assign(result.data(), size);
  return s;
}

// Counts an answer as RocksDB's filters do, and returns it.
bool CountAnswer(bool may_match) {
  if (may_match) {
    PERF_COUNTER_ADD(bloom_sst_hit_count, 1);
  } else {
    PERF_COUNTER_ADD(bloom_sst_miss_count, 1);
  }
  return may_match;
}

}  // namespace

FilterBitsReader* CachedFilter::NewPartReader(const FilterDirectory& directory,
                                              const Slice& bytes) {
  return new PartReader(directory, bytes);
}

Status CachedFilter::ReadDirectory(const BlockBasedTable& table,
                                   const ReadOptions& read_options,
                                   const BlockHandle& handle,
                                   OwnedDirectory* directory) {
  const BlockBasedTable::Rep& rep = *table.get_rep();
  const uint64_t first_read = std::min<uint64_t>(handle.size(), kFirstRead);
  Status s =
      ReadAt(rep, read_options, handle.offset(), first_read, &directory->bytes);
  uint64_t size = 0;
  if (s.ok()) s = FilterDirectory::ReadSize(directory->bytes, &size);
  if (s.ok() && size > handle.size()) {
    s = Status::Corruption("filter block has impossible lengths");
  }
  if (s.ok() && size > first_read) {
    s = ReadAt(rep, read_options, handle.offset(), size, &directory->bytes);
  }
  if (!s.ok()) return s;
  directory->bytes.resize(size);
  directory->bytes.shrink_to_fit();
  return directory->directory.Read(directory->bytes, handle.size());
}

CachedFilter::CachedFilter(const BlockBasedTable& table,
                           const BlockHandle& handle,
                           const FilterDirectory& directory)
    : FilterBlockReaderCommon(&table, FilterHold()),
      directory_(directory),
      offset_(handle.offset()),
      parts_(&table, CachableEntry<Block_kFilterPartitionIndex>()) {}

void CachedFilter::Load(const ReadOptions& read_options, bool pin) {
  const size_t count = directory_.parts().size();
  if (count == 0) return;
  const BlockBasedTable::Rep& rep = *table()->get_rep();
  const ReadOptions options = OptionsOfParts(read_options);
  const uint64_t begin = HandleOf(0).offset();
  const BlockHandle last = HandleOf(count - 1);
  FilePrefetchBuffer buffer;
  IOOptions io_options;
  Status s = rep.file->PrepareIOOptions(options, io_options);
  if (s.ok()) {
    s = buffer.Prefetch(
        io_options, rep.file.get(), begin,
        last.offset() + BlockBasedTable::BlockSizeWithTrailer(last) - begin);
  }
  s.PermitUncheckedError();
  BlockCacheLookupContext lookup_context(TableReaderCaller::kPrefetch);
  if (pin) pinned_.resize(count);
  for (size_t i = 0; i < count; i++) {
    FilterHold hold;
    s = Read(i, &buffer, options, /*get_context=*/nullptr, &lookup_context,
             &hold);
    s.PermitUncheckedError();
    if (pin && s.ok()) pinned_[i] = std::move(hold);
  }
}

Status CachedFilter::Read(size_t index, FilePrefetchBuffer* prefetch_buffer,
                          const ReadOptions& read_options,
                          GetContext* get_context,
                          BlockCacheLookupContext* lookup_context,
                          FilterHold* hold) const {
  const Status s =
      GetPartBlock(parts_, prefetch_buffer, HandleOf(index), get_context,
                   lookup_context, read_options, hold);
  // RocksDB does so where it goes on without a filter. Tests that inject errors
  // then know that no query will return this one.
  IGNORE_STATUS_IF_ERROR(s);
  return s;
}

const RangeFilter* CachedFilter::GetPart(
    size_t index, const ReadOptions& read_options, GetContext* get_context,
    BlockCacheLookupContext* lookup_context, FilterHold* hold) const {
  const FilterHold* block = hold;
  if (!pinned_.empty() && !pinned_[index].IsEmpty()) {
    block = &pinned_[index];
  } else {
    const Status s =
        Read(index, /*prefetch_buffer=*/nullptr, OptionsOfParts(read_options),
             get_context, lookup_context, hold);
    if (!s.ok()) {
      if (reports_ != nullptr) reports_->ReportUnreadPart(s);
      return nullptr;
    }
  }
  // The table's policy makes no other readers.
  const auto& reader =
      *static_cast<const PartReader*>(block->GetValue()->filter_bits_reader());
  if (reader.status().ok() && reader.number() == index) return reader.filter();
  if (reports_ != nullptr) {
    reports_->ReportDamagedPart(
        reader.status().ok()
            ? Status::Corruption("filter block has a part in a wrong place")
            : reader.status());
  }
  return nullptr;
}

// ---- RocksDB's questions ----

bool CachedFilter::KeyMayMatch(const Slice& key, const Slice* /*internal_key*/,
                               GetContext* get_context,
                               BlockCacheLookupContext* lookup_context,
                               const ReadOptions& read_options) {
  if (!whole_key_filtering()) return true;
  return PrefixMayMatch(key, nullptr, get_context, lookup_context,
                        read_options);
}

// A filter does not know whether it is asked for a key or for a prefix.
bool CachedFilter::PrefixMayMatch(const Slice& prefix,
                                  const Slice* /*internal_key*/,
                                  GetContext* get_context,
                                  BlockCacheLookupContext* lookup_context,
                                  const ReadOptions& read_options) {
  const CachedFilterView view(*this, read_options, get_context, lookup_context);
  return CountAnswer(view.EntryMayMatch(prefix));
}

void CachedFilter::KeysMayMatch(MultiGetRange* range,
                                BlockCacheLookupContext* lookup_context,
                                const ReadOptions& read_options) {
  if (!whole_key_filtering() || range->begin() == range->end()) return;
  const CachedFilterView view(*this, read_options, range->begin()->get_context,
                              lookup_context);
  for (auto key = range->begin(); key != range->end(); ++key) {
    if (!CountAnswer(view.EntryMayMatch(key->ukey_without_ts))) {
      range->SkipKey(key);
    }
  }
}

size_t CachedFilter::ApproximateMemoryUsage() const {
  return sizeof(*this) + directory_.MemoryUsage() +
         pinned_.capacity() * sizeof(FilterHold);
}

void CachedFilter::EraseFromCacheBeforeDestruction(
    uint32_t uncache_aggressiveness) {
  if (uncache_aggressiveness == 0) return;
  for (FilterHold& hold : pinned_) hold.ResetEraseIfLastRef();
  if (!pinned_.empty()) return;
  UncacheAggressivenessAdvisor advisor(uncache_aggressiveness);
  for (size_t i = 0; i < directory_.parts().size(); i++) {
    if (!advisor.ShouldContinue()) return;
    advisor.Report(table()->EraseFromCache(HandleOf(i)));
  }
}

const RangeFilter* CachedFilterView::PartOf(size_t index) const {
  if (slots_[latest_].index == index) return slots_[latest_].part;
  latest_ = 1 - latest_;
  Slot& slot = slots_[latest_];
  if (slot.index == index) return slot.part;
  slot.hold.Reset();
  slot.part = filter_.GetPart(index, read_options_, get_context_,
                              lookup_context_, &slot.hold);
  slot.index = index;
  return slot.part;
}

}  // namespace ROCKSDB_NAMESPACE::protean
