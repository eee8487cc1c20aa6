//  What would become of an SST file's filter if the file were compacted now.
//  The file is read apart from its DB: its filter as it is, and its keys, of
//  which filter policies build others in memory. All of them can be asked.

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "filter_policy/protean_filter_policy.h"
#include "rocksdb/options.h"
#include "table/rocksdb_internals/separate_file.h"

namespace ROCKSDB_NAMESPACE::protean {

// A filter of any kind as ProteanTable asks it: no filter says no to nothing,
// RocksDB's own filters say no to keys only. Not thread safe.
class AskedFilter {
 public:
  AskedFilter() = default;
  // `by_protean` tells that a policy of Protean has made `reader`, which may be
  // nullptr and must outlive this.
  AskedFilter(FilterBitsReader* reader, bool by_protean);
  // The full filter that a file has, if any. The file must outlive it.
  static AskedFilter Of(const BlockBasedFile& file);

  bool MayMatch(const SampleQuery& query) const;
  // What can be asked for ranges, or nullptr.
  const FilterBlock* range_filter() const {
    return block_ != nullptr && block_->CanFilter() ? block_ : nullptr;
  }
  // In words, for people.
  std::string Describe() const;

 private:
  FilterBitsReader* reader_ = nullptr;
  const FilterBlock* block_ = nullptr;  // of Protean
};

// A filter that a policy has built in memory.
// What a policy has built for a file; without a reader if it wants no filter
// for it.
struct BuiltFilter {
  AskedFilter filter;
  uint64_t bytes = 0;
  uint64_t build_nanos = 0;  // with the design, without reading the file

  // What `filter` refers to.
  std::unique_ptr<const char[]> block;
  std::unique_ptr<FilterBitsReader> reader;
};

// Not thread safe.
class FilterTrial {
 public:
  // The column family of the file and its options, whose table factory is
  // ProteanTable; and where the file would be written.
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

  // Reads the file, verifying its checksums, and stores the filter that each of
  // the policies, none of which is nullptr, would give it. Every entry's key,
  // without timestamp, is passed to `on_entry` as it is read; the entries of a
  // key follow each other. Incomplete if that returns false, which ends the
  // reading; Corruption if the file is damaged, NotSupported if a policy builds
  // no filter.
  Status Build(const Place& place,
               const std::vector<const FilterPolicy*>& policies,
               const std::function<bool(const Slice& key)>& on_entry,
               std::vector<BuiltFilter>* built);

 private:
  explicit FilterTrial(std::unique_ptr<SeparateFile>&& separate);

  const std::unique_ptr<SeparateFile> separate_;
  const BlockBasedFile& file_;
  const AskedFilter old_filter_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
