// SPDX-License-Identifier: Apache-2.0

//  One run: two databases with options drawn from a seed, and random writes,
//  reads and changes of their state, until a difference or the end.

#pragma once

#include <deque>
#include <memory>
#include <string>

#include "rocksdb/utilities/transaction.h"
#include "tests/table/differential/dice.h"
#include "tests/table/differential/journal.h"
#include "tests/table/differential/random_options.h"
#include "tests/table/differential/random_walk.h"
#include "tests/table/differential/twins.h"
#include "tests/table/differential/view.h"

namespace ROCKSDB_NAMESPACE::protean {

// A transaction on both twins that is prepared, or will get further writes.
struct OpenTransaction {
  Pair<std::unique_ptr<Transaction>> twins;
  bool prepared = false;
};

struct RandomRun {
  RandomRun(uint64_t seed, const std::string& directory, bool control,
            bool live, bool print);
  // Returns whether the twins agreed.
  bool Execute();

  // The latest state of a column family.
  View Latest(size_t family);

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
  std::deque<std::unique_ptr<RandomWalk>> walks;

 private:
  void WriteSeeds();
  bool Open();
  void CloseAll();
  void Reopen();
  void Operation();
  void Walk();
  void CompareEverything();
};

}  // namespace ROCKSDB_NAMESPACE::protean
