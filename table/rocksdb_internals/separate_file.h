#pragma once

#include <memory>
#include <string>

#include "rocksdb/sst_file_reader.h"
#include "table/rocksdb_internals/block_based_file.h"

namespace ROCKSDB_NAMESPACE::protean {

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

}  // namespace ROCKSDB_NAMESPACE::protean
