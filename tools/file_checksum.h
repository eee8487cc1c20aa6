// SPDX-License-Identifier: Apache-2.0

//  The checksum of a whole file, as a MANIFEST has it
//  (file_checksum_gen_factory).

#pragma once

#include <string>

#include "rocksdb/env.h"
#include "rocksdb/status.h"

namespace ROCKSDB_NAMESPACE::protean {

// Computes the checksum that RocksDB's standard function
// (kStandardDbFileChecksumFuncName) gives the file.
Status ComputeFileChecksum(Env* env, const std::string& path,
                           std::string* checksum);

}  // namespace ROCKSDB_NAMESPACE::protean
