// SPDX-License-Identifier: Apache-2.0

//  Reading the MANIFEST of a DB, without opening the DB.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rocksdb/env.h"
#include "rocksdb/status.h"

namespace ROCKSDB_NAMESPACE::protean {

// An SST file of a DB that need not be open, or one that is given by its path.
struct TargetFile {
  uint64_t number = 0;
  uint32_t path_id = 0;  // in cf_paths, or in db_paths if there are none
  int level = -1;        // -1 if unknown, as for files given by path
  uint64_t bytes = 0;
  // User keys. The keys and the number are unknown if the level is.
  std::string smallest;
  std::string largest;
  // Such as 000123.sst, or the path as given. A MANIFEST has neither of the
  // two.
  std::string name;
  std::string path;
};
// A column family of such a DB.
struct ManifestFamily {
  uint32_t id = 0;
  std::string name;
  // The name of the comparator; empty if unknown.
  std::string comparator;
  std::vector<TargetFile> files;  // by level and number
};

// Reads the column families and files of the DB in the folder `path` from its
// MANIFEST. The DB may be in use, because nothing else is opened and nothing is
// written; the result was true a moment ago. NotFound if the folder holds no
// DB, Corruption if the MANIFEST is damaged, or if CURRENT names none.
//
// RocksDB leaves out the beginning of a record at the end of a MANIFEST, since
// a process may have died while it wrote it. `*cut_off` says that there is one;
// otherwise it is empty.
Status ReadManifest(Env* env, const std::string& path,
                    std::vector<ManifestFamily>* families,
                    std::string* cut_off = nullptr);

}  // namespace ROCKSDB_NAMESPACE::protean
