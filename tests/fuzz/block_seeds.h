// SPDX-License-Identifier: Apache-2.0

//  Seeds of the targets that open blocks: blocks as builders write them, of
//  every encoding and every design, of one part and of several, with queries
//  about their keys.

#pragma once

#include <string>
#include <vector>

namespace ROCKSDB_NAMESPACE::protean {

std::vector<std::string> SurfSeeds();
std::vector<std::string> ProteusSeeds();
// Some of both kinds, and blocks without parts.
std::vector<std::string> EnvelopeSeeds();

}  // namespace ROCKSDB_NAMESPACE::protean
