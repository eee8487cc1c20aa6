// SPDX-License-Identifier: Apache-2.0

//  Fixes files whose filters are wrong, and whose data is intact, by rewriting
//  them.

#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "rocksdb/status.h"
#include "tools/output.h"
#include "tools/progress.h"
#include "tools/target.h"

namespace ROCKSDB_NAMESPACE::protean {

// Whether the DB of the target can be opened for writing at this moment. An
// error says why not, and what would work.
Status CheckFixable(const Target& target);

// Rewrites these files, by column family and name, with the DB's own options,
// and prints what became of each. Adds the number of those that could not be
// rewritten to `*unfixed`. Ctrl-C ends the work after the current file. Returns
// an error if the DB cannot be opened, or cannot be closed.
Status FixFiles(const Target& target,
                const std::vector<std::pair<std::string, std::string>>& files,
                std::ostream& err, Output* output, Progress* progress,
                uint64_t* unfixed);

}  // namespace ROCKSDB_NAMESPACE::protean
