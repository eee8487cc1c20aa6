// SPDX-License-Identifier: Apache-2.0

//  Chooses some of a column family's files, to stand for all of them.

#pragma once

#include <cstdint>
#include <vector>

#include "tools/target.h"

namespace ROCKSDB_NAMESPACE::protean {

// For each file, whether it is chosen; the chosen ones have at most `max_bytes`
// in all. Takes small levels completely, as long as each level gets its share;
// from larger levels, files at even distances.
std::vector<bool> ChooseFiles(const std::vector<TargetFile>& files,
                              uint64_t max_bytes);

}  // namespace ROCKSDB_NAMESPACE::protean
