// SPDX-License-Identifier: Apache-2.0

//  Solves the equations of one shard of a Ribbon set (ribbon.h).

#pragma once

#include <cstdint>
#include <vector>

#include "filter_policy/amq/ribbon_elimination.h"
#include "filter_policy/amq/ribbon_shard.h"

namespace ROCKSDB_NAMESPACE::protean {

// The equations of a shard, one for each slot or none, and their solution.
struct RibbonEquations {
  std::vector<RibbonRow> rows;
  std::vector<uint32_t> results;
};

// Adds the equations of a shard, stripe by stripe: `hashes` has local hashes,
// those of a stripe up to its end in `ends`. False if they contradict each
// other.
bool EliminateRibbon(const uint64_t* hashes, const RibbonShard& shard,
                     const uint32_t* ends, RibbonElimination* elimination,
                     RibbonEquations* equations);

// Solves equations from the last slot to the first one. Bits that no equation
// decides are zeros.
//
// The solution of a slot is a number, whose bits are those of all columns. An
// equation adds up the numbers that its coefficients select: for each byte of
// them, tables have the sum of what it selects in its stripe.
void SolveRibbon(const RibbonRow* rows, const uint32_t* results,
                 const RibbonColumns& columns, char* segments);

}  // namespace ROCKSDB_NAMESPACE::protean
