// SPDX-License-Identifier: Apache-2.0

//  Point reads: of one key, of many, of entities; and whether a key may exist.

#pragma once

#include "tests/table/differential/view.h"

namespace ROCKSDB_NAMESPACE::protean {

struct RandomRun;

// One query of any kind.
void ComparePointRead(RandomRun* run, const View& view);

// The latest value of every key of the pool, by Get and by MultiGet.
void CompareAllKeys(RandomRun* run, const View& view);

}  // namespace ROCKSDB_NAMESPACE::protean
