// SPDX-License-Identifier: Apache-2.0

//  An empty query, located among the keys of a file: all that the model knows
//  of it (cpfpr.h).

#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "filter_policy/proteus/key_store.h"
#include "filter_policy/proteus/prefix_hash.h"
#include "filter_policy/samples/query_queue.h"

namespace ROCKSDB_NAMESPACE::protean {

// A query for which the file is asked and which finds nothing in it.
struct LocatedQuery {
  static constexpr uint8_t kMaxKinds = 4;

  uint32_t lo_shared;      // bits that its lower bound shares with a key
  uint32_t hi_shared;      // bits that its upper bound shares with a key
  uint32_t bounds_shared;  // bits that the bounds share
  uint32_t bytes;          // of the longer bound
  double weight;           // among the other queries
  // Whether a Bloom filter must not do better on this query (prior.h).
  bool promised;
  // The kind of range, from 1 to kMaxKinds, if the rates of its kind are to be
  // close to those of other kinds; else 0.
  uint8_t kind;
  // 64 bits of each bound, from the byte on in which the bounds part.
  uint64_t lo_rest;
  uint64_t hi_rest;

  uint32_t shared() const { return std::max(lo_shared, hi_shared); }
  bool is_point() const { return bounds_shared == kAllBits; }
};

// Locates a query, of weight 1, that lies between two keys: above the first
// `keys_below` of `keys`, and below the one of index `next` and those after it.
// False if no string of bits lies in it.
bool LocateQuery(const Slice& lo, const Slice& hi, bool hi_inclusive,
                 const KeyStore& keys, size_t keys_below, size_t next,
                 const KeyStatistics& statistics, LocatedQuery* query);

// Locates the sample queries (Proteus paper, section 4.3, "Count Query
// Prefixes"): those of `samples` for which the file would be asked and which
// find nothing in it. `keys` ascend. If `prefixes_only`, a point query asks for
// all keys that start with its key. Each sample has this weight.
std::vector<LocatedQuery> LocateSamples(const KeyStore& keys,
                                        const KeyStatistics& statistics,
                                        const std::vector<SampleQuery>& samples,
                                        bool prefixes_only, double weight);

// How many bits queries share with keys: the shares of the queries by weight.
class SharedShares {
 public:
  void Add(uint32_t bits, double weight) {
    queries_.emplace_back(bits, weight);
    total_ += weight;
  }
  // Must be called once, between Add and AtLeast.
  void Sort() {
    std::sort(queries_.begin(), queries_.end());
    double sum = 0;
    for (size_t i = queries_.size(); i-- > 0;) {
      queries_[i].second = sum += queries_[i].second;
    }
  }
  // The share for `bits` bits or more.
  double AtLeast(uint32_t bits) const {
    const auto first = std::lower_bound(queries_.begin(), queries_.end(),
                                        std::make_pair(bits, -1.0));
    return first == queries_.end() ? 0 : first->second / total_;
  }
  // The weight of all queries.
  double total() const { return total_; }

 private:
  std::vector<std::pair<uint32_t, double>> queries_;
  double total_ = 0;
};

}  // namespace ROCKSDB_NAMESPACE::protean
