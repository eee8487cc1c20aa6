// SPDX-License-Identifier: Apache-2.0

//  What stock RocksDB has beside filter policies, and how a table lays out its
//  filters and indexes: the suffixes of a filter's spec, which go with any
//  filter.

#pragma once

#include <functional>
#include <memory>
#include <string>

#include "rocksdb/filter_policy.h"
#include "rocksdb/options.h"
#include "rocksdb/status.h"
#include "rocksdb/table.h"
#include "rocksdb/table_properties.h"

namespace ROCKSDB_NAMESPACE::protean {

// The suffixes of a spec.
struct TableLayout {
  // +first_key: an index of the blocks' first keys (index_type=
  // kBinarySearchWithFirstKey), by which a seek without a filter skips blocks
  // that begin behind its range.
  bool first_key_index = false;
  // +partitioned: the filter and the index are cut into parts of 4 KB, which
  // the block cache holds one by one; their top levels are pinned.
  bool partitioned = false;
  // +decoupled, with +partitioned: the parts of the filter are cut
  // independently of those of the index.
  bool decoupled = false;
  // +trie_index: reads use RocksDB's trie of the blocks' separators, which
  // 11.8.1 has. Files have the usual index beside it.
  bool trie_index = false;
  // +no_miss_cache: false positives are not remembered (miss_cache_size=0).
  bool no_miss_cache = false;
  // +prefixN: a prefix extractor that takes the first N bytes of a key.
  // RocksDB's own filters then also hold these prefixes, and a seek whose range
  // lies within a prefix asks for it (ReadOptions::auto_prefix_mode). 0 for
  // none.
  size_t prefix_bytes = 0;
  // +query_filterN: RocksDB's SstQueryFilter. Each file has the smallest and
  // the largest key, first segment and second segment; the first one is the
  // first N bytes of a key, and the second one the rest. A closed seek skips
  // the files whose segments lie outside of its bounds. 0 for none.
  size_t query_filter_bytes = 0;
};

// Removes the suffixes from the spec of an engine's filter. InvalidArgument if
// they contradict each other.
Status TakeTableLayout(std::string* spec, TableLayout* layout);

// Whether a read needs a file, by its properties.
using FileChoice = std::function<bool(const TableProperties&)>;

// The options of tables and reads that a layout stands for.
class TableLayoutOptions {
 public:
  // `policy` may be null. Protean's table is taken for Protean's policies, and
  // RocksDB's block-based table for others.
  Status Init(const TableLayout& layout,
              std::shared_ptr<const FilterPolicy> policy);

  bool has_trie_index() const { return layout_.trie_index; }

  // Sets the table factory, with the other options of `table`, and what else
  // the layout needs. NotSupported if this RocksDB does not have that.
  Status Apply(BlockBasedTableOptions table,
               ColumnFamilyOptions* options) const;

  // Whether a file may hold a key of [lo, upper_bound), by the files'
  // properties; null without +query_filterN. Both bounds must outlive it.
  FileChoice FilesOf(const Slice& lo, const Slice& upper_bound) const {
    return files_by_range_ ? files_by_range_(lo, upper_bound) : nullptr;
  }

 private:
  using FilesByRange =
      std::function<std::function<bool(const TableProperties&)>(
          const Slice& lo, const Slice& upper_bound)>;

  TableLayout layout_;
  std::shared_ptr<const FilterPolicy> policy_;
  // Both are null without +query_filterN.
  std::shared_ptr<TablePropertiesCollectorFactory> query_filter_;
  FilesByRange files_by_range_;
};

// The options of an iterator over [lo, *upper_bound), or to the last key if
// there is no bound. All three must outlive the iterator. Every filter that the
// layout has is asked where that is right, and only there.
class SeekOptions {
 public:
  SeekOptions(const TableLayoutOptions& layout, const Slice& lo,
              const Slice* upper_bound);
  // `options_` may refer to `files_`.
  SeekOptions(const SeekOptions&) = delete;
  SeekOptions& operator=(const SeekOptions&) = delete;

  const ReadOptions& get() const { return options_; }

 private:
  const FileChoice files_;
  ReadOptions options_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
