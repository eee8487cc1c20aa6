// SPDX-License-Identifier: Apache-2.0

//  Reads an SST or blob file completely, and says whether it is well.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "tools/blob_check.h"
#include "tools/file_status.h"
#include "tools/key_check.h"
#include "tools/target.h"

namespace ROCKSDB_NAMESPACE::protean {

// A file, and what was found out about it.
struct FileCheck {
  const TargetFamily* family = nullptr;
  // One of the two; neither for a blob file that no MANIFEST lists.
  const TargetFile* table = nullptr;
  const TargetBlobFile* blob_file = nullptr;
  std::string name;

  FileStatus status;
  // What was read of an SST file: the kind of its filter (FileFacts::kind) if
  // the file could be opened, and its keys.
  std::optional<std::string> filter_kind;
  std::optional<KeyCheck> keys;
  // What was read of a blob file, unless there is none.
  std::optional<BlobCheck> blobs;
};

// Checks the SST or blob file that `*check` names, a file of the target.
// `progress` is called as CheckKeys does. May be called for several files at a
// time.
void CheckFile(const Target& target,
               const std::function<void(uint64_t keys)>& progress,
               FileCheck* check);

}  // namespace ROCKSDB_NAMESPACE::protean
