// SPDX-License-Identifier: Apache-2.0

//  Checks the blob files of a column family, which hold the large values of its
//  SST files (enable_blob_files).

#pragma once

#include <cstdint>

#include "rocksdb/compression_type.h"
#include "rocksdb/status.h"
#include "tools/target.h"

namespace ROCKSDB_NAMESPACE::protean {

// What the values of SST files say about a blob file.
struct BlobUse {
  CompressionType compression = kNoCompression;
  // The end of the last value, as an offset in the blob file.
  uint64_t end = 0;
};

struct BlobCheck {
  uint64_t blobs = 0;  // that have been read
  CompressionType compression = kNoCompression;
  uint64_t bytes = 0;  // the size of the file

  // NotFound or PathNotFound if the file is gone, Corruption if it is damaged.
  // Blobs behind the damage have not been checked.
  Status status;
};

// Reads all of a blob file, verifying checksums, and compares its contents with
// what the MANIFEST says of them.
BlobCheck CheckBlobs(const TargetFamily& family, const TargetBlobFile& file);

// Whether a blob file has what the SST files refer to. Corruption says what it
// lacks.
Status CheckUse(const BlobCheck& file, const BlobUse& use);

}  // namespace ROCKSDB_NAMESPACE::protean
