// SPDX-License-Identifier: Apache-2.0

//  Queries of a whole DB: its key versions, its files, its sizes, and read-only
//  copies of it.

#pragma once

#include <cstddef>

#include "rocksdb/rocksdb_namespace.h"

namespace ROCKSDB_NAMESPACE::protean {

struct RandomRun;

void CompareKeyVersions(RandomRun* run, size_t family);
// Each SST file of Protean's twin, read by both tables, holds the same keys.
void CompareFiles(RandomRun* run, size_t family);
void CompareSizes(RandomRun* run, size_t family);
void VerifyChecksums(RandomRun* run);
void CompareCheckpoints(RandomRun* run);
void CompareSecondaries(RandomRun* run);
// Iterators over all column families at once.
void CompareManyFamilies(RandomRun* run);

}  // namespace ROCKSDB_NAMESPACE::protean
