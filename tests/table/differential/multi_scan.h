// SPDX-License-Identifier: Apache-2.0

//  Scans of several ranges at once, which are announced to the iterator before
//  it is sought, so that RocksDB reads ahead what lies in them (MultiScan).

#pragma once

#include "tests/table/differential/view.h"

namespace ROCKSDB_NAMESPACE::protean {

struct RandomRun;

// Scans a few ranges, drawn, both ways, and compares what is found. REQUIRES:
// the family's plan says that it is for such scans
void CompareMultiScan(RandomRun* run, const View& view);

}  // namespace ROCKSDB_NAMESPACE::protean
