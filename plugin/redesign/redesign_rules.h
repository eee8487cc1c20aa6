// SPDX-License-Identifier: Apache-2.0

//  When a file is worth a new filter. Pure functions of what is known of the
//  file.

#pragma once

#include <cstdint>

#include "filter_policy/protean_filter_policy.h"
#include "rocksdb/table_properties.h"

namespace ROCKSDB_NAMESPACE::protean {

// Whether a filter with these properties was designed for the price of a false
// positive that the policy designs filters for now. `known` is the price at the
// file's level, or 0 if that is unknown.
bool HasPriceOfNow(const ProteanFilterPolicy& policy, uint64_t known,
                   const UserCollectedProperties& properties);

// The least fall of the false positive rate that is worth a rewrite: less than
// `min_gain` if the filter was designed for cheap reads, which its level has no
// longer.
double MinGainOf(double min_gain, const ProteanFilterPolicy& policy,
                 uint64_t known, const UserCollectedProperties& properties);

// Whether a filter of `entries` entries that has `bits` per key is of the size
// that it would get now, which is `bits_now`. A larger one is, too, unless
// `shrinks`.
bool HasSizeOfNow(double bits, double bits_now, uint64_t entries, bool shrinks);

// Returns true if a filter of `entries` entries that has `bits` per key holds
// much more than its share of a budget, which is `bits_now`.
bool HoldsTooMuch(double bits, double bits_now, uint64_t entries);

// The reads and writes of blocks that rewriting a file takes.
double BlocksOfRewrite(uint64_t bytes, uint64_t block_size);

}  // namespace ROCKSDB_NAMESPACE::protean
