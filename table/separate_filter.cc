// SPDX-License-Identifier: Apache-2.0

#include "table/separate_filter.h"

#include "filter_policy/protean_filter_policy.h"
#include "rocksdb/comparator.h"

namespace ROCKSDB_NAMESPACE::protean {

bool FilterKnowsKeysInOrder(const BlockBasedFile& file) {
  const Comparator* const comparator = file.user_comparator();
  return (comparator == BytewiseComparator() ||
          comparator == BytewiseComparatorWithU64Ts()) &&
         file.whole_key_filtering();
}

std::shared_ptr<const SeparateFilter> SeparateFilter::Open(
    const BlockBasedFile& file) {
  if (file.filter_state() != BlockBasedFile::FilterState::kFull ||
      AsProteanFilterPolicy(file.filter_policy()) == nullptr) {
    return nullptr;
  }
  // Policies of Protean make no other readers.
  const FilterBlock& block =
      static_cast<const ProteanFilterBitsReader*>(file.GetHeldFilter())
          ->block();
  FilterReport report;
  const auto properties = file.table()->GetTableProperties();
  if (properties != nullptr) {
    report = ReportOf(properties->user_collected_properties);
  }
  // The first part tells more of the design.
  if (block.filter() != nullptr && block.directory().parts().size() == 1) {
    report.design = block.filter()->Report().design;
  }
  return std::shared_ptr<const SeparateFilter>(
      new SeparateFilter(block, std::move(report)));
}

}  // namespace ROCKSDB_NAMESPACE::protean
