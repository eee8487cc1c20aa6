// SPDX-License-Identifier: Apache-2.0

#include <memory>
#include <string>

#include "port/malloc.h"
#include "rocksdb/convenience.h"
#include "rocksdb/env.h"
#include "rocksdb/options.h"
#include "rocksdb/sst_file_reader.h"
#include "rocksdb/sst_file_writer.h"
#include "rocksdb/table.h"
#include "table/block_based/block_based_table_iterator.h"
#include "table/rocksdb_internals/versions.h"
#include "table/table_builder.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

Status Differ(const std::string& type) {
  return Status::NotSupported("RocksDB's " + type + " is another one");
}

// Returns true if a block of memory may have been allocated for an object of
// that size: the object fits in, and not much more would.
bool Fits(const void* block, size_t size) {
#ifdef ROCKSDB_MALLOC_USABLE_SIZE
  const size_t usable = malloc_usable_size(const_cast<void*>(block));
  return usable >= size && usable <= size + size / 4 + 64;
#else
  return true;  // the allocator does not tell
#endif
}

// A factory that measures the tables that it makes.
class MeasuredTables : public BlockBasedTableFactory {
 public:
  using BlockBasedTableFactory::BlockBasedTableFactory;
  using BlockBasedTableFactory::NewTableReader;
  Status NewTableReader(
      const ReadOptions& read_options,
      const TableReaderOptions& table_reader_options,
      std::unique_ptr<RandomAccessFileReader>&& file, uint64_t file_size,
      std::unique_ptr<TableReader>* table_reader,
      bool prefetch_index_and_filter_in_cache) const override {
    const void* const given = file.get();
    const Status s = BlockBasedTableFactory::NewTableReader(
        read_options, table_reader_options, std::move(file), file_size,
        table_reader, prefetch_index_and_filter_in_cache);
    if (!s.ok()) return s;
    auto* const table = static_cast<BlockBasedTable*>(table_reader->get());
    if (!Fits(table, sizeof(BlockBasedTable))) return Differ("BlockBasedTable");
    const BlockBasedTable::Rep* const rep = table->get_rep();
    if (!Fits(rep, sizeof(BlockBasedTable::Rep)) || rep->file.get() != given ||
        rep->internal_comparator.user_comparator() != BytewiseComparator() ||
        rep->level != table_reader_options.level) {
      return Differ("BlockBasedTable::Rep");
    }
    const std::unique_ptr<InternalIterator> iterator(table->NewIterator(
        read_options, /*prefix_extractor=*/nullptr, /*arena=*/nullptr,
        /*skip_filters=*/false, TableReaderCaller::kUncategorized));
    if (!Fits(iterator.get(), sizeof(BlockBasedTableIterator))) {
      return Differ("BlockBasedTableIterator");
    }
    return s;
  }
};

// Writes an SST file in memory, opens it, and compares the sizes of RocksDB's
// objects with those that this file was compiled with. Reads no member of an
// object before its size has been compared.
Status CheckSizes() {
  const std::unique_ptr<Env> env(NewMemEnv(Env::Default()));
  Options options;
  options.env = env.get();
  options.compression = kNoCompression;
  options.table_factory = std::make_shared<MeasuredTables>();
  const std::string path = "/sizes.sst";
  SstFileWriter writer(EnvOptions(), options);
  Status s = writer.Open(path);
  if (s.ok()) s = writer.Put("key", "value");
  if (s.ok()) s = writer.Finish();
  if (s.ok()) s = SstFileReader(options).Open(path);
  return s;
}

// RocksDB writes options to its own offsets, and this function reads them at
// those that it was compiled with.
Status CheckOptions() {
  BlockBasedTableOptions table;
  Status s = GetBlockBasedTableOptionsFromString(
      ConfigOptions(), BlockBasedTableOptions(),
      "cache_index_and_filter_blocks=true;index_type=kHashSearch;"
      "block_size=7168;block_restart_interval=7;metadata_block_size=5120;"
      "format_version=4;whole_key_filtering=false;"
      "max_auto_readahead_size=12345;num_file_reads_for_auto_readahead=7",
      &table);
  if (!s.ok()) return s;
  if (!table.cache_index_and_filter_blocks ||
      table.index_type != BlockBasedTableOptions::kHashSearch ||
      table.block_size != 7168 || table.block_restart_interval != 7 ||
      table.metadata_block_size != 5120 || table.format_version != 4 ||
      table.whole_key_filtering || table.max_auto_readahead_size != 12345 ||
      table.num_file_reads_for_auto_readahead != 7) {
    return Differ("BlockBasedTableOptions");
  }
  Options options;
  s = GetOptionsFromString(
      ConfigOptions(), Options(),
      "create_if_missing=true;max_open_files=1234;stats_dump_period_sec=77;"
      "write_buffer_size=54321;num_levels=5;bottommost_compression="
      "kNoCompression",
      &options);
  if (!s.ok()) return s;
  if (!options.create_if_missing || options.max_open_files != 1234 ||
      options.stats_dump_period_sec != 77 ||
      options.write_buffer_size != 54321 || options.num_levels != 5 ||
      options.bottommost_compression != kNoCompression) {
    return Differ("Options");
  }
  return s;
}

}  // namespace

Status CheckInsides() {
  const Status s = CheckSizes();
  return s.ok() ? CheckOptions() : s;
}

}  // namespace ROCKSDB_NAMESPACE::protean
