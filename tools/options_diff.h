// SPDX-License-Identifier: Apache-2.0

//  The lines in which two texts differ.

#pragma once

#include <string>
#include <vector>

#include "rocksdb/rocksdb_namespace.h"

namespace ROCKSDB_NAMESPACE::protean {

// The lines of a longest common subsequence are left out; of the others, those
// of the old text begin with "- " and those of the new one with "+ ". Takes
// time in proportion to the product of the lines between the first and the last
// difference.
std::vector<std::string> DifferentLines(const std::string& old_text,
                                        const std::string& new_text);

}  // namespace ROCKSDB_NAMESPACE::protean
