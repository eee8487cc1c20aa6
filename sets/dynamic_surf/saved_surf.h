// SPDX-License-Identifier: Apache-2.0

//  The saved form of a SuRF with updates: everything that its parts hold.
//
//    offset  size
//         0     8   magic "PnDynSrf"
//         8     4   format version: 1
//        12     4   masked CRC-32C of all that follows
//        16    16   salt: the number of the file, and that of the process
//        32     8   size of the payload
//        40     8   number of tombstones
//        48     8   number of records
//        56         payload (surf.h)
//                   if there are tombstones, a bit for each leaf, in whole
//                   words of 8 bytes
//                   records in ascending order of their keys: the length of
//                   the key (varint), is_present + 2 * below (1 byte), the key
//
//  All numbers are little endian.

#pragma once

#include <memory>
#include <string>

#include "sets/dynamic_surf/front.h"
#include "sets/dynamic_surf/surf_part.h"

namespace ROCKSDB_NAMESPACE::protean {

std::string EncodeDynamicSurf(const FilterSalt& salt, const SurfPart& part,
                              const Front& front);

// Returns Corruption if `contents` are damaged, or were saved by a version that
// this one does not know.
Status DecodeDynamicSurf(Slice contents, FilterSalt* salt,
                         std::unique_ptr<SurfPart>* part, Front* front);

}  // namespace ROCKSDB_NAMESPACE::protean
