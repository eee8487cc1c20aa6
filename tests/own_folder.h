// SPDX-License-Identifier: Apache-2.0

//  The temporary folder of a test (own_folder.cc).

#pragma once

#include "rocksdb/rocksdb_namespace.h"

namespace ROCKSDB_NAMESPACE::protean {

// Moves the test's folder into memory, unless TEST_TMPDIR was set when the test
// began, or /dev/shm is missing or has less than 1 GB free. For tests that make
// many databases. Called before the first file is made.
void PutOwnFolderInMemory();

}  // namespace ROCKSDB_NAMESPACE::protean
