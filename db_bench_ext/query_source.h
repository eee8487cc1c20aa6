//  The queries of the Proteus paper, sections 5 and 7.2: [left, left + offset],
//  where offset is uniform in [rmin, rmax], or 0 for point queries.
//
//    uniform     left is anywhere in the key space
//    correlated  left is in [key + 1, key + corr_degree] of a stored key
//    split       half uniform, half correlated with a rmax of its own
//    real        left is drawn as the keys are
//
//  Bounds are as long as the keys, and offsets count in the last byte's units.
//  Keys of varying length have no such distances: to them, queries are real,
//  and [left, left with its last byte + 1].

#pragma once

#include <string>
#include <vector>

#include "db_bench_ext/key_source.h"
#include "db_bench_ext/workload.h"
#include "rocksdb/status.h"

namespace ROCKSDB_NAMESPACE::protean {

enum class QueryDistribution { kUniform, kCorrelated, kSplit, kReal };

struct QueryOptions {
  QueryDistribution distribution = QueryDistribution::kUniform;
  uint64_t rmin = 2;
  uint64_t rmax = 1024;           // 0: point queries
  uint64_t rmax_correlated = 32;  // of split; 0 as above
  uint64_t corr_degree = 1024;
  double point_share = 0;  // of queries that are points in any case
};

// InvalidArgument if there is no such distribution, or none for these keys.
Status ParseQueryDistribution(const std::string& name, const KeySource& source,
                              QueryDistribution* distribution);

class QuerySource {
 public:
  // `keys` are the stored ones, ascending, at least one. They and `source` must
  // outlive the result. Queries are correlated with what `any_key` draws, if
  // given, else with any of the keys.
  QuerySource(const QueryOptions& options, const KeySource& source,
              const std::vector<std::string>& keys, KeyMaker any_key = {});

  // A query, whatever it finds.
  Query Draw(Rng* rng) const;

  // A query that holds a stored key, at a random place in it.
  Query DrawPositive(Rng* rng) const;

  // Draws a query until it finds none of the keys. False if it seems that there
  // are none.
  bool DrawEmpty(Rng* rng, Query* query) const;

  // Draws that many. InvalidArgument if almost all queries find something.
  Status DrawEmpty(uint64_t num, Rng* rng, std::vector<Query>* queries) const;

 private:
  uint64_t Offset(uint64_t rmax, Rng* rng) const;
  Query Range(const std::string& left, uint64_t rmax, Rng* rng) const;
  Query Uniform(uint64_t rmax, Rng* rng) const;
  Query Correlated(uint64_t rmax, Rng* rng) const;

  const QueryOptions options_;
  const KeySource& source_;
  const std::vector<std::string>& keys_;
  const KeyMaker any_key_;
};

// The smallest key above `key`, hence the upper bound of an iterator over all
// keys up to `key`; only of those as long, as an application would write it.
std::string UpperBoundBehind(const std::string& key, const KeySource& source);

}  // namespace ROCKSDB_NAMESPACE::protean
