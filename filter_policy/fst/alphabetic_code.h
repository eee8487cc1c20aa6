// SPDX-License-Identifier: Apache-2.0

//  Optimal alphabetic codes.

#pragma once

#include <cstdint>
#include <vector>

#include "filter_policy/fst/key_code.h"

namespace ROCKSDB_NAMESPACE::protean {

// Computes the codes of digits that have the least sum of weight times length
// among all whose digits order as the symbols do, none a prefix of another one
// (Hu and Tucker, 1971). Their methods are for digits of one bit. With digits
// of two bits, a code is a tree of nodes with up to four children, and the best
// one for an interval of symbols is found from the best ones for its parts, as
// are optimal search trees (Gilbert and Moore, 1959): in a time that grows with
// the cube of the number of symbols. For a hundred, that is half a millisecond.
class AlphabeticCode {
 public:
  explicit AlphabeticCode(size_t symbols);

  // Stores the entry of each symbol (key_code.h). No weight is 0, and their sum
  // is below 2^56. No code has more than kMaxDigits digits: if the best one
  // does, larger weights take the place of the smallest ones.
  void Compute(std::vector<uint64_t> weights, std::vector<uint16_t>* entries);

 private:
  // The best forest of up to 2^k trees over an interval, k = 0, 1.
  struct Forest {
    // Where the second of two forests begins: of the two trees, or of those
    // below the root of the one tree.
    uint16_t split = 0;
    bool is_tree = true;
  };

  size_t Index(unsigned k, size_t begin, size_t end) const {
    return (k * (symbols_ + 1) + begin) * (symbols_ + 1) + end;
  }
  Forest& At(unsigned k, size_t begin, size_t end) {
    return forests_[Index(k, begin, end)];
  }
  void SetCost(unsigned k, size_t begin, size_t end, uint64_t cost) {
    costs_from_[Index(k, begin, end)] = cost;
    costs_to_[Index(k, end, begin)] = cost;
  }
  // The least cost of two forests of up to 2^k trees each, and where the second
  // one begins.
  uint64_t BestPair(unsigned k, size_t begin, size_t end,
                    uint16_t* split) const;
  void Solve(const std::vector<uint64_t>& weights);
  void AppendTrees(size_t begin, size_t end, std::vector<size_t>* ends);
  bool Assign(size_t begin, size_t end, unsigned digits, unsigned length,
              std::vector<uint16_t>* entries);

  const size_t symbols_;
  std::vector<Forest> forests_;
  // The least cost of each forest, twice: those with one begin are side by side
  // in one list, those with one end in the other.
  std::vector<uint64_t> costs_from_;
  std::vector<uint64_t> costs_to_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
