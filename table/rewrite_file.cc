// SPDX-License-Identifier: Apache-2.0

#include "table/rewrite_file.h"

#include <algorithm>
#include <vector>

#include "rocksdb/metadata.h"
#include "rocksdb/options.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Stores the file's metadata as CompactFiles sees it; returns false if the
// column family has no such file. GetColumnFamilyMetaData would show what
// readers see, which is a moment older.
bool Locate(DB* db, ColumnFamilyHandle* column_family, const std::string& name,
            LiveFileMetaData* file) {
  std::vector<LiveFileMetaData> files;
  db->GetLiveFilesMetaData(&files);
  const auto found =
      std::find_if(files.begin(), files.end(), [&](const auto& live) {
        return live.relative_filename == name &&
               live.column_family_name == column_family->GetName();
      });
  if (found == files.end()) return false;
  *file = std::move(*found);
  return true;
}

Status CompactInPlace(DB* db, ColumnFamilyHandle* column_family,
                      const LiveFileMetaData& file) {
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
  return db->CompactFiles(
      compaction, column_family, {file.relative_filename}, file.level,
      path == paths.end() ? 0 : static_cast<int>(path - paths.begin()));
}

}  // namespace

Status RewriteFile(DB* db, ColumnFamilyHandle* column_family,
                   const std::string& name) {
  LiveFileMetaData file;
  if (!Locate(db, column_family, name, &file)) return Status::NotFound();
  while (true) {
    const Status s = CompactInPlace(db, column_family, file);
    // RocksDB returns InvalidArgument, as for other errors, for a file that has
    // gone since, and for one that was moved to another level.
    if (!s.IsInvalidArgument()) return s;
    const int level = file.level;
    if (!Locate(db, column_family, name, &file)) return Status::NotFound();
    if (file.level == level) return s;
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
