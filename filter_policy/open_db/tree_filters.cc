// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/open_db/tree_filters.h"

#include <set>

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// All objects of this process. Its mutex is locked before theirs.
struct AllTreeFilters {
  std::mutex mutex;
  std::set<const TreeFilters*> all;
};

AllTreeFilters& All() {
  static auto* const all = new AllTreeFilters;
  return *all;
}

}  // namespace

TreeFilters::TreeFilters() {
  const Lock lock(All().mutex);
  All().all.insert(this);
}

TreeFilters::~TreeFilters() {
  const Lock lock(All().mutex);
  All().all.erase(this);
}

std::vector<TreeFilters::Tree> TreeFilters::TreesWith(const Tree& tree) const {
  const Lock lock(mutex_);
  std::vector<Tree> trees;
  for (auto file = files_.begin(); file != files_.end();
       file = files_.upper_bound(file->first)) {
    if (file->first < tree || tree < file->first) trees.push_back(file->first);
  }
  trees.push_back(tree);
  return trees;
}

TreeFilters::Tree TreeFilters::FindTree(
    const std::string& column_family) const {
  const Lock lock(mutex_);
  const Tree unknown = {nullptr, column_family};
  Tree found = unknown;
  for (auto file = files_.begin(); file != files_.end();
       file = files_.upper_bound(file->first)) {
    if (file->first.column_family != column_family) continue;
    if (found.info_log != nullptr) return unknown;
    found = file->first;
  }
  return found;
}

BudgetedTree TreeFilters::Budgeted(const Tree& tree, int level,
                                   FileFilter* before) const {
  BudgetedTree result;
  {
    const Lock lock(mutex_);
    const auto plan = plans_.find(tree);
    if (plan != plans_.end()) {
      for (const FileFilter& file : plan->second) {
        result.files.push_back(std::make_shared<const FileFilter>(file));
      }
      return result;
    }
  }
  const Lock lock_all(All().mutex);
  for (const TreeFilters* filters : All().all) {
    // Without a log, trees of different DBs are not told apart.
    if (filters != this && tree.info_log == nullptr) continue;
    const Lock lock(filters->mutex_);
    const auto range = filters->files_.equal_range(tree);
    for (auto file = range.first; file != range.second; ++file) {
      result.files.push_back(file->second);
    }
    const auto expected = filters->expected_keys_.find(tree);
    if (filters == this && expected != filters->expected_keys_.end()) {
      result.expected_keys = expected->second;
    }
    const auto written = filters->written_.find(tree);
    if (written == filters->written_.end()) continue;
    for (const auto& [writer, sum] : written->second) {
      if (writer == std::make_pair(level, std::this_thread::get_id())) {
        AddTo(before, sum);
      } else {
        result.written.push_back(sum);
      }
    }
  }
  return result;
}

void TreeFilters::AddWritten(const Tree& tree, const FileFilter& file) {
  const Lock lock(mutex_);
  AddTo(&written_[tree][{file.level, std::this_thread::get_id()}], file);
}

TreeFilters::Files::iterator TreeFilters::Add(Tree tree,
                                              const FileFilter& file) {
  const Lock lock(mutex_);
  const auto written = written_.find(tree);
  if (written != written_.end()) {
    auto& sums = written->second;
    for (auto sum = sums.begin(); sum != sums.end();) {
      sum = sum->first.first == file.level ? sums.erase(sum) : std::next(sum);
    }
    if (sums.empty()) written_.erase(written);
  }
  return files_.emplace(std::move(tree),
                        std::make_shared<const FileFilter>(file));
}

}  // namespace ROCKSDB_NAMESPACE::protean
