// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/filter_budget.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace ROCKSDB_NAMESPACE::protean {

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

  // Takes a share of the file. Returns the bits that it loses.
  double Take(double share) {
    const double taken = share * bits;
    keys -= share * keys;
    bits -= taken;
    return taken;
  }
};

// The files of a tree when all that is being written is part of it.
class TreeAfter {
 public:
  explicit TreeAfter(const BudgetedTree& tree) : queries_(tree.queries) {
    for (const FileFilter& file : tree.files) Add(file);
    for (const FileFilter& file : tree.written) {
      if (file.level > 0) Replace(file);
      Add(file);
    }
  }

  void Add(const FileFilter& file) {
    files_.push_back({&file, static_cast<double>(file.keys),
                      static_cast<double>(file.bits)});
    keys_[file.level] += static_cast<double>(file.keys);
  }

  // Takes the keys that a compaction has written from the files that it
  // replaces. Returns the number of bits that they lose.
  double Replace(const FileFilter& by) {
    const auto keys = static_cast<double>(by.keys);
    // The level from which the compaction is likely to come.
    const auto level = keys_.lower_bound(by.level);
    const int above = level == keys_.begin() ? -1 : std::prev(level)->first;
    const double in_level = KeysOf(by.level);
    const double in_above = KeysOf(above);
    Group within, edges, source, further;
    for (Remains& remains : files_) {
      const FileFilter& old = *remains.file;
      if (remains.keys <= 0 || old.level > by.level || !Overlap(old, by)) {
        continue;
      }
      Group* const group =
          old.level == by.level
              ? (old.level > 0 && Contains(by, old) ? &within : &edges)
              : (old.level == above ? &source : &further);
      group->Add(&remains);
    }
    double left = keys;
    const auto take = [&left](Group* group, double least, double number) {
      const double taken = std::clamp(number, least, group->keys);
      left -= taken;
      return group->Take(taken);
    };
    double bits = take(&within, within.keys, within.keys);
    const double share = in_above / std::max(1.0, in_above + in_level);
    const double from_above = std::clamp(share * left, 0.0, source.keys);
    bits += by.level == 0 ? edges.TakeFewestBits(left)
                          : take(&edges, 0, left - from_above);
    bits += take(&source, from_above, left);
    bits += take(&further, 0, left);
    for (auto& [number, sum] : keys_) sum = 0;
    for (const Remains& file : files_) keys_[file.file->level] += file.keys;
    return bits;
  }

  const std::vector<Remains>& files() const { return files_; }

  // The weight of a file: log2 of the questions per key, but for a constant. A
  // file of level 0 is a run of its own.
  double WeightOf(const FileFilter& file, uint64_t keys_in_range) const {
    const auto keys = static_cast<double>(file.keys);
    const double run =
        std::max({1.0, keys, file.level == 0 ? 0 : KeysOf(file.level)});
    return HeatOf(file, static_cast<double>(keys_in_range) / run, queries_) -
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
    // Takes `number` keys, and returns their bits.
    double Take(double number) {
      if (number <= 0) return 0;
      double bits = 0;
      for (Remains* file : files) bits += file->Take(number / keys);
      return bits;
    }
    // Takes the keys from the files with the fewest bits per key.
    double TakeFewestBits(double number) {
      std::sort(files.begin(), files.end(),
                [](const Remains* a, const Remains* b) {
                  return a->bits * b->keys < b->bits * a->keys;
                });
      double bits = 0;
      for (Remains* file : files) {
        const double taken = std::min(number, file->keys);
        number -= taken;
        bits += file->Take(taken / file->keys);
      }
      return bits;
    }
  };

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

  const std::vector<std::string>& queries_;
  std::vector<Remains> files_;
  std::map<int, double> keys_;  // by level
};

// What the line gives to a file of this weight: 0, or bits per key within the
// limits.
double BitsAt(double line, double weight) {
  static const double least_line = std::log2(
      kMinBudgetedBits * std::log(2.0) / (1 - std::exp2(-kMinBudgetedBits)));
  const double bits = line + weight;
  return bits < least_line
             ? 0
             : std::clamp(bits, kMinBudgetedBits, kMaxBudgetedBits);
}

// All files that share the budget, the last of which is the new one.
class Allocation {
 public:
  void Add(const Remains& file, double weight, bool is_fixed) {
    if (file.keys < 1) return;
    held_ += file.bits;
    files_.push_back({file.keys, file.bits / file.keys, weight, is_fixed});
  }
  double held() const { return held_; }
  double keys() const {
    double keys = 0;
    for (const File& file : files_) keys += file.keys;
    return keys;
  }

  // What the new file would get if no file had a filter yet.
  double Ideal(double budget) const {
    const auto total = [this](double line) {
      double bits = 0;
      for (const File& file : files_) {
        bits += file.keys * BitsAt(line, file.weight);
      }
      return bits;
    };
    return BitsAt(Fill(total, budget).below, files_.back().weight);
  }

  // What the new file gets if each file keeps what it has.
  double NewFile(double budget) const {
    const File& added = files_.back();
    const auto total = [&](double line) {
      double bits = 0;
      for (const File& file : files_) {
        bits +=
            file.keys * std::max(file.bits_per_key,
                                 file.is_fixed ? 0 : BitsAt(line, file.weight));
      }
      return bits;
    };
    const Line line = Fill(total, budget);
    const double bits = BitsAt(line.below, added.weight);
    // Several files may get the minimum at the same line. The new one is the
    // first of them.
    if (bits == 0 && BitsAt(line.above, added.weight) > 0 &&
        total(line.below) + kMinBudgetedBits * added.keys <= budget) {
      return kMinBudgetedBits;
    }
    return bits;
  }

 private:
  struct File {
    double keys;
    double bits_per_key;  // that it has
    double weight;        // log2 of the questions per key
    bool is_fixed;        // it has no claim
  };
  // Two lines next to each other, of which one is within the budget.
  struct Line {
    double below;
    double above;
  };

  template <class Total>
  static Line Fill(const Total& total, double budget) {
    // A weight is between -64, that of 2^64 keys, and 0, but for the heat.
    Line line = {-kMaxHeat, kMaxBudgetedBits + 64 + kMaxHeat};
    if (total(line.above) <= budget) return {line.above, line.above};
    constexpr int kSteps = 40;
    for (int i = 0; i < kSteps; i++) {
      const double middle = (line.below + line.above) / 2;
      (total(middle) <= budget ? line.below : line.above) = middle;
    }
    return line;
  }

  std::vector<File> files_;
  double held_ = 0;
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
  BudgetedBits planned;
  const FileFilter& file = added.file;
  if (file.keys == 0) return planned;
  const auto keys = static_cast<double>(file.keys);
  Allocation all;
  double replaced = 0;
  double weight = 0;
  for (size_t i = 0; i < trees.size(); i++) {
    TreeAfter after(trees[i]);
    if (i == tree) {
      if (!added.is_flush) {
        FileFilter run = added.before;
        AddTo(&run, file);
        replaced = after.Replace(run);
        after.Add(added.before);
      }
      after.Add(file);
      weight = after.WeightOf(
          file, added.keys_in_range > 0 ? added.keys_in_range : file.keys);
    }
    for (const Remains& old : after.files()) {
      if (old.file == &file) continue;
      all.Add(old, after.WeightOf(*old.file, old.file->keys),
              old.file == &added.before);
    }
  }
  all.Add({&file, keys, 0}, weight, false);

  const double ideal = all.Ideal(budget);
  // The bits per key that add nothing to what all filters take now.
  const double returned =
      std::max(0.0, replaced - static_cast<double>(added.before.bits)) / keys;
  const double left =
      std::max(0.0, (1 + kTolerance) * budget - all.held()) / keys;
  if (added.is_flush) {
    planned.per_key = std::min({all.NewFile((1 + kFlushTolerance) * budget),
                                left, ideal + kMaxAboveIdeal});
  } else {
    const double most = (1 - kReserve) * budget;
    const double excess = all.held() + returned * keys - most;
    const double relieved = (static_cast<double>(added.before.keys) + keys) /
                            (kReliefShare * all.keys());
    if (excess > 0 && relieved < 1) {
      planned.per_key = std::min({all.NewFile(most + (1 - relieved) * excess),
                                  std::max(left, returned), ideal});
    } else {
      planned.per_key =
          std::min({all.NewFile(most), left, ideal + kMaxAboveIdeal});
    }
  }
  if (planned.per_key >= kMinBudgetedBits) return planned;
  planned.outgrown = ideal == 0;
  const bool has_room = kMinBudgetedBits <= std::max(left, returned);
  planned.per_key = !planned.outgrown && has_room ? kMinBudgetedBits : 0;
  return planned;
}

}  // namespace ROCKSDB_NAMESPACE::protean
