// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/proteus/model/tested_prefixes.h"

#include <algorithm>

#include "filter_policy/proteus/model/prefix_counts.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// The number of lengths of which a prefix of `bits` bits and those that it
// begins with are absent, where a key shares `shared` bits.
uint32_t LengthsOf(const ProteusDesign& design, uint32_t shared,
                   uint32_t bits) {
  if (design.stride_bits == 0) return 1;
  // The prefixes of all lengths that no key shares must be false positives.
  const uint32_t from = std::max(shared + 1, design.prefix_bits);
  return (bits - from) / design.stride_bits + 1;
}

}  // namespace

const ByteAlphabets& AlphabetsOf(const ProteusDesign& design,
                                 const KeyStatistics& statistics) {
  static const auto* const any = new ByteAlphabets;
  return design.stride_bits > 0 ? *any : statistics.alphabets();
}

TestedPrefixes PrefixesTestedBy(const LocatedQuery& query,
                                const ProteusDesign& design,
                                const ByteAlphabets& alphabets) {
  constexpr TestedPrefixes kNever = {0, 0};
  constexpr TestedPrefixes kAlways = {0, 1};
  const uint32_t shared = query.shared();
  if (shared < design.trie_bits) return kNever;
  if (design.prefix_bits == 0) return kAlways;
  if (shared >= design.LongestPrefix(query.bytes)) return kAlways;
  uint64_t tested = 0;
  const uint32_t bits = LongestTested(query, design, alphabets, &tested);
  if (shared >= bits) return kAlways;
  return {LengthsOf(design, shared, bits), tested};
}

bool PrefixesTestedByAll(const LocatedQuery& any, const ProteusDesign& design,
                         TestedPrefixes* tested) {
  const uint32_t shared = any.shared();
  *tested = {0, shared < design.trie_bits ? uint64_t{0} : uint64_t{1}};
  if (tested->prefixes == 0 || design.prefix_bits == 0) return true;
  const uint32_t longest = design.LongestPrefix(any.bytes);
  if (shared >= longest) return true;
  tested->lengths = LengthsOf(design, shared, longest);
  return longest <= any.bounds_shared;
}

uint32_t LongestTested(const LocatedQuery& query, const ProteusDesign& design,
                       const ByteAlphabets& alphabets, uint64_t* tested) {
  uint32_t bits = design.LongestPrefix(query.bytes);
  *tested = CountTested(query, alphabets, design.trie_bits, bits);
  while (bits > design.prefix_bits && *tested > kMaxPrefixProbes) {
    bits -= design.stride_bits;
    *tested = CountTested(query, alphabets, design.trie_bits, bits);
  }
  return bits;
}

}  // namespace ROCKSDB_NAMESPACE::protean
