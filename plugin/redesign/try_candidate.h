// SPDX-License-Identifier: Apache-2.0

//  Finds out what a new filter would save, by reading the keys of a file.

#pragma once

#include "plugin/redesign/redesign_state.h"
#include "rocksdb/status.h"

namespace ROCKSDB_NAMESPACE::protean {

// Reads the file, builds its new filter in memory, and compares it with the old
// one. Decides about a file that is not worth a rewrite, and otherwise finds
// what the new filter saves. Returns an error only if refreshing must end.
Status TryCandidate(RedesignState* state, RedesignCandidate* candidate);

}  // namespace ROCKSDB_NAMESPACE::protean
