#include "table/protean_table_reader.h"

#include "filter_policy/protean_filter_policy.h"
#include "memory/arena.h"
#include "monitoring/statistics_impl.h"
#include "rocksdb/db.h"
#include "rocksdb/env.h"
#include "table/block_based/full_filter_block.h"
#include "table/protean_table_iterator.h"
#include "table/range_counter.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Lends the protected way by which RocksDB's filter block readers get at their
// filter, so that the block is held once, wherever RocksDB holds it.
class FilterBlockAccess : public FullFilterBlockReader {
 public:
  static Status Get(const FullFilterBlockReader& reader,
                    BlockCacheLookupContext* lookup_context,
                    CachableEntry<ParsedFullFilterBlock>* entry,
                    const ReadOptions& read_options) {
    constexpr auto kGet = &FilterBlockAccess::GetOrReadFilterBlock;
    return (reader.*kGet)(/*get_context=*/nullptr, lookup_context, entry,
                          read_options);
  }
};

bool IsForUser(TableReaderCaller caller) {
  return caller == TableReaderCaller::kUserIterator ||
         caller == TableReaderCaller::kSSTFileReader;
}

std::unique_ptr<SampleSession> OpenSamples(const BlockBasedTable::Rep& rep) {
  const std::shared_ptr<SampleStore> store =
      AsProteanFilterPolicy(rep.filter_policy)->Samples();
  if (store == nullptr) return nullptr;
  // Files from outside the DB do not say for which column family they are.
  const TableProperties* properties = rep.table_properties.get();
  return store->Open(
      properties == nullptr || properties->column_family_name.empty()
          ? kDefaultColumnFamilyName
          : properties->column_family_name,
      rep.ioptions.env, rep.ioptions.logger);
}

}  // namespace

ProteanTableReader::ProteanTableReader(std::unique_ptr<BlockBasedTable>&& table,
                                       bool has_range_filter)
    : table_(std::move(table)),
      has_range_filter_(has_range_filter),
      timestamp_size_(table_->get_rep()
                          ->internal_comparator.user_comparator()
                          ->timestamp_size()),
      samples_(has_range_filter ? OpenSamples(*table_->get_rep()) : nullptr),
      queue_(samples_ == nullptr ? nullptr : samples_->queue()) {
  // A damaged filter is reported when the file is opened, if it is in memory by
  // then, and else when an iterator comes upon it.
  ReadOptions in_memory;
  in_memory.read_tier = kBlockCacheTier;
  BlockCacheLookupContext lookup_context{TableReaderCaller::kPrefetch};
  CachableEntry<ParsedFullFilterBlock> entry;
  GetRangeFilter(in_memory, &lookup_context, &entry);
}

const FilterBlock* ProteanTableReader::GetRangeFilter(
    const ReadOptions& read_options, BlockCacheLookupContext* lookup_context,
    CachableEntry<ParsedFullFilterBlock>* entry) const {
  if (!has_range_filter_) return nullptr;
  const auto& reader =
      static_cast<const FullFilterBlockReader&>(*table_->get_rep()->filter);
  const Status s =
      FilterBlockAccess::Get(reader, lookup_context, entry, read_options);
  if (!s.ok()) {
    if (s.IsCorruption()) ReportDamage(s);
    return nullptr;
  }
  auto* bits_reader = static_cast<ProteanFilterBitsReader*>(
      entry->GetValue()->filter_bits_reader());
  if (bits_reader == nullptr) return nullptr;
  const FilterBlock& block = bits_reader->block();
  if (!block.status().ok()) ReportDamage(block.status());
  return block.CanFilter() ? &block : nullptr;
}

void ProteanTableReader::ReportDamage(const Status& status) const {
  if (damage_reported_.exchange(true)) return;
  const BlockBasedTable::Rep* rep = table_->get_rep();
  Log(InfoLogLevel::WARN_LEVEL, rep->ioptions.logger,
      "ProteanTable: %s is read without its filter: %s",
      rep->file->file_name().c_str(), status.ToString().c_str());
  if (status.IsCorruption()) {
    RecordTick(rep->ioptions.stats, BLOCK_CHECKSUM_MISMATCH_COUNT);
  }
}

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
      return counter->NewIterator(this, arena);
    }
  }
  if (skip_filters || !has_range_filter_ || !IsForUser(caller)) {
    return table_->NewIterator(read_options, prefix_extractor, arena,
                               skip_filters, caller, compaction_readahead_size,
                               allow_unprepared_value);
  }
  const ProteanTableIterator::Arguments arguments = {
      prefix_extractor, arena, caller, compaction_readahead_size,
      allow_unprepared_value};
  if (arena == nullptr) {
    return new ProteanTableIterator(this, read_options, arguments);
  }
  return new (arena->AllocateAligned(sizeof(ProteanTableIterator)))
      ProteanTableIterator(this, read_options, arguments);
}

}  // namespace ROCKSDB_NAMESPACE::protean
