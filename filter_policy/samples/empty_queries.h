// SPDX-License-Identifier: Apache-2.0

//  Queries that match no key of an SST file, to measure its filter with: the
//  sampled queries that are empty there or, without samples, generated ones.
//  Both are found in one pass over the file's keys in ascending order. A key
//  may be passed several times.

#pragma once

#include <string>
#include <vector>

#include "filter_policy/samples/query_queue.h"
#include "util/random.h"

namespace ROCKSDB_NAMESPACE::protean {

// Picks the queries that match no key from given ones.
class EmptySamples {
 public:
  // `queries` are in ascending order of their lower bounds.
  explicit EmptySamples(std::vector<const SampleQuery*> queries)
      : queries_(std::move(queries)) {}

  void Pass(const Slice& key) {
    // The first key at or above the lower bound of a query decides whether the
    // query is empty.
    for (; next_ < queries_.size() && key.compare(queries_[next_]->lo) >= 0;
         next_++) {
      const SampleQuery& query = *queries_[next_];
      if (IsInverted(key, query.hi, query.hi_inclusive)) {
        empty_.push_back(&query);
      }
    }
  }

  // Returns the empty queries. Called after the last key.
  std::vector<const SampleQuery*> Finish() {
    empty_.insert(empty_.end(),
                  queries_.begin() + static_cast<ptrdiff_t>(next_),
                  queries_.end());
    next_ = queries_.size();
    return std::move(empty_);
  }

 private:
  const std::vector<const SampleQuery*> queries_;
  size_t next_ = 0;  // the first undecided query
  std::vector<const SampleQuery*> empty_;
};

// Generates points and short ranges between adjacent keys, evenly spread over a
// file of `num_keys` keys. The same keys always give the same queries.
class GapQueries {
 public:
  static constexpr uint64_t kMaxQueries = 1000;

  explicit GapQueries(uint64_t num_keys)
      : every_(num_keys / kMaxQueries + 1), random_(301) {}

  void Pass(const Slice& key);

  // Returns the queries. Called after the last key.
  std::vector<SampleQuery> Finish() { return std::move(queries_); }

 private:
  void AddBetween(const Slice& low, const Slice& high);

  const uint64_t every_;
  uint64_t passed_ = 0;
  Random64 random_;
  std::string last_;
  std::vector<SampleQuery> queries_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
