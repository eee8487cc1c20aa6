// SPDX-License-Identifier: Apache-2.0

//  The filters that the benchmarks compare, by the names of their --filter and
//  --filters flags.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "rocksdb/filter_policy.h"
#include "rocksdb/status.h"

namespace ROCKSDB_NAMESPACE::protean {

// Help for a flag that takes a list of filters: `what`, then the allowed specs.
const char* FiltersHelp(const std::string& what);

// Lets options name the policies that exist for comparison: oracle (oracle.h),
// rosetta (rosetta.h), arf (arf.h), and prefixbloom and prefixbloom2, with one
// and two Bloom filters of prefixes (1PBF and 2PBF of the Proteus paper).
void RegisterComparisonPolicies();

// Splits a comma-separated list, dropping empty parts.
std::vector<std::string> SplitList(const std::string& list);

// Makes the filter policy of `spec`: none (a null policy), bloom:BITS_PER_KEY
// and ribbon:BITS_PER_KEY (RocksDB's own), oracle (exact, see oracle.h),
// fst:STEP and design:BITS_PER_KEY:PART:... (parts of Protean's filters, see
// fst_steps.h and design_policy.h), or any filter_policy of Protean, in its
// short or its object form. InvalidArgument if it is none of these.
Status MakeFilterPolicy(const std::string& spec,
                        std::shared_ptr<const FilterPolicy>* policy);

}  // namespace ROCKSDB_NAMESPACE::protean
