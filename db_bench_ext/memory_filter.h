// SPDX-License-Identifier: Apache-2.0

//  A filter of any policy in memory, outside of a database.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "db_bench_ext/query_source.h"
#include "filter_policy/parted_filter.h"
#include "filter_policy/proteus/proteus.h"
#include "filter_policy/surf/surf.h"
#include "rocksdb/filter_policy.h"
#include "table/block_based/filter_policy_internal.h"

namespace ROCKSDB_NAMESPACE::protean {

// Builds the filter of `keys`, which ascend. `owner` owns the bytes of the
// result. Unless it is nullptr, `report` gets what a builder of Protean's
// reports.
Slice BuildFilter(const FilterPolicy& policy,
                  const std::vector<std::string>& keys,
                  std::unique_ptr<const char[]>* owner,
                  FilterReport* report = nullptr);

class MemoryFilter {
 public:
  // Builds and opens the filter of `keys`, which ascend. It does not refer to
  // them afterwards.
  MemoryFilter(std::shared_ptr<const FilterPolicy> policy,
               const std::vector<std::string>& keys);

  // RocksDB's filters cannot answer ranges: every range may match.
  bool MayMatch(const Query& query) const {
    if (query.lo == query.hi) return reader_->MayMatch(query.lo);
    return block_ == nullptr ||
           block_->RangeMayMatch(query.lo, query.hi, query.hi_inclusive);
  }

  const FilterPolicy& policy() const { return *policy_; }
  const Slice& contents() const { return contents_; }
  FilterBitsReader* reader() const { return reader_.get(); }
  // Nullptr for RocksDB's filters.
  const FilterBlock* block() const { return block_; }
  // The builder's report, with the design as the filter describes it; empty for
  // RocksDB's filters.
  const FilterReport& report() const { return report_; }
  // Nullptr for any other kind of filter.
  const Surf* surf() const { return surf_; }
  // The filter if it is a Proteus, 1PBF or 2PBF; nullptr for any other kind.
  const Proteus* proteus() const { return proteus_; }

  // Processor time.
  double build_ns() const { return build_ns_; }

 private:
  const std::shared_ptr<const FilterPolicy> policy_;
  std::unique_ptr<const char[]> owner_;
  Slice contents_;
  std::unique_ptr<FilterBitsReader> reader_;
  const FilterBlock* block_ = nullptr;
  const Surf* surf_ = nullptr;
  const Proteus* proteus_ = nullptr;
  FilterReport report_;
  double build_ns_ = 0;
};

}  // namespace ROCKSDB_NAMESPACE::protean
