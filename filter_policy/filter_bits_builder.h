// SPDX-License-Identifier: Apache-2.0

//  The adapters between RocksDB, which gives a file's keys to a
//  FilterBitsBuilder, and the RangeFilterBuilder of a policy. None of them
//  keeps the keys of a large file until its end.
//
//  A whole filter is cut into segments (segmented_filter.h) where the builder
//  of the policy says that its keys take much memory. A file that needs no cut,
//  as nearly all do, has a plain filter.
//
//  A partitioned filter has one FilterBitsBuilder for all its parts: RocksDB
//  calls Finish between two keys wherever it cuts a part, and writes the parts
//  to the file after the last key. The parts of some filters are designed
//  together, which is why Finish may return a part that is filled in later: at
//  the latest when RocksDB, before it writes, asks how many keys have been
//  added since the last part and learns that there are none.

#pragma once

#include <functional>
#include <memory>

#include "filter_policy/building/finished_filter.h"
#include "filter_policy/filter_kinds.h"
#include "filter_policy/filter_properties.h"
#include "rocksdb/filter_policy.h"

namespace ROCKSDB_NAMESPACE::protean {

// Returns the builder of one file's filter. `kind` is that of the filter, and
// `new_builder` makes the builder of the file, or of a part or a segment of it.
// Unless `built` is nullptr, the properties of the filter are stored there when
// it is finished. All that `new_builder` refers to must outlive the
// result.
std::unique_ptr<FilterBitsBuilder> NewFilterBitsBuilder(
    FilterKind kind,
    std::function<std::unique_ptr<RangeFilterBuilder>()> new_builder,
    const FilterBuildingContext& context,
    std::shared_ptr<FinishedFilter> built);

}  // namespace ROCKSDB_NAMESPACE::protean
