// SPDX-License-Identifier: Apache-2.0

//  One run: two databases with options drawn from a seed, and random writes,
//  reads and changes of their state, until a difference or the end.

#pragma once

#include <deque>
#include <memory>
#include <string>

#include "tests/dice.h"
#include "tests/table/differential/random_options.h"
#include "tests/table/differential/twins.h"

namespace ROCKSDB_NAMESPACE::protean {

// A transaction on both twins that is prepared, or will get further writes.
struct OpenTransaction {
  Pair<std::unique_ptr<Transaction>> twins;
  bool prepared = false;
};

// An iterator over each twin, with the same random options, which are moved in
// the same random way and compared after every step. Nothing is compared where
// RocksDB promises nothing.
class Walk {
 public:
  virtual ~Walk() = default;
  virtual void Step() = 0;
  virtual bool Uses(const Snapshot* snapshot) const = 0;
};
std::unique_ptr<Walk> NewWalk(RandomRun* run, const View& view);
// Some steps of a new one.
void WalkOnce(RandomRun* run, const View& view, size_t steps);

struct RandomRun {
  RandomRun(uint64_t seed, const std::string& directory, bool control,
            bool live, bool print);
  // Returns whether the twins agreed.
  bool Execute();

  // The latest state of a column family.
  View Latest(size_t family);

  // Expects the same answer of both twins.
  bool Same(const std::string& what,
            const std::function<std::string(Twin)>& answer);
  // Does the same to both twins, and expects the same status. Returns whether
  // it is OK.
  bool Both(const std::string& what,
            const std::function<Status(Twin)>& operation);

  uint64_t seed;
  Dice dice;
  Journal journal;
  RunPlan plan;
  Twins twins;
  uint64_t clock = 1;       // the timestamp of the last write
  uint64_t num_writes = 0;  // to any column family
  uint64_t num_values = 0;  // that were drawn
  std::vector<OpenTransaction> transactions;
  // Iterators that stay open while other things happen.
  std::deque<std::unique_ptr<Walk>> walks;

 private:
  void WriteSeeds();
  bool Open();
  void CloseAll();
  void Reopen();
  void Operation();
  void MoveWalk();
  void CompareEverything();
};

// ---- Writes (random_writes.cc) ----

// Writes of all kinds to both twins, in all ways: single, in batches, in
// transactions, and in ingested files; and the flushes and compactions that
// move them down the levels.

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

// ---- Reads (random_reads.cc) ----

// Point reads: of one key, of many, of entities; and whether a key may exist.

// One query of any kind.
void ComparePointRead(RandomRun* run, const View& view);

// The latest value of every key of the pool, by Get and by MultiGet.
void CompareAllKeys(RandomRun* run, const View& view);

// ---- Scans of several ranges ----

// Scans of several ranges at once, which are announced to the iterator before
// it is sought, so that RocksDB reads ahead what lies in them (MultiScan).

// Scans a few ranges, drawn, both ways, and compares what is found. REQUIRES:
// the family's plan says that it is for such scans
void CompareMultiScan(RandomRun* run, const View& view);

// ---- A whole DB (whole_db.cc) ----

// Queries of a whole DB: its key versions, its files, its sizes, and read-only
// copies of it.

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
