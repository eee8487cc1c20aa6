// SPDX-License-Identifier: Apache-2.0

//  Optimal alphabetic codes.

#pragma once

#include <cstdint>
#include <vector>

#include "filter_policy/fst/key_code.h"

namespace ROCKSDB_NAMESPACE::protean {

// Computes codes of digits with the least sum of weight times length among all
// whose digits order as the symbols do, none a prefix of another one (Hu and
// Tucker, 1971). With digits of 2 bits, the code is a tree of nodes with up to
// four children; the tree for an interval of symbols consists of those for its
// parts, as in Knuth's optimal search trees (1971), of which also comes the
// bound on where an interval is parted. So the time grows with the square of
// the number of symbols.
class AlphabeticCode {
 public:
  explicit AlphabeticCode(size_t symbols);

  // Stores the entry of each symbol (key_code.h). No weight is 0, and their sum
  // is below 2^56. No code has more than kMaxDigits digits: if the best one
  // does, larger weights take the place of the smallest ones.
  void Compute(std::vector<uint64_t> weights, std::vector<uint16_t>* entries);

 private:
  // A forest of up to 2^k trees over an interval, k = 0, 1.
  struct Forest {
    uint64_t cost = 0;
    uint16_t split = 0;  // of the best two halves; 0 if there is one symbol
    bool is_tree = true;
  };

  Forest& At(unsigned k, size_t begin, size_t end) {
    return forests_[(k * (symbols_ + 1) + begin) * (symbols_ + 1) + end];
  }
  // The least cost of two forests of up to 2^k trees each, and where the second
  // one begins, which is not outside of [least, most].
  uint64_t BestPair(unsigned k, size_t begin, size_t end, size_t least,
                    size_t most, uint16_t* split);
  void Solve(const std::vector<uint64_t>& weights);
  void AppendTrees(size_t begin, size_t end, std::vector<size_t>* ends);
  bool Assign(size_t begin, size_t end, unsigned digits, unsigned length,
              std::vector<uint16_t>* entries);

  const size_t symbols_;
  std::vector<Forest> forests_;
  std::vector<uint16_t> root_splits_;  // of the four trees below a root
};

}  // namespace ROCKSDB_NAMESPACE::protean
