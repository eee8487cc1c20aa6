// SPDX-License-Identifier: Apache-2.0

//  SuRF, the succinct range filter (SuRF paper, section 3): a trie of the
//  shortest prefixes that tell the keys of a file apart, each with a few suffix
//  bits of its key.
//
//    payload   hash_bits, real_bits, prefix_bits, prefix_step (1 byte each; no
//              step if there are no prefix bits), 4 zero bytes
//              FST (fst.h), whose values are the suffixes (surf_suffix.h)
//
//  If the highest bit of the first byte is set, the trie is one of digits, and
//  their code (key_code.h) precedes it. The real bits are then a digit, or
//  none.

#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "filter_policy/bits/bit_array.h"
#include "filter_policy/bits/checksum.h"
#include "filter_policy/filter_kinds.h"
#include "filter_policy/fst/fst.h"
#include "filter_policy/fst/fst_builder.h"
#include "filter_policy/range_filter.h"
#include "filter_policy/surf/surf_suffix.h"
#include "rocksdb/slice.h"

namespace ROCKSDB_NAMESPACE::protean {

// What the suffix bits of a leaf of SuRF say about where its key lies. The
// real bits order the key. The prefix bits tell whether the key may start with
// a string, so they help where a bound, or a range, says how its keys start:
//
//   [lo, hi], lo a prefix of hi     all start with lo
//   [x..., y...], y = x + 1         all start with x or with y
//   [x, y), y = x + 1               all start with x: a scan of a prefix
//   [x..., y...], y > x + 1         all start with what the bounds share
//   [lo, ...)                       all that start with a part of lo go on
//                                   like lo while its next bytes are \xff
//
// where x and y are the first bytes in which the bounds differ, after those
// that they share. A range [x\xff, y) is one of all that starts with x\xff:
// the successor of a prefix that ends in \xff is shorter than the prefix.

// An upper bound. The strings below "x\0" are those up to "x": then that is the
// bound, and inclusive.
struct SurfUpperBound {
  SurfUpperBound(const Slice& bound, bool bound_inclusive)
      : hi(bound), inclusive(bound_inclusive) {
    if (inclusive || hi.empty() || hi[hi.size() - 1] != '\0') return;
    hi.remove_suffix(1);
    inclusive = true;
  }

  Slice hi;
  bool inclusive;
};

// A bound, as it is seen from a leaf whose path begins the bound. What is said
// of the keys of the path is true of those with the real bits of the bound.
struct LeafBound {
  // How many of its bytes the path tells something of.
  size_t depth() const { return std::min(before_last + 1, key.size()); }

  Slice key;
  // The number of bytes before the last one that the path tells something of,
  // where the end of a key counts as a byte. All keys of the path share them.
  size_t before_last = 0;
  // How many bytes all keys of the path that are at or above the bound share
  // with it, and those that are at or below it. In a trie of digits, the path
  // may end within the last byte.
  size_t shared_above = 0;
  size_t shared_below = 0;
  uint64_t real = 0;  // its real bits (surf_suffix.h)
  // Whether all keys of the path are the bound or above it.
  bool reached = false;
  // Whether all keys of the path are above it.
  bool passed = false;
};

// A leaf that is compared with bounds which its path begins. The leaf is no
// terminator. `suffix` and `salt` must outlive it.
class SurfLeaf {
 public:
  SurfLeaf(const SurfSuffix& suffix, const FilterSalt& salt, uint64_t value)
      : suffix_(suffix),
        salt_(salt),
        value_(value),
        real_(suffix.RealOfValue(value)) {}

  // Returns true if the key may be `lo` or above.
  bool MayReach(const LeafBound& lo) const {
    if (real_ != lo.real) return real_ > lo.real;
    return lo.passed || MayStartWith(lo, SameFrom(lo.key, lo.shared_above));
  }

  // Returns true if the key may be that of the bound, whose hash is computed
  // only if the real bits are the same.
  bool MayBeKey(const LeafBound& bound) const {
    return real_ == bound.real &&
           suffix_.MayHaveHash(value_, bound.key, salt_) && MayBe(bound);
  }

  // Returns true if the key, if it may reach `lo`, may also be below it.
  bool MayBeBelow(const LeafBound& lo) const {
    return real_ == lo.real && !lo.reached;
  }

  // Returns true if the key may be below `hi`, or be `hi` if that is inclusive.
  bool MayStayWithin(const LeafBound& hi, bool hi_inclusive) const {
    if (real_ != hi.real) return real_ < hi.real;
    return !hi.passed && (hi_inclusive || !hi.reached) &&
           (hi.shared_below < hi.key.size() || MayBe(hi));
  }

  // Returns true if the key, if it may stay within `hi`, may also be above it.
  bool MayBeAbove(const LeafBound& hi) const {
    return real_ == hi.real &&
           MayStartWith(hi, SameFrom(hi.key, hi.shared_above));
  }

  // Returns true if the key may be in a range, lo <= hi.
  bool MayLieBetween(const LeafBound& lo, const LeafBound& hi,
                     bool hi_inclusive) const {
    return MayReach(lo) && MayStayWithin(hi, hi_inclusive) &&
           (suffix_.prefix_bits == 0 || MayStartBetween(lo, hi, hi_inclusive));
  }

 private:
  // How many bytes all strings from `lo` on that start with its first `size`
  // bytes share with it.
  static size_t SameFrom(const Slice& lo, size_t size) {
    while (size < lo.size() && lo[size] == '\xff') size++;
    return size;
  }

  bool MayStartBetween(const LeafBound& low, const LeafBound& high,
                       bool hi_inclusive) const {
    const Slice& lo = low.key;
    const Slice& hi = high.key;
    size_t same = low.before_last;
    while (same < lo.size() && same < hi.size() && lo[same] == hi[same]) same++;
    if (same == lo.size()) {
      return same == hi.size() ? MayBe(low) : MayStartWith(low, same);
    }
    const int gap =
        static_cast<uint8_t>(hi[same]) - static_cast<uint8_t>(lo[same]);
    if (gap > 1) return MayStartWith(low, same);
    same++;
    if (MayStartWith(low, SameFrom(lo, same))) return true;
    return same == hi.size() ? hi_inclusive && MayBe(high)
                             : MayStartWith(high, same);
  }

  // The prefix bits say nothing of a part of the last byte of the path.
  bool MayStartWith(const LeafBound& bound, size_t size) const {
    return size <= bound.before_last ||
           HasPrefixBits(bound, PrefixBitsWithin(size - bound.depth(),
                                                 suffix_.prefix_bits,
                                                 suffix_.prefix_step));
  }
  bool MayBe(const LeafBound& bound) const {
    return HasPrefixBits(bound, suffix_.prefix_bits);
  }
  bool HasPrefixBits(const LeafBound& bound, uint32_t count) const {
    return suffix_.HasPrefixBits(value_, bound.key, bound.depth(), count,
                                 salt_);
  }

  const SurfSuffix& suffix_;
  const FilterSalt& salt_;
  const uint64_t value_;
  const uint64_t real_;
};

constexpr FilterKind kSurfKind{1};

class Surf : public RangeFilter {
 public:
  // Opens, in place, a payload that was built with `salt`. The payload must
  // outlive the filter and be followed by kReadPadding readable bytes. Returns
  // Corruption if it is damaged.
  static Status Open(const Slice& payload, const FilterSalt& salt,
                     std::unique_ptr<RangeFilter>* filter);

  bool KeyMayMatch(const Slice& key) const override;
  void KeysMayMatch(size_t num_keys, Slice** keys,
                    bool* may_match) const override;

  // Walks down the two bounds at once, and stops as soon as the answer is sure.
  // Costs as much as one point lookup while the bounds share a prefix, and as
  // much as two at most.
  bool RangeMayMatch(const Slice& lo, const Slice& hi,
                     bool hi_inclusive) const override;

  // The stored prefix of the first key that may be at or above `target`, or
  // `target` if that key may lie on either side of it.
  bool LowerBound(const Slice& target, std::string* bound) const override;

  // Counts the leaves between the bounds on each level, without stepping
  // through them.
  bool CountRange(const Slice& lo, const Slice& hi, bool hi_inclusive,
                  RangeCount* count) const override {
    CountLeaves(lo, hi, hi_inclusive, /*removed=*/nullptr, count);
    return true;
  }
  // Tells how many of the leaves in [begin, end) are not to be counted.
  using RemovedLeaves = std::function<uint32_t(uint32_t begin, uint32_t end)>;
  // CountRange without the leaves that `removed` tells of, if it is given.
  void CountLeaves(const Slice& lo, const Slice& hi, bool hi_inclusive,
                   const RemovedLeaves& removed, RangeCount* count) const;

  FilterReport Report() const override;
  // CountRange for [lo, hi].
  RangeCount Count(const Slice& lo, const Slice& hi) const {
    RangeCount count;
    CountRange(lo, hi, /*hi_inclusive=*/true, &count);
    return count;
  }

  // Walks the stored prefixes in key order. The filter must outlive it.
  class Iterator : public FstIterator {
   public:
    explicit Iterator(const Surf* surf)
        : FstIterator(&surf->fst_), surf_(surf) {}

    // moveToNext (section 3.5): moves to the first key that may be at or above
    // `target`. Returns the false positive flag: true if that key may also be
    // below `target`; false if it certainly is not, or if there is no such key.
    bool Seek(const Slice& target);

    // The bytes of the current key that are stored. Valid until the iterator
    // moves.
    Slice key_prefix() const;
    // The real suffix bits that follow it.
    uint64_t real_suffix() const;

   private:
    const Surf* surf_;
    mutable std::string key_prefix_;
  };

  const Fst& fst() const { return fst_; }
  // Returns true if the trie is one of digits, whose code is then `code()`.
  bool IsCoded() const { return is_coded_; }
  const KeyCode& code() const { return code_; }
  const SurfSuffix& suffix() const { return suffix_; }
  const FilterSalt& salt() const { return salt_; }
  // A leaf, by its number, to compare bounds with.
  SurfLeaf LeafOf(uint32_t leaf) const {
    return SurfLeaf(suffix_, salt_,
                    BoundsNeedValue() ? fst_.values().Get(leaf) : 0);
  }
  SurfLeaf LeafOf(const Fst::Node& node, const Fst::Edge& edge) const {
    return BoundsNeedValue() ? LeafOf(fst_.Leaf(node, edge))
                             : SurfLeaf(suffix_, salt_, 0);
  }
  // A bound whose first `depth` bytes, or digits, are the path of a leaf.
  LeafBound AtLeaf(const Slice& bound, size_t depth) const {
    LeafBound at;
    at.key = bound;
    at.before_last = depth - 1;
    at.shared_above = at.shared_below = depth;
    at.real = suffix_.Real(bound, depth);
    at.reached = suffix_.RealIsWhole(bound, depth);
    return at;
  }
  LeafBound AtLeaf(const CodedKey& bound, size_t depth) const {
    LeafBound at;
    at.key = bound.key();
    if (BoundsNeedValue()) {
      const KeyCode::LastByte last =
          code_.LastByteOf(at.key, depth, /*one_more=*/suffix_.real_bits > 0);
      at.before_last = last.before;
      at.shared_above = last.before + (last.is_largest ? 1 : 0);
      at.shared_below = last.before + (last.is_smallest ? 1 : 0);
      if (last.goes_on) {
        at.real = bound[depth++];
      }
    }
    at.reached = bound.IsReachedBy(depth);
    at.passed = bound.IsPassedBy(depth);
    return at;
  }

 private:
  Surf() = default;

  // Hash bits alone say nothing about bounds.
  bool BoundsNeedValue() const {
    return suffix_.real_bits + suffix_.prefix_bits > 0;
  }

  Fst fst_;
  // Whether the trie is one of digits, and their code.
  bool is_coded_ = false;
  KeyCode code_;
  SurfSuffix suffix_;
  FilterSalt salt_;
};

// Collects the keys of one SuRF in one pass. There is no SuRF of long keys that
// share most of their bytes with one neighbor each, and few with all others:
// the trie would be almost a copy of the keys.
class SurfBuilder : public RangeFilterBuilder {
 public:
  // The builder chooses the step of the prefix bits.
  explicit SurfBuilder(const SurfSuffix& suffix, const FstOptions& options = {},
                       const FilterTask& task = {});

  void Write(size_t part, char* payload) override;
  double ApproximateBitsPerKey() const override {
    return kUsualTrieBitsPerKey + suffix_.bits();
  }
  uint64_t MaxSize() const override;
  FilterReport Report() const override {
    FilterReport report;
    report.design = suffix_.Describe();
    return report;
  }

 protected:
  void Add(const Slice& key, size_t shared, size_t next_shared) override;
  void AddLast(const Slice& key, size_t shared) override;
  Status Plan(const KeysEnd& end, std::vector<PlannedPart>* parts) override;
  size_t Memory() const override { return fst_.MemoryUsage(); }

  const SurfSuffix& suffix() const { return suffix_; }
  // The number of bytes, or all of them, that the trie stores of a key which
  // shares its first bytes with its neighbors.
  static size_t Depth(const Slice& key, size_t shared, size_t next_shared) {
    // The trie stores one byte past what the key shares with its neighbors,
    // unless the key ends there because it is a prefix of the next key.
    return std::min(std::max(shared, next_shared) + 1, key.size());
  }
  // Keys may be added with a value that has no prefix bits.
  FstBuilder* fst() { return &fst_; }
  // Plan for a trie of any size.
  Status PlanTrie(uint64_t* size);

 private:
  // Real bits follow the bytes of a trie, and no part of a byte.
  static FstOptions Allowed(const SurfSuffix& suffix, FstOptions options) {
    if (suffix.real_bits > 0) options.digits = FstOptions::kNever;
    return options;
  }
  template <bool kIsLast>
  void AddToTrie(const Slice& key, size_t shared, size_t next_shared);

  // The size of a trie of random integers; URLs take up to three times as much.
  static constexpr double kUsualTrieBitsPerKey = 8;

  // A filter may take the largest of these, or a third of the keys.
  uint64_t AllowedSize(uint64_t key_bytes) const {
    return std::max({kSmall, kMaxBytesPerKey * num_keys(), key_bytes / 3});
  }
  static constexpr uint64_t kSmall = 64 << 10;
  static constexpr uint64_t kMaxBytesPerKey = 64;

  SurfSuffix suffix_;
  const PrefixBitDrafts drafts_;
  PrefixStepChooser step_;
  FstBuilder fst_;
  uint64_t key_bytes_ = 0;
};

}  // namespace ROCKSDB_NAMESPACE::protean
