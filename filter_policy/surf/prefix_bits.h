// SPDX-License-Identifier: Apache-2.0

//  Prefix bits: suffix bits of a leaf of SuRF that tell its key from strings
//  which share more with it than the trie stores, however much more.
//
//  The real bits that follow the stored prefix all speak of one or two bytes,
//  and the first bits of a byte of text say nothing. A query for text that is
//  not there parts from the nearest key up to ten bytes later. So bit j (j = 1,
//  2, ...) is one bit of the hash of a longer prefix: of d + ceil(j * step / 2)
//  bytes, where d is the number of bytes in the trie.
//
//      key       c o m . a c m @ j o h n s o n 4 2
//      trie      c o m . a c m @ j o
//      bits, for step 2                1 0 1 1 0 1 0 0
//      query     c o m . a c m @ j o h n d o e          [com.acm@johndoe, +1)
//      bits                            1 0 0 1 0
//
//  The query shares the first two bits with the key. From the byte where the
//  two part, each bit is a coin toss of its own, so that one such query in 2^3
//  is let through. What a lookup of a whole key compares are all bits, since
//  the bits past the end of a key are defined, too.
//
//  A range is asked in the same way if all strings in it have a prefix in
//  common: for [p, successor of p), that is p.
//
//  The step counts half bytes: 1 means two bits for each byte, 16 one bit for
//  each 8 bytes. With short steps, more bits lie before the byte where query
//  and key part; with long steps, more bits lie past the end of the query, so
//  that they cannot be compared. Which step loses less depends on the keys: the
//  builder of a file chooses (PrefixStepChooser).

#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "filter_policy/filter_salt.h"
#include "rocksdb/slice.h"

namespace ROCKSDB_NAMESPACE::protean {

// The steps that a builder chooses from. A reader takes any from 1 to 255.
constexpr uint32_t kPrefixSteps[] = {1, 2, 3, 4, 6, 8, 16};
constexpr uint32_t kUsualPrefixStep = 2;

// How many bytes after the stored prefix bit `j` covers, counted from 1.
constexpr uint32_t PrefixReach(uint32_t j, uint32_t step) {
  return (j * step + 1) / 2;
}

// How many of `bits` bits depend on nothing but `bytes` bytes after the stored
// prefix.
constexpr uint32_t PrefixBitsWithin(size_t bytes, uint32_t bits,
                                    uint32_t step) {
  return static_cast<uint32_t>(std::min<size_t>(bits, 2 * bytes / step));
}

// The first `count` prefix bits of a key whose first `depth` bytes are in the
// trie, bit 1 lowest; depth <= key.size(). reach(i) is the reach of bit i + 1;
// it ascends, and no number comes more than twice.
//
// The hash of the stored prefix is the first state, and each byte after it
// makes the next state. The end of the key is one more symbol, 256. A bit is
// the highest one of its state, which is mixed once more; if two bits have the
// same state, the second is the next highest one.
template <typename Reach>
uint64_t PrefixBitsOf(const Slice& key, size_t depth, const FilterSalt& salt,
                      uint32_t count, const Reach& reach) {
  constexpr uint64_t kMultiplier = 0x9e3779b97f4a7c15;
  constexpr uint64_t kFinalMultiplier = 0xd6e8feb86659fd93;
  const auto mix = [](uint64_t state) {
    state *= kMultiplier;
    return state ^ state >> 32;
  };
  const auto bit = [](uint64_t state, bool second) {
    return (state * kFinalMultiplier) >> (second ? 62 : 63) & 1;
  };
  const size_t rest = key.size() - depth;
  const char* const bytes = key.data() + depth;
  uint64_t state = HashBytes(key.data(), depth, salt.file, !salt.IsNone());
  uint64_t bits = 0;
  size_t hashed = 0;
  size_t last = 0;
  uint32_t i = 0;
  for (; i < count; i++) {
    const size_t end = reach(i);
    if (end > rest) break;
    const bool second = end == last;
    for (; hashed < end; hashed++) {
      state = mix(state ^ static_cast<uint8_t>(bytes[hashed]));
    }
    bits |= bit(state, second) << i;
    last = end;
  }
  if (i == count) return bits;
  for (; hashed < rest; hashed++) {
    state = mix(state ^ static_cast<uint8_t>(bytes[hashed]));
  }
  // All states past the end come from the state at the end alone, so that they
  // do not cost more the longer the step is.
  state = mix(state ^ 256);
  for (; i < count; i++) {
    const size_t end = reach(i);
    bits |= bit(mix(state ^ end), end == last) << i;
    last = end;
  }
  return bits;
}

// The prefix bits of a key for all steps that a builder chooses from, which is
// known only after the last key. Steps share most of their bits: 8 bits for
// each of 7 steps are 29 bits.
class PrefixBitDrafts {
 public:
  explicit PrefixBitDrafts(uint32_t bits);

  // The number of bits in a draft, at most 64.
  uint32_t bits() const { return count_; }

  uint64_t Of(const Slice& key, size_t depth, const FilterSalt& salt) const {
    return PrefixBitsOf(key, depth, salt, count_,
                        [this](uint32_t i) { return reaches_[i]; });
  }

  // Which bits of a draft are the prefix bits for a step out of kPrefixSteps,
  // in the same order.
  uint64_t MaskOf(uint32_t step) const;

 private:
  const uint32_t prefix_bits_;
  uint32_t count_ = 0;
  std::array<uint8_t, 64> reaches_ = {};  // ascending
};

// The bits of `word` where `mask` has ones, moved together at the lowest bits.
inline uint64_t ExtractBits(uint64_t word, uint64_t mask) {
  uint64_t bits = 0;
  for (uint32_t i = 0; mask != 0; i++, mask &= mask - 1) {
    bits |= (word >> __builtin_ctzll(mask) & 1) << i;
  }
  return bits;
}

// The lengths that three successive keys share with their neighbors, and the
// length of the middle one.
struct KeyNeighborhood {
  size_t before_previous;  // the previous key and the one before it
  size_t previous;         // the key and the previous one
  size_t next;             // the key and the next one
  size_t behind_next;      // the next key and the one behind it
  size_t key_size;
};

// Chooses the step of a file for queries that are like its keys: each key takes
// its turn as a query for what is not there. If it were not in the file, its
// search would end at the leaf of the nearer neighbor, or above it. In the
// former case, it is known how many bytes it shares with that leaf's key after
// the stored prefix, and how many bytes it goes on. So for each step, the
// number of bits that tell the two apart is known, for three kinds of queries,
// which count the same:
//
//   lookup   of the key
//   scan     of all that starts with the key
//   scan     of all that starts with a part of the key which ends anywhere
//            behind the bytes shared
class PrefixStepChooser {
 public:
  explicit PrefixStepChooser(uint32_t bits) : bits_(bits) {}

  // Takes a key of the file as a query. Not every key is looked at.
  void Add(const KeyNeighborhood& key) {
    if (++keys_ % kKeysPerQuery == 0) AddQuery(key);
  }

  // The step with the fewest false positives; kUsualPrefixStep if no query came
  // to a leaf.
  uint32_t Step() const;

 private:
  static constexpr uint32_t kKeysPerQuery = 4;

  void AddQuery(const KeyNeighborhood& key);

  const uint32_t bits_;
  uint64_t keys_ = 0;
  uint64_t queries_ = 0;
  // For each step, the expected number of queries that are let through.
  std::array<double, std::size(kPrefixSteps)> passed_ = {};
};

}  // namespace ROCKSDB_NAMESPACE::protean
