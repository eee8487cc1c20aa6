// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/proteus/prior/level_weights.h"

#include <algorithm>
#include <functional>
#include <map>

namespace ROCKSDB_NAMESPACE::protean {

std::vector<float> WeighByLevel(const std::vector<uint32_t>& levels,
                                double weight,
                                const KeyStatistics& statistics) {
  std::map<uint32_t, size_t, std::greater<uint32_t>> counts;
  for (uint32_t level : levels) counts[level]++;
  std::map<uint32_t, double> shares;
  double above = 0;
  double all = 0;
  for (const auto& [level, count] : counts) {
    const bool lowest = level == counts.rbegin()->first;
    const auto from_here =
        static_cast<double>(statistics.KeysSharing(lowest ? 0 : level));
    // Keys that only differ in zeros at their ends are not counted.
    const double keys = std::max(from_here - above, 1.0);
    shares[level] = keys / static_cast<double>(count);
    above = std::max(above, from_here);
    all += keys;
  }
  std::vector<float> weights;
  weights.reserve(levels.size());
  for (uint32_t level : levels) {
    weights.push_back(static_cast<float>(weight * shares[level] / all));
  }
  return weights;
}

std::vector<uint32_t> LevelsOf(const KeyStatistics& statistics) {
  std::vector<uint32_t> levels;
  for (uint32_t bits = 0; bits <= statistics.max_bits(); bits++) {
    if (statistics.KeysSharing(bits) != statistics.KeysSharing(bits + 1)) {
      levels.push_back(bits);
    }
  }
  return levels;
}

}  // namespace ROCKSDB_NAMESPACE::protean
