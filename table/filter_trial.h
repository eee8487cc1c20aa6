// SPDX-License-Identifier: Apache-2.0

//  Which filter an SST file would get if it were compacted now. The file's
//  filter and keys are read apart from the DB, and filter policies build other
//  filters from the keys in memory. The old and the new filters can be queried.
//  RewriteFile compacts a file, so that it gets that filter.

#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "db/dbformat.h"
#include "filter_policy/parted_filter.h"
#include "filter_policy/protean_filter_policy.h"
#include "rocksdb/db.h"
#include "rocksdb/options.h"
#include "rocksdb/table_properties.h"
#include "table/rocksdb_internals/block_based_file.h"

namespace ROCKSDB_NAMESPACE::protean {

// What the file's filter and properties tell. REQUIRES: GetHeldBlock() is not
// nullptr
FilterReport ReportOf(const BlockBasedFile& file);

// ---- Filter trial ----

// A filter of any kind as ProteanTable asks it. Without a filter every query
// may match; with one of RocksDB's own, every range may. Not thread safe.
class AskedFilter {
 public:
  AskedFilter() = default;
  // `reader`, which may be nullptr, must outlive this object. `finished` is
  // what a filter of Protean has reported; nullptr if RocksDB has made it.
  // `prefixes` makes the prefixes that the filter has; nullptr if it has none.
  AskedFilter(FilterBitsReader* reader, const FinishedFilter* finished,
              const SliceTransform* prefixes);
  // The filter of a file, if it has one, whole or in parts. The file must
  // outlive the result. RocksDB asks for prefixes only if the column family has
  // an `extractor`.
  static AskedFilter Of(const BlockBasedFile& file,
                        const SliceTransform* extractor = nullptr);

  bool MayMatch(const SampleQuery& query) const;
  // The extractor of the prefixes that the filter has, for which seeks may ask;
  // nullptr if it has none.
  const SliceTransform* prefixes() const { return prefixes_; }
  // The filter's answer to a seek with auto_prefix_mode to `lo`, below `hi`.
  // Nothing if RocksDB's table does not ask for it: the filter has no prefixes,
  // or the range does not lie within one.
  std::optional<bool> PrefixMayMatch(const Slice& lo, const Slice& hi) const;
  // The filter if it can be asked for ranges, else nullptr.
  const FileRangeFilter* range_filter() const {
    return block_ != nullptr && block_->CanFilter() ? block_ : nullptr;
  }
  const FilterReport& Report() const { return report_; }
  // The filter's kind and design, for people to read.
  std::string Describe() const;

 private:
  FilterBitsReader* reader_ = nullptr;
  const FilterBlock* block_ = nullptr;  // if it is one of Protean's
  FilterReport report_;                 // of the block
  const SliceTransform* prefixes_ = nullptr;
  bool has_keys_ = true;  // and not prefixes alone
  // The file, if its filter is RocksDB's and in parts.
  const BlockBasedFile* in_parts_ = nullptr;
};

// What a policy has built in memory for a file. There is no reader if the
// policy wants no filter for the file.
struct BuiltFilter {
  AskedFilter filter;
  uint64_t bytes = 0;
  // The CPU time of building, with the design, without reading the file; and
  // the memory, in the steps in which builders charge a block cache for it.
  uint64_t build_nanos = 0;
  uint64_t build_memory = 0;

  // `filter` refers to these.
  std::unique_ptr<const char[]> block;
  std::unique_ptr<FilterBitsReader> reader;
};

// Where a file would be written: to a level of a column family, whose table
// factory is ProteanTable.
struct FilePlace {
  const Options& options;
  std::string column_family;
  int level;
  // The price of a false positive in the file.
  uint64_t price = kUsualPrice;
};

// Returns true if the filter of a file is intact, whole or in parts as filters
// are now, and with the same prefixes.
bool FilterHasFormOf(const BlockBasedFile& file, const Options& options);
// Returns true if a file has a filter of RocksDB's own, of the form and roughly
// the size that a policy of RocksDB's would give it. nullptr stands for no
// filter.
bool FilterIsLikeThatOf(const BlockBasedFile& file,
                        const FilterPolicy* rocksdb_policy,
                        const FilePlace& place);

// Reads a file, verifying its checksums. `on_entry` gets the key of each entry
// in order, without timestamp. Incomplete if it returns false, which ends the
// reading; Corruption if the file is damaged.
template <typename OnEntry>
Status ReadKeys(const BlockBasedFile& file, const OnEntry& on_entry) {
  ReadOptions options(/*_verify_checksums=*/true, /*_fill_cache=*/false);
  options.total_order_seek = true;
  options.readahead_size = 2 << 20;
  const std::unique_ptr<InternalIterator> it =
      file.NewIterator(options, /*keys_only=*/true);
  const size_t timestamp_size = file.user_comparator()->timestamp_size();
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    if (!on_entry(ExtractUserKeyAndStripTimestamp(it->key(), timestamp_size))) {
      return Status::Incomplete("reading was stopped");
    }
  }
  return it->status();
}

// ReadKeys, which also stores the filter that each of the policies, which are
// not nullptr, would give the file. NotSupported if a policy builds no filter.
Status TryPolicies(const BlockBasedFile& file, const FilePlace& place,
                   const std::vector<const FilterPolicy*>& policies,
                   const std::function<bool(const Slice& key)>& on_entry,
                   std::vector<BuiltFilter>* built);

// ---- Rewriting ----

// Compacts the file of that name, such as "000123.sst", into the level where it
// is at that moment, also if a compaction moves it there meanwhile. If the last
// key of the file has an older version in the next file, RocksDB compacts that
// file, too. `db` may be wrapped in StackableDBs.
//
// NotFound if the column family has no such file (any more), Aborted if another
// compaction is using it, and otherwise what DB::CompactFiles returns. Thread
// safe.
Status RewriteFile(DB* db, ColumnFamilyHandle* column_family,
                   const std::string& name);

}  // namespace ROCKSDB_NAMESPACE::protean
