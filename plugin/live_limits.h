// SPDX-License-Identifier: Apache-2.0

//  What a refresh that an operator asks for may do: what the operator wants,
//  within what the application has allowed its FilterRefresher.

#pragma once

#include "plugin/refresh_filters.h"
#include "rocksdb/comparator.h"
#include "rocksdb/status.h"

namespace ROCKSDB_NAMESPACE::protean {

// Stores the options that both allow, without a progress function: of two
// limits, the stricter one; of two sets of files, those in both. All files are
// rewritten if either wants it; a dry run is one if either wants it. The
// application alone decides on parallelism and payback. `order` is that of the
// column family. Returns InvalidArgument, which says what the application
// allows, if no level or no key is in both.
Status LimitRefresh(const RefreshOptions& own, const RefreshOptions& asked,
                    const Comparator& order, RefreshOptions* limited);

}  // namespace ROCKSDB_NAMESPACE::protean
