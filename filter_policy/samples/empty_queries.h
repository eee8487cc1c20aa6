//  Queries that find nothing in an SST file, for the measurement of its filter:
//  those of the samples that are empty there, or, where nothing has been
//  sampled, made-up ones. Both are found while the file's keys pass by in
//  ascending order, a key once or several times.

#pragma once

#include <string>
#include <vector>

#include "filter_policy/samples/query_queue.h"
#include "util/random.h"

namespace ROCKSDB_NAMESPACE::protean {

// Picks the empty ones of given queries.
class EmptySamples {
 public:
  // `queries` are in ascending order of their lower bounds.
  explicit EmptySamples(std::vector<const SampleQuery*> queries)
      : queries_(std::move(queries)) {}

  void Pass(const Slice& key) {
    // The first key that is at or above its lower bound decides about a query.
    for (; next_ < queries_.size() && key.compare(queries_[next_]->lo) >= 0;
         next_++) {
      const SampleQuery& query = *queries_[next_];
      if (IsInverted(key, query.hi, query.hi_inclusive)) {
        empty_.push_back(&query);
      }
    }
  }

  // After the last key.
  std::vector<const SampleQuery*> Finish() {
    empty_.insert(empty_.end(),
                  queries_.begin() + static_cast<ptrdiff_t>(next_),
                  queries_.end());
    next_ = queries_.size();
    return std::move(empty_);
  }

 private:
  const std::vector<const SampleQuery*> queries_;
  size_t next_ = 0;  // not decided about
  std::vector<const SampleQuery*> empty_;
};

// Makes points and short ranges that lie between neighbouring keys, evenly
// spread over a file of `num_keys` keys. Always the same for the same keys.
class GapQueries {
 public:
  static constexpr uint64_t kMaxQueries = 1000;

  explicit GapQueries(uint64_t num_keys)
      : every_(num_keys / kMaxQueries + 1), random_(301) {}

  void Pass(const Slice& key);

  // After the last key.
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
