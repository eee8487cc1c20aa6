// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/fst/alphabetic_code.h"

#include <algorithm>
#include <limits>

namespace ROCKSDB_NAMESPACE::protean {

static_assert(CodedKey::kDigitBits == 2, "a node has two halves of two trees");

AlphabeticCode::AlphabeticCode(size_t symbols)
    : symbols_(symbols),
      forests_(2 * (symbols + 1) * (symbols + 1)),
      costs_from_(forests_.size()),
      costs_to_(forests_.size()) {}

uint64_t AlphabeticCode::BestPair(unsigned k, size_t begin, size_t end,
                                  uint16_t* split) const {
  const uint64_t* const first = &costs_from_[Index(k, begin, 0)];
  const uint64_t* const second = &costs_to_[Index(k, end, 0)];
  uint64_t best = std::numeric_limits<uint64_t>::max();
  size_t best_middle = 0;
  for (size_t middle = begin + 1; middle < end; middle++) {
    const uint64_t cost = first[middle] + second[middle];
    if (cost < best) {
      best = cost;
      best_middle = middle;
    }
  }
  *split = static_cast<uint16_t>(best_middle);
  return best;
}

void AlphabeticCode::Solve(const std::vector<uint64_t>& weights) {
  for (size_t end = 2; end <= symbols_; end++) {
    uint64_t sum = weights[end - 1];
    for (size_t begin = end - 1; begin-- > 0;) {
      sum += weights[begin];
      Forest* const one = &At(0, begin, end);
      Forest* const two = &At(1, begin, end);
      // Below its root, a tree has two forests of two trees.
      const uint64_t tree = sum + BestPair(1, begin, end, &one->split);
      const uint64_t trees = BestPair(0, begin, end, &two->split);
      two->is_tree = tree < trees;
      SetCost(0, begin, end, tree);
      SetCost(1, begin, end, std::min(tree, trees));
    }
  }
}

// Appends the ends of the one or two trees of a forest.
void AlphabeticCode::AppendTrees(size_t begin, size_t end,
                                 std::vector<size_t>* ends) {
  const Forest& forest = At(1, begin, end);
  if (!forest.is_tree) ends->push_back(forest.split);
  ends->push_back(end);
}

// Gives the symbols of a tree their digits after those of the root. False if
// they are too many.
bool AlphabeticCode::Assign(size_t begin, size_t end, unsigned digits,
                            unsigned length, std::vector<uint16_t>* entries) {
  if (end - begin == 1 && length > 0) {
    (*entries)[begin] =
        static_cast<uint16_t>(length << KeyCode::kLengthShift | digits);
    return true;
  }
  if (length == CodedKey::kMaxDigits) return false;
  std::vector<size_t> ends;
  if (end - begin == 1) {
    ends.push_back(end);
  } else {
    const size_t split = At(0, begin, end).split;
    AppendTrees(begin, split, &ends);
    AppendTrees(split, end, &ends);
  }
  for (unsigned digit = 0; digit < ends.size(); digit++) {
    if (!Assign(begin, ends[digit],
                digits | digit << (CodedKey::kDigitBits * length), length + 1,
                entries)) {
      return false;
    }
    begin = ends[digit];
  }
  return true;
}

void AlphabeticCode::Compute(std::vector<uint64_t> weights,
                             std::vector<uint16_t>* entries) {
  entries->assign(symbols_, 0);
  for (;;) {
    Solve(weights);
    if (Assign(0, symbols_, 0, 0, entries)) return;
    // The weights end up equal, with lengths of log4(symbols).
    uint64_t most = 0;
    for (uint64_t weight : weights) most = std::max(most, weight);
    for (uint64_t& weight : weights) weight = weight / 4 + most / 1024 + 1;
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
