//  What would become of an SST file's filter if the file were compacted now.
//  The file is read apart from its DB: its filter as it is, and its keys, of
//  which the column family's policy builds another filter in memory. Both can
//  be asked.

#pragma once

#include <functional>
#include <memory>
#include <string>

#include "filter_policy/protean_filter_policy.h"
#include "rocksdb/options.h"
#include "table/rocksdb_internals.h"

namespace ROCKSDB_NAMESPACE::protean {

// A filter of any kind as ProteanTable asks it: no filter says no to nothing,
// RocksDB's own filters say no to keys only. Not thread safe.
class AskedFilter {
 public:
  AskedFilter() = default;
  // `by_protean` tells that a policy of Protean has made `reader`, which may be
  // nullptr and must outlive this.
  AskedFilter(FilterBitsReader* reader, bool by_protean);

  bool MayMatch(const SampleQuery& query) const;
  // In words, for people.
  std::string Describe() const;

 private:
  FilterBitsReader* reader_ = nullptr;
  const FilterBlock* block_ = nullptr;  // of Protean
};

// Not thread safe.
class FilterTrial {
 public:
  // The column family of the file and its options, whose table factory is
  // ProteanTable, with a policy of Protean; and where the file would be
  // written.
  struct Place {
    const Options& options;
    std::string column_family;
    int level;
  };

  // Opens the file and its filter. NotFound or PathNotFound if there is no such
  // file, Corruption if it is damaged.
  static Status Open(const Options& options, const std::string& path,
                     std::unique_ptr<FilterTrial>* trial);

  // The bytes that opening it has read, roughly.
  uint64_t opened_bytes() const;

  // The filter that the file has.
  const AskedFilter& old_filter() const { return old_filter_; }

  // Reads the file, verifying its checksums, and builds the filter that it
  // would get. Every entry's key, without timestamp, is passed to `on_entry` as
  // it is read; the entries of a key follow each other. Incomplete if that
  // returns false, which ends the reading; Corruption if the file is damaged.
  // Called once.
  Status Build(const Place& place,
               const std::function<bool(const Slice& key)>& on_entry);

  // What Build has built; without a filter before.
  const AskedFilter& new_filter() const { return new_filter_; }

 private:
  explicit FilterTrial(std::unique_ptr<SeparateFile>&& separate);

  const std::unique_ptr<SeparateFile> separate_;
  const BlockBasedFile& file_;
  const AskedFilter old_filter_;
  std::unique_ptr<const char[]> new_block_;
  std::unique_ptr<FilterBitsReader> new_reader_;
  AskedFilter new_filter_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
