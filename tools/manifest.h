// SPDX-License-Identifier: Apache-2.0

//  Reading the MANIFEST of a DB, without opening the DB.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rocksdb/env.h"
#include "rocksdb/status.h"

namespace ROCKSDB_NAMESPACE::protean {

// A live SST file of a DB that need not be open.
struct ManifestFile {
  uint64_t number = 0;
  uint32_t path_id = 0;  // in cf_paths, or in db_paths if there are none
  int level = 0;
  uint64_t bytes = 0;
  std::string smallest;  // user keys
  std::string largest;
};
// A column family of such a DB.
struct ManifestFamily {
  uint32_t id = 0;
  std::string name;
  std::string comparator;           // the comparator's name
  std::vector<ManifestFile> files;  // ordered by level, then by number
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

// Returns true if the MANIFEST of that DB lists an SST file of the column
// family with this number at this moment. True if the MANIFEST cannot be read.
bool IsListed(Env* env, const std::string& path,
              const std::string& column_family, uint64_t number);

}  // namespace ROCKSDB_NAMESPACE::protean
