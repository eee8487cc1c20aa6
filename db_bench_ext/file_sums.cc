// SPDX-License-Identifier: Apache-2.0

#include "db_bench_ext/file_sums.h"

#include <vector>

namespace ROCKSDB_NAMESPACE::protean {

Status SumFiles(DB* db, FileSums* sums) {
  *sums = FileSums();
  std::vector<LiveFileMetaData> files;
  db->GetLiveFilesMetaData(&files);
  for (const LiveFileMetaData& file : files) sums->file_bytes += file.size;
  TablePropertiesCollection properties;
  const Status s = db->GetPropertiesOfAllTables(&properties);
  for (const auto& [name, file] : properties) {
    sums->keys += file->num_entries;
    sums->filter_bytes += file->filter_size;
    sums->index_bytes += file->index_size;
  }
  return s;
}

}  // namespace ROCKSDB_NAMESPACE::protean
