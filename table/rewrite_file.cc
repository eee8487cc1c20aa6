// SPDX-License-Identifier: Apache-2.0

#include "table/rewrite_file.h"

#include <algorithm>
#include <vector>

#include "rocksdb/metadata.h"
#include "rocksdb/options.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Stores the file's metadata and level; returns false if there is no such file.
bool Locate(DB* db, ColumnFamilyHandle* column_family, const std::string& name,
            SstFileMetaData* file, int* level) {
  ColumnFamilyMetaData metadata;
  db->GetColumnFamilyMetaData(column_family, &metadata);
  for (const LevelMetaData& candidate : metadata.levels) {
    for (const SstFileMetaData& live : candidate.files) {
      if (live.relative_filename != name) continue;
      *file = live;
      *level = candidate.level;
      return true;
    }
  }
  return false;
}

// Whether the DB has the file, as CompactFiles sees it. Locate sees what
// readers see, which get a new version a moment later.
bool IsLive(DB* db, const std::string& name) {
  std::vector<LiveFileMetaData> files;
  db->GetLiveFilesMetaData(&files);
  return std::any_of(files.begin(), files.end(), [&](const auto& file) {
    return file.relative_filename == name;
  });
}

}  // namespace

Status RewriteFile(DB* db, ColumnFamilyHandle* column_family,
                   const std::string& name) {
  SstFileMetaData file;
  int level = 0;
  if (!Locate(db, column_family, name, &file, &level)) {
    return Status::NotFound();
  }
  CompactionOptions compaction;
  // The file becomes one file. If the next file is compacted, too, the two
  // should not become one.
  compaction.output_file_size_limit = file.size + file.size / 4;
  compaction.max_subcompactions = 1;
  // RocksDB does not choose one of several paths itself.
  const Options options = db->GetOptions(column_family);
  const std::vector<DbPath>& paths =
      options.cf_paths.empty() ? options.db_paths : options.cf_paths;
  const auto path = std::find_if(
      paths.begin(), paths.end(),
      [&file](const DbPath& p) { return p.path == file.directory; });
  const Status s = db->CompactFiles(
      compaction, column_family, {file.relative_filename}, level,
      path == paths.end() ? 0 : static_cast<int>(path - paths.begin()));
  // For a missing file, RocksDB returns InvalidArgument, as for other errors.
  return s.IsInvalidArgument() && !IsLive(db, name) ? Status::NotFound() : s;
}

}  // namespace ROCKSDB_NAMESPACE::protean
