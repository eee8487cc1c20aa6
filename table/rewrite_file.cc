// SPDX-License-Identifier: Apache-2.0

#include "table/rewrite_file.h"

#include <algorithm>
#include <vector>

#include "rocksdb/metadata.h"
#include "rocksdb/options.h"

namespace ROCKSDB_NAMESPACE::protean {

Status RewriteFile(DB* db, ColumnFamilyHandle* column_family,
                   const std::string& name) {
  const Options options = db->GetOptions(column_family);
  const std::vector<DbPath>& paths =
      options.cf_paths.empty() ? options.db_paths : options.cf_paths;
  Status s;
  for (int tried = -1;;) {
    // These are what CompactFiles sees. GetColumnFamilyMetaData would show what
    // readers see, which is a moment older.
    std::vector<LiveFileMetaData> files;
    db->GetLiveFilesMetaData(&files);
    const auto file =
        std::find_if(files.begin(), files.end(), [&](const auto& live) {
          return live.relative_filename == name &&
                 live.column_family_name == column_family->GetName();
        });
    if (file == files.end()) return Status::NotFound();
    if (file->level == tried) return s;
    tried = file->level;
    CompactionOptions compaction;
    // The file becomes one file. If the next file is compacted, too, the two
    // should not become one.
    compaction.output_file_size_limit = file->size + file->size / 4;
    compaction.max_subcompactions = 1;
    // RocksDB does not choose one of several paths itself.
    const auto path = std::find_if(
        paths.begin(), paths.end(),
        [&](const DbPath& p) { return p.path == file->directory; });
    s = db->CompactFiles(
        compaction, column_family, {name}, file->level,
        path == paths.end() ? 0 : static_cast<int>(path - paths.begin()));
    // RocksDB returns InvalidArgument, as for other errors, for a file that has
    // gone since, and for one that was moved to another level.
    if (!s.IsInvalidArgument()) return s;
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
