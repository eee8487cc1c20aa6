// SPDX-License-Identifier: Apache-2.0

//  Filters of other programs, peers, beside ours: docs/benchmarks.md describes
//  how a program is one.

#pragma once

#include <string>
#include <vector>

#include "db_bench_ext/query_source.h"
#include "rocksdb/status.h"

namespace ROCKSDB_NAMESPACE::protean {

// A peer's answers to a list of queries.
struct PeerAnswers {
  double ns = 0;         // for all of them
  uint64_t matches = 0;  // answers "may match"
};

struct PeerResult {
  uint64_t bytes = 0;
  double build_ns = 0;
  std::vector<PeerAnswers> answers;  // for each list of queries
};

// Lets the shell command `command` build a filter of `keys`, and answer the
// lists of queries. Aborted, with the reason, if the command fails or its
// output is not as described.
Status RunPeer(const std::string& command, const std::string& bits_per_key,
               const std::vector<std::string>& keys,
               const std::vector<Query>& samples,
               const std::vector<const std::vector<Query>*>& queries,
               PeerResult* result);

}  // namespace ROCKSDB_NAMESPACE::protean
