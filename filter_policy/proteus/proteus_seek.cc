// SPDX-License-Identifier: Apache-2.0

//  Proteus::LowerBound: where the next key may be. The trie knows the next
//  prefix of l1 bits. A set does not: if the next key is likely to be near,
//  successive prefixes are tested, up to the end of a *window* of some of them,
//  and the search skips the absent ones. All targets within a window have the
//  same end of it, and a search that is at the beginning of a window stays
//  there. So a filter that is asked with a bound of its own stores it again.
//
//  With two sets, windows consist of prefixes of l1 bits, unless there are few
//  prefixes of l2 bits from key to key. Below a prefix of l1 bits that is
//  there, in a set or in the trie, prefixes of l2 bits are tested within such a
//  window, or if only a few are left. In a series, the shortest absent prefix
//  takes the search furthest.

#include <algorithm>

#include "filter_policy/proteus/proteus.h"

namespace ROCKSDB_NAMESPACE::protean {

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
