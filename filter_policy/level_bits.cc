// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/level_bits.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Sums over the sorted runs of a tree.
class Shape {
 public:
  Shape(const std::vector<FileFilter>& tree, double bits_per_key) {
    std::map<int, double> by_level;
    for (const FileFilter& file : tree) {
      by_level[file.level] += static_cast<double>(file.keys);
      bits_ += static_cast<double>(file.bits);
      const double more = static_cast<double>(file.bits) -
                          bits_per_key * static_cast<double>(file.keys);
      if (more > 0) {
        taken_ += more;
        takers_ += static_cast<double>(file.keys);
      }
    }
    for (const auto& [level, keys] : by_level) {
      keys_ += keys;
      down_to_[level] = keys_;
    }
    for (const FileFilter& file : tree) {
      if (file.keys == 0) continue;
      const auto keys = static_cast<double>(file.keys);
      mean_height_ +=
          Height(file.level == 0 ? keys : DownTo(file.level)) * keys / keys_;
    }
  }

  double keys() const { return keys_; }
  double bits() const { return bits_; }
  double mean_height() const { return mean_height_; }

  // The bits that files have beyond their share, per key of the other files.
  double taken() const { return taken_ / std::max(1.0, keys_ - takers_); }

  // The number of keys in a level and in all levels above it.
  double DownTo(int level) const {
    const auto below = down_to_.upper_bound(level);
    return below == down_to_.begin() ? 0 : std::prev(below)->second;
  }
  // The height of a run with the number of keys.
  double Height(double run) const {
    return run < keys_ ? std::log2(keys_ / run) : 0;
  }

 private:
  double keys_ = 0;
  double bits_ = 0;
  double mean_height_ = 0;
  double taken_ = 0;
  double takers_ = 0;
  std::map<int, double> down_to_;
};

}  // namespace

double BitsOfFile(const std::vector<FileFilter>& tree, const NewFile& file,
                  double bits_per_key) {
  if (file.level < 0 || file.keys == 0) return bits_per_key;
  const Shape shape(tree, bits_per_key);
  if (shape.keys() == 0) return bits_per_key;
  double run = static_cast<double>(file.keys);
  if (file.is_bottommost) {
    run = std::max(run, shape.keys());
  } else if (file.level > 0) {
    run = std::max(run, shape.DownTo(file.level));
  }
  // The last level has height 0, so it gives up the mean height.
  const double scale =
      std::min(1.0, kMaxGiven / std::max(kMaxGiven, shape.mean_height()));
  const double more =
      std::min(kMaxTaken, scale * (shape.Height(run) - shape.mean_height()));
  if (more <= 0) return bits_per_key - std::min(-more, shape.taken());
  // All files of the run may ask before the first of them is part of the tree,
  // so what is left is divided among all keys of the run.
  const double left =
      (1 + kTolerance) * bits_per_key * shape.keys() - shape.bits();
  return bits_per_key + std::clamp(left / run, 0.0, more);
}

// The result depends on the number of keys in the levels, not on which files
// they are in: a level counts as one.
std::vector<FileFilter> SettledTree(const std::vector<FileFilter>& files,
                                    double bits_per_key) {
  constexpr int kRewritten = 10;  // times, after which nothing changes
  std::vector<FileFilter> tree;
  std::map<int, uint64_t> levels;
  for (const FileFilter& file : files) {
    if (file.level > 0) {
      levels[file.level] += file.keys;
    } else {
      tree.push_back({file.level, file.keys, 0, "", ""});
    }
  }
  for (const auto& [level, keys] : levels) {
    tree.push_back({level, keys, 0, "", ""});
  }
  const auto set_bits = [](double per_key, FileFilter* file) {
    file->bits =
        static_cast<uint64_t>(per_key * static_cast<double>(file->keys));
  };
  for (FileFilter& file : tree) set_bits(bits_per_key, &file);
  for (int i = 0; i < kRewritten; i++) {
    for (FileFilter& file : tree) {
      set_bits(BitsOfFile(tree, {file.level, false, file.keys}, bits_per_key),
               &file);
    }
  }
  return tree;
}

uint64_t UsualKeys(const std::vector<FileFilter>& tree, int level) {
  uint64_t keys[2] = {0, 0};  // in all levels, and in this one
  uint64_t files[2] = {0, 0};
  for (const FileFilter& file : tree) {
    for (int i = 0; i <= (file.level == level ? 1 : 0); i++) {
      keys[i] += file.keys;
      files[i]++;
    }
  }
  const int chosen = files[1] > 0 ? 1 : 0;
  return files[chosen] == 0 ? 0 : keys[chosen] / files[chosen];
}

}  // namespace ROCKSDB_NAMESPACE::protean
