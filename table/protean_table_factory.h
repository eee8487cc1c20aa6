// SPDX-License-Identifier: Apache-2.0

//  The table factory that users select: RocksDB's block-based table, whose
//  iterators ask the file's range filter before they read. Files are ordinary
//  block-based tables, and any RocksDB reads them.

#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "filter_policy/open_db/level_sums.h"
#include "table/filtered_file.h"
#include "table/rocksdb_internals/block_based_file.h"

namespace ROCKSDB_NAMESPACE::protean {

class ProteanTableFactory : public BlockBasedTableFactory {
 public:
  explicit ProteanTableFactory(
      const BlockBasedTableOptions& options = BlockBasedTableOptions(),
      bool range_filters = true);

  // The option miss_cache_size, unless it is set.
  static constexpr size_t kDefaultMissCacheSize = 1 << 20;

  // The options that the block-based table does not have.
  struct OwnOptions {
    // The option range_filters. Clones share it, so SetOptions reaches the
    // files that are open.
    std::shared_ptr<FilterSwitch> range_filters =
        std::make_shared<FilterSwitch>();
    size_t miss_cache_size = kDefaultMissCacheSize;
  };

  static const char* kClassName() { return "ProteanTable"; }
  const char* Name() const override { return kClassName(); }

  // Whatever in RocksDB asks for a block-based table takes this one.
  bool IsInstanceOf(const std::string& name) const override {
    return name == BlockBasedTableFactory::kClassName() ||
           BlockBasedTableFactory::IsInstanceOf(name);
  }

  std::unique_ptr<TableFactory> Clone() const override {
    return std::make_unique<ProteanTableFactory>(*this);
  }

  using BlockBasedTableFactory::NewTableReader;
  Status NewTableReader(
      const ReadOptions& ro, const TableReaderOptions& table_reader_options,
      std::unique_ptr<RandomAccessFileReader>&& file, uint64_t file_size,
      std::unique_ptr<TableReader>* table_reader,
      bool prefetch_index_and_filter_in_cache = true) const override;

  TableBuilder* NewTableBuilder(const TableBuilderOptions& options,
                                WritableFileWriter* file) const override;

  // InvalidArgument for a filter policy that could not be parsed, in case the
  // error was ignored then, and for what the block-based table and the policy
  // refuse. Takes note of stats_dump_period_sec, the period in which the log
  // tells of the filters of files that are opened from then on: RocksDB calls
  // this function when it opens a DB for writing, but not when SetDBOptions
  // changes the period.
  Status ValidateOptions(const DBOptions& db_opts,
                         const ColumnFamilyOptions& cf_opts) const override;

 protected:
  // InvalidArgument for a filter policy that cannot be made. RocksDB's own
  // factory leaves a null policy and returns OK, unless it is told otherwise.
  // This one does so only for the name of a policy that the program has made in
  // code and not registered.
  Status ParseOption(const ConfigOptions& config_options,
                     const OptionTypeInfo& opt_info,
                     const std::string& opt_name, const std::string& opt_value,
                     void* opt_ptr) override;

 private:
  // Whether the file's filter can be asked for ranges. Logs once why not.
  FilterUse UseOf(BlockBasedFile* file) const;
  // The policy that takes samples of what the file is asked, or nullptr. A file
  // without a filter of Protean's is sampled if it would get one now.
  const ProteanFilterPolicy* SampledPolicyOf(const BlockBasedFile& file,
                                             FilterUse use) const;

  // Shared by the clones of a factory.
  struct Shared {
    std::atomic<bool> warned_of_comparator{false};
    std::atomic<bool> warned_of_whole_keys{false};
    std::atomic<bool> warned_of_hits{false};
    std::atomic<bool> warned_of_variable{false};
    std::atomic<uint64_t> log_period_seconds{0};
  };
  OwnOptions own_;
  Status policy_error_;
  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
};

// InvalidArgument if `factory`, which `owner` has, is nullptr or another table
// factory, which `function` cannot work with.
Status RequireProteanTable(const char* function, const std::string& owner,
                           const TableFactory* factory);
// Does so for the factory of a column family, whose options are copied.
Status RequireProteanTable(const char* function, DB* db,
                           ColumnFamilyHandle* column_family);

// The filter policy of a column family if it is one of Protean's, else nullptr.
const ProteanFilterPolicy* OwnPolicyOf(const ColumnFamilyOptions& options);

}  // namespace ROCKSDB_NAMESPACE::protean
