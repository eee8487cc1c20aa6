// SPDX-License-Identifier: Apache-2.0

#include "table/rocksdb_internals/block_based_file.h"

#include <algorithm>

#include "db/merge_context.h"
#include "filter_policy/building/file_filter_builder.h"
#include "filter_policy/kept_memory.h"
#include "filter_policy/protean_filter_policy.h"
#include "filter_policy/surf/surf_policy.h"
#include "monitoring/perf_context_imp.h"
#include "monitoring/statistics_impl.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/table_properties.h"
#include "table/block_based/filter_policy_internal.h"
#include "table/block_based/full_filter_block.h"
#include "table/meta_blocks.h"
#include "table/rocksdb_internals/versions.h"
#include "table/table_builder.h"
#include "util/cast_util.h"

namespace ROCKSDB_NAMESPACE::protean {

using FilterReader = FilterBlockReaderCommon<ParsedFullFilterBlock>;

// Lends a private member (versions.h).
struct PinnedBlock {
  friend auto MemberOf(PinnedBlock);
};
template struct Lend<PinnedBlock, &FilterReader::filter_block_>;

namespace {

// The policy with which RocksDB opens one file, and makes the readers of what
// it loads of the filter: once for each block or part, since the block cache
// keeps it with its reader; so this policy counts them. Where parts are to be
// cached, RocksDB must not find the filter itself, and asks for it by another
// name.
class OpenPolicy : public FilterPolicy {
 public:
  OpenPolicy(std::shared_ptr<const FilterPolicy> policy,
             std::shared_ptr<SharedFilterLoads> loads,
             std::shared_ptr<const OwnedDirectory> directory)
      : policy_(std::move(policy)),
        loads_(std::move(loads)),
        directory_(std::move(directory)) {}

  const char* Name() const override { return policy_->Name(); }
  const char* CompatibilityName() const override {
    return directory_ == nullptr ? policy_->CompatibilityName()
                                 : "protean.none";
  }
  FilterBitsBuilder* GetBuilderWithContext(
      const FilterBuildingContext& context) const override {
    return policy_->GetBuilderWithContext(context);
  }
  FilterBitsReader* GetFilterBitsReader(const Slice& contents) const override {
    loads_->Add(contents.size());
    return directory_ == nullptr
               ? policy_->GetFilterBitsReader(contents)
               : new UnitReader(directory_->directory, contents);
  }

 private:
  const std::shared_ptr<const FilterPolicy> policy_;
  const std::shared_ptr<SharedFilterLoads> loads_;
  // The file's, if its parts are to be cached; else nullptr.
  const std::shared_ptr<const OwnedDirectory> directory_;
};

// Returns true if the filter, of which the properties tell the policy's name,
// is one of Protean's.
bool IsOfProtean(const TableProperties* properties) {
  return properties != nullptr && properties->filter_size > 0 &&
         Slice(properties->filter_policy_name).starts_with("protean.");
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
  const bool is_own = IsOfProtean(properties);
  if (AsProteanFilterPolicy(policy) != nullptr) {
    return is_own
               ? nullptr
               : std::shared_ptr<const FilterPolicy>(NewBloomFilterPolicy(10));
  }
  return is_own ? std::make_shared<SurfFilterPolicy>() : nullptr;
}

const FilterHold& PinnedBlockOf(const BlockBasedTable::Rep& rep) {
  const FilterReader& reader =
      *static_cast_with_check<FullFilterBlockReader>(rep.filter.get());
  return reader.*MemberOf(PinnedBlock());
}

}  // namespace

bool IsOfRocksDB(const FilterPolicy& policy) {
  return policy.IsInstanceOf(BuiltinFilterPolicy::kClassName());
}

// Opens the table as the factory does, but for the filter policy.
Status BlockBasedFile::OpenTable(
    const Arguments& arguments, std::shared_ptr<const FilterPolicy> policy,
    std::unique_ptr<RandomAccessFileReader>&& file) {
  policy_ = policy;
  const bool is_own = AsProteanFilterPolicy(policy.get()) != nullptr;
  // A copy shares what clones of a factory share, such as the reservation of
  // block cache for table readers. The table copies the options.
  BlockBasedTableFactory copy(arguments.factory);
  auto* const options = copy.GetOptions<BlockBasedTableOptions>();
  if (is_own) {
    loads_ = std::make_shared<SharedFilterLoads>();
    if (options->cache_index_and_filter_blocks) {
      directory_ = std::make_shared<OwnedDirectory>();
    }
    policy =
        std::make_shared<OpenPolicy>(std::move(policy), loads_, directory_);
  }
  options->filter_policy = std::move(policy);
  std::unique_ptr<TableReader> reader;
  const Status s = copy.BlockBasedTableFactory::NewTableReader(
      arguments.read_options, arguments.table_reader_options, std::move(file),
      arguments.file_size, &reader, arguments.prefetch);
  if (s.ok()) {
    table_.reset(static_cast_with_check<BlockBasedTable>(reader.release()));
    largest_seqno_ = arguments.table_reader_options.largest_seqno;
    state_ = StateOfTable();
    if (!arguments.table_reader_options.skip_filters) {
      OpenCachedFilter(arguments);
    }
  }
  return s;
}

Status BlockBasedFile::Open(const Arguments& arguments,
                            std::unique_ptr<RandomAccessFileReader>&& file,
                            std::unique_ptr<BlockBasedFile>* opened) {
  std::unique_ptr<BlockBasedFile> result(new BlockBasedFile);
  Status s = result->OpenTable(
      arguments,
      arguments.factory.GetOptions<BlockBasedTableOptions>()->filter_policy,
      std::move(file));
  if (s.ok() && !arguments.table_reader_options.skip_filters) {
    if (auto other =
            PolicyOfUnknownFilter(*result->rep(), result->policy_.get())) {
      std::unique_ptr<RandomAccessFileReader> again =
          std::move(result->table_->get_rep()->file);
      result = std::unique_ptr<BlockBasedFile>(new BlockBasedFile);
      s = result->OpenTable(arguments, std::move(other), std::move(again));
    }
  }
  if (s.ok()) *opened = std::move(result);
  return s;
}

void BlockBasedFile::OpenCachedFilter(const Arguments& arguments) {
  if (directory_ == nullptr) return;
  BlockBasedTable::Rep* const rep = table_->get_rep();
  // A file whose properties cannot be read may have a filter.
  const TableProperties* const properties = rep->table_properties.get();
  if (properties != nullptr && properties->filter_size == 0) return;
  BlockHandle handle;
  Status s = FindMetaBlockInFile(rep->file.get(), arguments.file_size,
                                 kBlockBasedTableMagicNumber, rep->ioptions,
                                 arguments.read_options,
                                 BlockBasedTable::kFullFilterBlockPrefix +
                                     ProteanFilterPolicy::kCompatibilityName(),
                                 &handle);
  if (!s.ok() && !IsOfProtean(properties)) return;
  // The table reads no part before the directory is there.
  if (s.ok()) {
    rep->filter_handle = handle;
    s = CachedFilter::ReadDirectory(*table_, arguments.read_options, handle,
                                    directory_.get());
  }
  rep->filter_type = BlockBasedTable::Rep::FilterType::kFullFilter;
  if (!s.ok()) {
    state_ = FilterState::kUnreadable;
    filter_status_ = s;
    loads_->AddFailed();
    // RocksDB counts only the damage that it finds itself.
    if (s.IsCorruption()) {
      RecordTick(rep->ioptions.stats, BLOCK_CHECKSUM_MISMATCH_COUNT);
    }
    return;
  }
  state_ = FilterState::kCached;
  auto filter =
      std::make_unique<CachedFilter>(*table_, handle, directory_->directory);
  // What RocksDB would do with an unpartitioned filter, or with parts where the
  // options ask for parts.
  const TableReaderOptions& options = arguments.table_reader_options;
  const PinningTier tier = FilterPinning(rep->table_options);
  const bool maybe_flushed =
      options.level == 0 &&
      arguments.file_size <= options.max_file_size_for_l0_meta_pin;
  const bool pin = tier == PinningTier::kAll ||
                   (tier == PinningTier::kFlushedAndSimilar && maybe_flushed);
  // True if RocksDB opens the file without the block cache, as it may do since
  // 11.8.
  const bool leaves_cache_alone = ReadIfThere(
      options, [](const auto& o) -> decltype(o.avoid_shared_metadata_cache) {
        return o.avoid_shared_metadata_cache;
      });
  if (!leaves_cache_alone &&
      (arguments.prefetch || options.level == 0 || pin)) {
    filter->Load(arguments.read_options, pin);
  }
  cached_filter_ = filter.get();
  rep->filter = std::move(filter);
}

std::shared_ptr<const TableProperties> BlockBasedFile::properties() const {
  static const auto& none = *new std::shared_ptr<const TableProperties>(
      std::make_shared<TableProperties>());
  const auto& known = rep()->table_properties;
  return known == nullptr ? none : known;
}

FileDescription BlockBasedFile::Describe(uint64_t log_period_seconds) const {
  FileDescription description;
  description.family = &rep()->ioptions;  // as FamilyOf
  description.properties = properties();
  description.family_name = description.properties->column_family_name;
  description.path = name();
  description.level = std::max(level(), -1);
  description.filter_loads = loads_;
  description.env = rep()->ioptions.env;
  description.info_log = info_log();
  description.statistics = statistics();
  description.memory_cap = CapOf(rep()->table_options);
  description.log_period_seconds = log_period_seconds;
  return description;
}

BlockBasedFile::FilterState BlockBasedFile::StateOfTable() const {
  using Type = BlockBasedTable::Rep::FilterType;
  if (rep()->filter_type == Type::kNoFilter) return FilterState::kNone;
  if (rep()->filter == nullptr) return FilterState::kUnreadable;
  if (rep()->filter_type == Type::kPartitionedFilter) {
    return FilterState::kPartitioned;
  }
  return PinnedBlockOf(*rep()).IsEmpty() ? FilterState::kCached
                                         : FilterState::kFull;
}

FilterBitsReader* BlockBasedFile::GetHeldFilter() const {
  return PinnedBlockOf(*rep()).GetValue()->filter_bits_reader();
}

const FilterBlock* BlockBasedFile::GetHeldBlock() const {
  if (state_ != FilterState::kFull ||
      AsProteanFilterPolicy(filter_policy()) == nullptr) {
    return nullptr;
  }
  // Policies of Protean make no other readers.
  return &static_cast<const ProteanFilterBitsReader*>(GetHeldFilter())->block();
}

void BlockBasedFile::CountAnswer(bool may_match) const {
  if (may_match) {
    RecordTick(rep()->ioptions.stats, BLOOM_FILTER_FULL_POSITIVE);
    PERF_COUNTER_BY_LEVEL_ADD(bloom_filter_full_positive, 1, rep()->level);
  } else {
    RecordTick(rep()->ioptions.stats, BLOOM_FILTER_USEFUL);
    PERF_COUNTER_BY_LEVEL_ADD(bloom_filter_useful, 1, rep()->level);
  }
}

void BlockBasedFile::CountTruePositive() const {
  RecordTick(rep()->ioptions.stats, BLOOM_FILTER_FULL_TRUE_POSITIVE);
  PERF_COUNTER_BY_LEVEL_ADD(bloom_filter_full_true_positive, 1, rep()->level);
}

bool BlockBasedFile::PartsMayMatch(const ReadOptions& read_options,
                                   const Slice& key,
                                   const Slice* prefix) const {
  // Parts are found by internal keys.
  const std::string first =
      FirstEntryOf(key, user_comparator()->timestamp_size());
  const Slice internal_key = first;
  BlockCacheLookupContext lookup_context{TableReaderCaller::kUncategorized};
  FilterBlockReader& filter = *rep()->filter;
  return prefix == nullptr
             ? filter.KeyMayMatch(key, &internal_key, /*get_context=*/nullptr,
                                  &lookup_context, read_options)
             : filter.PrefixMayMatch(*prefix, &internal_key,
                                     /*get_context=*/nullptr, &lookup_context,
                                     read_options);
}

namespace {

// SstFileReader makes all that a table needs, in the shape that its version of
// RocksDB wants, and hands it to this factory. What is opened goes to
// `*opened`, so the SstFileReader gets no table.
class SeparateTables : public BlockBasedTableFactory {
 public:
  SeparateTables(const BlockBasedTableOptions& options,
                 std::unique_ptr<BlockBasedFile>* opened)
      : BlockBasedTableFactory(Uncached(options)), opened_(opened) {}

  using BlockBasedTableFactory::NewTableReader;
  Status NewTableReader(
      const ReadOptions& read_options,
      const TableReaderOptions& table_reader_options,
      std::unique_ptr<RandomAccessFileReader>&& file, uint64_t file_size,
      std::unique_ptr<TableReader>* /*table_reader*/,
      bool prefetch_index_and_filter_in_cache) const override {
    return BlockBasedFile::Open({*this, read_options, table_reader_options,
                                 file_size, prefetch_index_and_filter_in_cache},
                                std::move(file), opened_);
  }

 private:
  static BlockBasedTableOptions Uncached(BlockBasedTableOptions options) {
    options.no_block_cache = true;
    options.block_cache = nullptr;
    options.cache_index_and_filter_blocks = false;
    options.cache_usage_options = CacheUsageOptions();
    return options;
  }

  std::unique_ptr<BlockBasedFile>* const opened_;
};

}  // namespace

Status BlockBasedFile::OpenApart(const Options& options,
                                 const std::string& path,
                                 std::unique_ptr<BlockBasedFile>* opened) {
  std::unique_ptr<SstFileReader> reader;  // outlives what it has opened
  std::unique_ptr<BlockBasedFile> file;
  Options own = options;
  own.statistics = nullptr;
  own.table_factory = std::make_shared<SeparateTables>(
      *options.table_factory->GetOptions<BlockBasedTableOptions>(), &file);
  reader = std::make_unique<SstFileReader>(own);
  const Status s = reader->Open(path);
  if (s.ok()) {
    file->apart_ = std::move(reader);
    *opened = std::move(file);
  }
  return s;
}

// ---- Get progress ----

// Lends a private member (versions.h).
struct MergeContextOf {
  friend auto MemberOf(MergeContextOf);
};
template struct Lend<MergeContextOf, &GetContext::merge_context_>;

size_t MergeOperandsOf(const GetContext& get) {
  const MergeContext* const merge = get.*MemberOf(MergeContextOf());
  return merge == nullptr ? 0 : merge->GetNumOperands();
}

}  // namespace ROCKSDB_NAMESPACE::protean
