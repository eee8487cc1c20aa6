// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/proteus/search/lengths.h"

#include <algorithm>

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr size_t kMaxTrieLengths = 48;
// Deeper tries are not considered.
constexpr uint32_t kMaxTrieBits = 512;

}  // namespace

std::vector<uint32_t> SpreadLengths(uint32_t first, uint32_t last,
                                    size_t most) {
  std::vector<uint32_t> lengths;
  if (first > last) return lengths;
  const uint32_t range = last - first;
  const size_t count = std::min<size_t>(most, range + 1);
  for (size_t i = 0; i < count; i++) {
    lengths.push_back(
        last -
        static_cast<uint32_t>(
            count == 1 ? 0 : uint64_t{range} * (count - 1 - i) / (count - 1)));
  }
  return lengths;
}

std::vector<uint32_t> TrieLengths(const KeyStatistics& statistics,
                                  const DesignJudge& judge, uint64_t bytes) {
  // The size grows with the depth.
  uint32_t low = 0;
  uint32_t high = std::min(statistics.max_bits(), kMaxTrieBits);
  while (low < high) {
    const uint32_t middle = (low + high + 1) / 2;
    if (judge.SizeOfTrie(middle, bytes).bytes <= bytes) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  std::vector<uint32_t> lengths = {0};
  const std::vector<uint32_t> depths = SpreadLengths(1, low, kMaxTrieLengths);
  lengths.insert(lengths.end(), depths.begin(), depths.end());
  return lengths;
}

}  // namespace ROCKSDB_NAMESPACE::protean
