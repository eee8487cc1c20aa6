// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/proteus/model/prefix_tests.h"

#include <algorithm>
#include <cmath>

#include "filter_policy/proteus/model/prefix_counts.h"
#include "filter_policy/proteus/model/tested_prefixes.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Adds tests of `prefixes` prefixes that follow each other, which are made with
// this probability.
void AddRun(double probability, uint64_t prefixes, PrefixTests* tests) {
  // Sets keep that many neighbors together (design_proteus.md).
  constexpr uint64_t kNeighbors = 64;
  const uint64_t tested = std::min(prefixes, kMaxPrefixProbes);
  tests->prefixes += probability * static_cast<double>(tested);
  tests->runs += probability * std::ceil(static_cast<double>(tested) /
                                         static_cast<double>(kNeighbors));
}

// The tests in two sets of prefixes.
PrefixTests TestsOfTwoSets(const LocatedQuery& query,
                           const ProteusDesign& design,
                           const ByteAlphabets& alphabets, double first_rate) {
  const uint32_t first = design.first_prefix_bits;
  const uint32_t bits = design.prefix_bits;
  const auto through = [&](uint32_t shared) {
    return shared >= first ? 1 : first_rate;
  };
  PrefixTests tests;
  const uint64_t regions = CountAll(query, alphabets, first);
  AddRun(1, regions, &tests);
  if (regions <= 1) {
    AddRun(through(query.shared()), CountAll(query, alphabets, bits), &tests);
  } else {
    AddRun(through(query.lo_shared), CountLeft(query, alphabets, first, bits),
           &tests);
    AddRun(through(query.hi_shared), CountRight(query, alphabets, first, bits),
           &tests);
  }
  return tests;
}

}  // namespace

PrefixTests TestsOf(const LocatedQuery& query, const ProteusDesign& design,
                    const ByteAlphabets& alphabets, double first_rate) {
  if (design.first_prefix_bits > 0) {
    return TestsOfTwoSets(query, design, alphabets, first_rate);
  }
  PrefixTests tests;
  double asked = 1;
  if (design.key_set && query.is_point()) {
    AddRun(1, 1, &tests);
    if (design.keys_alone) return tests;
    asked = first_rate;
  }
  if (design.prefix_bits == 0) return tests;
  if (query.shared() < design.trie_bits) return tests;
  uint64_t tested = 0;
  LongestTested(query, design, alphabets, &tested);
  AddRun(asked, tested, &tests);
  return tests;
}

}  // namespace ROCKSDB_NAMESPACE::protean
