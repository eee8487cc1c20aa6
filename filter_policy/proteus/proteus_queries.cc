// SPDX-License-Identifier: Apache-2.0

//  Proteus::RangeMayMatch (Proteus paper, section 4.1): the first layer says
//  which of its prefixes in the range keys have, and the second layer is asked
//  for its prefixes below those. Only the outermost prefixes of the trie need
//  that: all keys below a prefix between them lie in the range.

#include <algorithm>

#include "filter_policy/proteus/proteus.h"

namespace ROCKSDB_NAMESPACE::protean {

// A range query, and what is left of its limits.
template <class Key>
class Proteus::RangeQuery {
 public:
  // `longest_bits` is the length of the longest prefix of a series that the
  // bounds have.
  RangeQuery(const Proteus& filter, uint32_t longest_bits)
      : filter_(filter), longest_bits_(longest_bits) {}

  // Whether the layers from `layer` on let [lo, hi] through.
  bool AnyIn(const OpenLayer* layer, const Key& lo, const Key& hi) {
    if (layer == filter_.end()) return true;
    if (layer->kind == Layer::Kind::kTrie) return AnyInTrie(layer, lo, hi);
    if constexpr (Key::kIsBytes) {
      if (layer->kind == Layer::Kind::kSeries) {
        return AnyInSeries(*layer, lo, hi);
      }
      if (!layer->alphabets.AreAny()) return AnyPossibleIn(layer, lo, hi);
    }
    return AnyInSet(layer, lo, hi);
  }

 private:
  bool AnyInTrie(const OpenLayer* layer, const Key& lo, const Key& hi) {
    const uint32_t bits = layer->bits;
    const UniformTrie& trie = filter_.trie_;
    const typename Key::TriePrefix lo_prefix(lo, *layer);
    if (lo.SharesPrefix(hi, bits)) {
      return trie.Contains(lo_prefix.data()) && AnyIn(layer + 1, lo, hi);
    }
    const typename Key::TriePrefix hi_prefix(hi, *layer);
    const UniformTrie::Matches matches =
        trie.Find(lo_prefix.data(), hi_prefix.data());
    // All keys below a prefix between the outermost ones lie in the range.
    return matches.between ||
           (matches.lo && AnyIn(layer + 1, lo, lo.LastOfPrefix(bits))) ||
           (matches.hi && AnyIn(layer + 1, hi.FirstOfPrefix(bits), hi));
  }

  // The part of a range within one prefix of an outer layer, which is that of
  // `key`, the first key of the prefix.
  bool AnyBelow(const OpenLayer* layer, const Key& key, const Key& lo,
                const Key& hi) {
    const uint32_t bits = layer->bits;
    return AnyIn(layer + 1, key.SharesPrefix(lo, bits) ? lo : key,
                 key.SharesPrefix(hi, bits) ? hi : key.LastOfPrefix(bits));
  }

  // The prefixes of one length in the range are tested, and then what lies
  // below those that are there.
  bool AnyInSet(const OpenLayer* layer, const Key& lo, const Key& hi) {
    const PrefixLength& length = layer->length;
    uint64_t more = lo.PrefixesUpTo(hi, length.bits);
    if (more >= prefixes_) return true;
    prefixes_ -= more + 1;
    const bool is_last = layer + 1 == filter_.end();
    for (typename Key::Prefixes prefixes(lo, length);;) {
      const uint64_t count =
          std::min(more, prefixes.LeftInGroup(length) - 1) + 1;
      uint64_t found = layer->set.FindNeighbours(prefixes.Hash(length), count);
      if (found != 0) {
        if (is_last) return true;
        typename Key::Prefixes at = prefixes;
        for (uint64_t i = 0; found != 0; found &= found - 1) {
          const auto next = static_cast<uint64_t>(__builtin_ctzll(found));
          at.Move(next - i, length);
          i = next;
          if (AnyBelow(layer, at.key(), lo, hi)) return true;
        }
      }
      if (count > more) return false;
      more -= count;
      prefixes.Move(count, length);
    }
  }

  // AnyInSet where alphabets are known: only possible prefixes are tested.
  bool AnyPossibleIn(const OpenLayer* layer, const Key& lo, const Key& hi) {
    const PrefixLength& length = layer->length;
    uint64_t left = lo.PossibleUpTo(hi, layer->alphabets, layer->bits);
    if (left > prefixes_) return true;
    prefixes_ -= left;
    typename Key::PossiblePrefixes prefixes(lo, layer->alphabets, length);
    const bool is_last = layer + 1 == filter_.end();
    while (left > 0 && !prefixes.IsAfter(hi)) {
      const uint64_t hash = prefixes.Hash(length);
      if (is_last) {
        const uint64_t count = prefixes.MoveAfterRun(left, length);
        if (layer->set.FindNeighbours(hash, count) != 0) return true;
        left -= count;
      } else {
        if (layer->set.MayContain(hash) &&
            AnyBelow(layer, prefixes.key(), lo, hi)) {
          return true;
        }
        prefixes.Next(length);
        left--;
      }
    }
    return false;
  }

  // The longest prefixes that the bounds have and that are not too many are
  // tested, each with the shorter ones.
  bool AnyInSeries(const OpenLayer& layer, const Key& lo, const Key& hi) {
    uint32_t bits = longest_bits_;
    uint64_t more;
    while ((more = lo.PrefixesUpTo(hi, bits)) >= prefixes_) {
      if (bits == layer.bits) return true;
      bits -= layer.stride;
    }
    prefixes_ -= more + 1;
    if (more > 0) {
      // Where keys lack what the bounds share, none of these need be tested.
      const size_t same = lo.slice().difference_offset(hi.slice());
      const Slice shared = WithoutZeros(Slice(lo.slice().data(), same));
      if (8 * shared.size() >= layer.bits &&
          !filter_.SeriesContains(layer, shared)) {
        return false;
      }
    }
    const PrefixLength length = filter_.LengthIn(layer, bits);
    for (typename Key::Prefixes prefixes(lo, length);;
         prefixes.Move(1, length)) {
      // Zeros at the end may stand for shorter keys, which have no longer
      // prefixes.
      if (filter_.SeriesContains(layer, prefixes.key().Stripped())) {
        return true;
      }
      if (more-- == 0) return false;
    }
  }

  const Proteus& filter_;
  const uint32_t longest_bits_;
  // The number of prefixes that may still be tested.
  uint64_t prefixes_ = kMaxPrefixProbes;
};

bool Proteus::RangeMayMatch(const Slice& lo, const Slice& bound,
                            bool hi_inclusive) const {
  const bool before_hi =
      !hi_inclusive && EndsBefore(bound, header_.shortest_key);
  Slice hi = bound;
  if (!hi_inclusive && !before_hi) {
    if (bound.empty()) return false;
    // A range that ends before a key and a zero ends with the key.
    hi.remove_suffix(1);
    hi_inclusive = true;
  }
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
  if (before_hi && WithoutZeros(hi).size() <= sizeof(hi_word)) {
    if (hi_word == 0) return false;
    hi_word--;
  }
  if (hi_word < smallest_ || lo_word > largest_) return false;
  if (!in_words_) return BytesMayMatch(lo, hi, before_hi);
  return RangeQuery<WordKey>(*this, 0).AnyIn(ranges_begin_, WordKey(lo_word),
                                             WordKey(hi_word));
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
  const size_t size = BoundBytes(LongestWithoutZeros(lo, hi));
  if (size > kMaxBoundBytes) return true;
  const ByteKey lo_key(lo, size);
  ByteKey hi_key(hi, size);
  if (before_hi && WithoutZeros(hi).size() <= size && !hi_key.Decrement()) {
    return false;
  }
  return RangeQuery<ByteKey>(*this, static_cast<uint32_t>(8 * size))
      .AnyIn(ranges_begin_, lo_key, hi_key);
}

uint64_t ByteKey::PrefixesUpTo(const ByteKey& last, uint32_t bits) const {
  // The last 57 to 64 bits are subtracted, or all. The bytes before them are
  // the same, or follow each other, unless there are many prefixes.
  const uint32_t head = bits <= 64 ? 0 : BytesForBits(bits) - 8;
  const uint32_t unused = 64 + 8 * head - bits;
  const uint64_t first_bits = LoadBits64(slice(), head) >> unused;
  const uint64_t last_bits = LoadBits64(last.slice(), head) >> unused;
  const auto head_is = [&](const char* bytes) {
    return memcmp(last.bytes_.data(), bytes, head) == 0;
  };
  if (head_is(bytes_.data())) return last_bits - first_bits;
  ByteKey next(slice(), head);
  Increment(next.bytes_.data(), 8 * head);
  return last_bits < first_bits && head_is(next.bytes_.data())
             ? (last_bits - first_bits) << unused >> unused
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

// The search for the first key that may be at or above a key.
template <class Key>
class Proteus::SeekQuery {
 public:
  // The key is made of `parts`.
  template <class... Parts>
  explicit SeekQuery(const Proteus& filter, const Parts&... parts)
      : filter_(filter), key_(parts...) {}

  // LowerBound, which leaves `*bound` alone where it is the target.
  bool Find(std::string* bound) {
    const OpenLayer& last = *(filter_.end() - 1);
    const bool has_trie = filter_.has_trie_;
    // Whether the trie, if there is one, is known to have the key's prefix.
    bool in_trie = !has_trie;
    // Only a damaged filter, or a design whose lengths multiply, takes more
    // probes. Then nothing is skipped.
    for (uint64_t probes = 0; probes < kMaxProbes; probes++) {
      if (!in_trie && !MoveToTrie()) return false;
      uint32_t absent = 0;
      if constexpr (Key::kIsBytes) {
        absent = last.stride > 0 ? AbsentInSeries(last) : AbsentPrefix();
      } else {
        absent = AbsentPrefix();
      }
      if (absent == 0) {
        if (!moved_) return true;
        if (key_.head() > filter_.largest_) return false;
        key_.CopyTo(bound);
        return true;
      }
      if (!key_.NextPrefix(absent)) return false;
      moved_ = true;
      in_trie = !has_trie || !key_.Begins(filter_.ranges_begin_->bits);
    }
    return true;
  }

 private:
  // Moves a key whose prefix is not in the trie to the first one after it whose
  // prefix is. False if there is none.
  bool MoveToTrie() {
    const Layer& trie = *filter_.ranges_begin_;
    const typename Key::TriePrefix prefix(key_, trie);
    const size_t size = TriePrefixBytes(trie);
    SmallBuffer found(size);
    memset(found.data(), 0, size);
    if (!filter_.trie_.LowerBound(prefix.data(), found.data())) return false;
    if (memcmp(found.data(), prefix.data(), size) != 0) {
      key_.MoveToTriePrefix(found.data(), trie);
      moved_ = true;
    }
    return true;
  }

  // The length of a prefix of the key that is absent; 0 if the search is to
  // stay: all prefixes may be there, or a window begins, or the next key is not
  // likely to be near.
  uint32_t AbsentPrefix() const {
    const uint32_t window_begin = filter_.window_begin_;
    if (window_begin > 0 && key_.Begins(window_begin)) return 0;
    uint32_t outer = 0;
    for (const OpenLayer* layer = filter_.ranges_begin_; layer != filter_.end();
         ++layer) {
      const uint32_t bits = layer->bits;
      if (layer->is_set()) {
        if (outer > 0 && filter_.window_prefix_ != bits) {
          // There is a key below this prefix of the outer layer: how many
          // prefixes of this one are left of it?
          if (bits - outer >= 64) return 0;
          const uint64_t last = LowBits(bits - outer);
          const uint64_t here = key_.Window(outer) >> (64 - (bits - outer));
          if (last - here >= kMaxLeft) return 0;
        }
        if (!layer->set.MayContain(key_.Hash(layer->length))) return bits;
      }
      outer = bits;
    }
    return 0;
  }

  // AbsentPrefix in a series, whose windows are those of the last byte. A key
  // with zeros at its end may be a shorter one, which has no longer prefixes.
  uint32_t AbsentInSeries(const OpenLayer& layer) const {
    const Slice key = key_.Stripped();
    if (key.empty() || (static_cast<uint8_t>(key[key.size() - 1]) &
                        LowBits(kMinWindowBits)) == 0) {
      return 0;
    }
    const uint32_t longest = layer.LongestPrefix(key.size());
    for (uint32_t bits = layer.bits; bits <= longest; bits += layer.stride) {
      if (!layer.set.MayContain(
              HashPrefix(key, filter_.LengthIn(layer, bits)))) {
        return bits;
      }
    }
    return 0;
  }

  const Proteus& filter_;
  Key key_;
  bool moved_ = false;
};

bool Proteus::LowerBound(const Slice& target, std::string* bound) const {
  bound->assign(target.data(), target.size());
  const uint64_t head = LoadBits64(target, 0);
  if (head > largest_) return false;
  if (ranges_begin_ == end() ||
      (!has_trie_ && (end() - 1)->stride == 0 && window_prefix_ == 0)) {
    return true;
  }
  return in_words_ ? SeekQuery<WordKey>(*this, head).Find(bound)
                   : LowerBoundInBytes(target, bound);
}

bool Proteus::LowerBoundInBytes(const Slice& target, std::string* bound) const {
  const size_t size = BoundBytes(target.size());
  return size > kMaxBoundBytes ||
         SeekQuery<ByteKey>(*this, target, size).Find(bound);
}

}  // namespace ROCKSDB_NAMESPACE::protean
