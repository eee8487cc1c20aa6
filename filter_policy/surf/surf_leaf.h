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

// A leaf whose path, its key's first `depth` bytes, is a prefix of the bounds
// that it is compared with. The leaf is no terminator. `suffix` and `salt` must
// outlive it.
class SurfLeaf {
 public:
  SurfLeaf(const SurfSuffix& suffix, const FilterSalt& salt, uint64_t value,
           size_t depth)
      : suffix_(suffix),
        salt_(salt),
        value_(value),
        real_(suffix.RealOfValue(value)),
        depth_(depth) {}

  // Whether the key may be `lo` or above.
  bool MayReach(const Slice& lo) const {
    return real_ >= suffix_.Real(lo, depth_) &&
           MayStartWith(lo, SameFrom(lo, depth_));
  }

  // Whether the key, if it may reach `lo`, may also be below it.
  bool MayBeBelow(const Slice& lo) const {
    return real_ == suffix_.Real(lo, depth_) &&
           !suffix_.RealIsWhole(lo, depth_);
  }

  // Whether the key may be below `hi`, or be `hi` if that is inclusive.
  bool MayStayWithin(const Slice& hi, bool hi_inclusive) const {
    return RealMayStayWithin(hi, hi_inclusive) &&
           (depth_ < hi.size() || MayBe(hi));
  }

  // Whether the key, if it may stay within `hi`, may also be above it.
  bool MayBeAbove(const Slice& hi) const {
    return real_ == suffix_.Real(hi, depth_) &&
           MayStartWith(hi, SameFrom(hi, depth_));
  }

  // Whether the key may be in a range, lo <= hi.
  bool MayLieBetween(const Slice& lo, const Slice& hi,
                     bool hi_inclusive) const {
    return real_ >= suffix_.Real(lo, depth_) &&
           RealMayStayWithin(hi, hi_inclusive) &&
           (suffix_.prefix_bits == 0 || MayStartBetween(lo, hi, hi_inclusive));
  }

 private:
  // How many bytes all strings from `lo` on that start with its first `size`
  // bytes share with it.
  static size_t SameFrom(const Slice& lo, size_t size) {
    while (size < lo.size() && lo[size] == '\xff') size++;
    return size;
  }

  bool RealMayStayWithin(const Slice& hi, bool hi_inclusive) const {
    const uint64_t wanted = suffix_.Real(hi, depth_);
    return real_ == wanted ? hi_inclusive || !suffix_.RealIsWhole(hi, depth_)
                           : real_ < wanted;
  }

  bool MayStartBetween(const Slice& lo, const Slice& hi,
                       bool hi_inclusive) const {
    size_t same = depth_;
    while (same < lo.size() && same < hi.size() && lo[same] == hi[same]) same++;
    if (same == lo.size()) {
      return same == hi.size() ? MayBe(lo) : MayStartWith(lo, same);
    }
    const int gap =
        static_cast<uint8_t>(hi[same]) - static_cast<uint8_t>(lo[same]);
    if (gap > 1) return MayStartWith(lo, same);
    same++;
    if (MayStartWith(lo, SameFrom(lo, same))) return true;
    return same == hi.size() ? hi_inclusive && MayBe(hi)
                             : MayStartWith(hi, same);
  }

  bool MayStartWith(const Slice& string, size_t size) const {
    return suffix_.MayStartWith(value_, string, depth_, size, salt_);
  }
  bool MayBe(const Slice& key) const {
    return suffix_.MayBe(value_, key, depth_, salt_);
  }

  const SurfSuffix& suffix_;
  const FilterSalt& salt_;
  const uint64_t value_;
  const uint64_t real_;
  const size_t depth_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
