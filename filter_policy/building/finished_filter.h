// SPDX-License-Identifier: Apache-2.0

//  What the builder of a file's filter leaves behind.

#pragma once

#include "filter_policy/open_db/build_counts.h"
#include "rocksdb/table_properties.h"

namespace ROCKSDB_NAMESPACE::protean {

struct FinishedFilter {
  // The properties of the filter (filter_properties.h); empty before it is
  // finished.
  UserCollectedProperties properties;
  BuildCounts counts;
};

}  // namespace ROCKSDB_NAMESPACE::protean
