// SPDX-License-Identifier: Apache-2.0

//  The facts of a file's keys that the model needs (Proteus paper, section 4.3,
//  "Count Key Prefixes" and "Calculate Trie Memory"). One pass over the keys
//  finds them: what a key shares with the previous one tells from which length
//  on it has a prefix of its own.

#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "filter_policy/fst/fst_encoding.h"
#include "filter_policy/proteus/byte_alphabets.h"
#include "filter_policy/proteus/key_store.h"

namespace ROCKSDB_NAMESPACE::protean {

class KeyStatistics {
 public:
  // Longer prefixes are not counted: each key is taken to have its own.
  static constexpr uint32_t kMaxBits = 8 * 512;

  explicit KeyStatistics(const KeyStore& keys)
      : KeyStatistics(keys, 0, keys.size()) {}
  // Takes the keys of the indexes in [begin, end) only.
  KeyStatistics(const KeyStore& keys, size_t begin, size_t end);

  uint64_t num_keys() const { return num_keys_; }
  size_t shortest_key() const { return shortest_key_; }  // bytes
  size_t longest_key() const { return longest_key_; }
  // The alphabets of the places of printed keys, as a part of the keys shows
  // them: others may have other bytes. Any bytes if keys are not printed.
  const ByteAlphabets& alphabets() const { return alphabets_; }
  // Bits of the longest key, from 64 to kMaxBits.
  uint32_t max_bits() const { return max_bits_; }

  // |K_l|: the number of distinct prefixes of `bits` bits. Shorter keys go on
  // with zeros.
  uint64_t Prefixes(uint32_t bits) const {
    return bits <= max_bits_ ? prefixes_[bits] : distinct_;
  }
  // The number of distinct prefixes of `bits` bits of keys that are at least as
  // long.
  uint64_t PrefixesOfLongKeys(uint32_t bits) const {
    return bits > max_bits_ ? 0 : long_prefixes_[bits];
  }
  // The number of keys that share at least `bits` bits with another one.
  uint64_t KeysSharing(uint32_t bits) const {
    return distinct_ - unique_[std::min<size_t>(bits, unique_.size() - 1)];
  }
  // The bits that a key shares with the nearer of its neighbors: the most that
  // a tenth of the keys, a half, and nine tenths share at least.
  std::array<uint32_t, 3> SharedByShare() const;
  // The number of bits that a key shares with the next one, roughly: the
  // smallest length at which there are half as many prefixes as keys.
  uint32_t NeighbourBits() const;
  // The number of prefixes that a series (design.h) holds.
  uint64_t PrefixesOfSeries(uint32_t first_bits, uint32_t stride_bits) const;

  // The levels of a trie of all prefixes of `bits` bits, which have `lead`
  // zeros in front of them (ProteusDesign::trie_lead). If several keys share
  // such a prefix, the trie may be smaller.
  std::vector<FstLevelCounts> TrieLevels(uint32_t bits, uint32_t lead) const;
  // The size of the trie in bytes, roughly, with the best lead: the one that
  // makes the trie smallest, or faster and not much larger, in at most
  // `max_bytes`.
  struct TrieSize {
    uint64_t bytes = 0;
    uint32_t lead = 0;
  };
  TrieSize SizeOfTrie(uint32_t bits, uint64_t max_bytes) const;

 private:
  uint64_t num_keys_;
  size_t shortest_key_ = 0;
  size_t longest_key_ = 0;
  uint32_t max_bits_ = 0;
  unsigned code_bits_ = 8;
  ByteAlphabets alphabets_;
  uint64_t distinct_ = 0;  // number of keys, as strings of bits
  std::vector<uint64_t> prefixes_;
  std::vector<uint64_t> long_prefixes_;
  // For each number of bits, the number of keys that share less with all
  // others.
  std::vector<uint64_t> unique_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
