// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/proteus/model/prefix_counts.h"

#include <algorithm>

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// The prefixes from that of `lo` to that of `hi`, which are 64 bits each from
// the byte on in which the bounds part.
inline uint64_t CountBetween(const LocatedQuery& query,
                             const ByteAlphabets& alphabets, uint64_t lo,
                             uint64_t hi, uint32_t bits) {
  if (bits <= query.bounds_shared) return 1;
  const uint32_t from = query.bounds_shared / 8;
  const uint32_t used = bits - 8 * from;
  if (used > 64) return kManyPrefixes;
  if (alphabets.AreAny()) {
    return std::min((hi >> (64 - used)) - (lo >> (64 - used)),
                    kMaxPrefixProbes) +
           1;
  }
  char lo_bytes[sizeof(lo)];
  char hi_bytes[sizeof(hi)];
  EncodeFixed64(lo_bytes, EndianSwapValue(lo));
  EncodeFixed64(hi_bytes, EndianSwapValue(hi));
  return std::min(alphabets.Count(lo_bytes, hi_bytes, from, bits),
                  kManyPrefixes);
}

// The bits of a word after bit `bits` of the bounds, where the word begins with
// byte `from` of them.
uint64_t BitsAfter(uint32_t bits, uint32_t from) {
  const uint32_t kept = bits - 8 * from;
  return kept >= 64 ? 0 : ~uint64_t{0} >> kept;
}

// The number of lengths of which a prefix of `bits` bits and those that it
// begins with are absent, where a key shares `shared` bits.
uint32_t LengthsOf(const Layer& set, uint32_t shared, uint32_t bits) {
  if (set.stride == 0) return 1;
  // The prefixes of all lengths that no key shares must be false positives.
  const uint32_t from = std::max(shared + 1, set.bits);
  return (bits - from) / set.stride + 1;
}

}  // namespace

uint64_t CountAll(const LocatedQuery& query, const ByteAlphabets& alphabets,
                  uint32_t bits) {
  return CountBetween(query, alphabets, query.lo_rest, query.hi_rest, bits);
}

uint64_t CountTested(const LocatedQuery& query, const ByteAlphabets& alphabets,
                     uint32_t first, uint32_t bits) {
  if (first <= query.bounds_shared) return CountAll(query, alphabets, bits);
  uint64_t count = 0;
  if (query.lo_shared >= first) {
    count += CountLeft(query, alphabets, first, bits);
  }
  if (query.hi_shared >= first) {
    count += CountRight(query, alphabets, first, bits);
  }
  return std::min(count, kManyPrefixes);
}

uint64_t CountLeft(const LocatedQuery& query, const ByteAlphabets& alphabets,
                   uint32_t first, uint32_t bits) {
  const uint64_t below = BitsAfter(first, query.bounds_shared / 8);
  return CountBetween(query, alphabets, query.lo_rest, query.lo_rest | below,
                      bits);
}

uint64_t CountRight(const LocatedQuery& query, const ByteAlphabets& alphabets,
                    uint32_t first, uint32_t bits) {
  const uint64_t below = BitsAfter(first, query.bounds_shared / 8);
  return CountBetween(query, alphabets, query.hi_rest & ~below, query.hi_rest,
                      bits);
}

LayerPlans PlanLayers(const ProteusDesign& design,
                      const KeyStatistics& statistics, uint64_t bytes,
                      uint64_t trie_bytes) {
  LayerPlans plans;
  uint64_t left = bytes - std::min(bytes, trie_bytes);
  const Layer* rest = nullptr;
  for (const Layer& layer : design) {
    // The last one has the rest even if it is alone, with a share of its own.
    if (layer.is_set()) rest = &layer;
    if (layer.is_set() && layer.share == 0) break;
  }
  const auto add = [&](const Layer& layer, uint64_t most) {
    AmqPlan& planned = plans.of[static_cast<size_t>(&layer - design.begin())];
    const uint64_t hashes =
        layer.kind == Layer::Kind::kKeys
            ? statistics.num_keys()
            : statistics.PrefixesOfSeries(layer.bits, layer.stride);
    planned = PlanAmq(design.amq, hashes, most);
    left -= planned.bytes;
  };
  for (const Layer& layer : design) {
    if (!layer.is_set() || &layer == rest) continue;
    add(layer, std::min(left, layer.ShareOf(bytes)));
  }
  if (rest != nullptr) add(*rest, left);
  return plans;
}

LayerPlans UnitOf(const LayerPlans& both, bool second) {
  LayerPlans unit;
  for (size_t i = 0; i < both.of.size(); i++) {
    const AmqPlan& set = both.of[i];
    unit.of[i] = PlanAmq(set.kind, set.hashes, set.bytes / 2);
    if (second) {
      unit.of[i] = PlanAmq(set.kind, set.hashes, set.bytes - unit.of[i].bytes);
    }
  }
  return unit;
}

const ByteAlphabets& AlphabetsOf(const ProteusDesign& design,
                                 const KeyStatistics& statistics) {
  static const auto* const any = new ByteAlphabets;
  return design.stride() > 0 ? *any : statistics.alphabets();
}

uint32_t LongestTested(const LocatedQuery& query, const PrefixLayers& layers,
                       const ByteAlphabets& alphabets, uint64_t* tested) {
  uint32_t bits = layers.inner.LongestPrefix(query.bytes);
  *tested = CountTested(query, alphabets, layers.trie_bits, bits);
  while (bits > layers.inner.bits && *tested > kMaxPrefixProbes) {
    bits -= layers.inner.stride;
    *tested = CountTested(query, alphabets, layers.trie_bits, bits);
  }
  return bits;
}

bool PrefixesTestedByAll(const LocatedQuery& any, const PrefixLayers& layers,
                         TestedPrefixes* tested) {
  const uint32_t shared = any.shared();
  *tested = {0, shared < layers.trie_bits ? uint64_t{0} : uint64_t{1}};
  if (tested->prefixes == 0 || layers.inner.bits == 0) return true;
  const uint32_t longest = layers.inner.LongestPrefix(any.bytes);
  if (shared >= longest) return true;
  tested->lengths = LengthsOf(layers.inner, shared, longest);
  return longest <= any.bounds_shared;
}

TestedPrefixes PrefixesTestedBy(const LocatedQuery& query,
                                const PrefixLayers& layers,
                                const ByteAlphabets& alphabets) {
  TestedPrefixes tested;
  if (PrefixesTestedByAll(query, layers, &tested)) return tested;
  const uint32_t bits =
      LongestTested(query, layers, alphabets, &tested.prefixes);
  if (query.shared() >= bits) return {0, 1};
  tested.lengths = LengthsOf(layers.inner, query.shared(), bits);
  return tested;
}

}  // namespace ROCKSDB_NAMESPACE::protean
