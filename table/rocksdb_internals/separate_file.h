// SPDX-License-Identifier: Apache-2.0

//  Reading an SST file as if no DB had it open.

#pragma once

#include <memory>
#include <string>

#include "rocksdb/sst_file_reader.h"
#include "table/rocksdb_internals/block_based_file.h"

namespace ROCKSDB_NAMESPACE::protean {

// An SST file that is read apart from the DB that may have it open: without the
// DB's block cache and statistics. The file can still be read after the DB has
// deleted it.
class SeparateFile {
 public:
  // `options` are those of the file's column family, whose table factory is a
  // block-based one. NotFound or PathNotFound if there is no such file,
  // Corruption if it is damaged.
  static Status Open(const Options& options, const std::string& path,
                     std::unique_ptr<SeparateFile>* opened);

  // The file, whose filter is pinned.
  const BlockBasedFile& file() const { return *file_; }

 private:
  SeparateFile() = default;

  // Keeps what the table refers to.
  std::unique_ptr<SstFileReader> reader_;
  std::unique_ptr<BlockBasedFile> file_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
