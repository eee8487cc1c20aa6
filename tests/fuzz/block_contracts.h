// SPDX-License-Identifier: Apache-2.0

//  What an opened filter block promises whatever its bytes are. Damage that
//  passes the checks of Open may cost answers, but breaks none of this.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "filter_policy/parted_filter.h"

namespace ROCKSDB_NAMESPACE::protean {

struct BlockExam {
  // The first promise that the block has broken, in words; nullptr if none.
  const char* broken = nullptr;
  // A hash of all answers. The same bytes give the same one wherever they are.
  uint64_t answers = 0;
};

// Asks `block` all kinds of questions about the strings, one by one and in
// batches, and about the ranges from each string to every `range_step`th one
// (to the next one only if the block is refused).
// With the block's contents, also opens its parts one by one: those that cannot
// be opened let all queries through, which does not keep others from filtering.
// REQUIRES: strings is not empty
BlockExam Examine(const FilterBlock& block,
                  const std::vector<std::string>& strings,
                  size_t range_step = 1, const Slice* contents = nullptr);

}  // namespace ROCKSDB_NAMESPACE::protean
