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

// The part of a range within one prefix of an outer layer, which is that of
// `key`, the first key of the prefix.
template <class Key>
inline bool Proteus::AnyBelow(const OpenLayer* layer, const Key& key,
                              const Key& lo, const Key& hi,
                              Budget* budget) const {
  const uint32_t bits = layer->bits;
  return AnyIn(layer + 1, key.SharesPrefix(lo, bits) ? lo : key,
               key.SharesPrefix(hi, bits) ? hi : key.LastOfPrefix(bits),
               budget);
}

// AnyInSet where alphabets are known: only possible prefixes are tested.
bool Proteus::AnyPossibleIn(const OpenLayer* layer, const ByteKey& lo,
                            const ByteKey& hi, Budget* budget) const {
  const PrefixLength& length = layer->length;
  uint64_t left = lo.PossibleUpTo(hi, layer->alphabets, layer->bits);
  if (left > budget->prefixes) return true;
  budget->prefixes -= left;
  ByteKey::PossiblePrefixes prefixes(lo, layer->alphabets, length);
  const bool is_last = layer + 1 == end();
  while (left > 0 && !prefixes.IsAfter(hi)) {
    const uint64_t hash = prefixes.Hash(length);
    if (is_last) {
      const uint64_t count = prefixes.MoveAfterRun(left, length);
      if (layer->set.FindNeighbours(hash, count) != 0) return true;
      left -= count;
    } else {
      if (layer->set.MayContain(hash) &&
          AnyBelow(layer, prefixes.key(), lo, hi, budget)) {
        return true;
      }
      prefixes.Next(length);
      left--;
    }
  }
  return false;
}

// The prefixes of one length in the range are tested, and then what lies below
// those that are there.
template <class Key>
bool Proteus::AnyInSet(const OpenLayer* layer, const Key& lo, const Key& hi,
                       Budget* budget) const {
  if constexpr (Key::kMayHaveAlphabets) {
    if (!layer->alphabets.AreAny()) {
      return AnyPossibleIn(layer, lo, hi, budget);
    }
  }
  const PrefixLength& length = layer->length;
  uint64_t more = lo.PrefixesUpTo(hi, length.bits);
  if (more >= budget->prefixes) return true;
  budget->prefixes -= more + 1;
  const bool is_last = layer + 1 == end();
  for (typename Key::Prefixes prefixes(lo, length);;) {
    const uint64_t count = std::min(more, prefixes.LeftInGroup(length) - 1) + 1;
    uint64_t found = layer->set.FindNeighbours(prefixes.Hash(length), count);
    if (found != 0) {
      if (is_last) return true;
      typename Key::Prefixes at = prefixes;
      for (uint64_t i = 0; found != 0; found &= found - 1) {
        const auto next = static_cast<uint64_t>(__builtin_ctzll(found));
        at.Move(next - i, length);
        i = next;
        if (AnyBelow(layer, at.key(), lo, hi, budget)) return true;
      }
    }
    if (count > more) return false;
    more -= count;
    prefixes.Move(count, length);
  }
}

// The longest prefixes that the bounds have and that are not too many are
// tested, each with the shorter ones.
bool Proteus::AnyInSeries(const OpenLayer& layer, const ByteKey& lo,
                          const ByteKey& hi, Budget* budget) const {
  uint32_t bits = budget->longest_bits;
  uint64_t more;
  while ((more = lo.PrefixesUpTo(hi, bits)) >= budget->prefixes) {
    if (bits == layer.bits) return true;
    bits -= layer.stride;
  }
  budget->prefixes -= more + 1;
  const PrefixLength length = LengthIn(layer, bits);
  for (ByteKey::Prefixes prefixes(lo, length);; prefixes.Move(1, length)) {
    // Zeros at the end may stand for shorter keys, which have no longer
    // prefixes.
    const Slice key = prefixes.key().Stripped();
    if (SeriesContains(layer, key, layer.LongestPrefix(key.size()))) {
      return true;
    }
    if (more-- == 0) return false;
  }
}

template <class Key>
bool Proteus::AnyInTrie(const OpenLayer* layer, const Key& lo, const Key& hi,
                        Budget* budget) const {
  const uint32_t bits = layer->bits;
  const typename Key::TriePrefix lo_prefix(lo, *layer);
  if (lo.SharesPrefix(hi, bits)) {
    return trie_.Contains(lo_prefix.data()) && AnyIn(layer + 1, lo, hi, budget);
  }
  const typename Key::TriePrefix hi_prefix(hi, *layer);
  const UniformTrie::Matches matches =
      trie_.Find(lo_prefix.data(), hi_prefix.data());
  // All keys below a prefix between the outermost ones lie in the range.
  return matches.between ||
         (matches.lo && AnyIn(layer + 1, lo, lo.LastOfPrefix(bits), budget)) ||
         (matches.hi && AnyIn(layer + 1, hi.FirstOfPrefix(bits), hi, budget));
}

template <class Key>
inline bool Proteus::AnyIn(const OpenLayer* layer, const Key& lo, const Key& hi,
                           Budget* budget) const {
  if (layer == end()) return true;
  if (layer->kind == Layer::Kind::kTrie) {
    return AnyInTrie(layer, lo, hi, budget);
  }
  if constexpr (Key::kMayHaveSeries) {
    if (layer->kind == Layer::Kind::kSeries) {
      return AnyInSeries(*layer, lo, hi, budget);
    }
  }
  return AnyInSet(layer, lo, hi, budget);
}

bool Proteus::RangeMayMatch(const Slice& lo, const Slice& hi,
                            bool hi_inclusive) const {
  const uint64_t lo_word = LoadBits64(lo, 0);
  uint64_t hi_word = LoadBits64(hi, 0);
  if (lo_word >= hi_word) {
    const int order = lo.compare(hi);
    if (order > 0 || (order == 0 && !hi_inclusive)) return false;
    if (order == 0 && ranges_begin_ != layers_ &&
        !layers_[0].set.MayContain(HashKeyOnce(lo, lo_word, salt_))) {
      return false;
    }
  }
  const bool before_hi = !hi_inclusive && EndsBefore(hi, header_.shortest_key);
  if (before_hi && IsZeroAfter(hi, sizeof(hi_word))) {
    if (hi_word == 0) return false;
    hi_word--;
  }
  if (hi_word < smallest_ || lo_word > largest_) return false;
  if (!in_words_) return BytesMayMatch(lo, hi, before_hi);
  Budget budget = {0};
  return AnyIn(ranges_begin_, WordKey(lo_word), WordKey(hi_word), &budget);
}

size_t Proteus::BoundBytes(size_t size) const {
  const ProteusDesign& design = header_.design;
  return design.empty() ? 0
                        : BytesForBits((design.end() - 1)->LongestPrefix(size));
}

bool Proteus::BytesMayMatch(const Slice& lo, const Slice& hi,
                            bool before_hi) const {
  // The keys have all prefixes that may be tested, or what the query has of
  // them.
  const size_t size = BoundBytes(std::max(lo.size(), hi.size()));
  if (size > kMaxBoundBytes) return true;
  const ByteKey lo_key(lo, size);
  ByteKey hi_key(hi, size);
  if (before_hi && IsZeroAfter(hi, size) && !hi_key.Decrement()) return false;
  Budget budget = {static_cast<uint32_t>(8 * size)};
  return AnyIn(ranges_begin_, lo_key, hi_key, &budget);
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
  const Layer& trie = *ranges_begin_;
  const typename Key::TriePrefix prefix(*key, trie);
  const size_t size = TriePrefixBytes(trie);
  SmallBuffer found(size);
  memset(found.data(), 0, size);
  if (!trie_.LowerBound(prefix.data(), found.data())) return false;
  if (memcmp(found.data(), prefix.data(), size) != 0) {
    key->MoveToTriePrefix(found.data(), trie);
    *moved = true;
  }
  return true;
}

void Proteus::FindWindows() {
  for (const OpenLayer* layer = end(); layer != ranges_begin_;) {
    --layer;
    // From one key to the next, there are about 2^distance prefixes.
    const uint32_t distance =
        layer->bits - std::min(layer->bits, header_.neighbour_bits);
    if (distance > kMaxDistanceBits) continue;
    window_prefix_ = layer->bits;
    const uint32_t window_bits =
        std::max(kMinWindowBits, distance + kMoreWindowBits);
    window_begin_ = layer->bits - std::min(layer->bits, window_bits);
    return;
  }
}

// The length of a prefix of `key` that is absent; 0 if the search is to stay:
// all prefixes may be there, or a window begins, or the next key is not likely
// to be near.
template <class Key>
inline uint32_t Proteus::AbsentPrefix(const Key& key) const {
  if (window_begin_ > 0 && key.Begins(window_begin_)) return 0;
  uint32_t outer = 0;
  for (const OpenLayer* layer = ranges_begin_; layer != end(); ++layer) {
    const uint32_t bits = layer->bits;
    if (layer->is_set()) {
      if (outer > 0 && window_prefix_ != bits) {
        // There is a key below this prefix of the outer layer: how many
        // prefixes of this one are left of it?
        if (bits - outer >= 64) return 0;
        const uint64_t last = LowBits(bits - outer);
        const uint64_t here = key.Window(outer) >> (64 - (bits - outer));
        if (last - here >= kMaxLeft) return 0;
      }
      if (!layer->set.MayContain(key.Hash(layer->length))) return bits;
    }
    outer = bits;
  }
  return 0;
}

// AbsentPrefix in a series, whose windows are those of the last byte. The key
// has no zeros at its end: it may be a shorter one, which has no longer
// prefixes.
uint32_t Proteus::AbsentInSeries(const OpenLayer& layer,
                                 const Slice& key) const {
  if (key.empty() || (static_cast<uint8_t>(key[key.size() - 1]) &
                      LowBits(kMinWindowBits)) == 0) {
    return 0;
  }
  const uint32_t longest = layer.LongestPrefix(key.size());
  for (uint32_t bits = layer.bits; bits <= longest; bits += layer.stride) {
    if (!layer.set.MayContain(HashPrefix(key, LengthIn(layer, bits)))) {
      return bits;
    }
  }
  return 0;
}

template <class Key>
inline bool Proteus::LowerBoundFrom(Key key, std::string* bound) const {
  const OpenLayer& last = *(end() - 1);
  bool moved = false;
  // Whether the trie, if there is one, is known to have the key's prefix.
  bool in_trie = !has_trie_;
  // Only a damaged filter, or a design whose lengths multiply, takes more
  // probes. Then nothing is skipped.
  for (uint64_t probes = 0; probes < kMaxProbes; probes++) {
    if (!in_trie && !MoveToTrie(&key, &moved)) return false;
    uint32_t absent = 0;
    if constexpr (Key::kMayHaveSeries) {
      absent = last.stride > 0 ? AbsentInSeries(last, key.Stripped())
                               : AbsentPrefix(key);
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
    in_trie = !has_trie_ || !key.Begins(ranges_begin_->bits);
  }
  return true;
}

bool Proteus::LowerBound(const Slice& target, std::string* bound) const {
  bound->assign(target.data(), target.size());
  const uint64_t head = LoadBits64(target, 0);
  if (head > largest_) return false;
  if (ranges_begin_ == end() ||
      (!has_trie_ && (end() - 1)->stride == 0 && window_prefix_ == 0)) {
    return true;
  }
  return in_words_ ? LowerBoundFrom(WordKey(head), bound)
                   : LowerBoundInBytes(target, bound);
}

bool Proteus::LowerBoundInBytes(const Slice& target, std::string* bound) const {
  const size_t size = BoundBytes(target.size());
  return size > kMaxBoundBytes || LowerBoundFrom(ByteKey(target, size), bound);
}

}  // namespace ROCKSDB_NAMESPACE::protean
