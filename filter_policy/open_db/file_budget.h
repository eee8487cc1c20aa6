// SPDX-License-Identifier: Apache-2.0

//  The bits per key of one file's filter, if the filters have a budget: what
//  filter_budget.h decides, for the tree as it is known when the file's keys
//  have come.

#pragma once

#include <atomic>
#include <memory>

#include "filter_policy/open_db/tree_filters.h"
#include "filter_policy/samples/sample_store.h"
#include "rocksdb/filter_policy.h"

namespace ROCKSDB_NAMESPACE::protean {

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
