// SPDX-License-Identifier: Apache-2.0

//  The design that a filter chooses for itself (Proteus paper, section 4).
//
//  Two layers. The first is the trie of all prefixes of l1 bits, or, in 2PBF, a
//  set of them; the second is a set of the prefixes of l2 > l1 bits. 1PBF has
//  the second layer only, and Proteus may leave out either.
//
//  Text keys differ in length, and no one l2 suits all of them: a shorter key
//  has too many successors of l2 bits, and a longer one cannot be told from its
//  neighbors. So the second layer may hold a series of prefixes, of l2, l2 +
//  stride, l2 + 2 * stride, ... bits, up to the length of each key and to
//  kMaxSeriesBits, and a query takes the longest that its bounds have.
//
//  Point queries for keys much like those of the file share long prefixes with
//  them. If there is no set of l1, a set of the whole keys may take its place.
//  Point queries ask it first, or it alone: then whether a key passes says
//  nothing about the prefixes that it shares with others (Kaufman, Hershcovitch
//  and Morrison, Prefix Siphoning, USENIX ATC 2023).

#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "filter_policy/amq/amq.h"
#include "filter_policy/false_positive_price.h"
#include "filter_policy/range_filter.h"

namespace ROCKSDB_NAMESPACE::protean {

// The filters among which a design is chosen.
enum class DesignSpace {
  kOnePrefixFilter,   // 1PBF
  kTwoPrefixFilters,  // 2PBF
  kProteus,           // both of these too
};

// Limit of a series, however long the keys are: the time to build and test it
// must not grow with the square of their length.
constexpr uint32_t kMaxSeriesBits = 8 * 512;

struct ProteusDesign {
  uint32_t trie_bits = 0;  // l1 of a trie; 0 for none
  // Zeros in front of the prefixes in the trie. They shift the boundaries of
  // its bytes to where they make it small. trie_bits + trie_lead <= 64 if not
  // 0.
  uint32_t trie_lead = 0;
  uint32_t first_prefix_bits = 0;  // l1 of a set; 0 for none
  uint32_t prefix_bits = 0;        // l2; 0 for none
  uint32_t stride_bits = 0;        // whole bytes; 0 for no series
  AmqKind amq = AmqKind::kNone;    // kind of the sets
  bool key_set = false;            // whether the first set holds the whole keys
  // The share of the first set in the memory of both.
  double first_share = 0;
  // Whether point queries ask the set of the whole keys and no other layer.
  bool keys_alone = false;
  // With keys_alone, the false positive rate that the set may have, from which
  // its size follows if there is a second layer. 0 to go by the share.
  double key_rate = 0;

  uint32_t first_bits() const { return trie_bits + first_prefix_bits; }

  // The length of the longest prefix in the second layer that a key of
  // `key_bytes` bytes has: l2, or the last one of its series.
  uint32_t LongestPrefix(uint64_t key_bytes) const {
    const auto bits = static_cast<uint32_t>(
        std::min<uint64_t>(8 * key_bytes, kMaxSeriesBits));
    if (stride_bits == 0 || bits <= prefix_bits) return prefix_bits;
    return bits - (bits - prefix_bits) % stride_bits;
  }

  // The design in words, such as "trie 24, bloom 58".
  std::string Describe() const;
};

// The origin of a design and its expected rate, which are stored with the
// filter.
struct DesignReport {
  // Sample queries for which the file would be asked and which find nothing in
  // it. If there are none, the design rests on the prior alone (prior.h).
  uint32_t samples = 0;
  // The rate on the queries for which the file is asked: the samples, and the
  // prior with its weight. Negative if the model did not choose the design.
  float predicted_fpr = -1;
  uint32_t model_micros = 0;
  DesignOrigin origin = DesignOrigin::kSearched;
  uint64_t price = kUsualPrice;  // of a false positive

  // What the design rests on, in words, such as "from the keys alone".
  std::string Basis() const;
};

// Limit of the length of a prefix.
constexpr uint32_t kMaxPrefixBits = 8 * (64 << 10);

// Limit of the prefixes that a query tests. If it would take more, the answer
// is "may match".
constexpr uint64_t kMaxPrefixProbes = 512;

}  // namespace ROCKSDB_NAMESPACE::protean
