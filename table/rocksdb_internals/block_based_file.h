//  An SST file as RocksDB's block-based table has opened it: its filter, where
//  RocksDB holds that, and what else RocksDB keeps to itself. With it come the
//  classes with which a TableReader is asked.

#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "table/block_based/block_based_table_factory.h"
#include "table/block_based/block_based_table_reader.h"
#include "table/block_based/cachable_entry.h"
#include "table/block_based/parsed_full_filter_block.h"
#include "table/get_context.h"
#include "table/multiget_context.h"
#include "table/table_reader.h"

namespace ROCKSDB_NAMESPACE::protean {

// Keeps a filter in memory for whoever uses it.
using FilterHold = CachableEntry<ParsedFullFilterBlock>;

// A file that RocksDB's block-based table has opened. Thread safe, but for
// DropFilter.
class BlockBasedFile {
 public:
  // Opens a file as `factory` does, but for its filter: should the factory's
  // policy be one of Protean's and not know the filter, which RocksDB's own
  // policies have made, or the other way round, then it is read by a policy
  // that does, so that it goes on filtering until the file is rewritten.
  static Status Open(const BlockBasedTableFactory& factory,
                     const ReadOptions& read_options,
                     const TableReaderOptions& table_reader_options,
                     std::unique_ptr<RandomAccessFileReader>&& file,
                     uint64_t file_size,
                     bool prefetch_index_and_filter_in_cache,
                     std::unique_ptr<BlockBasedFile>* opened);

  // The table, for all that TableReader promises.
  TableReader* table() const { return table_.get(); }

  const std::string& name() const { return rep()->file->file_name(); }
  Env* env() const { return rep()->ioptions.env; }
  Logger* info_log() const { return rep()->ioptions.logger; }
  Statistics* statistics() const { return rep()->ioptions.stats; }
  const Comparator* user_comparator() const {
    return rep()->internal_comparator.user_comparator();
  }
  const FilterPolicy* filter_policy() const { return rep()->filter_policy; }
  bool whole_key_filtering() const { return rep()->whole_key_filtering; }
  bool IsLastLevel() const { return table_->IsLastLevel(); }
  // The level that it was opened for; negative if unknown. A file that is moved
  // to another level stays open.
  int level() const { return rep()->level; }
  // The column family that the file was written for; empty if it was written
  // outside of a DB.
  std::string column_family() const;
  // Tells the column family that the file was opened for from all others of the
  // DB (FamilyOf), even if another one, or none, wrote the file. A number that
  // may be used again when that one is gone.
  const void* family() const { return &rep()->ioptions; }

  enum class FilterState {
    kNone,         // none that filter_policy() knows
    kUnreadable,   // RocksDB could not read it, and has counted that
    kPartitioned,  // RocksDB's, in parts
    kFull,         // a full filter that filter_policy() has opened
  };
  FilterState filter_state() const;
  // Where in the file the full filter block begins. REQUIRES: filter_state() !=
  // kNone
  uint64_t filter_offset() const { return rep()->filter_handle.offset(); }
  // Makes RocksDB go on without the filter. REQUIRES: nobody uses it yet
  void DropFilter() { table_->get_rep()->filter.reset(); }

  // Stores what filter_policy() has made of the filter block, or nullptr.
  // `*hold` keeps it in memory: it is RocksDB's copy, owned by the table,
  // pinned, or taken from the block cache, through which it is read if need be.
  // REQUIRES: filter_state() == kFull
  Status GetFilter(const ReadOptions& read_options,
                   BlockCacheLookupContext* lookup_context, FilterHold* hold,
                   FilterBitsReader** filter) const;
  // The same if the table keeps the filter in memory for good, else nullptr:
  // reads nothing and looks nothing up.
  FilterBitsReader* GetPinnedFilter() const;

 private:
  friend class FileIterator;

  explicit BlockBasedFile(std::unique_ptr<BlockBasedTable>&& table)
      : table_(std::move(table)) {}

  const BlockBasedTable::Rep* rep() const { return table_->get_rep(); }

  const std::unique_ptr<BlockBasedTable> table_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
