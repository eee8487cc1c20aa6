// SPDX-License-Identifier: Apache-2.0

//  The suffix bits that SuRF stores with each leaf to tell apart keys that
//  share the stored prefix (SuRF paper, sections 3.2 to 3.4).
//
//    value of a leaf = (real << prefix_bits | prefix) << hash_bits | hash
//      real    the real_bits bits of the key after the prefix, in a trie of
//              bytes
//      prefix  the prefix_bits bits of hashes of longer prefixes
//      hash    the lowest hash_bits bits of the key's hash
//
//  Hashes depend on the salt.
//
//  In a trie of digits (key_code.h), the stored prefix may end within a byte,
//  and prefix bits say nothing of the rest of it. If there are prefix bits, the
//  real bits are the digit that follows in the code of that byte, or 0 if all
//  of its digits are stored. They order keys as real bits do.
//
//  A key that ends before its real bits do is padded with zeros. That keeps the
//  order: if the padded bits of two keys with the same prefix differ, the keys
//  compare as the bits do. If the bits are equal, nothing is known.

#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "filter_policy/bits/bit_util.h"
#include "filter_policy/bits/key_digest.h"
#include "rocksdb/slice.h"
#include "util/coding_lean.h"

namespace ROCKSDB_NAMESPACE::protean {

// ---- Prefix bits ----

// Prefix bits: suffix bits of a leaf of SuRF that tell its key from strings
// which share more with it than the trie stores, however much more.
//
// The real bits that follow the stored prefix all speak of one or two bytes,
// and the first bits of a byte of text say nothing. A query for text that is
// not there parts from the nearest key up to ten bytes later. So bit j (j = 1,
// 2, ...) is one bit of the hash of a longer prefix: of d + ceil(j * step / 2)
// bytes, where d is the number of bytes in the trie.
//
//     key                 com.acm@johnson42
//     in the trie         com.acm@jo
//     bits, for step 2              10110100
//     query               com.acm@johnd            [com.acm@johnd, +1)
//     bits                          101
//
// The query and the key share the bytes of the first two bits. From the byte
// where they part, each bit is a coin toss of its own: here there is one, and
// one such query in two is let through. A lookup of a whole key compares all
// bits, since the bits past the end of a key are defined, too.
//
// A range is asked in the same way if all strings in it have a prefix in
// common (surf.h): for [p, successor of p), that is p.
//
// In a trie of digits, the stored prefix may end within a byte (key_code.h),
// which counts as one of the d bytes. A digit in the suffix speaks of the rest
// of that byte (surf_suffix.h).
//
// The step counts half bytes: 1 means two bits for each byte, 4 one bit for
// every second byte. With short steps, more bits lie before the byte where
// query and key part; with long steps, more bits lie past the end of the
// query, where they cannot be compared. Which step loses less depends on the
// keys: the builder of a file chooses (PrefixStepChooser).

// No prefix bit covers more bytes after the stored prefix.
constexpr uint32_t kMaxPrefixReach = 64;

constexpr uint32_t kUsualPrefixStep = 2;

// The steps that a builder chooses from: two bits for each byte, or one bit for
// each byte, for each 1.5 bytes, or for each 2 bytes; or the longest step, as
// far as bits may reach, for keys with long fields that are the same. (In
// simulations over emails, names, domains and paths, other steps in between,
// and bits at the borders of fields, were better by an eighth at most. Their
// drafts would take more memory.)
constexpr size_t kNumPrefixSteps = 5;
constexpr std::array<uint32_t, kNumPrefixSteps> PrefixSteps(uint32_t bits) {
  return {1, 2, 3, 4, 2 * kMaxPrefixReach / std::max<uint32_t>(bits, 1)};
}

// How many bytes after the stored prefix bit `j` covers, counted from 1.
constexpr uint32_t PrefixReach(uint32_t j, uint32_t step) {
  return (j * step + 1) / 2;
}

// How many of `bits` prefix bits cover nothing but the first `bytes` bytes
// after the stored prefix.
constexpr uint32_t PrefixBitsWithin(size_t bytes, uint32_t bits,
                                    uint32_t step) {
  return 2 * bytes >= uint64_t{bits} * step
             ? bits
             : static_cast<uint32_t>(2 * bytes) / step;
}

// The hashes of ever longer prefixes of a key, which must outlive it.
//
// The first state is the hash of the stored prefix. The bytes after that are
// words of 8 bytes, each of which makes the next state. A prefix that ends
// within a word is hashed from the last state and its part of the word, so that
// prefixes of a word do not wait for each other.
class PrefixHasher {
 public:
  // The first `depth` bytes of the key are in the trie; depth <= key.size().
  PrefixHasher(const Slice& key, size_t depth, const FilterSalt& salt)
      : end_(key.data() + key.size()),
        rest_(key.size() - depth),
        key_has_word_(key.size() >= 8),
        state_(HashBytes(key.data(), depth, salt.file)),
        word_(Word(0)) {}

  // The number of bytes after the stored prefix.
  size_t rest() const { return rest_; }

  // The hash of the prefix that goes on for `reach` bytes after the stored one.
  // Bits with such a reach are the highest bit and, for a second one, the next.
  // REQUIRES: 0 < reach <= rest(), and no less than before
  uint64_t UpTo(size_t reach) {
    MoveTo((reach - 1) / 8);
    const size_t bytes = reach - 8 * index_;
    const uint64_t part = bytes < 8 ? word_ & LowBits(8 * bytes) : word_;
    return Finish(part, bytes);
  }

  // The hash of the key with its end. The bit with reach r > rest() is bit r -
  // 1; a second one, with r <= 8, is bit 31 + r. Called last.
  uint64_t Whole() {
    MoveTo(rest_ / 8);
    const uint64_t hash = Finish(word_, 9 + rest_ % 8);
    return hash ^ hash >> 32;
  }

 private:
  static constexpr uint64_t kMultiplier = 0x9e3779b97f4a7c15;
  static constexpr uint64_t kFinalMultiplier = 0xd6e8feb86659fd93;

  static uint64_t Mix(uint64_t x) {
    x *= kMultiplier;
    return x ^ x >> 32;
  }
  // `ending` tells hashes apart that begin in the same state, and zero bytes
  // from the end of the key.
  uint64_t Finish(uint64_t part, uint64_t ending) const {
    return Mix((state_ ^ part) + ending * kFinalMultiplier) * kFinalMultiplier;
  }

  void MoveTo(size_t index) {
    for (; index_ < index; word_ = Word(++index_)) state_ = Mix(state_ ^ word_);
  }

  // The index-th word after the stored prefix, the first byte lowest; zeros
  // after the end of the key.
  uint64_t Word(size_t index) const {
    const size_t bytes = rest_ - 8 * index;
    const char* const begin = end_ - bytes;
    if (bytes >= 8) return DecodeFixed64(begin);
    if (bytes == 0) return 0;
    if (key_has_word_) return DecodeFixed64(end_ - 8) >> (8 * (8 - bytes));
    uint64_t word = 0;
    for (size_t i = bytes; i-- > 0;) {
      word = word << 8 | static_cast<uint8_t>(begin[i]);
    }
    return word;
  }

  const char* const end_;
  const size_t rest_;
  const bool key_has_word_;
  size_t index_ = 0;
  uint64_t state_;
  uint64_t word_;
};

// The first `count` prefix bits of a key whose first `depth` bytes are in the
// trie, bit 1 lowest.
inline uint64_t PrefixBitsOf(const Slice& key, size_t depth,
                             const FilterSalt& salt, uint32_t count,
                             uint32_t step) {
  PrefixHasher hasher(key, depth, salt);
  uint64_t bits = 0;
  uint32_t last = 0;
  uint32_t j = 1;
  for (; j <= count; j++) {
    const uint32_t reach = PrefixReach(j, step);
    if (reach > hasher.rest()) break;
    bits |= (hasher.UpTo(reach) >> (reach == last ? 62 : 63) & 1) << (j - 1);
    last = reach;
  }
  if (j > count) return bits;
  const uint64_t whole = hasher.Whole();
  for (; j <= count; j++) {
    const uint32_t reach = PrefixReach(j, step);
    bits |= (whole >> (reach == last ? 31 + reach : reach - 1) & 1) << (j - 1);
    last = reach;
  }
  return bits;
}

// The prefix bits of a key for all steps that a builder chooses from. Steps
// share many of their bits: 8 bits for each of 5 steps are 24 bits.
class PrefixBitDrafts {
 public:
  explicit PrefixBitDrafts(uint32_t bits)
      : prefix_bits_(bits), second_count_(bits / 2) {
    for (uint32_t step : PrefixSteps(bits)) {
      for (uint32_t j = 1; j <= bits; j++) {
        reaches_ |= uint64_t{1} << (PrefixReach(j, step) - 1);
      }
    }
    first_count_ = static_cast<uint32_t>(PopCount(reaches_));
  }

  // The number of bits in a draft, at most 64.
  uint32_t bits() const { return first_count_ + second_count_; }

  [[gnu::noinline]] uint64_t Of(const Slice& key, size_t depth,
                                const FilterSalt& salt) const {
    PrefixHasher hasher(key, depth, salt);
    const uint64_t all_first = reaches_;
    const uint64_t all_second = LowBits(second_count_);
    const uint64_t inside = hasher.rest() < kMaxPrefixReach
                                ? LowBits(static_cast<unsigned>(hasher.rest()))
                                : ~uint64_t{0};
    uint64_t first = 0;
    uint64_t second = 0;
    for (uint64_t left = all_first & inside; left != 0; left &= left - 1) {
      const auto index = static_cast<unsigned>(__builtin_ctzll(left));
      const uint64_t hash = hasher.UpTo(index + 1);
      first |= hash >> 63 << index;
      second |= (hash >> 62 & 1) << index;
    }
    if ((all_first & ~inside) != 0) {
      const uint64_t whole = hasher.Whole();
      first |= whole & ~inside;
      second |= whole >> 32 & ~inside;
    }
    return ExtractBits(first, all_first) | (second & all_second)
                                               << first_count_;
  }

  // For each prefix bit with one of these steps, its place in a draft.
  using Places = std::array<uint8_t, 16>;
  Places PlacesOf(uint32_t step) const {
    Places places = {};
    uint32_t last = 0;
    for (uint32_t j = 1; j <= prefix_bits_; j++) {
      const uint32_t reach = PrefixReach(j, step);
      const uint64_t before = reaches_ & LowBits(reach - 1);
      const uint32_t place = reach == last
                                 ? first_count_ + reach - 1
                                 : static_cast<uint32_t>(PopCount(before));
      places[j - 1] = static_cast<uint8_t>(place);
      last = reach;
    }
    return places;
  }

  // The prefix bits out of a draft.
  uint64_t Choose(uint64_t draft, const Places& places) const {
    uint64_t bits = 0;
    for (uint32_t i = 0; i < prefix_bits_; i++) {
      bits |= (draft >> places[i] & 1) << i;
    }
    return bits;
  }

 private:
  const uint32_t prefix_bits_;
  // The reaches of the first bits, as a set: bit r - 1 for reach r. Their
  // number, and that of second bits: these have the reaches from 1 on.
  uint64_t reaches_ = 0;
  uint32_t first_count_ = 0;
  uint32_t second_count_ = 0;
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

  // Takes the next key of the file, which shares that many bytes with its
  // neighbors. What the key before it shares with all its neighbors is now
  // known. Not every key is a query.
  void Add(size_t key_size, size_t shared, size_t next_shared) {
    last_.next = shared;
    last_.behind_next = next_shared;
    if (keys_ > 0 && keys_ % kKeysPerQuery == 0) AddQuery(last_);
    keys_++;
    last_.before_previous = last_.previous;
    last_.previous = shared;
    last_.key_size = key_size;
  }

  // The step with the fewest false positives; kUsualPrefixStep if no query came
  // to a leaf.
  uint32_t Step() const {
    if (queries_ == 0) return kUsualPrefixStep;
    const auto fewest = std::min_element(passed_.begin(), passed_.end());
    return PrefixSteps(bits_)[fewest - passed_.begin()];
  }

 private:
  static constexpr uint32_t kKeysPerQuery = 8;

  // The lengths that three successive keys share with their neighbors, and the
  // length of the middle one.
  struct KeyNeighborhood {
    size_t before_previous;  // the previous key and the one before it
    size_t previous;         // the key and the previous one
    size_t next;             // the key and the next one
    size_t behind_next;      // the next key and the one behind it
    size_t key_size;
  };

  [[gnu::noinline]] void AddQuery(const KeyNeighborhood& key) {
    // The nearer neighbor, and what is stored of it without the key.
    const bool next_is_nearer = key.next >= key.previous;
    const size_t shared = next_is_nearer ? key.next : key.previous;
    const size_t depth =
        1 + (next_is_nearer ? std::max(key.previous, key.behind_next)
                            : std::max(key.next, key.before_previous));
    if (shared < depth) return;
    const size_t same = shared - depth;
    const size_t whole = key.key_size - depth;
    // In turn, the part of the key ends in each fourth of the bytes.
    const size_t part =
        same + ((whole - same) * (2 * (queries_ % 4) + 1) + 7) / 8;
    queries_++;
    const std::array<uint32_t, kNumPrefixSteps> steps = PrefixSteps(bits_);
    for (size_t i = 0; i < steps.size(); i++) {
      const uint32_t step = steps[i];
      const uint32_t wasted = PrefixBitsWithin(same, bits_, step);
      // In units of 2^-16.
      const auto passed = [&](uint32_t bits) {
        return uint64_t{1} << (16 + wasted - bits);
      };
      passed_[i] += passed(bits_) +
                    passed(PrefixBitsWithin(whole, bits_, step)) +
                    passed(PrefixBitsWithin(part, bits_, step));
    }
  }

  const uint32_t bits_;
  KeyNeighborhood last_ = {};  // of the last key
  uint64_t keys_ = 0;
  uint64_t queries_ = 0;
  // For each step, the expected number of queries that are let through.
  std::array<uint64_t, kNumPrefixSteps> passed_ = {};
};

struct SurfSuffix {
  static constexpr uint32_t kMaxHashBits = 32;
  static constexpr uint32_t kMaxRealBits = 32;
  static constexpr uint32_t kMaxPrefixBits = 16;
  static constexpr uint32_t kMaxBits = 64;

  uint32_t hash_bits = 0;
  uint32_t real_bits = 0;
  uint32_t prefix_bits = 0;
  // The step of the prefix bits.
  uint32_t prefix_step = kUsualPrefixStep;

  uint32_t bits() const { return hash_bits + real_bits + prefix_bits; }

  // The trie with these suffixes in words, such as "trie, 8 real bits".
  std::string Describe() const {
    std::string text = "trie";
    if (hash_bits > 0) text += ", " + std::to_string(hash_bits) + " hash bits";
    if (real_bits > 0) text += ", " + std::to_string(real_bits) + " real bits";
    if (prefix_bits > 0) {
      text += ", " + std::to_string(prefix_bits) + " prefix bits over " +
              std::to_string(prefix_step / 2) +
              (prefix_step % 2 == 0 ? "" : ".5") +
              (prefix_step == 2 ? " byte each" : " bytes each");
    }
    return text;
  }

  // The real bits of a key whose first `depth` bytes are in the trie;
  // depth <= key.size().
  uint64_t Real(const Slice& key, size_t depth) const {
    if (real_bits == 0 || depth == key.size()) return 0;
    // The next 8 bytes, the first one highest.
    uint64_t bytes;
    if (key.size() >= 8) {
      const size_t start = std::min(depth, key.size() - 8);
      bytes = LoadBigEndian(key.data() + start, 8) << (8 * (depth - start));
    } else {
      bytes = LoadBigEndian(key.data() + depth, key.size() - depth);
    }
    return bytes >> (64 - real_bits);
  }

  // Returns true if the real bits hold all of `key` after its first `depth`
  // bytes, and no shorter key has the same real bits. Then a key with the same
  // prefix and the same real bits is `key` or above.
  bool RealIsWhole(const Slice& key, size_t depth) const {
    return depth == key.size() ||
           (8 * (key.size() - depth) <= real_bits && key[key.size() - 1] != 0);
  }

  // Appends the real bits to the prefix that they follow, without the zeros at
  // their end. The key is not below the result.
  void AppendReal(uint64_t real, std::string* prefix) const {
    if (real_bits == 0) return;
    for (uint64_t left = real << (64 - real_bits); left != 0; left <<= 8) {
      prefix->push_back(static_cast<char>(left >> 56));
    }
  }

  // The value as far as it does not depend on the step: real << hash_bits |
  // hash.
  uint64_t WithoutPrefix(const Slice& key, uint64_t real,
                         const FilterSalt& salt) const {
    return hash_bits == 0
               ? real
               : real << hash_bits |
                     (HashKey(key, LoadBigEndian(key.data(), key.size()),
                              salt) &
                      LowBits(hash_bits));
  }
  uint64_t WithPrefix(uint64_t without, uint64_t prefix) const {
    const uint64_t hash_mask = (uint64_t{1} << hash_bits) - 1;
    return ((without >> hash_bits) << prefix_bits | prefix) << hash_bits |
           (without & hash_mask);
  }

  // Returns true if the hash bits in `value` are those of the key.
  bool MayHaveHash(uint64_t value, const Slice& key,
                   const FilterSalt& salt) const {
    return hash_bits == 0 ||
           ((value ^
             HashKeyOnce(key, LoadBigEndian(key.data(), key.size()), salt)) &
            LowBits(hash_bits)) == 0;
  }

  uint64_t RealOfValue(uint64_t value) const {
    return real_bits == 0 ? 0 : value >> (prefix_bits + hash_bits);
  }

  // Returns true if the first `count` prefix bits in `value`, which belong to a
  // leaf whose prefix is the first `depth` bytes of `string`, are those of
  // `string`.
  bool HasPrefixBits(uint64_t value, const Slice& string, size_t depth,
                     uint32_t count, const FilterSalt& salt) const {
    return count == 0 ||
           ((value >> hash_bits ^
             PrefixBitsOf(string, depth, salt, count, prefix_step)) &
            LowBits(count)) == 0;
  }
};

}  // namespace ROCKSDB_NAMESPACE::protean
