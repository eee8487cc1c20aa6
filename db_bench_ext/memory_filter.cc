// SPDX-License-Identifier: Apache-2.0

#include "db_bench_ext/memory_filter.h"

#include "db_bench_ext/stopwatch.h"
#include "filter_policy/protean_filter_policy.h"
#include "rocksdb/table.h"

namespace ROCKSDB_NAMESPACE::protean {

Slice BuildFilter(const FilterPolicy& policy,
                  const std::vector<std::string>& keys,
                  std::unique_ptr<const char[]>* owner, FilterReport* report) {
  const BlockBasedTableOptions table_options;
  const FilterBuildingContext context(table_options);
  const ProteanFilterPolicy* const own = AsProteanFilterPolicy(&policy);
  const auto built = std::make_shared<FinishedFilter>();
  const std::unique_ptr<FilterBitsBuilder> builder(
      own == nullptr
          ? policy.GetBuilderWithContext(context)
          : own->NewBuilder(context, Env::Default(), kUsualPrice, built));
  for (const std::string& key : keys) builder->AddKey(key);
  const Slice contents = builder->Finish(owner);
  if (own != nullptr && report != nullptr)
    *report = ReportOf(built->properties);
  return contents;
}

MemoryFilter::MemoryFilter(std::shared_ptr<const FilterPolicy> policy,
                           const std::vector<std::string>& keys)
    : policy_(std::move(policy)) {
  const CpuStopwatch stopwatch;
  contents_ = BuildFilter(*policy_, keys, &owner_, &report_);
  build_ns_ = 1e9 * stopwatch.Seconds();
  reader_.reset(policy_->GetFilterBitsReader(contents_));
  const ProteanFilterPolicy* own = AsProteanFilterPolicy(policy_.get());
  if (own == nullptr) return;
  block_ = &static_cast<ProteanFilterBitsReader*>(reader_.get())->block();
  if (block_->filter() == nullptr) return;
  // The filter tells more of its design.
  report_.design = block_->filter()->Report().design;
  // A policy may have fallen back to a block without a filter.
  const FilterKind kind = block_->header().kind;
  if (kind == kSurfKind) surf_ = static_cast<const Surf*>(block_->filter());
  if (kind == kProteusKind) {
    proteus_ = static_cast<const Proteus*>(block_->filter());
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
