// SPDX-License-Identifier: Apache-2.0

//  The differences between the supported versions of RocksDB that the
//  differential test has to know.

#pragma once

#include <string>

#include "rocksdb/options.h"
#include "table/rocksdb_internals/versions.h"
#include "tests/table/differential/dice.h"

namespace ROCKSDB_NAMESPACE::protean {

// Large columns of entities are kept in blob files, too.
constexpr bool kColumnsMayBeBlobs = PROTEAN_ROCKSDB_AT_LEAST(11, 0);

// Scans of several ranges that are announced. (There are some from 10.5 on, but
// with other rules of what may be announced, and what may follow.)
#if PROTEAN_ROCKSDB_AT_LEAST(11, 7)
#define PROTEAN_TESTS_MULTI_SCAN 1
#else
#define PROTEAN_TESTS_MULTI_SCAN 0
#endif
constexpr bool kHasMultiScan = PROTEAN_TESTS_MULTI_SCAN != 0;

// Draws the format version of a block-based table.
const char* DrawFormatVersion(Dice* dice);

// Draw options that RocksDB 9.10 does not have: of block-based tables, as a
// string, of a DB, of a column family, and of an iterator at a snapshot.
std::string DrawNewerTableOptions(Dice* dice, const Comparator* comparator);
void DrawNewerOptions(Dice* dice, DBOptions* options);
void DrawNewerOptions(Dice* dice, ColumnFamilyOptions* options);
void DrawNewerOptions(Dice* dice, ReadOptions* options);

}  // namespace ROCKSDB_NAMESPACE::protean
