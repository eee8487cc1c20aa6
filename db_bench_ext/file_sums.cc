// SPDX-License-Identifier: Apache-2.0

#include "db_bench_ext/file_sums.h"

#include <memory>
#include <string>
#include <vector>

#include "file/random_access_file_reader.h"
#include "options/cf_options.h"
#include "table/format.h"
#include "table/meta_blocks.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// The size of a block of an SST file.
Status SizeOfBlock(const DB& db, const std::string& path,
                   const std::string& block, uint64_t* size) {
  const std::shared_ptr<FileSystem>& files = db.GetEnv()->GetFileSystem();
  std::unique_ptr<RandomAccessFileReader> file;
  Status s = RandomAccessFileReader::Create(files, path, FileOptions(), &file,
                                            nullptr);
  uint64_t file_size = 0;
  if (s.ok()) s = files->GetFileSize(path, IOOptions(), &file_size, nullptr);
  BlockHandle handle;
  if (s.ok()) {
    s = FindMetaBlockInFile(file.get(), file_size, kBlockBasedTableMagicNumber,
                            ImmutableOptions(db.GetOptions()), ReadOptions(),
                            block, &handle);
  }
  if (s.ok()) *size = handle.size();
  return s;
}

}  // namespace

Status SumFiles(DB* db, FileSums* sums) {
  *sums = FileSums();
  std::vector<LiveFileMetaData> files;
  db->GetLiveFilesMetaData(&files);
  for (const LiveFileMetaData& file : files) sums->file_bytes += file.size;
  TablePropertiesCollection properties;
  const Status s = db->GetPropertiesOfAllTables(&properties);
  for (const auto& [name, file] : properties) {
    sums->keys += file->num_entries;
    sums->deletions += file->num_deletions - file->num_range_deletions;
    sums->filter_bytes += file->filter_size;
    sums->index_bytes += file->index_size;
  }
  return s;
}

Status AddTrieIndexes(DB* db, FileSums* sums) {
  TablePropertiesCollection properties;
  Status s = db->GetPropertiesOfAllTables(&properties);
  for (const auto& [path, file] : properties) {
    uint64_t size = 0;
    if (s.ok()) {
      s = SizeOfBlock(*db, path, "rocksdb.user_defined_index.trie_index",
                      &size);
    }
    sums->index_bytes += size;
  }
  return s;
}

}  // namespace ROCKSDB_NAMESPACE::protean
