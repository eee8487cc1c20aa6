// SPDX-License-Identifier: Apache-2.0

//  The temporary folder of a test (own_folder.cc).

#pragma once

#include "rocksdb/rocksdb_namespace.h"

namespace ROCKSDB_NAMESPACE::protean {

// Makes the test's folder anew, without what is in it. The new one is in memory
// unless TEST_TMPDIR was set when the program began, or /dev/shm is missing or
// has less than 1 GB free. For tests that make many databases.
void PutOwnFolderInMemory();

}  // namespace ROCKSDB_NAMESPACE::protean
