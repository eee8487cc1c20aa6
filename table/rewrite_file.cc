#include "table/rewrite_file.h"

#include <algorithm>
#include <vector>

#include "rocksdb/metadata.h"
#include "rocksdb/options.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Where the file is now; false if it is no more.
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

// Whether the DB has it, as CompactFiles sees that: Locate sees what readers
// see, who are told of a new version a moment later.
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
  // One file becomes one. But if two are compacted, they should not become one.
  compaction.output_file_size_limit = file.size + file.size / 4;
  compaction.max_subcompactions = 1;
  // RocksDB does not choose a path itself if there are several.
  const Options options = db->GetOptions(column_family);
  const std::vector<DbPath>& paths =
      options.cf_paths.empty() ? options.db_paths : options.cf_paths;
  const auto path = std::find_if(
      paths.begin(), paths.end(),
      [&file](const DbPath& p) { return p.path == file.directory; });
  const Status s = db->CompactFiles(
      compaction, column_family, {file.relative_filename}, level,
      path == paths.end() ? 0 : static_cast<int>(path - paths.begin()));
  // RocksDB says InvalidArgument, as for other things.
  return s.IsInvalidArgument() && !IsLive(db, name) ? Status::NotFound() : s;
}

}  // namespace ROCKSDB_NAMESPACE::protean
