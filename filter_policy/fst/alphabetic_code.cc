// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/fst/alphabetic_code.h"

#include <algorithm>
#include <limits>

namespace ROCKSDB_NAMESPACE::protean {

static_assert(CodedKey::kDigitBits == 2, "a node has two halves of two trees");

AlphabeticCode::AlphabeticCode(size_t symbols)
    : symbols_(symbols),
      forests_(2 * (symbols + 1) * (symbols + 1)),
      root_splits_((symbols + 1) * (symbols + 1)) {}

uint64_t AlphabeticCode::BestPair(unsigned k, size_t begin, size_t end,
                                  size_t least, size_t most, uint16_t* split) {
  uint64_t best = std::numeric_limits<uint64_t>::max();
  least = std::max(least, begin + 1);
  most = std::min(std::max(most, least), end - 1);
  for (size_t middle = least; middle <= most; middle++) {
    const uint64_t cost = At(k, begin, middle).cost + At(k, middle, end).cost;
    if (cost < best) {
      best = cost;
      *split = static_cast<uint16_t>(middle);
    }
  }
  return best;
}

void AlphabeticCode::Solve(const std::vector<uint64_t>& weights) {
  std::vector<uint64_t> before(symbols_ + 1);
  for (size_t i = 0; i < symbols_; i++) before[i + 1] = before[i] + weights[i];
  for (size_t length = 2; length <= symbols_; length++) {
    for (size_t begin = 0; begin + length <= symbols_; begin++) {
      const size_t end = begin + length;
      const auto bounds = [&](size_t left, size_t right, size_t* least,
                              size_t* most) {
        *least = length == 2 ? begin + 1 : left;
        *most = length == 2 ? begin + 1 : right;
      };
      size_t least;
      size_t most;
      // Two trees.
      Forest* const two = &At(1, begin, end);
      bounds(At(1, begin, end - 1).split, At(1, begin + 1, end).split, &least,
             &most);
      const uint64_t two_trees =
          BestPair(0, begin, end, least, most, &two->split);
      // Up to four trees, below a root.
      uint16_t* const root = &root_splits_[begin * (symbols_ + 1) + end];
      bounds(*(root - 1), *(root + symbols_ + 1), &least, &most);
      const uint64_t four_trees = BestPair(1, begin, end, least, most, root);
      const uint64_t tree = four_trees + before[end] - before[begin];
      At(0, begin, end).cost = tree;
      two->is_tree = tree < two_trees;
      two->cost = std::min(tree, two_trees);
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
    const size_t split = root_splits_[begin * (symbols_ + 1) + end];
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
