// SPDX-License-Identifier: Apache-2.0

//  Proteus, 1PBF and 2PBF (Proteus paper, sections 3 and 4): filters of key
//  prefixes whose lengths fit the queries. A design (design.h) tells what a
//  filter consists of; DesignSearch (design_search.h) chooses it.
//
//    offset  size
//         0     4   l1 of the trie, in bits; 0 if there is none
//         4     4   l1 of the first set of prefixes; 0 if there is none,
//                   2^32-1 if it holds the whole keys
//         8     4   l2; 0 if there is no second layer
//        12     4   stride of the series; 0 if there is none
//        16     8   the first 8 bytes of the smallest key, as a number
//        24     8   the first 8 bytes of the largest key
//        32     4   length of the shortest key in bytes
//        36     4   samples that the file would be asked
//        40     4   samples that lie outside of the file
//        44     4   time of modelling in microseconds
//        48     4   predicted false positive rate, an IEEE single
//        52     1   zeros in front of the prefixes in the trie
//        53     2   bits that neighbours share (KeyStatistics); 0 if not known
//        55     1   zero
//        56    16   header of the first set (amq.h)
//        72    16   header of the second layer's set
//        88         trie (uniform_trie.h), first set, second set, alphabets
//
//  In the header of the first set, byte 3 is one if point queries ask this set,
//  which then holds the whole keys, and nothing else. A reader that does not
//  know this mark asks the other layers, too.
//
//  In the header of a set of prefixes, byte 3 is the number of its alphabets
//  (byte_alphabets.h), which may be zero: those of the last places of its
//  prefixes, a byte each. The first set's come before the second one's.
//
//  A part of a partitioned filter has a shorter header, since there are many:
//
//         0     3   l1 of the trie, in bits; 0 if there is none
//         3     1   one
//         4     1   zeros in front of the prefixes in the trie
//         5         varints: l1 of the first set of prefixes, plus one if it
//                   holds prefixes; l2; stride of the series; length of the
//                   shortest key; bits that neighbours share
//             16    the first 8 bytes of the smallest and of the largest key
//                   headers of the sets that there are, 16 bytes each
//                   trie, first set, second set, alphabets

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

struct ProteusHeader {
  // Size of the header of a whole filter, and maximum size of a part's.
  static constexpr size_t kSize = 88;
  static constexpr size_t kMaxPartSize = 5 + 5 * 5 + 16 + 2 * Amq::kHeaderSize;
  // Offsets of the headers of the sets.
  static constexpr size_t kFirstSetOffset = 56;
  static constexpr size_t kSecondSetOffset = 72;
  // Offset of the marks in the header of a set.
  static constexpr size_t kSetMarks = 3;

  ProteusDesign design;
  // The first 8 bytes of all keys lie between these.
  uint64_t smallest = 0;
  uint64_t largest = 0;
  uint32_t shortest_key = 0;
  uint32_t neighbour_bits = 0;  // KeyStatistics::NeighbourBits
  DesignReport report;          // of a whole filter only
  bool is_part = false;

  bool HasFirstSet() const {
    return design.key_set || design.first_prefix_bits > 0;
  }
  bool HasSecondSet() const { return design.prefix_bits > 0; }

  // Where the headers of the sets are, or belong, if there are any.
  struct SetHeaders {
    size_t first = kFirstSetOffset;
    size_t second = kSecondSetOffset;
    size_t end = kSize;
  };

  // Writes the header to zero bytes, without what the sets write to theirs.
  SetHeaders EncodeTo(char* out) const;
  // Reads a header off the front of `input`. False if it is cut short.
  bool DecodeFrom(Slice* input, SetHeaders* sets);
  // The size of the header with those of the sets.
  size_t Size() const;

  FilterReport Report() const;

 private:
  std::string EncodePart() const;
  bool DecodePart(Slice* input);
};

class Proteus : public RangeFilter {
 public:
  // Opens, in place, a payload that was built with `salt`. The payload must
  // outlive the filter and be followed by kReadPadding readable bytes. Returns
  // Corruption if it is damaged.
  static Status Open(const Slice& payload, const FilterSalt& salt,
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
  const DesignReport& design_report() const { return header_.report; }

 private:
  explicit Proteus(const FilterSalt& salt) : salt_(salt) {}

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
};

}  // namespace ROCKSDB_NAMESPACE::protean
