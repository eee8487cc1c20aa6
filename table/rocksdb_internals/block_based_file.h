// SPDX-License-Identifier: Apache-2.0

//  An SST file as RocksDB's block-based table has opened it: its filter,
//  wherever RocksDB holds it, and what else RocksDB keeps to itself. This
//  header includes those of RocksDB's TableReader and of what its functions
//  take.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "filter_policy/open_db/open_families.h"
#include "memory/arena.h"
#include "rocksdb/sst_file_reader.h"
#include "table/block_based/block_based_table_factory.h"
#include "table/block_based/block_based_table_reader.h"
#include "table/get_context.h"
#include "table/rocksdb_internals/cached_filter.h"
#include "table/rocksdb_internals/versions.h"
#include "table/table_builder.h"
#include "table/table_reader.h"

namespace ROCKSDB_NAMESPACE::protean {

// Returns true if an entry of this type deletes its key.
inline bool IsDeletion(ValueType type) {
  return type == kTypeDeletion || type == kTypeSingleDeletion ||
         type == kTypeDeletionWithTimestamp;
}

// Makes an iterator as TableReader::NewIterator does: in `arena`, whose owner
// destroys it, or on the heap if that is nullptr.
template <typename Iterator, typename... Arguments>
Iterator* NewIn(Arena* arena, Arguments&&... arguments) {
  if (arena == nullptr) {
    return new Iterator(std::forward<Arguments>(arguments)...);
  }
  return new (arena->AllocateAligned(sizeof(Iterator)))
      Iterator(std::forward<Arguments>(arguments)...);
}

// The first entry of a user key, without its timestamp, in internal order.
inline std::string FirstEntryOf(const Slice& key, size_t timestamp_size) {
  std::string entry = key.ToString();
  entry.append(timestamp_size, '\xff');
  AppendInternalKeyFooter(&entry, kMaxSequenceNumber, kValueTypeForSeek);
  return entry;
}

// Returns true if filters know keys in this order: as byte strings in bytewise
// order, without timestamps.
inline bool IsOrderOfFilters(const Comparator* comparator) {
  return comparator == BytewiseComparator() ||
         comparator == BytewiseComparatorWithU64Ts();
}

// Returns true if the policy is RocksDB's own, such as that of bloomfilter:10.
bool IsOfRocksDB(const FilterPolicy& policy);

// A file that RocksDB's block-based table has opened. All functions but
// DropFilter are thread safe.
class BlockBasedFile {
 public:
  // The arguments of TableFactory::NewTableReader, but for the file.
  struct Arguments {
    const BlockBasedTableFactory& factory;
    const ReadOptions& read_options;
    const TableReaderOptions& table_reader_options;
    uint64_t file_size;
    bool prefetch;
  };
  // Opens a file as the factory does. If the factory's policy is one of
  // Protean's and the filter is RocksDB's, or the other way round, a policy
  // that knows the filter reads it, until the file is rewritten.
  static Status Open(const Arguments& arguments,
                     std::unique_ptr<RandomAccessFileReader>&& file,
                     std::unique_ptr<BlockBasedFile>* opened);

  // Opens a file apart from the DB that may have it open: without the DB's
  // block cache and statistics, and with its filter pinned. The file can still
  // be read after the DB has deleted it. `options` are those of the file's
  // column family, whose table factory is a block-based one. NotFound or
  // PathNotFound if there is no such file, Corruption if it is damaged.
  static Status OpenApart(const Options& options, const std::string& path,
                          std::unique_ptr<BlockBasedFile>* opened);

  TableReader* table() const { return table_.get(); }
  // An iterator over all entries, which asks no filter. With `keys_only`, it
  // may only be asked for keys (allow_unprepared_value).
  std::unique_ptr<InternalIterator> NewIterator(
      const ReadOptions& read_options, bool keys_only,
      TableReaderCaller caller = TableReaderCaller::kUncategorized) const {
    return std::unique_ptr<InternalIterator>(table_->NewIterator(
        read_options, /*prefix_extractor=*/nullptr, /*arena=*/nullptr,
        /*skip_filters=*/true, caller, /*compaction_readahead_size=*/0,
        /*allow_unprepared_value=*/keys_only));
  }

  const std::string& name() const { return rep()->file->file_name(); }
  uint64_t file_size() const { return rep()->file_size; }
  Logger* info_log() const { return rep()->ioptions.logger; }
  Statistics* statistics() const { return rep()->ioptions.stats; }
  const Comparator* user_comparator() const {
    return rep()->internal_comparator.user_comparator();
  }
  bool HasOrderOfFilters() const { return IsOrderOfFilters(user_comparator()); }
  // The policy that reads the file's filter; nullptr if none does.
  const FilterPolicy* filter_policy() const {
    return rep()->filter_policy == nullptr ? nullptr : policy_.get();
  }
  bool whole_key_filtering() const { return rep()->whole_key_filtering; }
  // The prefix extractor that the file was written with; nullptr if there was
  // none, or RocksDB cannot make it from its name.
  const SliceTransform* prefix_extractor() const {
    return rep()->table_prefix_extractor.get();
  }
  bool IsLastLevel() const { return table_->IsLastLevel(); }
  // The level that the file was opened for; negative if unknown. A file stays
  // open when it is moved to another level.
  int level() const { return rep()->level; }
  // The largest sequence number of the file's entries, if it is a file of a DB.
  SequenceNumber largest_seqno() const { return largest_seqno_; }
  // Returns true if the order of sequence numbers tells which entries of a key
  // hide which, from all readers that see them, and that entries in memtables
  // are newer. Transactions that are prepared before they are committed, and
  // files that are ingested, do otherwise. In RocksDB 11, the latter are
  // allowed by an option of the column family.
  bool hides_by_sequence() const {
    const auto& options = rep()->ioptions;
    return !options.allow_2pc && !options.allow_ingest_behind &&
           !ReadIfThere(
               options,
               [](const auto& o) -> decltype(o.cf_allow_ingest_behind) {
                 return o.cf_allow_ingest_behind;
               }) &&
           properties()->external_sst_file_global_seqno_offset == 0;
  }
  // The file's properties. If they cannot be read, or the file is older than
  // table properties, they are those of an empty file.
  std::shared_ptr<const TableProperties> properties() const;
  // Returns true if the file has range deletions, or may have some.
  bool MayHaveRangeDeletions() const {
    return rep()->table_properties == nullptr ||
           rep()->table_properties->num_range_deletions > 0;
  }
  // What the file's DB is told of it.
  FileDescription Describe(uint64_t log_period_seconds) const;

  enum class FilterState {
    kNone,         // no filter that filter_policy() knows
    kUnreadable,   // its block, or the directory of its parts, cannot be read
    kPartitioned,  // a partitioned filter, which RocksDB has built
    kFull,         // the table has opened it, and keeps it in memory
    kCached,       // its parts are in the block cache, unless it is RocksDB's
  };
  FilterState filter_state() const { return state_; }
  bool HasFilter() const { return state_ != FilterState::kNone; }
  // Why the filter is kUnreadable, if RocksDB has not told; else OK.
  const Status& filter_status() const { return filter_status_; }
  // Where in the file the filter block begins. REQUIRES: filter_state() is
  // neither kNone nor kPartitioned
  uint64_t filter_offset() const { return rep()->filter_handle.offset(); }
  // Makes RocksDB go on without the filter. REQUIRES: no thread uses it yet
  void DropFilter() {
    cached_filter_ = nullptr;
    table_->get_rep()->filter.reset();
  }

  // The reader that filter_policy() has made for the filter block, which the
  // table keeps in memory. REQUIRES: filter_state() == kFull
  FilterBitsReader* GetHeldFilter() const;
  // Protean's filter, if that is what the reader reads; else nullptr.
  const FilterBlock* GetHeldBlock() const;
  // Protean's filter in parts. REQUIRES: filter_state() == kCached, and
  // filter_policy() is one of Protean's
  CachedFilter* cached_filter() const { return cached_filter_; }
  // Count as BlockBasedTable::Get does: the answer of the full filter for a
  // key, and a key that was found after the filter has let it through.
  void CountAnswer(bool may_match) const;
  void CountTruePositive() const;
  // Returns true if BlockBasedTable::Get needs to ask the filter itself: if it
  // lets a key through, the index may tell that no block need be read.
  bool GetUsesAnswer() const { return rep()->index_has_first_key; }
  // Returns true if the file's partitioned filter, which a policy of RocksDB
  // has made, lets through a user key without timestamp, or its prefix unless
  // that is nullptr. Reads a part of the filter. REQUIRES: filter_state() ==
  // kPartitioned, and the filter has keys, or prefixes
  bool PartsMayMatch(const ReadOptions& read_options, const Slice& key,
                     const Slice* prefix = nullptr) const;

 private:
  friend class FileIterator;

  BlockBasedFile() = default;
  Status OpenTable(const Arguments& arguments,
                   std::shared_ptr<const FilterPolicy> policy,
                   std::unique_ptr<RandomAccessFileReader>&& file);
  // Opens a filter of Protean's whose parts are to be cached, if there is one.
  void OpenCachedFilter(const Arguments& arguments);
  FilterState StateOfTable() const;

  const BlockBasedTable::Rep* rep() const { return table_->get_rep(); }

  // These outlive the table.
  std::unique_ptr<SstFileReader> apart_;  // of a file that is opened apart
  std::shared_ptr<const FilterPolicy> policy_;
  std::shared_ptr<OwnedDirectory> directory_;  // of a cached filter
  std::shared_ptr<SharedFilterLoads> loads_;   // if the filter is Protean's
  std::unique_ptr<BlockBasedTable> table_;
  SequenceNumber largest_seqno_ = kMaxSequenceNumber;
  FilterState state_ = FilterState::kNone;
  Status filter_status_;
  CachedFilter* cached_filter_ = nullptr;  // owned by the table
};

// ---- Table builder ----

// Makes the builder of a file as `factory` does. If the factory's policy is one
// of Protean's, the file gets the policy of its level, that policy is told the
// DB's Env, and the facts of the filter are written among the file's
// user-collected properties (filter_properties.h).
TableBuilder* NewTableBuilderWithProperties(
    const BlockBasedTableFactory& factory, const TableBuilderOptions& options,
    WritableFileWriter* file);

// ---- Get progress ----

// How far RocksDB is with the look-up of a key in one file after the other.

// The number of operands of a merge that have been found. REQUIRES: the state
// of `get` is kMerge
size_t MergeOperandsOf(const GetContext& get);

// A number that changes when a file tells something of the key: a value, a
// deletion, an operand of a merge.
inline size_t ProgressOf(const GetContext& get) {
  const GetContext::GetState state = get.State();
  if (state == GetContext::kNotFound) return 0;
  // The other states end the look-up.
  return 1 + (state == GetContext::kMerge ? MergeOperandsOf(get) : 0);
}

}  // namespace ROCKSDB_NAMESPACE::protean
