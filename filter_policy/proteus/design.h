// SPDX-License-Identifier: Apache-2.0

//  The design that a filter chooses for itself (Proteus paper, section 4): a
//  list of layers, all of which a query must pass. A layer keeps something of
//  each key, in a trie, which is exact, or in a set (amq.h), which has false
//  positives. The designs of the paper are the lists
//
//    1PBF       the prefixes of l2 bits
//    2PBF       the prefixes of l1 bits, the prefixes of l2 > l1 bits
//    Proteus    the trie of the prefixes of l1 bits, the prefixes of l2 bits;
//               or one of the two
//
//  Two kinds of layers are added (docs/internals/proteus.md). Text keys differ
//  in length, and no one l2 suits all of them. So the last layer may be a
//  series of prefixes, of l2, l2 + stride, l2 + 2 * stride, ... bits, up to the
//  length of each key and to kMaxSeriesBits. And the first layer may be a set of
//  the whole keys, which ranges do not ask. If the other layers are left to
//  ranges, then whether a key passes says nothing about the prefixes that it
//  shares with others (Kaufman, Hershcovitch and Morrison, Prefix Siphoning,
//  USENIX ATC 2023).

#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "filter_policy/amq/amq.h"
#include "filter_policy/bits/key_digest.h"
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
// Limit of the length of a prefix.
constexpr uint32_t kMaxPrefixBits = 8 * uint32_t{kMaxHashedBytes};
// Limit of the prefixes that a query tests. If it would take more, the answer
// is "may match".
constexpr uint64_t kMaxPrefixProbes = 512;

struct Layer {
  // The part of each key that the layer keeps, as numbered in filter blocks.
  enum class Kind : uint8_t {
    kTrie = 1,      // its prefix of `bits` bits, in a trie
    kPrefixes = 2,  // its prefix of `bits` bits, in a set
    kSeries = 3,    // its prefixes of bits, bits + stride, ..., in a set
    kKeys = 4,      // the whole key, in a set
  };

  static Layer Trie(uint32_t bits, uint32_t lead) {
    return {Kind::kTrie, bits, 0, lead};
  }
  static Layer Prefixes(uint32_t bits, double share = 0) {
    return {Kind::kPrefixes, bits, 0, 0, share};
  }
  static Layer Series(uint32_t bits, uint32_t stride) {
    return {Kind::kSeries, bits, stride};
  }
  static Layer Keys(double share) { return {Kind::kKeys, 0, 0, 0, share}; }

  Kind kind = Kind::kPrefixes;
  uint32_t bits = 0;
  // Whole bytes, of a series only.
  uint32_t stride = 0;
  // Zeros in front of the prefixes, in a trie only. They shift the boundaries
  // of its bytes to where they make it small. lead < 8 and bits + lead <= 64 if
  // not 0.
  uint32_t lead = 0;
  // The part of the filter's bytes that a set gets. 0 for what the other layers
  // leave, which one set has.
  double share = 0;
  // True if point queries ask the layer. Range queries ask every layer but a
  // set of whole keys.
  bool asked_by_points = true;

  bool is_set() const { return kind != Kind::kTrie; }
  // The bytes of the share in a filter of `bytes` bytes.
  uint64_t ShareOf(uint64_t bytes) const {
    return static_cast<uint64_t>(
        std::llround(share * static_cast<double>(bytes)));
  }

  // The length of the longest prefix in the layer that a key of `key_bytes`
  // bytes has.
  uint32_t LongestPrefix(uint64_t key_bytes) const {
    const auto key_bits = static_cast<uint32_t>(
        std::min<uint64_t>(8 * key_bytes, kMaxSeriesBits));
    if (stride == 0 || key_bits <= bits) return bits;
    return key_bits - (key_bits - bits) % stride;
  }
};

// A design without layers lets everything through.
class ProteusDesign {
 public:
  // The list has, in this order, at most: the whole keys; a layer of shorter
  // prefixes, which may be a trie; and a set of longer ones. One of these is a
  // trie if there are all three.
  static constexpr size_t kMaxLayers = 3;
  static constexpr size_t kMaxSets = 2;

  ProteusDesign() = default;
  ProteusDesign(std::initializer_list<Layer> layers, AmqKind kind) : amq(kind) {
    for (const Layer& layer : layers) Add(layer);
  }

  AmqKind amq = AmqKind::kNone;  // kind of the sets

  const Layer* begin() const { return layers_; }
  const Layer* end() const { return layers_ + size_; }
  Layer* begin() { return layers_; }
  Layer* end() { return layers_ + size_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const Layer& operator[](size_t i) const { return layers_[i]; }
  Layer& operator[](size_t i) { return layers_[i]; }

  // REQUIRES: size() < kMaxLayers
  void Add(const Layer& layer) { layers_[size_++] = layer; }
  // Puts a set of whole keys before the other layers.
  void AddKeys(double share);
  // Leaves the layers after the set of whole keys to ranges.
  void LeaveToRanges();
  // Takes the tries away, which only the first unit of a part has.
  void RemoveTrie();

  size_t num_sets() const {
    return static_cast<size_t>(std::count_if(
        begin(), end(), [](const Layer& layer) { return layer.is_set(); }));
  }
  // The set of whole keys, or nullptr.
  const Layer* keys() const {
    return size_ > 0 && layers_[0].kind == Layer::Kind::kKeys ? layers_
                                                              : nullptr;
  }
  // The first layer that ranges ask, if it is a trie or if there is another one
  // after it; else nullptr.
  const Layer* outer() const {
    const Layer* const first = first_of_ranges();
    return first != end() && (!first->is_set() || first + 1 != end()) ? first
                                                                      : nullptr;
  }
  // The set of prefixes that ranges ask last, or nullptr.
  const Layer* inner() const {
    return first_of_ranges() != end() && layers_[size_ - 1].is_set()
               ? &layers_[size_ - 1]
               : nullptr;
  }
  // The first layer that ranges ask.
  const Layer* first_of_ranges() const {
    return layers_ + (keys() == nullptr ? 0 : 1);
  }
  // Returns true if point queries ask the set of whole keys and no other layer.
  bool points_ask_keys_alone() const {
    return keys() != nullptr && (size_ == 1 || !layers_[1].asked_by_points);
  }

  // l1 of a trie, l1 of a set, l2, and the stride of the series; 0 for none.
  uint32_t trie_bits() const {
    return outer() == nullptr || outer()->is_set() ? 0 : outer()->bits;
  }
  uint32_t first_prefix_bits() const { return outer_bits() - trie_bits(); }
  uint32_t prefix_bits() const {
    return inner() == nullptr ? 0 : inner()->bits;
  }
  uint32_t stride() const { return inner() == nullptr ? 0 : inner()->stride; }
  uint32_t outer_bits() const { return outer() == nullptr ? 0 : outer()->bits; }

  // Returns true if these are layers that a filter may have: in their order,
  // with lengths that ascend and are within their limits.
  bool IsValid() const;

  // The design in words, such as "trie 24, bloom 58".
  std::string Describe() const;
  // Completes a report by the design and by what it rests on, in words. Without
  // samples, it rests on the prior alone (prior.h); without a predicted rate,
  // the model did not choose it.
  FilterReport ReportOf(FilterReport report = {}) const;

 private:
  size_t size_ = 0;
  Layer layers_[kMaxLayers];
};

}  // namespace ROCKSDB_NAMESPACE::protean
