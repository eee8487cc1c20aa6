// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/filter_bits_builder.h"

#include <utility>

#include "filter_policy/building/partitioned_filter_builder.h"
#include "filter_policy/building/whole_filter_builder.h"

namespace ROCKSDB_NAMESPACE::protean {

std::unique_ptr<FilterBitsBuilder> NewFilterBitsBuilder(
    FilterKind kind,
    std::function<std::unique_ptr<RangeFilterBuilder>()> new_builder,
    const FilterBuildingContext& context,
    std::shared_ptr<FinishedFilter> built) {
  if (context.table_options.partition_filters) {
    return std::make_unique<PartitionedFilterBuilder>(
        kind, std::move(new_builder), context, std::move(built));
  }
  return std::make_unique<WholeFilterBuilder>(kind, std::move(new_builder),
                                              context, std::move(built));
}

}  // namespace ROCKSDB_NAMESPACE::protean
