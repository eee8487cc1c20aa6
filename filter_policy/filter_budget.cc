// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/filter_budget.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace ROCKSDB_NAMESPACE::protean {

// ---- Level bits ----

namespace {

// Sums over the sorted runs of a tree.
struct Shape {
  Shape(const std::vector<FileFilter>& tree, double bits_per_key) {
    double more_bits = 0;
    double takers = 0;  // keys of files that have more than their share
    for (const FileFilter& file : tree) {
      const auto file_keys = static_cast<double>(file.keys);
      const auto file_bits = static_cast<double>(file.bits);
      down_to[file.level] += file_keys;
      bits += file_bits;
      if (file_bits > bits_per_key * file_keys) {
        more_bits += file_bits - bits_per_key * file_keys;
        takers += file_keys;
      }
    }
    for (auto& [level, of_level] : down_to) {
      keys += of_level;
      of_level = keys;
    }
    taken = more_bits / std::max(1.0, keys - takers);
    for (const FileFilter& file : tree) {
      if (file.keys == 0) continue;
      const auto run = static_cast<double>(file.keys);
      mean_height +=
          Height(file.level == 0 ? run : DownTo(file.level)) * run / keys;
    }
  }

  // The number of keys in a level and in all levels above it.
  double DownTo(int level) const {
    const auto below = down_to.upper_bound(level);
    return below == down_to.begin() ? 0 : std::prev(below)->second;
  }
  // The height of a run with the number of keys.
  double Height(double run) const {
    return run < keys ? std::log2(keys / run) : 0;
  }

  double keys = 0;
  double bits = 0;
  double mean_height = 0;
  double taken = 0;  // bits beyond their share, per key of the other files
  std::map<int, double> down_to;
};

}  // namespace

double BitsOfFile(const std::vector<FileFilter>& tree, const FileFilter& file,
                  bool is_bottommost, double bits_per_key) {
  if (file.level < 0 || file.keys == 0) return bits_per_key;
  const Shape shape(tree, bits_per_key);
  if (shape.keys == 0) return bits_per_key;
  double run = static_cast<double>(file.keys);
  if (is_bottommost) {
    run = std::max(run, shape.keys);
  } else if (file.level > 0) {
    run = std::max(run, shape.DownTo(file.level));
  }
  // The last level has height 0, so it gives up the mean height.
  const double scale =
      std::min(1.0, kMaxGiven / std::max(kMaxGiven, shape.mean_height));
  const double more =
      std::min(kMaxTaken, scale * (shape.Height(run) - shape.mean_height));
  if (more <= 0) return bits_per_key - std::min(-more, shape.taken);
  // All files of the run may ask before the first of them is part of the tree,
  // so what is left is divided among all keys of the run.
  const double left = (1 + kTolerance) * bits_per_key * shape.keys - shape.bits;
  return bits_per_key + std::clamp(left / run, 0.0, more);
}

std::vector<FileFilter> SettledTree(const std::vector<FileFilter>& files,
                                    double bits_per_key) {
  constexpr int kRewritten = 10;  // times, after which nothing changes
  std::vector<FileFilter> tree;
  for (const FileFilter& file : files) {
    const auto level =
        std::find_if(tree.begin(), tree.end(), [&file](const FileFilter& f) {
          return f.level > 0 && f.level == file.level;
        });
    if (level == tree.end()) {
      tree.push_back({file.level, file.keys, 0, "", ""});
    } else {
      level->keys += file.keys;
    }
  }
  const auto set_bits = [](double per_key, FileFilter* file) {
    file->bits =
        static_cast<uint64_t>(per_key * static_cast<double>(file->keys));
  };
  for (FileFilter& file : tree) set_bits(bits_per_key, &file);
  for (int i = 0; i < kRewritten; i++) {
    for (FileFilter& file : tree) {
      set_bits(BitsOfFile(tree, file, /*is_bottommost=*/false, bits_per_key),
               &file);
    }
  }
  return tree;
}

uint64_t UsualKeys(const std::vector<FileFilter>& tree, int level) {
  uint64_t keys = 0;
  uint64_t keys_in_level = 0;
  uint64_t files_in_level = 0;
  for (const FileFilter& file : tree) {
    keys += file.keys;
    if (file.level != level) continue;
    keys_in_level += file.keys;
    files_in_level++;
  }
  if (files_in_level > 0) return keys_in_level / files_in_level;
  return tree.empty() ? 0 : keys / tree.size();
}

// ---- Filter budget ----

namespace {

// The heat of a file that has `part` of its sorted run's keys.
double HeatOf(const FileFilter& file, double part,
              const std::vector<std::string>& queries) {
  if (file.largest.empty()) return 0;
  const auto begin =
      std::lower_bound(queries.begin(), queries.end(), file.smallest);
  const auto end = std::upper_bound(begin, queries.end(), file.largest);
  const auto asked = static_cast<double>(end - begin);
  const double expected = part * static_cast<double>(queries.size());
  return std::clamp(
      std::log2((asked + kPriorQueries) / (expected + kPriorQueries)),
      -kMaxHeat, kMaxHeat);
}

// A file, or what compactions leave of it.
struct Remains {
  const FileFilter* file;
  double keys;
  double bits;

  void Take(double number) {
    const double share = keys > 0 ? std::min(1.0, number / keys) : 0;
    keys -= share * keys;
    bits -= share * bits;
  }
};

// The files of a tree when all that is being written is part of it.
class TreeAfter {
 public:
  explicit TreeAfter(const BudgetedTree& tree) : tree_(tree) {
    for (const auto& file : tree.files) Add(*file);
    for (const FileFilter& file : tree.written) {
      if (file.level > 0) Replace(file, /*is_bottommost=*/false);
      Add(file);
    }
    expected_ = tree.expected_keys;
  }

  void Add(const FileFilter& file) {
    files_.push_back({&file, static_cast<double>(file.keys),
                      static_cast<double>(file.bits)});
    keys_[file.level] += static_cast<double>(file.keys);
  }

  // Takes the keys that a compaction has written from the files that it
  // replaces, and expects those of the emptied runs to come again.
  void Replace(const FileFilter& by, bool is_bottommost) {
    const double all_keys = keys();
    const double in_level = KeysOf(by.level);
    const double below = KeysFrom(by.level + 1);
    const auto written = static_cast<double>(by.keys);
    if (tree_.is_universal && by.level > 0) {
      TakeRuns(by.level);
      to_come_ = std::max(0.0, all_keys - below - written);
    } else if (by.level > 0) {
      TakeOverlapping(by);
    } else if (is_bottommost) {
      TakeRuns(0);
    } else {
      TakeSmallest(written);
    }
    keys_.clear();
    for (const Remains& file : files_) keys_[file.file->level] += file.keys;
    const double above = keys() - KeysFrom(by.level);
    const double emptied = all_keys - in_level - below - above;
    const double expected =
        all_keys + std::clamp(emptied, 0.0, by.level > 0 ? in_level : 0.0);
    expected_ = is_bottommost ? expected : std::max(expected_, expected);
  }

  // Returns true if the file overlaps no other. It will be moved to the last
  // run, not compacted, as if keys ascend.
  bool Joins(const FileFilter& file) const {
    return IsKnown(file) && !keys_.empty() &&
           std::none_of(files_.begin(), files_.end(), [&](const Remains& old) {
             return old.file != &file && Overlap(*old.file, file);
           });
  }

  const std::vector<Remains>& files() const { return files_; }
  double keys() const { return KeysFrom(0); }
  // The number of keys that the present compaction has yet to write.
  double to_come() const { return to_come_; }
  // The number of keys that the tree is planned for, and of those, how many are
  // not there yet.
  double expected() const { return std::max(expected_, keys() + to_come_); }
  double missing() const { return expected() - keys() - to_come_; }

  // The weight of a file: log2 of the questions per key, but for a constant. A
  // file of level 0 is a run of its own, unless it `joins` the last run.
  double WeightOf(const FileFilter& file, uint64_t keys_in_range,
                  bool joins = false) const {
    const auto keys = static_cast<double>(file.keys);
    const double run =
        std::max({1.0, keys,
                  joins             ? keys_.rbegin()->second
                  : file.level == 0 ? 0
                                    : KeysOf(file.level) + to_come_});
    return HeatOf(file, static_cast<double>(keys_in_range) / run,
                  tree_.queries) -
           std::log2(run);
  }

 private:
  // Files that lose the same share.
  struct Group {
    std::vector<Remains*> files;
    double keys = 0;

    void Add(Remains* file) {
      files.push_back(file);
      keys += file->keys;
    }
    // Takes `number` keys, or all if they are fewer, and returns how many.
    double Take(double number) {
      number = std::clamp(number, 0.0, keys);
      if (number == 0) return 0;
      const double share = number / keys;
      for (Remains* file : files) file->Take(share * file->keys);
      return number;
    }
  };

  // Takes all runs down to a level.
  void TakeRuns(int level) {
    for (Remains& file : files_) {
      if (file.file->level <= level) file.Take(file.keys);
    }
  }

  // Takes the keys of `by` from the files that it overlaps.
  void TakeOverlapping(const FileFilter& by) {
    // The level from which the compaction is likely to come.
    const auto level = keys_.lower_bound(by.level);
    const int above = level == keys_.begin() ? -1 : std::prev(level)->first;
    Group within, edges, source, further;
    for (Remains& remains : files_) {
      const FileFilter& old = *remains.file;
      if (remains.keys <= 0 || old.level > by.level || !Overlap(old, by)) {
        continue;
      }
      Group* const group = old.level == by.level
                               ? (Contains(by, old) ? &within : &edges)
                               : (old.level == above ? &source : &further);
      group->Add(&remains);
    }
    const double in_level = KeysOf(by.level);
    const double in_above = KeysOf(above);
    double left = static_cast<double>(by.keys) - within.Take(within.keys);
    const double share = in_above / std::max(1.0, in_above + in_level);
    const double from_above = std::clamp(share * left, 0.0, source.keys);
    left -= edges.Take(left - from_above);
    left -= source.Take(std::max(left, from_above));
    further.Take(left);
  }

  // Takes the keys from the smallest runs of level 0.
  void TakeSmallest(double number) {
    std::vector<Remains*> runs;
    for (Remains& file : files_) {
      if (file.file->level == 0) runs.push_back(&file);
    }
    std::sort(runs.begin(), runs.end(), [](const Remains* a, const Remains* b) {
      return a->keys < b->keys;
    });
    for (Remains* file : runs) {
      const double taken = std::min(number, file->keys);
      number -= taken;
      file->Take(taken);
    }
  }

  static bool IsKnown(const FileFilter& file) {
    return !file.smallest.empty() || !file.largest.empty();
  }
  static bool Overlap(const FileFilter& a, const FileFilter& b) {
    return !IsKnown(a) || !IsKnown(b) ||
           (a.smallest <= b.largest && b.smallest <= a.largest);
  }
  static bool Contains(const FileFilter& outer, const FileFilter& inner) {
    return IsKnown(outer) && IsKnown(inner) &&
           outer.smallest <= inner.smallest && inner.largest <= outer.largest;
  }

  double KeysOf(int level) const {
    const auto found = keys_.find(level);
    return found == keys_.end() ? 0 : found->second;
  }
  double KeysFrom(int level) const {
    double sum = 0;
    for (auto it = keys_.lower_bound(level); it != keys_.end(); ++it) {
      sum += it->second;
    }
    return sum;
  }

  const BudgetedTree& tree_;
  std::vector<Remains> files_;
  std::map<int, double> keys_;  // by level
  double to_come_ = 0;
  double expected_ = 0;
};

// All keys that share the budget: those that have a filter, and those that are
// to get one.
class Allocation {
 public:
  void Hold(double keys, double weight, double bits) {
    if (keys < 1) return;
    real_keys_ += keys;
    held_ += bits;
    Share& share = shares_[Rounded(weight)];
    share.keys += keys;
    share.held += bits;
  }
  // Keys that have no filter yet. Expected keys may never come.
  void Need(double keys, double weight, bool is_expected) {
    if (keys < 1) return;
    if (!is_expected) real_keys_ += keys;
    Share& share = shares_[Rounded(weight)];
    share.keys += keys;
    share.without += keys;
  }

  // Returns the bits per key of keys of this weight, which are among those that
  // need a filter.
  BudgetedBits Plan(double keys, double weight, double budget) const {
    weight = Rounded(weight);
    // Every key has the minimum, or the tree has outgrown the budget.
    const double least =
        real_keys_ * kMinBudgetedBits <= budget ? kMinBudgetedBits : 0;
    Line line = Fill(budget, least);
    BudgetedBits planned;
    planned.excess =
        std::max(0.0, held_ - budget + Sum([&](double of, const Share& share) {
                        return share.without * BitsAt(line.below, of, least);
                      }));
    line = Fill(budget - kExcessGain * planned.excess, least);
    planned.per_key = BitsAt(line.below, weight, least);
    if (planned.per_key > 0 || BitsAt(line.above, weight, least) == 0) {
      return planned;
    }
    // Several files may get the minimum at the same line. The new one is the
    // first of them, if the others leave it.
    const double others = Sum([&](double of, const Share& share) {
      return std::max(share.held, share.keys * BitsAt(line.below, of, least));
    });
    if (others + kMinBudgetedBits * keys <= budget) {
      planned.per_key = kMinBudgetedBits;
    }
    return planned;
  }

 private:
  // All keys of one weight.
  struct Share {
    double keys = 0;
    double without = 0;  // those of the keys that have no filter
    double held = 0;     // bits of the others
  };
  // Two lines next to each other, of which one is within the budget.
  struct Line {
    double below;
    double above;
  };

  // A tree of many files has few different weights.
  static double Rounded(double weight) {
    constexpr double kSteps = 256;
    return std::ceil(kSteps * weight) / kSteps;
  }

  // Returns the bits per key of a file of this weight: `least`, or what the
  // line gives within the limits.
  static double BitsAt(double line, double weight, double least) {
    static const double least_line = std::log2(
        kMinBudgetedBits * std::log(2.0) / (1 - std::exp2(-kMinBudgetedBits)));
    const double bits = line + weight;
    return bits < least_line
               ? least
               : std::clamp(bits, kMinBudgetedBits, kMaxBudgetedBits);
  }

  template <class Function>
  double Sum(const Function& of_share) const {
    double sum = 0;
    for (const auto& [weight, share] : shares_) sum += of_share(weight, share);
    return sum;
  }

  Line Fill(double budget, double least) const {
    const auto fits = [&](double line) {
      return Sum([&](double weight, const Share& share) {
               return share.keys * BitsAt(line, weight, least);
             }) <= budget;
    };
    // A weight is between -64, that of 2^64 keys, and 0, but for the heat.
    Line line = {-kMaxHeat, kMaxBudgetedBits + 64 + kMaxHeat};
    if (fits(line.above)) return {line.above, line.above};
    constexpr int kSteps = 40;
    for (int i = 0; i < kSteps; i++) {
      const double middle = (line.below + line.above) / 2;
      (fits(middle) ? line.below : line.above) = middle;
    }
    return line;
  }

  std::map<double, Share> shares_;  // by weight: log2 of the questions per key
  double real_keys_ = 0;
  double held_ = 0;  // bits
};

}  // namespace

void AddTo(FileFilter* sum, const FileFilter& file) {
  if (sum->keys == 0 || file.smallest < sum->smallest) {
    sum->smallest = file.smallest;
  }
  if (sum->keys == 0 || file.largest > sum->largest) {
    sum->largest = file.largest;
  }
  sum->level = file.level;
  sum->keys += file.keys;
  sum->bits += file.bits;
}

BudgetedBits PlanBits(const std::vector<BudgetedTree>& trees, size_t tree,
                      const BudgetedFile& added, double budget) {
  const FileFilter& file = added.file;
  if (file.keys == 0) return {};
  const auto keys = static_cast<double>(file.keys);
  Allocation all;
  double weight = 0;
  double expected_keys = 0;
  for (size_t i = 0; i < trees.size(); i++) {
    TreeAfter after(trees[i]);
    if (i == tree) {
      if (!added.is_flush) {
        FileFilter run = added.before;
        AddTo(&run, file);
        after.Replace(run, added.is_bottommost);
        after.Add(added.before);
      }
      after.Add(file);
      weight = after.WeightOf(
          file, added.keys_in_range > 0 ? added.keys_in_range : file.keys,
          added.is_flush && after.Joins(file));
      expected_keys = after.expected();
      all.Need(keys, weight, /*is_expected=*/false);
      all.Need(after.to_come(), weight, /*is_expected=*/false);
    }
    for (const Remains& old : after.files()) {
      if (old.file == &file) continue;
      all.Hold(old.keys, after.WeightOf(*old.file, old.file->keys), old.bits);
    }
    all.Need(after.missing(), -std::log2(std::max(1.0, after.missing())),
             /*is_expected=*/true);
  }
  BudgetedBits planned = all.Plan(keys, weight, budget);
  planned.expected_keys = expected_keys;
  return planned;
}

}  // namespace ROCKSDB_NAMESPACE::protean
