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

  // According to the MANIFEST, or for an SST file without a DB, its size.
  uint64_t bytes() const {
    return table != nullptr       ? table->bytes
           : blob_file != nullptr ? blob_file->blob_bytes
                                  : 0;
  }
};

// Called now and then with the numbers of keys and bytes that were read since
// the last call.
using ReportRead = std::function<void(uint64_t keys, uint64_t bytes)>;

// Checks the SST or blob file that `*check` names, a file of the target.
// `progress` is called while the keys of an SST file are read. May be called
// for several files at a time.
void CheckFile(const Target& target, const ReportRead& progress,
               FileCheck* check);

}  // namespace ROCKSDB_NAMESPACE::protean
