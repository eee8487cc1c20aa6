// SPDX-License-Identifier: Apache-2.0

//  The bits per key of one file's filter, if the filters have a budget: what
//  filter_budget.h decides, for the tree as it is known when the file's keys
//  have come.

#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "filter_policy/filter_budget.h"
#include "filter_policy/open_db/tree_filters.h"
#include "filter_policy/samples/sample_store.h"
#include "rocksdb/env.h"
#include "rocksdb/filter_policy.h"

namespace ROCKSDB_NAMESPACE::protean {

// ---- Tree plan ----

// The tree as it will be once all of its files have been rewritten under a
// policy whose filters share their memory: level_bits=kAuto (filter_budget.h)
// or filter_budget_bytes (filter_budget.h). The bits of a file depend on the
// filters of all others, so files that are rewritten one after the other,
// beginning under another policy, would reach their sizes only when all have
// been rewritten several times. While a plan lives, each new file gets its
// final size at once. Old filters that are larger take their memory until they
// are rewritten.

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

// ---- File budget ----

// What the log has been told about a budget, each once.
struct BudgetLog {
  std::atomic<bool> without_filter{false};
  std::atomic<bool> exceeded{false};
  std::atomic<bool> beyond_memory{false};
};

// Not thread safe.
class FileBudget {
 public:
  // The budget is `memory` bytes for all trees of `filters`. `context` need not
  // outlive the call, but its log must outlive this object. The log is absent
  // if the filter is built on trial: the file is then not counted as written,
  // and its column family alone tells which tree it belongs to.
  FileBudget(std::shared_ptr<TreeFilters> filters,
             std::shared_ptr<BudgetLog> log,
             std::shared_ptr<SampleStore> samples, uint64_t memory,
             const FilterBuildingContext& context, Env* env);

  // Bits per key over all trees, within the limits; `otherwise` if there are no
  // files.
  double AverageBits(double otherwise, double min, double max) const;

  // Returns the bits per key, or 0 for no filter, of a file that so far has
  // `keys` keys in this range. If `more_follow`, it is called again when the
  // file has more keys: the result changes if they have become twice as many as
  // was expected.
  double BitsFor(uint64_t keys, bool more_follow, const Slice& smallest,
                 const Slice& largest);

 private:
  void Plan(uint64_t keys, bool more_follow, const Slice& smallest,
            const Slice& largest);

  const std::shared_ptr<TreeFilters> filters_;
  const std::shared_ptr<BudgetLog> log_;
  const std::shared_ptr<SampleStore> samples_;
  const uint64_t memory_;
  Env* const env_;
  Logger* const info_log_;
  const bool is_flush_;
  const bool is_bottommost_;
  const bool is_universal_;
  TreeFilters::Tree tree_;
  FileFilter file_;            // as it has been counted
  uint64_t planned_keys_ = 0;  // 0 before the first plan
  double bits_per_key_ = 0;
};

}  // namespace ROCKSDB_NAMESPACE::protean
