// SPDX-License-Identifier: Apache-2.0

//  Proteus, 1PBF and 2PBF (Proteus paper, sections 3 and 4): filters of key
//  prefixes whose lengths fit the queries. A design (design.h) lists the layers
//  of a filter; DesignSearch (design_search.h) chooses it.
//
//  docs/internals/file_format.md has the payload of a unit of a part, and the
//  header that the parts have in common.

#pragma once

#include <memory>
#include <string>

#include "filter_policy/amq/amq.h"
#include "filter_policy/filter_kinds.h"
#include "filter_policy/proteus/design.h"
#include "filter_policy/proteus/search_key.h"
#include "filter_policy/proteus/uniform_trie.h"
#include "filter_policy/range_filter.h"

namespace ROCKSDB_NAMESPACE::protean {

constexpr FilterKind kProteusKind{2};  // also of 1PBF and 2PBF

// What the parts of a filter have in common.
struct ProteusHeader {
  // The maximum size of the headers of the sets in each part.
  static constexpr size_t kMaxSetHeaders =
      ProteusDesign::kMaxSets * Amq::kHeaderSize;
  // Offset of the number of alphabets in the header of a set.
  static constexpr size_t kSetAlphabets = 3;

  ProteusDesign design;
  uint32_t shortest_key = 0;
  uint32_t neighbour_bits = 0;  // KeyStatistics::NeighbourBits

  std::string Encode() const;
  // False if `input` is no header. The design need not be valid.
  bool DecodeFrom(Slice input);
};

class Proteus : public RangeFilter {
 public:
  static Status Open(const PartContents& part,
                     std::unique_ptr<RangeFilter>* filter);

  bool KeyMayMatch(const Slice& key) const override;
  void KeysMayMatch(size_t num_keys, Slice** keys,
                    bool* may_match) const override;
  // Tests at most kMaxPrefixProbes prefixes within the range, and in a series
  // also the shorter prefixes of each.
  bool RangeMayMatch(const Slice& lo, const Slice& hi,
                     bool hi_inclusive) const override;

  bool LowerBound(const Slice& target, std::string* bound) const override;
  bool LowerBoundIsLoose() const override {
    return header_.design.inner() != nullptr;
  }
  bool LowerBoundIsSlow() const override { return !has_trie_; }

  FilterReport Report() const override;

  const ProteusDesign& design() const { return header_.design; }

 private:
  explicit Proteus(const PartContents& part)
      : smallest_(part.smallest), largest_(part.largest), salt_(part.salt) {}

  // Longer bounds are not compared prefix by prefix: they may match.
  static constexpr size_t kMaxBoundBytes = 4096;
  static constexpr size_t kMaxBatch = UniformTrie::kMaxBatch;
  // Smaller batches take no longer if their keys are asked for one by one.
  static constexpr size_t kMinBatch = 8;

  // A layer as it is asked. The trie is trie_.
  struct OpenLayer : Layer {
    PrefixLength length{0, FilterSalt()};  // of the shortest prefixes
    Amq set;
    ByteAlphabets alphabets;
  };

  Status OpenLayers(const PartContents& part);
  // Has the sets ask those of `part.second`, too.
  Status JoinSecondUnit(const PartContents& part);

  const OpenLayer* begin() const { return layers_; }
  const OpenLayer* end() const { return layers_ + header_.design.size(); }
  OpenLayer* begin() { return layers_; }
  OpenLayer* end() { return layers_ + header_.design.size(); }

  // Prefixes of that length, as the layer's set holds them.
  PrefixLength LengthIn(const OpenLayer& layer, uint32_t bits) const {
    return PrefixLength(bits, salt_, layer.set.TakesNeighbours());
  }

  // Points.
  bool Contains(const OpenLayer& layer, const Slice& key, uint64_t word) const;
  // Contains for a trie or a series. Out of line, since what it keeps on the
  // stack would slow down the others.
  [[gnu::noinline]] bool TrieContains(const Layer& layer,
                                      const Slice& key) const;
  [[gnu::noinline]] bool SeriesContains(const OpenLayer& layer,
                                        const Slice& key) const;
  void BatchMayMatch(size_t num_keys, Slice** keys, bool* may_match) const;
  size_t KeepInLayer(const OpenLayer& layer, size_t count, Slice** keys,
                     Amq::Lookup* left) const;

  // Ranges and seeks, of WordKeys or ByteKeys (search_key.h).
  template <class Key>
  class RangeQuery;
  template <class Key>
  class SeekQuery;
  // RangeMayMatch with ByteKeys. Out of line, since their buffers would slow
  // down the other queries.
  [[gnu::noinline]] bool BytesMayMatch(const Slice& lo, const Slice& hi,
                                       bool before_hi) const;
  // The bytes of a bound of `size` bytes that the layers look at.
  size_t BoundBytes(size_t size) const;

  [[gnu::noinline]] bool LowerBoundInBytes(const Slice& target,
                                           std::string* bound) const;
  void FindWindows();

  ProteusHeader header_;
  // The first 8 bytes of all keys lie between these.
  const uint64_t smallest_;
  const uint64_t largest_;
  const FilterSalt salt_;
  OpenLayer layers_[ProteusDesign::kMaxLayers];
  // Points ask the layers before this one, ranges those from the other one on.
  const OpenLayer* points_end_ = layers_;
  const OpenLayer* ranges_begin_ = layers_;
  bool has_trie_ = false;
  bool in_words_ = false;  // whether no prefix has more than 64 bits
  UniformTrie trie_;
  // LowerBound without a trie stays in windows of the prefixes of this length;
  // 0 if there are none.
  uint32_t window_prefix_ = 0;
  // Length of the prefix that all keys in one window share.
  uint32_t window_begin_ = 0;
  std::unique_ptr<RangeFilter> second_unit_;  // if it has been joined
};

}  // namespace ROCKSDB_NAMESPACE::protean
