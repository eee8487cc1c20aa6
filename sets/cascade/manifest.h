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

// The bits that fingerprints may have.
constexpr uint32_t kMinFingerprintBits = 24;
constexpr uint32_t kMaxFingerprintBits = 62;

struct CascadeManifest {
  // Fingerprints are the upper `fingerprint_bits` bits of hashes that are
  // seeded with `salt`.
  uint32_t fingerprint_bits = 0;
  uint64_t salt = 0;
  // All listed files have smaller numbers.
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
// Returns true if a file of that name in the folder is a run; or a run, or a
// manifest that was not finished.
bool IsCascadeRun(const std::string& name);
bool IsCascadeRunOrTemporary(const std::string& name);

// Makes the names of the files in a folder last.
Status SyncFolder(FileSystem* fs, const std::string& folder);

// Returns the errors of the file system. After an error, the old manifest is
// there, or the new one if `*may_be_written` is true.
Status WriteCascadeManifest(FileSystem* fs, const std::string& folder,
                            const CascadeManifest& manifest,
                            bool* may_be_written);

// Returns NotFound if there is no manifest, and Corruption if it is damaged, or
// says what no manifest can say.
Status ReadCascadeManifest(FileSystem* fs, const std::string& folder,
                           CascadeManifest* manifest);

}  // namespace ROCKSDB_NAMESPACE::protean
