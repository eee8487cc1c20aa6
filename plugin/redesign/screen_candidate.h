// SPDX-License-Identifier: Apache-2.0

//  Decides about files by their old filters, without reading their keys.

#pragma once

#include "plugin/redesign/redesign_state.h"
#include "rocksdb/status.h"

namespace ROCKSDB_NAMESPACE::protean {

// Decides about a file that needs no new filter: it is not asked, would get the
// filter that it has, or lets through too few queries. Otherwise finds the
// upper limit of what a new filter saves. Returns an error only if refreshing
// must end.
Status ScreenCandidate(RedesignState* state, RedesignCandidate* candidate);

}  // namespace ROCKSDB_NAMESPACE::protean
