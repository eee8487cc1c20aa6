// SPDX-License-Identifier: Apache-2.0

//  What the suffix bits of a leaf of SuRF say about where its key lies. The
//  real bits order the key. The prefix bits tell whether the key may start with
//  a string, so they help where a bound, or a range, says how its keys start:
//
//    [lo, hi], lo a prefix of hi     all start with lo
//    [x..., y...], y = x + 1         all start with x or with y
//    [x, y), y = x + 1               all start with x: a scan of a prefix
//    [x..., y...], y > x + 1         all start with what the bounds share
//    [lo, ...)                       all that start with a part of lo go on
//                                    like lo while its next bytes are \xff
//
//  where x and y are the first bytes in which the bounds differ, after those
//  that they share. A range [x\xff, y) is one of all that starts with x\xff:
//  the successor of a prefix that ends in \xff is shorter than the prefix.

#pragma once

#include <algorithm>

#include "filter_policy/filter_salt.h"
#include "filter_policy/surf/surf_suffix.h"
#include "rocksdb/slice.h"

namespace ROCKSDB_NAMESPACE::protean {

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

  // Whether the key may be `lo` or above.
  bool MayReach(const LeafBound& lo) const {
    if (real_ != lo.real) return real_ > lo.real;
    return lo.passed || MayStartWith(lo, SameFrom(lo.key, lo.shared_above));
  }

  // Whether the key, if it may reach `lo`, may also be below it.
  bool MayBeBelow(const LeafBound& lo) const {
    return real_ == lo.real && !lo.reached;
  }

  // Whether the key may be below `hi`, or be `hi` if that is inclusive.
  bool MayStayWithin(const LeafBound& hi, bool hi_inclusive) const {
    if (real_ != hi.real) return real_ < hi.real;
    return !hi.passed && (hi_inclusive || !hi.reached) &&
           (hi.shared_below < hi.key.size() || MayBe(hi));
  }

  // Whether the key, if it may stay within `hi`, may also be above it.
  bool MayBeAbove(const LeafBound& hi) const {
    return real_ == hi.real &&
           MayStartWith(hi, SameFrom(hi.key, hi.shared_above));
  }

  // Whether the key may be in a range, lo <= hi.
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
           suffix_.MayStartWith(value_, bound.key, bound.depth(), size, salt_);
  }
  bool MayBe(const LeafBound& bound) const {
    return suffix_.MayBe(value_, bound.key, bound.depth(), salt_);
  }

  const SurfSuffix& suffix_;
  const FilterSalt& salt_;
  const uint64_t value_;
  const uint64_t real_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
