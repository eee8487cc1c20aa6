// SPDX-License-Identifier: Apache-2.0

//  Proteus, 1PBF and 2PBF (Proteus paper, sections 3 and 4): filters of key
//  prefixes whose lengths fit the queries. A design (design.h) tells what a
//  filter consists of; DesignSearch (design_search.h) chooses it.
//
//  The payload of a unit of a part (filter_block.h):
//
//         0    16   header of the first set (amq.h), if there is one
//              16   header of the second layer's set, if there is one
//                   trie (uniform_trie.h), first set, second set, alphabets
//
//  A second unit has no trie. Its sets hold the same prefixes, with other
//  hashes, so that few queries pass the sets of both.
//
//  In the header of the first set, byte 3 is one if point queries ask this set,
//  which then holds the whole keys, and nothing else.
//
//  In the header of a set of prefixes, byte 3 is the number of its alphabets
//  (byte_alphabets.h), which may be zero: those of the last places of its
//  prefixes, a byte each. The first set's come before the second one's.
//
//  What parts have in common, as varints: l1 of the trie, in bits, or 0 if
//  there is none; the zeros in front of the prefixes in the trie; 0 if there is
//  no first set, 1 if it holds the whole keys, else its l1 plus one; l2, or 0
//  if there is no second layer; the stride of the series, or 0; the length of
//  the shortest key in bytes; the bits that neighbours share (KeyStatistics),
//  or 0 if they are not known.

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
  // The maximum size of the header, and of those of the sets in each part.
  static constexpr size_t kMaxSize = 7 * 5;
  static constexpr size_t kMaxSetHeaders = 2 * Amq::kHeaderSize;
  // Offset of the marks in the header of a set.
  static constexpr size_t kSetMarks = 3;

  ProteusDesign design;
  uint32_t shortest_key = 0;
  uint32_t neighbour_bits = 0;  // KeyStatistics::NeighbourBits
  DesignReport report;          // known to the builder alone

  bool HasFirstSet() const {
    return design.key_set || design.first_prefix_bits > 0;
  }
  bool HasSecondSet() const { return design.prefix_bits > 0; }
  // Where the headers of the sets end in a part.
  size_t SecondSetOffset() const {
    return HasFirstSet() ? Amq::kHeaderSize : 0;
  }
  size_t SetHeadersSize() const {
    return SecondSetOffset() + (HasSecondSet() ? Amq::kHeaderSize : 0);
  }

  std::string Encode() const;
  // False if `input` is no header.
  bool DecodeFrom(Slice input);

  FilterReport Report() const;
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
  bool LowerBoundIsLoose() const override { return second_length_.bits > 0; }
  bool LowerBoundIsSlow() const override { return !HasTrie(); }

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

  // What is left of the limits of one range query.
  struct Budget {
    // Length of the longest prefix in the second layer that the bounds have.
    uint32_t longest_bits;
    // Number of prefixes that may still be tested.
    uint64_t prefixes = kMaxPrefixProbes;
  };

  // Has the sets ask those of `part.second`, too.
  Status JoinSecondUnit(const PartContents& part);

  bool HasTrie() const { return header_.design.trie_bits > 0; }
  bool HasSeries() const { return header_.design.stride_bits > 0; }
  bool HasKeySet() const { return header_.design.key_set; }
  // A length of prefixes in the second layer's set.
  PrefixLength SecondLength(uint32_t bits) const {
    return PrefixLength(bits, salt_, second_set_.TakesNeighbours());
  }
  bool SeriesContains(const Slice& key, uint32_t bits) const;
  // KeyMayMatch of a filter with any layers. Out of line, since what it keeps
  // on the stack would slow down the others.
  [[gnu::noinline]] bool LayersMayMatchKey(const Slice& key) const;

  // Points.
  void BatchMayMatch(size_t num_keys, Slice** keys, bool* may_match) const;
  size_t KeepInTrie(size_t count, Slice** keys, Amq::Lookup* left) const;
  bool TrieContains(const Slice& key) const;
  uint64_t HashLongestPrefix(const Slice& key) const;

  // Ranges [lo, hi] of WordKeys or ByteKeys (search_key.h): of the whole
  // filter, below the first set of prefixes, and in the second layer.
  template <class Key>
  bool LayersMayMatch(const Key& lo, const Key& hi, Budget budget) const;
  // RangeMayMatch with ByteKeys. Out of line, since their buffers would slow
  // down the other queries.
  [[gnu::noinline]] bool BytesMayMatch(const Slice& lo, const Slice& hi,
                                       bool before_hi) const;
  bool SecondMayMatchPossible(const ByteKey& lo, const ByteKey& hi,
                              Budget* budget) const;
  bool FirstMayMatchPossible(const ByteKey& lo, const ByteKey& hi,
                             Budget* budget) const;
  template <class Key>
  bool FirstMayMatch(const Key& lo, const Key& hi, Budget* budget) const;
  template <class Key>
  bool SecondMayMatch(const Key& lo, const Key& hi, Budget* budget) const;

  // Seeks.
  [[gnu::noinline]] bool LowerBoundInBytes(const Slice& target,
                                           std::string* bound) const;
  template <class Key>
  bool LowerBoundFrom(Key key, std::string* bound) const;
  template <class Key>
  bool MoveToTrie(Key* key, bool* moved) const;
  template <class Key>
  uint32_t AbsentPrefix(const Key& key) const;
  uint32_t AbsentInSeries(const Slice& key) const;
  void FindWindows();

  ProteusHeader header_;
  // The first 8 bytes of all keys lie between these.
  const uint64_t smallest_;
  const uint64_t largest_;
  bool in_words_ = false;  // whether no prefix has more than 64 bits
  // Whether points are asked of one or two sets of prefixes of up to 64 bits,
  // and of nothing else.
  bool is_of_words_ = false;
  UniformTrie trie_;
  const FilterSalt salt_;
  PrefixLength first_length_{0, salt_};
  PrefixLength second_length_{0, salt_};
  Amq first_set_;
  Amq second_set_;
  ByteAlphabets first_alphabets_;
  ByteAlphabets second_alphabets_;
  // LowerBound without a trie stays in windows of the prefixes of this length;
  // 0 if there are none.
  uint32_t window_prefix_ = 0;
  // Length of the prefix that all keys in one window share.
  uint32_t window_begin_ = 0;
  std::unique_ptr<RangeFilter> second_unit_;  // if it has been joined
};

}  // namespace ROCKSDB_NAMESPACE::protean
