// SPDX-License-Identifier: Apache-2.0

//  The designs that a search has found so far, and what they cost.

#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "filter_policy/proteus/design.h"

namespace ROCKSDB_NAMESPACE::protean {

// The cost of a query in a trie, in nanoseconds, as `filter_micro --costs`
// measures it. The costs of the prefixes tested in a set are in the set's
// AmqType.
constexpr double kTrieNanos = 45;

struct DesignCandidate {
  ProteusDesign design;
  double fpr = 1;  // and the penalty
  // Prefixes that a query tests, on average, and those of them that do not
  // follow another one.
  double prefixes = 0;
  double runs = 0;
  uint64_t trie_bytes = 0;

  void TestApart(double number) { prefixes = runs = number; }
  // The time that a query takes, in nanoseconds.
  double Nanos() const;
};

// The cost of false positives and of time, in false positives of this price.
inline double CostOf(const DesignCandidate& candidate, uint64_t price) {
  return candidate.fpr + candidate.Nanos() / static_cast<double>(price);
}

// Keeps the candidates of the lowest false positive rates, the best one first,
// and after them those of the lowest costs: `most` of each.
void KeepBest(size_t most, uint64_t price,
              std::vector<DesignCandidate>* candidates);

// The least of some costs or rates.
class LeastCosts {
 public:
  explicit LeastCosts(size_t number) : number_(number) {}

  void Add(double cost) {
    if (costs_.size() == number_) {
      if (cost >= costs_.front()) return;
      std::pop_heap(costs_.begin(), costs_.end());
      costs_.pop_back();
    }
    costs_.push_back(cost);
    std::push_heap(costs_.begin(), costs_.end());
  }
  // The highest of them; no limit as long as there are fewer.
  double Most() const {
    return costs_.size() < number_ ? std::numeric_limits<double>::infinity()
                                   : costs_.front();
  }

 private:
  const size_t number_;
  std::vector<double> costs_;  // a heap
};

}  // namespace ROCKSDB_NAMESPACE::protean
