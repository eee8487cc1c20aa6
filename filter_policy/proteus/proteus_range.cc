// SPDX-License-Identifier: Apache-2.0

//  Proteus::RangeMayMatch (Proteus paper, section 4.1): the first layer says
//  which of its prefixes in the range keys have, and the second layer is asked
//  for its prefixes below those. Only the outermost prefixes of the trie need
//  that: all keys below a prefix between them lie in the range.

#include <algorithm>

#include "filter_policy/proteus/proteus.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

bool IsZeroBehind(const Slice& key, size_t byte) {
  for (size_t i = byte; i < key.size(); i++) {
    if (key[i] != '\0') return false;
  }
  return true;
}

}  // namespace

// SecondMayMatch and FirstMayMatch where alphabets are known: only possible
// prefixes are tested.
bool Proteus::SecondMayMatchPossible(const ByteKey& lo, const ByteKey& hi,
                                     Budget* budget) const {
  uint64_t left = lo.PossibleUpTo(hi, second_alphabets_, second_length_.bits);
  if (left > budget->prefixes) return true;
  budget->prefixes -= left;
  ByteKey::PossiblePrefixes prefixes(lo, second_alphabets_, second_length_);
  while (left > 0 && !prefixes.IsBehind(hi)) {
    const uint64_t hash = prefixes.Hash(second_length_);
    const uint64_t count = prefixes.MoveBehindRun(left, second_length_);
    if (second_set_.FindNeighbours(hash, count) != 0) return true;
    left -= count;
  }
  return false;
}

bool Proteus::FirstMayMatchPossible(const ByteKey& lo, const ByteKey& hi,
                                    Budget* budget) const {
  const uint32_t bits = first_length_.bits;
  uint64_t left = lo.PossibleUpTo(hi, first_alphabets_, bits);
  if (left > budget->prefixes) return true;
  budget->prefixes -= left;
  ByteKey::PossiblePrefixes prefixes(lo, first_alphabets_, first_length_);
  for (; left > 0 && !prefixes.IsBehind(hi); left--) {
    const ByteKey& key = prefixes.key();
    if (first_set_.MayContain(prefixes.Hash(first_length_)) &&
        SecondMayMatch(key.SharesPrefix(lo, bits) ? lo : key,
                       key.SharesPrefix(hi, bits) ? hi : key.LastOfPrefix(bits),
                       budget)) {
      return true;
    }
    prefixes.Next(first_length_);
  }
  return false;
}

template <class Key>
inline bool Proteus::SecondMayMatch(const Key& lo, const Key& hi,
                                    Budget* budget) const {
  if constexpr (Key::kMayHaveAlphabets) {
    if (!second_alphabets_.AreAny()) {
      return SecondMayMatchPossible(lo, hi, budget);
    }
  }
  // The longest prefixes that the bounds have and that are not too many.
  uint32_t bits =
      Key::kMayHaveSeries ? budget->longest_bits : second_length_.bits;
  uint64_t more;
  while ((more = lo.PrefixesUpTo(hi, bits)) >= budget->prefixes) {
    if (!Key::kMayHaveSeries || bits == second_length_.bits) return true;
    bits -= header_.design.stride_bits;
  }
  budget->prefixes -= more + 1;
  if constexpr (Key::kMayHaveSeries) {
    if (HasSeries()) {
      const PrefixLength length = SecondLength(bits);
      for (typename Key::Prefixes prefixes(lo, length);;
           prefixes.Move(1, length)) {
        // Zeros at the end may stand for shorter keys, which have no longer
        // prefixes.
        const Slice key = prefixes.key().Stripped();
        if (SeriesContains(key, header_.design.LongestPrefix(key.size()))) {
          return true;
        }
        if (more-- == 0) return false;
      }
    }
  }
  for (typename Key::Prefixes prefixes(lo, second_length_);;) {
    const uint64_t count =
        std::min(more, prefixes.LeftInGroup(second_length_) - 1) + 1;
    if (second_set_.FindNeighbours(prefixes.Hash(second_length_), count) != 0) {
      return true;
    }
    if (count > more) return false;
    more -= count;
    prefixes.Move(count, second_length_);
  }
}

template <class Key>
bool Proteus::FirstMayMatch(const Key& lo, const Key& hi,
                            Budget* budget) const {
  if constexpr (Key::kMayHaveAlphabets) {
    if (!first_alphabets_.AreAny())
      return FirstMayMatchPossible(lo, hi, budget);
  }
  const uint32_t bits = first_length_.bits;
  uint64_t more = lo.PrefixesUpTo(hi, bits);
  if (more >= budget->prefixes) return true;
  budget->prefixes -= more + 1;
  typename Key::Prefixes prefixes(lo, first_length_);
  for (bool at_lo = true;; at_lo = false) {
    const uint64_t count =
        std::min(more, prefixes.LeftInGroup(first_length_) - 1) + 1;
    uint64_t found =
        first_set_.FindNeighbours(prefixes.Hash(first_length_), count);
    typename Key::Prefixes at = prefixes;
    for (uint64_t i = 0; found != 0; found &= found - 1) {
      const auto next = static_cast<uint64_t>(__builtin_ctzll(found));
      at.Move(next - i, first_length_);
      i = next;
      if (SecondMayMatch(at_lo && i == 0 ? lo : at.key(),
                         i == more ? hi : at.key().LastOfPrefix(bits),
                         budget)) {
        return true;
      }
    }
    if (count > more) return false;
    more -= count;
    prefixes.Move(count, first_length_);
  }
}

template <class Key>
inline bool Proteus::LayersMayMatch(const Key& lo, const Key& hi,
                                    Budget budget) const {
  if (!HasTrie()) {
    if (second_length_.bits == 0) return true;
    return first_length_.bits > 0 ? FirstMayMatch(lo, hi, &budget)
                                  : SecondMayMatch(lo, hi, &budget);
  }
  const uint32_t bits = header_.design.trie_bits;
  const typename Key::TriePrefix lo_prefix(lo, header_.design);
  if (lo.SharesPrefix(hi, bits)) {
    return trie_.Contains(lo_prefix.data()) &&
           (second_length_.bits == 0 || SecondMayMatch(lo, hi, &budget));
  }
  const typename Key::TriePrefix hi_prefix(hi, header_.design);
  const UniformTrie::Matches matches =
      trie_.Find(lo_prefix.data(), hi_prefix.data());
  if (matches.between) return true;
  if (second_length_.bits == 0) return matches.lo || matches.hi;
  return (matches.lo && SecondMayMatch(lo, lo.LastOfPrefix(bits), &budget)) ||
         (matches.hi && SecondMayMatch(hi.FirstOfPrefix(bits), hi, &budget));
}

bool Proteus::RangeMayMatch(const Slice& lo, const Slice& hi,
                            bool hi_inclusive) const {
  const uint64_t lo_word = LoadBits64(lo, 0);
  uint64_t hi_word = LoadBits64(hi, 0);
  if (lo_word >= hi_word) {
    const int order = lo.compare(hi);
    if (order > 0 || (order == 0 && !hi_inclusive)) return false;
    if (order == 0 && HasKeySet() &&
        !first_set_.MayContain(HashKey(lo, salt_))) {
      return false;
    }
  }
  const bool before_hi = !hi_inclusive && EndsBefore(hi, header_.shortest_key);
  if (before_hi && IsZeroBehind(hi, sizeof(hi_word))) {
    if (hi_word == 0) return false;
    hi_word--;
  }
  if (hi_word < smallest_ || lo_word > largest_) return false;
  return in_words_ ? LayersMayMatch(WordKey(lo_word), WordKey(hi_word),
                                    {second_length_.bits})
                   : BytesMayMatch(lo, hi, before_hi);
}

bool Proteus::BytesMayMatch(const Slice& lo, const Slice& hi,
                            bool before_hi) const {
  // The keys have all prefixes that may be tested, or what the query has of
  // them.
  const uint32_t longest_bits =
      header_.design.LongestPrefix(std::max(lo.size(), hi.size()));
  const size_t size =
      BytesForBits(std::max(longest_bits, header_.design.first_bits()));
  if (size > kMaxBoundBytes) return true;
  const ByteKey lo_key(lo, size);
  ByteKey hi_key(hi, size);
  if (before_hi && IsZeroBehind(hi, size) && !hi_key.Decrement()) return false;
  return LayersMayMatch(lo_key, hi_key, {longest_bits});
}

uint64_t ByteKey::PrefixesUpTo(const ByteKey& last, uint32_t bits) const {
  // Subtracts the bits byte by byte, from the last one on. The bits of the last
  // byte that do not count are zeros.
  const uint32_t shared = SharedBits(slice(), last.slice());
  if (shared >= bits) return 0;
  const size_t size = BytesForBits(bits);
  const auto unused = static_cast<unsigned>(8 * size - bits);
  unsigned mask = 0xff << unused & 0xff;
  unsigned __int128 difference = 0;
  int borrow = 0;
  for (size_t i = size, place = 0; i-- > shared / 8; place++, mask = 0xff) {
    const int byte = static_cast<int>(last.slice()[i] & mask) -
                     static_cast<int>(slice()[i] & mask) - borrow;
    borrow = byte < 0;
    if (place < sizeof(difference)) {
      difference |= static_cast<unsigned __int128>(byte & 0xff) << (8 * place);
    } else if ((byte & 0xff) != 0) {
      return kManyPrefixes;
    }
  }
  difference >>= unused;
  return difference < kManyPrefixes ? static_cast<uint64_t>(difference)
                                    : kManyPrefixes;
}

}  // namespace ROCKSDB_NAMESPACE::protean
