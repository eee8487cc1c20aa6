// SPDX-License-Identifier: Apache-2.0

//  A DB that many threads use for a while, each in its own way and all at once.

#pragma once

#include <chrono>
#include <string>

#include "tests/table/concurrency/truth.h"

namespace ROCKSDB_NAMESPACE::protean {

// The state that outlives a round.
struct Persistent {
  std::string path;  // a folder for DBs and files
  Truth truth;
  Version last_version = 0;
};

// Opens the DB as the previous rounds have left it, with random options; runs
// all threads for the given time, or until the first failure; then compares the
// contents of the DB, and closes it.
void RunRound(Persistent* persistent, uint64_t seed,
              std::chrono::milliseconds duration);

}  // namespace ROCKSDB_NAMESPACE::protean
