// SPDX-License-Identifier: Apache-2.0

//  Filters in memory by the text that names them, and how often they err.

#pragma once

#include <string>
#include <vector>

#include "db_bench_ext/filter_spec.h"
#include "db_bench_ext/memory_filter.h"
#include "db_bench_ext/query_source.h"
#include "db_bench_ext/seed_samples.h"
#include "test_util/testharness.h"

namespace ROCKSDB_NAMESPACE::protean {

// The filter of `spec`, such as "proteus:12:bloom", whose policy has seen the
// samples.
inline MemoryFilter FilterOf(const std::string& spec,
                             const std::vector<std::string>& keys,
                             const std::vector<Query>& samples = {}) {
  std::shared_ptr<const FilterPolicy> policy;
  EXPECT_OK(MakeFilterPolicy(spec, &policy));
  SeedSamples(policy.get(), samples);
  return MemoryFilter(policy, keys);
}

// The share of these queries, which find no key, that the filter lets through.
inline double RateOf(const MemoryFilter& filter,
                     const std::vector<Query>& empty) {
  size_t positives = 0;
  for (const Query& query : empty) positives += filter.MayMatch(query);
  return static_cast<double>(positives) / static_cast<double>(empty.size());
}

}  // namespace ROCKSDB_NAMESPACE::protean
