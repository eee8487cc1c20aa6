// SPDX-License-Identifier: Apache-2.0

//  The tree as it will be once all of its files have been rewritten under a
//  policy whose filters share their memory: level_bits=kAuto (level_bits.h) or
//  filter_budget_bytes (filter_budget.h). The bits of a file depend on the
//  filters of all others, so files that are rewritten one after the other,
//  beginning under another policy, would reach their sizes only when all have
//  been rewritten several times. While a plan lives, each new file gets its
//  final size at once. Old filters that are larger take their memory until they
//  are rewritten.

#pragma once

#include <memory>
#include <vector>

#include "filter_policy/level_bits.h"
#include "filter_policy/open_db/tree_filters.h"

namespace ROCKSDB_NAMESPACE::protean {

class ProteanFilterPolicy;

// The bits per key that the policy would now give a file of the tree, which is
// of the DB with this Env; 0 if they do not depend on other files.
double BitsOfFileNow(const ProteanFilterPolicy& policy,
                     const TreeFilters::Tree& tree, const FileFilter& file,
                     Env* env);

class TreePlan {
 public:
  // Plans the tree, which has these files, whatever their bits are. Does
  // nothing if there are none, or if bits do not depend on other files.
  TreePlan(const ProteanFilterPolicy& policy, const TreeFilters::Tree& tree,
           const std::vector<FileFilter>& files);
  ~TreePlan();

  TreePlan(const TreePlan&) = delete;
  TreePlan& operator=(const TreePlan&) = delete;

  bool is_planned() const { return filters_ != nullptr; }

 private:
  std::shared_ptr<TreeFilters> filters_;
  const TreeFilters::Tree tree_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
