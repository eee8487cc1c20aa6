// SPDX-License-Identifier: Apache-2.0

//  The forms in which keys have times:
//
//    2026-01-01T12:34:56.789   with any separators or none, at any precision
//    1767270896789             seconds to nanoseconds since 1970, as decimal or
//                              hexadecimal digits, or as binary numbers of 32,
//                              48 or 64 bits, big endian; those of 64 bits
//                              may count down, for the newest key to be first
//    UUIDs                     of the versions 1, 6 and 7 (RFC 9562), printed
//                              with or without hyphens, or binary
//    ULIDs                     printed

#pragma once

#include <string>
#include <vector>

#include "filter_policy/proteus/prior/numeral.h"

namespace ROCKSDB_NAMESPACE::protean {

// The forms of the times that start at byte `start` of a key. If `printed`, all
// characters of all keys are printable.
std::vector<Numeral> FormsAt(const std::string& key, size_t start,
                             bool printed);

}  // namespace ROCKSDB_NAMESPACE::protean
