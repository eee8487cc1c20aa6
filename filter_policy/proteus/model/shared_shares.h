// SPDX-License-Identifier: Apache-2.0

//  How many bits queries share with keys: the shares of the queries by weight.

#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace ROCKSDB_NAMESPACE::protean {

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
