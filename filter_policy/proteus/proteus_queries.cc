// SPDX-License-Identifier: Apache-2.0

//  Proteus::RangeMayMatch (Proteus paper, section 4.1): the first layer says
//  which of its prefixes in the range keys have, and the second layer is asked
//  for its prefixes below those. Only the outermost prefixes of the trie need
//  that: all keys below a prefix between them lie in the range.

#include <algorithm>

#include "filter_policy/proteus/proteus.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

bool IsZeroAfter(const Slice& key, size_t byte) {
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
  while (left > 0 && !prefixes.IsAfter(hi)) {
    const uint64_t hash = prefixes.Hash(second_length_);
    const uint64_t count = prefixes.MoveAfterRun(left, second_length_);
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
  for (; left > 0 && !prefixes.IsAfter(hi); left--) {
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
  if (before_hi && IsZeroAfter(hi, sizeof(hi_word))) {
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
  if (before_hi && IsZeroAfter(hi, size) && !hi_key.Decrement()) return false;
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

// ---- Proteus seek ----

// Proteus::LowerBound: where the next key may be. The trie knows the next
// prefix of l1 bits. A set does not: if the next key is likely to be near,
// successive prefixes are tested, up to the end of a *window* of some of them,
// and the search skips the absent ones. All targets within a window have the
// same end of it, and a search that is at the beginning of a window stays
// there. So a filter that is asked with a bound of its own stores it again.
//
// With two sets, windows consist of prefixes of l1 bits, unless there are few
// prefixes of l2 bits from key to key. Below a prefix of l1 bits that is
// there, in a set or in the trie, prefixes of l2 bits are tested within such a
// window, or if only a few are left. In a series, the shortest absent prefix
// takes the search furthest.

namespace {

// The limit of the distance between keys up to which prefixes are tested. A
// read from the block cache costs as much as some hundred probes, one from the
// disk as much as thousands.
constexpr uint32_t kMaxDistanceBits = 7;
// A window holds some keys, so that it seldom ends before the next one.
constexpr uint32_t kMoreWindowBits = 2;
constexpr uint32_t kMinWindowBits = 5;
// More probes than for one window are needed only if prefixes of both lengths
// are tested.
constexpr uint64_t kMaxProbes = 4 << kMaxDistanceBits;
// Limit of the prefixes of l2 bits that are left below one of l1 bits.
constexpr uint64_t kMaxLeft = 64;

}  // namespace

// Moves a key whose prefix is not in the trie to the first one after it whose
// prefix is. False if there is none.
template <class Key>
bool Proteus::MoveToTrie(Key* key, bool* moved) const {
  const ProteusDesign& design = header_.design;
  const typename Key::TriePrefix prefix(*key, design);
  const size_t size = TriePrefixBytes(design);
  SmallBuffer found(size);
  memset(found.data(), 0, size);
  if (!trie_.LowerBound(prefix.data(), found.data())) return false;
  if (memcmp(found.data(), prefix.data(), size) != 0) {
    key->MoveToTriePrefix(found.data(), design);
    *moved = true;
  }
  return true;
}

void Proteus::FindWindows() {
  const uint32_t bits[] = {second_length_.bits, first_length_.bits};
  for (uint32_t asked : bits) {
    // From one key to the next, there are about 2^distance prefixes.
    const uint32_t distance = asked - std::min(asked, header_.neighbour_bits);
    if (asked == 0 || distance > kMaxDistanceBits) continue;
    window_prefix_ = asked;
    const uint32_t window_bits =
        std::max(kMinWindowBits, distance + kMoreWindowBits);
    window_begin_ = asked - std::min(asked, window_bits);
    return;
  }
}

// The length of a prefix of `key` that is absent; 0 if the search is to stay:
// all prefixes may be there, or a window begins, or the next key is not likely
// to be near.
template <class Key>
inline uint32_t Proteus::AbsentPrefix(const Key& key) const {
  const uint32_t bits = second_length_.bits;
  const uint32_t first_bits = header_.design.first_bits();
  if (!HasTrie()) {
    if (window_begin_ > 0 && key.Begins(window_begin_)) return 0;
    if (first_bits > 0 && !first_set_.MayContain(key.Hash(first_length_))) {
      return first_bits;
    }
  } else if (bits == 0) {
    return 0;
  }
  if (first_bits > 0 && window_prefix_ != bits) {
    // There is a key below this prefix of l1 bits: how many prefixes of l2 bits
    // are left of it?
    if (bits - first_bits >= 64) return 0;
    const uint64_t last = LowBits(bits - first_bits);
    const uint64_t here = key.Window(first_bits) >> (64 - (bits - first_bits));
    if (last - here >= kMaxLeft) return 0;
  }
  return second_set_.MayContain(key.Hash(second_length_)) ? 0 : bits;
}

// AbsentPrefix in a series, whose windows are those of the last byte. The key
// has no zeros at its end: it may be a shorter one, which has no longer
// prefixes.
uint32_t Proteus::AbsentInSeries(const Slice& key) const {
  if (key.empty() || (static_cast<uint8_t>(key[key.size() - 1]) &
                      LowBits(kMinWindowBits)) == 0) {
    return 0;
  }
  const uint32_t longest = header_.design.LongestPrefix(key.size());
  for (uint32_t bits = second_length_.bits; bits <= longest;
       bits += header_.design.stride_bits) {
    if (!second_set_.MayContain(HashPrefix(key, SecondLength(bits)))) {
      return bits;
    }
  }
  return 0;
}

template <class Key>
inline bool Proteus::LowerBoundFrom(Key key, std::string* bound) const {
  bool moved = false;
  // Whether the trie, if there is one, is known to have the key's prefix.
  bool in_trie = !HasTrie();
  // Only a damaged filter, or a design whose lengths multiply, takes more
  // probes. Then nothing is skipped.
  for (uint64_t probes = 0; probes < kMaxProbes; probes++) {
    if (!in_trie && !MoveToTrie(&key, &moved)) return false;
    uint32_t absent;
    if constexpr (Key::kMayHaveSeries) {
      absent = HasSeries() ? AbsentInSeries(key.Stripped()) : AbsentPrefix(key);
    } else {
      absent = AbsentPrefix(key);
    }
    if (absent == 0) {
      if (!moved) return true;
      if (key.head() > largest_) return false;
      key.CopyTo(bound);
      return true;
    }
    if (!key.NextPrefix(absent)) return false;
    moved = true;
    in_trie = !HasTrie() || !key.Begins(header_.design.trie_bits);
  }
  return true;
}

bool Proteus::LowerBound(const Slice& target, std::string* bound) const {
  bound->assign(target.data(), target.size());
  const uint64_t head = LoadBits64(target, 0);
  if (head > largest_) return false;
  if (!HasTrie() && !HasSeries() && window_prefix_ == 0) return true;
  return in_words_ ? LowerBoundFrom(WordKey(head), bound)
                   : LowerBoundInBytes(target, bound);
}

bool Proteus::LowerBoundInBytes(const Slice& target, std::string* bound) const {
  const ProteusDesign& design = header_.design;
  const size_t size = BytesForBits(
      std::max(design.first_bits(), design.LongestPrefix(target.size())));
  return size > kMaxBoundBytes || LowerBoundFrom(ByteKey(target, size), bound);
}

}  // namespace ROCKSDB_NAMESPACE::protean
