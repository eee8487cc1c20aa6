// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/open_db/tree_plan.h"

#include <cstdlib>
#include <string>

#include "filter_policy/protean_filter_policy.h"
#include "rocksdb/convenience.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// The bits per key that the files of a tree have on average under a policy with
// level_bits=auto; 0 for other policies.
double AverageBits(const ProteanFilterPolicy& policy) {
  const ConfigOptions config;
  std::string text;
  if (policy.FilterMemory() > 0 ||
      !policy.GetOption(config, "level_bits", &text).ok() || text != "auto" ||
      !policy.GetOption(config, "bits_per_key", &text).ok()) {
    return 0;
  }
  return strtod(text.c_str(), nullptr);
}

}  // namespace

double BitsOfFileNow(const ProteanFilterPolicy& policy,
                     const TreeFilters::Tree& tree, const NewFile& file) {
  const double bits_per_key = AverageBits(policy);
  const auto filters = policy.Filters();
  if (bits_per_key <= 0 || filters == nullptr) return 0;
  return BitsOfFile(filters->FiltersOf(tree), file, bits_per_key);
}

TreePlan::TreePlan(const ProteanFilterPolicy& policy,
                   const TreeFilters::Tree& tree,
                   const std::vector<FileFilter>& files)
    : tree_(tree) {
  const double bits_per_key = AverageBits(policy);
  if (files.empty() || bits_per_key <= 0) return;
  filters_ = policy.Filters();
  if (filters_ != nullptr) {
    filters_->Plan(tree_, SettledTree(files, bits_per_key));
  }
}

TreePlan::~TreePlan() {
  if (filters_ != nullptr) filters_->EndPlan(tree_);
}

}  // namespace ROCKSDB_NAMESPACE::protean
