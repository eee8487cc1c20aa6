// SPDX-License-Identifier: Apache-2.0

//  The filter of one SST file that is read apart from any DB: a file of a
//  backup, or one that is going to be ingested.

#pragma once

#include <memory>
#include <string>

#include "rocksdb/convenience.h"  // RangePtr in RocksDB 10 and 11
#include "rocksdb/db.h"
#include "rocksdb/options.h"

namespace ROCKSDB_NAMESPACE::protean {

// All functions are thread safe.
class SstFileFilter {
 public:
  // Opens a file, and reads its filter and its index. `options` are those of
  // its column family, whose table factory is ProteanTable. Returns
  // InvalidArgument if it is another one, NotFound or PathNotFound if there is
  // no such file, and Corruption if the file is damaged. A file without a
  // filter of Protean, or with a damaged one, is opened and may hold anything.
  static Status Open(const Options& options, const std::string& path,
                     std::unique_ptr<SstFileFilter>* opened);

  SstFileFilter() = default;
  SstFileFilter(const SstFileFilter&) = delete;
  SstFileFilter& operator=(const SstFileFilter&) = delete;
  virtual ~SstFileFilter() = default;

  // False if the file certainly has no entry of the key, neither a value nor a
  // deletion. (A deletion of a range is no entry.) The key comes without a
  // timestamp.
  virtual bool KeyMayExist(const Slice& key) const = 0;
  // False if the file certainly has no entry of a key in [*start, *limit).
  // nullptr stands for no bound on that side.
  virtual bool RangeMayExist(const RangePtr& range) const = 0;
};

}  // namespace ROCKSDB_NAMESPACE::protean
