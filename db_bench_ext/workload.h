// SPDX-License-Identifier: Apache-2.0

//  The workloads of the benchmarks by name, and their keys and queries. All
//  programs take them from here.

#pragma once

#include <string>
#include <vector>

#include "db_bench_ext/key_source.h"
#include "db_bench_ext/query_source.h"
#include "rocksdb/status.h"

namespace ROCKSDB_NAMESPACE::protean {

// The queries on a data set.
enum class WorkloadKind {
  kPoint,       // keys of the data set
  kRange,       // numbers: [K + r, K + 2r] behind a key, with r such that as
                // many of these ranges hold a stored key as in the SuRF paper;
                // times: the same as a window over all sensors; text: [K, K
                // with its last byte + 1]
  kMixed,       // half of each
  kPrefix,      // text only: all that starts with the first fields of a key
  kShortRange,  // numbers and times only: [N, N + 1 to N + 1024], N anywhere
};

// The sources of the keys and queries of a workload.
enum class WorkloadFamily {
  kDataSet,        // a DataSet; queries by WorkloadKind
  kDistributions,  // a KeySource and a QuerySource
  kEngine,         // protean_bench's own
};

struct NamedWorkload {
  const char* name;
  WorkloadFamily family;
  WorkloadKind kind;  // for the family kDataSet
};

// The workload called `name`; those of the family kEngine only if `engine`.
// InvalidArgument if there is none.
Status FindWorkload(const std::string& name, bool engine,
                    const NamedWorkload** workload);

// A random data set of 2 * num_keys keys, a random half of which is stored, as
// in the SuRF paper, section 4.2. Queries are drawn from all of it, so about
// half of them find nothing.
class DataSet {
 public:
  // `num_keys` must be positive. If there are fewer than twice that many keys
  // of this type, fewer keys are stored. With `zipf`, queries are drawn from
  // the keys by Zipf's law, and else from all alike.
  DataSet(KeyType type, uint64_t num_keys, uint64_t seed,
          const WindowLengths& windows = {}, bool zipf = false);
  // `source_` refers to the data set.
  DataSet(const DataSet&) = delete;
  DataSet& operator=(const DataSet&) = delete;

  // Draws any key of the data set.
  const KeySource& source() const { return source_; }

  // The stored keys, sorted. They lie one after the other in memory, so that
  // reading them costs a filter's build as little as reading a block.
  std::vector<std::string> StoredKeys() const;

  // Draws further queries.
  std::vector<Query> MakeQueries(WorkloadKind kind, uint64_t num_queries);

 private:
  void MeasureNumbers();
  QueryOptions OptionsOf(WorkloadKind kind) const;

  const KeyType type_;
  Rng rng_;
  KeySource source_;
  std::vector<std::string> all_;  // stored keys first
  uint64_t num_stored_ = 0;
  // The bounds of the numbers, and the r of kRange.
  uint64_t smallest_ = 0;
  uint64_t largest_ = 0;
  uint64_t range_size_ = 0;
};

struct WorkloadSize {
  uint64_t keys = 0;
  uint64_t queries = 0;
  uint64_t samples = 0;
  uint64_t seed = 42;
  WindowLengths windows = {};
  bool zipf = false;  // data sets: see DataSet
};

struct Workload {
  KeySource source;  // of the keys; for data sets, its lengths only
  std::vector<std::string> keys;  // sorted, distinct
  std::vector<Query> queries;
  // Samples for filters that design themselves: queries that find nothing,
  // drawn as `queries` are, but independently of them.
  std::vector<Query> samples;
};

// The stored keys of a data set and queries on it, and as many samples as are
// asked for and can be drawn. InvalidArgument if there is no key, or no such
// workload for keys of this type.
Status Generate(WorkloadKind kind, KeyType type, const WorkloadSize& size,
                Workload* workload);

// Keys and queries of the given distributions. `size.queries` is the number of
// queries that find nothing; a tenth as many that find a key follow them.
// InvalidArgument if there are no such keys or queries.
Status Generate(const KeySource& source, const QueryOptions& options,
                const WorkloadSize& size, Workload* workload);

}  // namespace ROCKSDB_NAMESPACE::protean
