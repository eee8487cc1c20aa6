// SPDX-License-Identifier: Apache-2.0

//  Writes of all kinds to both twins, in all ways: single, in batches, in
//  transactions, and in ingested files; and the flushes and compactions that
//  move them down the levels.

#pragma once

#include <cstddef>

#include "rocksdb/rocksdb_namespace.h"

namespace ROCKSDB_NAMESPACE::protean {

struct RandomRun;

// One to a dozen writes, in one of the ways.
void WriteSome(RandomRun* run);
// Enough writes for a file or more.
void WriteMany(RandomRun* run);
void Ingest(RandomRun* run, size_t family);

// Begins, prepares, commits or rolls back a transaction that stays open while
// other things happen, or reads through it.
void AdvanceTransaction(RandomRun* run);
void EndTransactions(RandomRun* run);

// A flush or a compaction of some kind.
void Flush(RandomRun* run, size_t family);
void Compact(RandomRun* run, size_t family);

}  // namespace ROCKSDB_NAMESPACE::protean
