//  Proteus, 1PBF and 2PBF (Proteus paper, sections 3 and 4): filters of key
//  prefixes whose lengths fit the queries. What a design consists of is in
//  design.h; who chooses it, in cpfpr.h.
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
//        88         trie (uniform_trie.h), first set, second set

#pragma once

#include <memory>
#include <string>

#include "filter_policy/amq/amq.h"
#include "filter_policy/filter_kinds.h"
#include "filter_policy/proteus/design.h"
#include "filter_policy/proteus/prefix_hash.h"
#include "filter_policy/proteus/uniform_trie.h"
#include "filter_policy/range_filter.h"

namespace ROCKSDB_NAMESPACE::protean {

constexpr FilterKind kProteusKind{2};  // and of 1PBF and 2PBF

struct ProteusHeader {
  static constexpr size_t kSize = 88;
  // The headers of the sets, which EncodeTo and DecodeFrom leave alone.
  static constexpr size_t kFirstSetOffset = 56;
  static constexpr size_t kSecondSetOffset = 72;

  ProteusDesign design;
  // Nothing lies outside of these.
  uint64_t smallest = 0;
  uint64_t largest = 0;
  uint32_t shortest_key = 0;
  uint32_t neighbour_bits = 0;  // 0 if not known, or if they share none
  DesignReport report;

  void EncodeTo(char* out) const;
  void DecodeFrom(const char* in);

  FilterReport Report() const;
};

// Writes the prefix of a key as it is in the trie of a design, into
// TriePrefixBytes(design) bytes.
inline size_t TriePrefixBytes(const ProteusDesign& design) {
  return std::max(sizeof(uint64_t), size_t{BytesForBits(design.trie_bits)});
}
// Of a key that begins with these 64 bits. REQUIRES: trie_bits <= 64
inline void CopyTriePrefix(uint64_t word, const ProteusDesign& design,
                           char* prefix) {
  EncodeFixed64(prefix, EndianSwapValue(HighBits(word, design.trie_bits) >>
                                        design.trie_lead));
}
inline void CopyTriePrefix(const Slice& key, const ProteusDesign& design,
                           char* prefix) {
  if (design.trie_bits <= 64) {
    CopyTriePrefix(LoadBits64(key, 0), design, prefix);
  } else {
    const size_t size = BytesForBits(design.trie_bits);
    CopyPadded(key, prefix, size);
    ClearBehind(prefix, size, design.trie_bits);
  }
}

class Proteus : public RangeFilter {
 public:
  // Opens a payload in place, which was built with that salt. `payload` must
  // outlive the filter and be followed by kReadPadding readable bytes.
  // Corruption if it is damaged.
  static Status Open(const Slice& payload, const FilterSalt& salt,
                     std::unique_ptr<RangeFilter>* filter);

  bool KeyMayMatch(const Slice& key) const override;
  void KeysMayMatch(size_t num_keys, Slice** keys,
                    bool* may_match) const override;
  // Looks at no more than kMaxPrefixProbes prefixes within the range; in a
  // series, at the shorter prefixes of each too.
  bool RangeMayMatch(const Slice& lo, const Slice& hi,
                     bool hi_inclusive) const override;

  bool LowerBound(const Slice& target, std::string* bound) const override;
  bool LowerBoundIsLoose() const override { return length_.bits > 0; }
  bool LowerBoundIsSlow() const override { return !HasTrie(); }

  FilterReport Report() const override;

  const ProteusDesign& design() const { return header_.design; }
  const DesignReport& design_report() const { return header_.report; }

 private:
  explicit Proteus(const FilterSalt& salt) : salt_(salt) {}

  // Bounds of more bytes are not compared prefix by prefix: they may match.
  static constexpr size_t kMaxBoundBytes = 4096;

  // How many more prefixes a query may test.
  using Budget = uint64_t;

  static constexpr size_t kMaxBatch = UniformTrie::kMaxBatch;
  // Fewer keys are asked for one by one, since that takes no longer.
  static constexpr size_t kLeastBatch = 8;

  void BatchMayMatch(size_t num_keys, Slice** keys, bool* may_match) const;
  size_t KeepInTrie(size_t count, Slice** keys, Amq::Lookup* left) const;
  bool TrieContains(const Slice& key) const;
  uint64_t HashLongestPrefix(const Slice& key) const;

  bool HasTrie() const { return header_.design.trie_bits > 0; }
  bool HasSeries() const { return header_.design.stride_bits > 0; }
  bool HasKeySet() const { return header_.design.key_set; }

  // For designs whose prefixes fit into a word, with bounds that belong to the
  // range.
  bool WordsMayMatch(uint64_t lo, uint64_t hi) const;
  bool FirstWordsMayMatch(uint64_t lo, uint64_t hi, Budget* budget) const;
  bool SecondWordsMayMatch(uint64_t lo, uint64_t hi, Budget* budget) const;

  // For all others; bounds are `size` bytes each.
  bool BytesMayMatch(char* lo, char* hi, size_t size, size_t query_bytes) const;
  bool FirstBytesMayMatch(const char* lo, const char* hi, size_t size,
                          size_t query_bytes, Budget* budget) const;
  bool SecondBytesMayMatch(const char* lo, const char* hi, size_t size,
                           size_t query_bytes, Budget* budget) const;
  bool SeriesContains(const Slice& key, uint32_t bits) const;

  bool NextTriePrefix(const Slice& key, size_t size, std::string* next) const;
  class Position;
  class WordPosition;
  uint32_t DistanceBits(uint32_t bits) const;
  void FindWindows();
  template <class AnyPosition>
  uint32_t AbsentPrefix(const AnyPosition& position) const;
  uint32_t AbsentInSeries(const Position& position) const;
  template <class AnyPosition>
  bool StoreBound(const AnyPosition& position, std::string* bound) const;

  ProteusHeader header_;
  bool in_words_ = false;
  UniformTrie trie_;
  const FilterSalt salt_;
  PrefixLength first_length_{0, salt_};
  PrefixLength length_{0, salt_};
  Amq first_set_;
  Amq set_;
  // Of LowerBound without a trie: the length of the prefixes whose windows it
  // stays in, 0 if there are none, and that of the prefixes that windows are.
  uint32_t window_prefix_ = 0;
  uint32_t window_begin_ = 0;
};

}  // namespace ROCKSDB_NAMESPACE::protean
