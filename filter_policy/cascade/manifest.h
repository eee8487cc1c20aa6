// SPDX-License-Identifier: Apache-2.0

//  The manifest of a cascade filter: which runs it consists of, and what its
//  fingerprints are. The file is replaced as a whole, so that it lists the runs
//  before a merge or those after it, whenever the process dies.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "rocksdb/file_system.h"
#include "rocksdb/status.h"

namespace ROCKSDB_NAMESPACE::protean {

struct CascadeManifest {
  // Fingerprints are the upper `fingerprint_bits` bits of hashes that are
  // seeded with `salt`.
  uint32_t fingerprint_bits = 0;
  uint64_t salt = 0;
  // No file has this number or a larger one.
  uint64_t next_file = 1;

  struct ListedRun {
    uint64_t file = 0;
    uint64_t id = 0;
  };
  // The newest first.
  std::vector<ListedRun> runs;
};

// The paths of the files in the folder of a cascade filter.
std::string CascadeManifestPath(const std::string& folder);
std::string CascadeLockPath(const std::string& folder);
std::string CascadeRunPath(const std::string& folder, uint64_t file);
// Whether a file of that name in the folder is a run or a manifest that was not
// finished.
bool IsCascadeRunOrTemporary(const std::string& name);

// Returns the errors of the file system; no error leaves the manifest other
// than it was or shall be.
Status WriteCascadeManifest(FileSystem* fs, const std::string& folder,
                            const CascadeManifest& manifest);

// Returns NotFound if there is no manifest, and Corruption if it is damaged.
Status ReadCascadeManifest(FileSystem* fs, const std::string& folder,
                           CascadeManifest* manifest);

}  // namespace ROCKSDB_NAMESPACE::protean
