// SPDX-License-Identifier: Apache-2.0

#include "table/rocksdb_internals/separate_file.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// The factory of a SeparateFile. SstFileReader makes all that a table needs, in
// the shape that its version of RocksDB wants, and hands it to the factory. The
// table goes to the SeparateFile, so the SstFileReader gets none.
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
    return BlockBasedFile::Open(*this, read_options, table_reader_options,
                                std::move(file), file_size,
                                prefetch_index_and_filter_in_cache, opened_);
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

Status SeparateFile::Open(const Options& options, const std::string& path,
                          std::unique_ptr<SeparateFile>* opened) {
  std::unique_ptr<SeparateFile> separate(new SeparateFile);
  Options own = options;
  own.statistics = nullptr;
  own.table_factory = std::make_shared<SeparateTables>(
      *options.table_factory->GetOptions<BlockBasedTableOptions>(),
      &separate->file_);
  separate->reader_ = std::make_unique<SstFileReader>(own);
  const Status s = separate->reader_->Open(path);
  if (s.ok()) *opened = std::move(separate);
  return s;
}

}  // namespace ROCKSDB_NAMESPACE::protean
