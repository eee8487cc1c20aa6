// SPDX-License-Identifier: Apache-2.0

#include "table/rocksdb_internals/block_based_file.h"

#include "filter_policy/protean_filter_policy.h"
#include "filter_policy/surf/surf_policy.h"
#include "monitoring/perf_context_imp.h"
#include "monitoring/statistics_impl.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/table_properties.h"
#include "table/block_based/filter_policy_internal.h"
#include "table/block_based/full_filter_block.h"
#include "table/rocksdb_internals/cache_room.h"
#include "table/table_builder.h"
#include "test_util/sync_point.h"
#include "util/cast_util.h"

namespace ROCKSDB_NAMESPACE::protean {

using FilterReader = FilterBlockReaderCommon<ParsedFullFilterBlock>;

// Explicit instantiation may name private members. A friend function of the
// instantiated class lends this one to the rest of the file.
const FilterHold& PinnedBlock(const FilterReader& reader);

template <auto kFilterBlock>
struct PinnedBlockOf {
  friend const FilterHold& PinnedBlock(const FilterReader& reader) {
    return reader.*kFilterBlock;
  }
};

template struct PinnedBlockOf<&FilterReader::filter_block_>;

namespace {

// Lends the protected function by which RocksDB's filter block readers get
// their filter, so that the block is held once, wherever RocksDB holds it.
class FilterBlockAccess : public FullFilterBlockReader {
 public:
  static Status Get(const FullFilterBlockReader& reader,
                    BlockCacheLookupContext* lookup_context, FilterHold* hold,
                    const ReadOptions& read_options) {
    constexpr auto kGet = &FilterBlockAccess::GetOrReadFilterBlock;
    const Status s = (reader.*kGet)(/*get_context=*/nullptr, lookup_context,
                                    hold, read_options);
    // RocksDB does so where it goes on without a filter. Tests that inject
    // errors then know that no query will return this one.
    IGNORE_STATUS_IF_ERROR(s);
    return s;
  }
};

// The policy by which RocksDB reads the filter of one file, or its parts. It
// makes a reader for each block that is read, once, since the block cache keeps
// the block with its reader; so this policy counts them.
class CountingPolicy : public FilterPolicy {
 public:
  CountingPolicy(std::shared_ptr<const FilterPolicy> policy,
                 std::shared_ptr<SharedFilterLoads> loads)
      : policy_(std::move(policy)), loads_(std::move(loads)) {}

  const char* Name() const override { return policy_->Name(); }
  const char* CompatibilityName() const override {
    return policy_->CompatibilityName();
  }
  FilterBitsBuilder* GetBuilderWithContext(
      const FilterBuildingContext& context) const override {
    return policy_->GetBuilderWithContext(context);
  }
  FilterBitsReader* GetFilterBitsReader(const Slice& contents) const override {
    loads_->Add(contents.size());
    return policy_->GetFilterBitsReader(contents);
  }

 private:
  const std::shared_ptr<const FilterPolicy> policy_;
  const std::shared_ptr<SharedFilterLoads> loads_;
};

// Opens a file as `factory` does, but for the filter policy.
Status OpenTable(const BlockBasedTableFactory& factory,
                 std::shared_ptr<const FilterPolicy> policy,
                 const ReadOptions& read_options,
                 const TableReaderOptions& table_reader_options,
                 std::unique_ptr<RandomAccessFileReader>&& file,
                 uint64_t file_size, bool prefetch_index_and_filter_in_cache,
                 std::unique_ptr<BlockBasedTable>* table) {
  std::unique_ptr<TableReader> reader;
  // A copy shares what clones of a factory share, such as the reservation of
  // block cache for table readers. The table copies the options.
  BlockBasedTableFactory copy(factory);
  copy.GetOptions<BlockBasedTableOptions>()->filter_policy = std::move(policy);
  const Status s = copy.BlockBasedTableFactory::NewTableReader(
      read_options, table_reader_options, std::move(file), file_size, &reader,
      prefetch_index_and_filter_in_cache);
  if (s.ok()) {
    table->reset(static_cast_with_check<BlockBasedTable>(reader.release()));
  }
  return s;
}

// The policy that reads a filter which the policy of the opened file does not
// know: RocksDB's policies and Protean's do not know each other's filters, but
// any policy of either reads all filters of its kind. Nullptr if the file has
// no such filter, or if it is RocksDB's and the user wants no filter policy.
std::shared_ptr<const FilterPolicy> PolicyOfUnknownFilter(
    const BlockBasedTable::Rep& rep, const FilterPolicy* policy) {
  const TableProperties* const properties = rep.table_properties.get();
  if (rep.filter_type != BlockBasedTable::Rep::FilterType::kNoFilter ||
      properties == nullptr || properties->filter_size == 0) {
    return nullptr;
  }
  if (AsProteanFilterPolicy(policy) != nullptr) {
    return std::shared_ptr<const FilterPolicy>(NewBloomFilterPolicy(10));
  }
  if (Slice(properties->filter_policy_name).starts_with("protean.")) {
    return std::make_shared<SurfFilterPolicy>();
  }
  return nullptr;
}

const FullFilterBlockReader& FilterReaderOf(const BlockBasedTable::Rep& rep) {
  return *static_cast_with_check<FullFilterBlockReader>(rep.filter.get());
}

}  // namespace

bool IsOfRocksDB(const FilterPolicy& policy) {
  return policy.IsInstanceOf(BuiltinFilterPolicy::kClassName());
}

Status BlockBasedFile::Open(const BlockBasedTableFactory& factory,
                            const ReadOptions& read_options,
                            const TableReaderOptions& table_reader_options,
                            std::unique_ptr<RandomAccessFileReader>&& file,
                            uint64_t file_size,
                            bool prefetch_index_and_filter_in_cache,
                            std::unique_ptr<BlockBasedFile>* opened) {
  const auto loads = std::make_shared<SharedFilterLoads>();
  const auto counted = [&loads](std::shared_ptr<const FilterPolicy> policy) {
    return AsProteanFilterPolicy(policy.get()) == nullptr
               ? std::move(policy)
               : std::make_shared<CountingPolicy>(std::move(policy), loads);
  };
  std::shared_ptr<const FilterPolicy> policy =
      factory.GetOptions<BlockBasedTableOptions>()->filter_policy;
  std::unique_ptr<BlockBasedTable> table;
  Status s = OpenTable(factory, counted(policy), read_options,
                       table_reader_options, std::move(file), file_size,
                       prefetch_index_and_filter_in_cache, &table);
  if (!s.ok()) return s;
  BlockBasedTable::Rep* const rep = table->get_rep();
  std::shared_ptr<const FilterPolicy> other;
  if (!table_reader_options.skip_filters) {
    other = PolicyOfUnknownFilter(*rep, policy.get());
  }
  if (other != nullptr) {
    policy = std::move(other);
    std::unique_ptr<RandomAccessFileReader> again = std::move(rep->file);
    table.reset();
    s = OpenTable(factory, counted(policy), read_options, table_reader_options,
                  std::move(again), file_size,
                  prefetch_index_and_filter_in_cache, &table);
  }
  if (s.ok()) {
    opened->reset(
        new BlockBasedFile(std::move(table), std::move(policy), loads));
  }
  return s;
}

std::string BlockBasedFile::column_family() const {
  const TableProperties* properties = rep()->table_properties.get();
  return properties == nullptr ? "" : properties->column_family_name;
}

BlockBasedFile::FilterState BlockBasedFile::filter_state() const {
  using Type = BlockBasedTable::Rep::FilterType;
  if (rep()->filter_type == Type::kNoFilter) return FilterState::kNone;
  if (rep()->filter == nullptr) return FilterState::kUnreadable;
  return rep()->filter_type == Type::kFullFilter ? FilterState::kFull
                                                 : FilterState::kPartitioned;
}

CachedFilter BlockBasedFile::cached_filter() const {
  CachedFilter filter;
  const BlockBasedTableOptions& options = rep()->table_options;
  if (filter_state() != FilterState::kFull || options.block_cache == nullptr ||
      !options.cache_index_and_filter_blocks ||
      !PinnedBlock(FilterReaderOf(*rep())).IsEmpty()) {
    return filter;
  }
  filter.cache = options.block_cache.get();
  filter.room = RoomOf(*options.block_cache);
  filter.bytes = rep()->filter_handle.size();
  return filter;
}

Status BlockBasedFile::GetFilter(const ReadOptions& read_options,
                                 BlockCacheLookupContext* lookup_context,
                                 FilterHold* hold,
                                 FilterBitsReader** filter) const {
  *filter = nullptr;
  const Status s = FilterBlockAccess::Get(FilterReaderOf(*rep()),
                                          lookup_context, hold, read_options);
  if (s.ok()) *filter = hold->GetValue()->filter_bits_reader();
  return s;
}

FilterBitsReader* BlockBasedFile::GetPinnedFilter() const {
  const FilterHold& block = PinnedBlock(FilterReaderOf(*rep()));
  return block.IsEmpty() ? nullptr : block.GetValue()->filter_bits_reader();
}

void BlockBasedFile::CountDeniedKey() const {
  RecordTick(rep()->ioptions.stats, BLOOM_FILTER_USEFUL);
  PERF_COUNTER_BY_LEVEL_ADD(bloom_filter_useful, 1, rep()->level);
}

bool BlockBasedFile::PartsMayMatch(const ReadOptions& read_options,
                                   const Slice& key) const {
  // Parts are found by internal keys, of which those of a key are ordered by
  // their timestamps, if there are any, the highest first.
  std::string newest = key.ToString();
  newest.append(user_comparator()->timestamp_size(), '\xff');
  const InternalKey target(newest, kMaxSequenceNumber, kValueTypeForSeek);
  const Slice encoded = target.Encode();
  BlockCacheLookupContext lookup_context{TableReaderCaller::kUncategorized};
  return rep()->filter->KeyMayMatch(key, &encoded, /*get_context=*/nullptr,
                                    &lookup_context, read_options);
}

}  // namespace ROCKSDB_NAMESPACE::protean
