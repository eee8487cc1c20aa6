// SPDX-License-Identifier: Apache-2.0

//  Merges a front into the static part of a SuRF with updates.
//
//  Both are walked in the order of their keys. Leaves go from the old SuRF to
//  the new one as they are (surf_rebuilder.h), those of deleted keys do not.
//  Only where a new key begins with the path of a leaf, the leaf's whole key is
//  needed, to tell the two apart. The source of the keys has it:
//
//      leaf            com.acm@jo...     in the source: com.acm@john
//      new key         com.acm@jolie
//      new leaves      com.acm@joh...  com.acm@jol...
//
//  The source may have other keys that begin so and that the SuRF does not
//  hold: keys that are in the front, and keys that a thread is just adding or
//  deleting. The former are known. If several of the others have the suffix
//  bits of the leaf, all of them are taken, so that the leaf's key is among
//  them.

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "rocksdb/iterator.h"
#include "sets/dynamic_surf/front.h"
#include "sets/dynamic_surf/surf_part.h"

namespace ROCKSDB_NAMESPACE::protean {

struct SurfMergeCounts {
  // Leaves whose whole keys were looked for, those whose keys were not found,
  // and keys that were taken although they may be no leaf's.
  uint64_t sought = 0;
  uint64_t not_found = 0;
  uint64_t extra = 0;
};

// Stores the new static part, and adds to the counts. Neither `part` nor
// `front` may change meanwhile. `source` has, as of the moment when the front
// was closed, all keys that the two held. Returns ShutdownInProgress once
// `is_cancelled`, the error of the source, or NotSupported if there are too
// many keys.
Status MergeSurf(const SurfPart& part, const FilterSalt& salt,
                 const Front& front, Iterator* source,
                 const std::atomic<bool>& is_cancelled,
                 std::unique_ptr<SurfPart>* merged, SurfMergeCounts* counts);

}  // namespace ROCKSDB_NAMESPACE::protean
