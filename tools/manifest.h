//  What the MANIFEST of a DB tells without opening the DB.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rocksdb/env.h"
#include "rocksdb/status.h"

namespace ROCKSDB_NAMESPACE::protean {

// A column family of a DB that need not be open, and its live SST files.
struct ManifestFile {
  uint64_t number = 0;
  uint32_t path_id = 0;  // of the column family's, or else the DB's, paths
  int level = 0;
  uint64_t bytes = 0;
  std::string smallest;  // user keys
  std::string largest;
  // Whether these end with timestamps, if those of the column family do.
  bool has_timestamps = true;
};
struct ManifestFamily {
  uint32_t id = 0;
  std::string name;
  std::string comparator;           // its name
  std::vector<ManifestFile> files;  // level by level, by number
};

// Reads from the MANIFEST of the DB in the folder `path` which column families
// and files it has. Opens nothing else and writes nothing, so that it may be in
// use; what it says is what was true a moment ago. NotFound if the folder holds
// no DB, Corruption if the MANIFEST is damaged.
Status ReadManifest(Env* env, const std::string& path,
                    std::vector<ManifestFamily>* families);

}  // namespace ROCKSDB_NAMESPACE::protean
