// SPDX-License-Identifier: Apache-2.0

//  The generator of queries of all benchmarks. A query is a closed range
//  [left, left + offset] with an offset that is uniform in [rmin, rmax], or a
//  point if rmax is 0. By query distribution:
//
//    uniform     left is anywhere in the key space
//    correlated  left is in [key + 1, key + corr_degree] of a stored key
//    split       half uniform, half correlated with a rmax of its own
//    real        left is drawn as the keys are
//    fields      left is the first fields of a key drawn as the keys are
//    behind      [key + rmax, key + 2 * rmax] of a key drawn as the keys are,
//                or the source's own range for this key
//    prefix      the scan of a prefix of a key drawn as the keys are: of random
//                length, but longer than what it shares with any stored key,
//                unless the query is to find a key. The end is excluded, as
//                applications set iterate_upper_bound
//
//  The first four are those of the Proteus paper, sections 5 and 7.2, and all
//  but `behind` have names in --query_dist; `behind` is for ranges of the SuRF
//  paper, section 4.2.
//
//  Bounds are as long as the keys, and offsets count in units of the last byte.
//  Keys of varying length have no such distances: their queries are real,
//  behind, fields or prefix, and the first three are [left, left with its last
//  byte + 1]. A field ends with a byte that is no letter and no digit; the last
//  one with the key.

#pragma once

#include <string>
#include <utility>
#include <vector>

#include "db_bench_ext/key_source.h"
#include "rocksdb/status.h"

namespace ROCKSDB_NAMESPACE::protean {

// Queries that are not equally popular follow Zipf's law with this exponent.
inline constexpr double kZipfExponent = 0.99;

enum class QueryDistribution {
  kUniform,
  kCorrelated,
  kSplit,
  kReal,
  kFields,
  kAfter,
  kPrefix,
};

struct QueryOptions {
  QueryDistribution distribution = QueryDistribution::kUniform;
  uint64_t rmin = 2;
  uint64_t rmax = 1024;           // 0: point queries
  uint64_t rmax_correlated = 32;  // rmax of the correlated half of split
  uint64_t corr_degree = 1024;
  double point_share = 0;  // share of queries that are points in any case
  // The numbers that uniform queries begin with. If max_left is 0, these are
  // all numbers behind which no range is cut off.
  uint64_t min_left = 0;
  uint64_t max_left = 0;
};

// InvalidArgument if there is no such distribution, or none for these keys.
Status ParseQueryDistribution(const std::string& name, const KeySource& source,
                              QueryDistribution* distribution);

class QuerySource {
 public:
  // `keys` are the stored keys, ascending, at least one. Both `keys` and
  // `source` must outlive the result. Queries are correlated with the keys that
  // `any_key` draws, if given, else with any of `keys`.
  QuerySource(const QueryOptions& options, const KeySource& source,
              const std::vector<std::string>& keys, KeyMaker any_key = {});

  // A query, no matter what it finds.
  Query Draw(Rng* rng) const;

  // A query that holds a stored key, at a random place in it.
  Query DrawPositive(Rng* rng) const;

  // Draws queries until one finds none of the keys. False if there seems to be
  // no such query.
  bool DrawEmpty(Rng* rng, Query* query) const;

  // Draws `num` queries that find none of the keys. InvalidArgument if almost
  // all queries find a key.
  Status DrawEmpty(uint64_t num, Rng* rng, std::vector<Query>* queries) const;

 private:
  uint64_t Offset(uint64_t rmax, Rng* rng) const;
  std::string NumberOf(const std::string& key) const;
  Query Between(const std::string& lo, const std::string& hi) const;
  Query Range(const std::string& left, uint64_t rmax, Rng* rng) const;
  std::string AnyLeft(uint64_t rmax, Rng* rng) const;
  Query Correlated(uint64_t rmax, Rng* rng) const;
  Query Behind(const std::string& key) const;
  Query AbsentPrefix(Rng* rng) const;

  const QueryOptions options_;
  const KeySource& source_;
  const std::vector<std::string>& keys_;
  const KeyMaker any_key_;
};

// Reads queries: in SOSD format, two numbers lo and hi each, or, if `text`, a
// line each, of one key or lo<TAB>hi. InvalidArgument names the first query
// whose hi is below its lo. Ranges exclude their ends unless `hi_inclusive`.
Status ReadQueries(const std::string& file, bool text, bool hi_inclusive,
                   std::vector<Query>* queries);

// Whether any of the keys, which are sorted, lies in the query's range.
bool Holds(const std::vector<std::string>& keys, const Query& query);

// Parts queries into those that find none of the keys, which are sorted, and
// those that do.
std::pair<std::vector<Query>, std::vector<Query>> SplitByTruth(
    const std::vector<std::string>& keys, const std::vector<Query>& queries);

// The exclusive upper bound of an iterator over the query's range. If that
// includes its end, the bound is the smallest key above it; if all keys have
// one length, the smallest of that length, as an application would write it.
std::string UpperBoundOf(const Query& query, const KeySource& source);

}  // namespace ROCKSDB_NAMESPACE::protean
