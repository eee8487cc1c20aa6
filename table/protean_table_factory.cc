#include "table/protean_table_factory.h"

#include "filter_policy/protean_filter_policy.h"
#include "rocksdb/convenience.h"
#include "rocksdb/env.h"
#include "table/protean_table_reader.h"
#include "table/table_builder.h"

namespace ROCKSDB_NAMESPACE::protean {

ProteanTableFactory::ProteanTableFactory(const BlockBasedTableOptions& options)
    : BlockBasedTableFactory(options),
      partition_filters_asked_(options.partition_filters) {}

void ProteanTableFactory::NotePartitionFilters() {
  partition_filters_asked_ =
      GetOptions<BlockBasedTableOptions>()->partition_filters;
}

Status ProteanTableFactory::PrepareOptions(const ConfigOptions& opts) {
  partition_filters_asked_ =
      partition_filters_asked_ ||
      GetOptions<BlockBasedTableOptions>()->partition_filters;
  return BlockBasedTableFactory::PrepareOptions(opts);
}

Status ProteanTableFactory::ParseOption(const ConfigOptions& config_options,
                                        const OptionTypeInfo& opt_info,
                                        const std::string& opt_name,
                                        const std::string& opt_value,
                                        void* opt_ptr) {
  if (opt_name == "partition_filters") {
    const Status s = BlockBasedTableFactory::ParseOption(
        config_options, opt_info, opt_name, opt_value, opt_ptr);
    if (s.ok()) NotePartitionFilters();
    return s;
  }
  if (opt_name != "filter_policy") {
    return BlockBasedTableFactory::ParseOption(config_options, opt_info,
                                               opt_name, opt_value, opt_ptr);
  }
  ConfigOptions strict = config_options;
  strict.ignore_unsupported_options = false;
  strict.ignore_unknown_options = false;
  Status s =
      TableFactory::ParseOption(strict, opt_info, opt_name, opt_value, opt_ptr);
  if (!s.ok() && !s.IsInvalidArgument()) {
    s = Status::InvalidArgument(
        "ProteanTable: filter_policy=" + opt_value +
            " cannot be made; allowed: proteus:BITS_PER_KEY, "
            "prefixbloom:BITS_PER_KEY, prefixbloom2:BITS_PER_KEY, "
            "surf:HASH_BITS:REAL_BITS, {id=protean.Proteus;...}, "
            "{id=protean.PrefixBloom;...}, {id=protean.TwoPrefixBloom;...}, "
            "{id=protean.SuRF;...}, or a filter policy of RocksDB",
        s.ToString());
  }
  policy_error_ = s;
  return s;
}

Status ProteanTableFactory::ValidateOptions(
    const DBOptions& db_opts, const ColumnFamilyOptions& cf_opts) const {
  if (!policy_error_.ok()) return policy_error_;
  const auto* options = GetOptions<BlockBasedTableOptions>();
  const auto* policy = AsProteanFilterPolicy(options->filter_policy.get());
  if (policy != nullptr) {
    if (partition_filters_asked_) return PartitionedFiltersRefused(*policy);
    const Status s = policy->ValidateOptions(db_opts, cf_opts);
    if (!s.ok()) return s;
  }
  return BlockBasedTableFactory::ValidateOptions(db_opts, cf_opts);
}

// Opens a file as the plain table does, but for its filter: one that RocksDB's
// own policies have made is read with them, should the policy of this factory
// not know it, so that it goes on filtering until the file is rewritten.
Status ProteanTableFactory::NewBlockBasedTable(
    const ReadOptions& ro, const TableReaderOptions& table_reader_options,
    std::unique_ptr<RandomAccessFileReader>&& file, uint64_t file_size,
    std::unique_ptr<BlockBasedTable>* table,
    bool prefetch_index_and_filter_in_cache) const {
  std::unique_ptr<TableReader> reader;
  Status s = BlockBasedTableFactory::NewTableReader(
      ro, table_reader_options, std::move(file), file_size, &reader,
      prefetch_index_and_filter_in_cache);
  if (!s.ok()) return s;
  table->reset(static_cast<BlockBasedTable*>(reader.release()));
  BlockBasedTable::Rep* rep = (*table)->get_rep();
  if (AsProteanFilterPolicy(rep->filter_policy) == nullptr ||
      rep->filter_type != BlockBasedTable::Rep::FilterType::kNoFilter ||
      rep->table_properties == nullptr ||
      rep->table_properties->filter_size == 0) {
    return s;
  }
  BlockBasedTableOptions options = *GetOptions<BlockBasedTableOptions>();
  // Reads all filters of RocksDB's.
  options.filter_policy.reset(NewBloomFilterPolicy(10));
  std::unique_ptr<RandomAccessFileReader> again = std::move(rep->file);
  table->reset();
  s = BlockBasedTableFactory(options).NewTableReader(
      ro, table_reader_options, std::move(again), file_size, &reader,
      prefetch_index_and_filter_in_cache);
  if (s.ok()) table->reset(static_cast<BlockBasedTable*>(reader.release()));
  return s;
}

bool ProteanTableFactory::HasRangeFilter(BlockBasedTable::Rep* rep) const {
  if (AsProteanFilterPolicy(rep->filter_policy) == nullptr ||
      rep->filter_type != BlockBasedTable::Rep::FilterType::kFullFilter) {
    return false;
  }
  if (rep->filter == nullptr) {
    // RocksDB could not read the block, and has counted it.
    Log(InfoLogLevel::WARN_LEVEL, rep->ioptions.logger,
        "ProteanTable: %s is read without its filter, which cannot be read",
        rep->file->file_name().c_str());
    return false;
  }
  // The filters know keys as byte strings in bytewise order, without their
  // timestamps.
  const Comparator* comparator = rep->internal_comparator.user_comparator();
  if (comparator != BytewiseComparator() &&
      comparator != BytewiseComparatorWithU64Ts()) {
    if (!warned_->comparator.exchange(true)) {
      Log(InfoLogLevel::WARN_LEVEL, rep->ioptions.logger,
          "ProteanTable: range filters are off, because they need "
          "the comparator %s and this column family has %s",
          BytewiseComparator()->Name(), comparator->Name());
    }
    // Get may go on asking it, unless keys that differ may be equal.
    const Comparator* root = comparator->GetRootComparator();
    if (root != BytewiseComparator() &&
        root->CanKeysWithDifferentByteContentsBeEqual()) {
      rep->filter.reset();
    }
    return false;
  }
  if (!rep->whole_key_filtering) {
    if (!warned_->whole_keys.exchange(true)) {
      Log(InfoLogLevel::WARN_LEVEL, rep->ioptions.logger,
          "ProteanTable: range filters are off, because "
          "whole_key_filtering=false leaves the keys out of them");
    }
    return false;
  }
  return true;
}

Status ProteanTableFactory::NewTableReader(
    const ReadOptions& ro, const TableReaderOptions& table_reader_options,
    std::unique_ptr<RandomAccessFileReader>&& file, uint64_t file_size,
    std::unique_ptr<TableReader>* table_reader,
    bool prefetch_index_and_filter_in_cache) const {
  std::unique_ptr<BlockBasedTable> table;
  const Status s =
      NewBlockBasedTable(ro, table_reader_options, std::move(file), file_size,
                         &table, prefetch_index_and_filter_in_cache);
  if (!s.ok()) return s;
  const bool has_range_filter = HasRangeFilter(table->get_rep());
  *table_reader =
      std::make_unique<ProteanTableReader>(std::move(table), has_range_filter);
  return s;
}

}  // namespace ROCKSDB_NAMESPACE::protean
