// SPDX-License-Identifier: Apache-2.0

//  Filters that are designed anew: where current queries would be denied by a
//  new filter, and are not by the old one.

#pragma once

#include "plugin/refresh_run.h"
#include "rocksdb/status.h"

namespace ROCKSDB_NAMESPACE::protean {

// Rewrites the files whose filters would do better if they were built now, as
// plugin/refresh_filters.h says. The column family has the table factory
// ProteanTable with a filter policy of Protean. Returns what RefreshFilters
// returns.
Status RedesignFilters(RefreshRun* run);

}  // namespace ROCKSDB_NAMESPACE::protean
