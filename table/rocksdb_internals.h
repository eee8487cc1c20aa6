//  The one place that touches what RocksDB does not promise: its versions, the
//  insides of a block-based table, of its iterator and of its DB, and all casts
//  to classes of RocksDB's own. Whoever moves Protean to another RocksDB reads
//  this file, rocksdb_internals.cc and rocksdb_contract_test.cc, which has a
//  test for each behaviour whose change would not be seen otherwise.
//
//  Besides, Protean extends classes that RocksDB lets others extend: the table
//  factory, the table reader, the internal iterator, the filter policy with its
//  builder and reader of filter bits. Their headers are included from here, but
//  for the filter policy's (filter_policy/protean_filter_policy.h), and it uses
//  RocksDB's utilities.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "rocksdb/db.h"
#include "rocksdb/sst_file_reader.h"
#include "rocksdb/version.h"
#include "table/block_based/block_based_table_factory.h"
#include "table/block_based/block_based_table_iterator.h"
#include "table/block_based/block_based_table_reader.h"
#include "table/block_based/cachable_entry.h"
#include "table/block_based/parsed_full_filter_block.h"
#include "table/get_context.h"
#include "table/internal_iterator.h"
#include "table/multiget_context.h"
#include "table/table_builder.h"
#include "table/table_reader.h"

// ---- Versions: from 9.10 on; tested with 9.10.0, 10.4.2 and 11.8.1 ----

#define PROTEAN_ROCKSDB_AT_LEAST(major, minor) \
  (ROCKSDB_MAJOR > (major) ||                  \
   (ROCKSDB_MAJOR == (major) && ROCKSDB_MINOR >= (minor)))

// As a string, such as "9.10.0".
#define PROTEAN_STRING(text) #text
#define PROTEAN_STRING_OF(macro) PROTEAN_STRING(macro)
#define PROTEAN_ROCKSDB_VERSION    \
  PROTEAN_STRING_OF(ROCKSDB_MAJOR) \
  "." PROTEAN_STRING_OF(ROCKSDB_MINOR) "." PROTEAN_STRING_OF(ROCKSDB_PATCH)

// PROTEAN_SINCE_10_8(text) is `text` since RocksDB 10.8 and nothing before.

// InternalIterator::Prepare announces the ranges that a MultiScan will read.
// (So it does since 10.6, and from 10.1 on with another type, but nobody need
// implement it.)
#if PROTEAN_ROCKSDB_AT_LEAST(10, 7)
#define PROTEAN_HAS_MULTI_SCAN 1
#else
#define PROTEAN_HAS_MULTI_SCAN 0
#endif

// TableReader::VerifyChecksum has a third parameter.
#if PROTEAN_ROCKSDB_AT_LEAST(10, 8)
#define PROTEAN_SINCE_10_8(...) __VA_ARGS__
#else
#define PROTEAN_SINCE_10_8(...)
#endif

// TableReader::DumpTable has a second parameter.
#if PROTEAN_ROCKSDB_AT_LEAST(10, 10)
#define PROTEAN_SINCE_10_10(...) __VA_ARGS__
#else
#define PROTEAN_SINCE_10_10(...)
#endif

namespace ROCKSDB_NAMESPACE {
struct SuperVersion;
class ColumnFamilyData;
class DBImpl;
}  // namespace ROCKSDB_NAMESPACE

namespace ROCKSDB_NAMESPACE::protean {

// DB::Open with any of its lists of arguments, the last of which fills a
// unique_ptr since 11.0, and a plain pointer before.
template <typename... Arguments>
Status OpenDB(std::unique_ptr<DB>* db, Arguments&&... arguments) {
#if PROTEAN_ROCKSDB_AT_LEAST(11, 0)
  return DB::Open(std::forward<Arguments>(arguments)..., db);
#else
  DB* opened = nullptr;
  const Status s = DB::Open(std::forward<Arguments>(arguments)..., &opened);
  db->reset(opened);
  return s;
#endif
}

// The same for instances that only read.
template <typename... Arguments>
Status OpenReadOnly(std::unique_ptr<DB>* db, Arguments&&... arguments) {
#if PROTEAN_ROCKSDB_AT_LEAST(11, 0)
  return DB::OpenForReadOnly(std::forward<Arguments>(arguments)..., db);
#else
  DB* opened = nullptr;
  const Status s =
      DB::OpenForReadOnly(std::forward<Arguments>(arguments)..., &opened);
  db->reset(opened);
  return s;
#endif
}
template <typename... Arguments>
Status OpenSecondary(std::unique_ptr<DB>* db, Arguments&&... arguments) {
#if PROTEAN_ROCKSDB_AT_LEAST(11, 0)
  return DB::OpenAsSecondary(std::forward<Arguments>(arguments)..., db);
#else
  DB* opened = nullptr;
  const Status s =
      DB::OpenAsSecondary(std::forward<Arguments>(arguments)..., &opened);
  db->reset(opened);
  return s;
#endif
}

// Whether iterators write: with min_tombstones_for_range_conversion, which
// RocksDB has since 11, one that passes by deletions without a key between them
// writes a range deletion in their place. It must see all keys, then. `options`
// are ColumnFamilyOptions or MutableCFOptions; the 0 behind them picks the
// first of the two functions where it compiles.
template <typename CfOptions>
auto IteratorsWrite(const CfOptions& options, int)
    -> decltype(options.min_tombstones_for_range_conversion > 0) {
  return options.min_tombstones_for_range_conversion > 0;
}
template <typename CfOptions>
bool IteratorsWrite(const CfOptions& /*options*/, long) {
  return false;
}

// ---- An SST file ----

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

// An SST file that is read apart from the DB that may have it open: not through
// its block cache, and without a trace in its statistics. It can be read on
// after the DB has deleted it.
class SeparateFile {
 public:
  // `options` are those of the file's column family, whose table factory is a
  // block-based one. NotFound or PathNotFound if there is no such file,
  // Corruption if it is damaged.
  static Status Open(const Options& options, const std::string& path,
                     std::unique_ptr<SeparateFile>* opened);

  // Its filter is pinned.
  const BlockBasedFile& file() const { return *file_; }

 private:
  SeparateFile() = default;

  // Opens the file by its path, and keeps what the table refers to.
  std::unique_ptr<SstFileReader> reader_;
  std::unique_ptr<BlockBasedFile> file_;
};

// A column family of a DB that need not be open, and its live SST files.
struct ManifestFile {
  uint64_t number = 0;
  uint32_t path_id = 0;  // of the column family's, or else the DB's, paths
  int level = 0;
  uint64_t bytes = 0;
  std::string smallest;  // user keys
  std::string largest;
  // Whether these end with timestamps, if those of the column family do.
  bool has_timestamps = true;
};
struct ManifestFamily {
  uint32_t id = 0;
  std::string name;
  std::string comparator;           // its name
  std::vector<ManifestFile> files;  // level by level, by number
};

// Reads from the MANIFEST of the DB in the folder `path` which column families
// and files it has. Opens nothing else and writes nothing, so that it may be in
// use; what it says is what was true a moment ago. NotFound if the folder holds
// no DB, Corruption if the MANIFEST is damaged.
Status ReadManifest(Env* env, const std::string& path,
                    std::vector<ManifestFamily>* families);

// Makes the builder of a file as `factory` does. If its policy is one of
// Protean's, the facts of the file's filter are written among the file's
// user-collected properties (filter_properties.h).
TableBuilder* NewTableBuilderWithProperties(
    const BlockBasedTableFactory& factory, const TableBuilderOptions& options,
    WritableFileWriter* file);

// ---- Its iterator ----

// The iterator that the block-based table makes for a file. Nearly always that
// is a BlockBasedTableIterator, whose functions may then be called without
// looking them up; but RocksDB may put another one around it, as 11.6 and later
// do for files with embedded blobs.
class FileIterator {
 public:
  FileIterator() = default;
  FileIterator(const FileIterator&) = delete;
  FileIterator& operator=(const FileIterator&) = delete;
  ~FileIterator();

  // Makes the iterator, in `arena` unless that is nullptr. As
  // TableReader::NewIterator. REQUIRES: there is none yet
  void Make(const BlockBasedFile& file, const ReadOptions& read_options,
            const SliceTransform* prefix_extractor, Arena* arena,
            TableReaderCaller caller, size_t compaction_readahead_size,
            bool allow_unprepared_value);

  InternalIterator* get() const { return iterator_; }
  InternalIterator* operator->() const { return iterator_; }
  // The iterator if it is exactly of this class, else nullptr.
  BlockBasedTableIterator* exact() const { return exact_; }

  // As InternalIterator::NextAndGetResult; one call a key less than through it.
  bool NextAndGetResult(IterateResult* result);
  // The same without moving: what the iterator has come to.
  bool GetResult(IterateResult* result);

  // Tells the iterator's statistics that its last seek has passed a filter.
  // Returns false if they know already.
  bool MarkFilterUsed();
  // Whether a data block has been read since the last seek, and whether that
  // was in vain, since nobody has asked for a value. An iterator of another
  // class tells nothing: true and false.
  bool HasReadBlock() const;
  bool HasReadInVain() const;

 private:
  InternalIterator* iterator_ = nullptr;
  BlockBasedTableIterator* exact_ = nullptr;
  bool in_arena_ = false;
};

// ---- Whether this is the RocksDB that it was compiled for ----

// Writes an SST file in memory, opens it, and compares the sizes of RocksDB's
// objects with what they were when this was compiled. Reads nothing in them
// that might not be there. NotSupported if they differ.
Status CheckSizes();

// ---- A column family ----

// What BlockBasedFile::family() is for its files.
const void* FamilyOf(ColumnFamilyHandle* column_family);

// All memtables and files of a column family in one version of its DB.
class ColumnFamilyVersion {
 public:
  // `db` may be wrapped in StackableDBs. NewIterator must be called, exactly
  // once: its iterator is what lets go of the version in the end.
  ColumnFamilyVersion(DB* db, ColumnFamilyHandle* column_family);

  // An iterator over memtables and files, which sees all sequence numbers. All
  // other functions are called while it is there. `read_options` must outlive
  // it.
  InternalIterator* NewIterator(const ReadOptions& read_options, Arena* arena);

  // Deletions of ranges in memtables; those of memtables that are being flushed
  // count as one.
  uint64_t RangeDeletions() const;

  // Whether there may be entries of transactions that never commit.
  bool MayHoldUncommitted() const;

 private:
  DBImpl* const db_;
  ColumnFamilyData* const family_;
  SuperVersion* const super_version_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
