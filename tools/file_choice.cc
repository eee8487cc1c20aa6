// SPDX-License-Identifier: Apache-2.0

#include "tools/file_choice.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace ROCKSDB_NAMESPACE::protean {

std::vector<bool> ChooseFiles(const std::vector<TargetFile>& files,
                              uint64_t max_bytes) {
  std::vector<bool> chosen(files.size());
  std::map<int, std::vector<uint32_t>> levels;
  for (uint32_t i = 0; i < files.size(); i++) {
    levels[files[i].level].push_back(i);
  }
  const auto bytes = [&](const std::vector<uint32_t>& some) {
    return std::accumulate(
        some.begin(), some.end(), uint64_t{0},
        [&](uint64_t sum, uint32_t file) { return sum + files[file].bytes; });
  };
  std::vector<std::vector<uint32_t>> by_size;
  for (auto& [level, of_level] : levels) {
    std::sort(of_level.begin(), of_level.end(), [&](uint32_t a, uint32_t b) {
      return files[a].smallest < files[b].smallest;
    });
    by_size.push_back(std::move(of_level));
  }
  std::sort(by_size.begin(), by_size.end(),
            [&](const auto& a, const auto& b) { return bytes(a) < bytes(b); });
  uint64_t left = max_bytes;
  for (size_t i = 0; i < by_size.size(); i++) {
    const std::vector<uint32_t>& of_level = by_size[i];
    const uint64_t share = left / (by_size.size() - i);
    const uint64_t all = bytes(of_level);
    const double fraction =
        std::min(1.0, static_cast<double>(share) /
                          static_cast<double>(std::max<uint64_t>(all, 1)));
    const auto wanted = std::max<size_t>(
        1,
        static_cast<size_t>(fraction * static_cast<double>(of_level.size())));
    for (size_t n = 0; n < wanted; n++) {
      const uint32_t file =
          of_level[(2 * n + 1) * of_level.size() / (2 * wanted)];
      const uint64_t size = files[file].bytes;
      if (size > left) continue;
      chosen[file] = true;
      left -= size;
    }
  }
  return chosen;
}

}  // namespace ROCKSDB_NAMESPACE::protean
