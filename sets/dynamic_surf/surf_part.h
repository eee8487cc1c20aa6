// SPDX-License-Identifier: Apache-2.0

//  The static part of a SuRF with updates: a SuRF, and tombstones for those of
//  its keys that were deleted (SuRF paper, appendix A).

#pragma once

#include <memory>
#include <string>

#include "filter_policy/surf/surf.h"

namespace ROCKSDB_NAMESPACE::protean {

// Not synchronized: functions that are not const need the part for themselves.
class SurfPart {
 public:
  // Takes a payload of `size` bytes and the padding behind it. Returns
  // Corruption if the payload is damaged or a trie of digits.
  static Status Create(std::string payload, uint64_t size,
                       const FilterSalt& salt, std::unique_ptr<SurfPart>* part);

  // The SuRF, with all of its keys.
  const Surf& surf() const { return static_cast<const Surf&>(*filter_); }
  Slice payload() const { return Slice(payload_.data(), size_); }

  // The leaves whose keys were deleted.
  const LeafSet& removed() const { return removed_; }
  void Remove(uint32_t leaf) { removed_.Add(leaf); }

  // The leaf that may be that of `key`, and was not removed; false if there is
  // none.
  bool FindLeaf(const Slice& key, uint32_t* leaf) const {
    return surf().FindLeaf(key, leaf) && !removed_.Has(*leaf);
  }

  // Counts as Surf::CountRange does.
  RangeCount Count(const Slice& lo, const Slice& hi, bool hi_inclusive) const {
    RangeCount count;
    surf().CountLeaves(lo, hi, hi_inclusive,
                       removed_.size() > 0 ? &removed_ : nullptr, &count);
    return count;
  }

  // False if certainly no key is at or above `target`. Else stores a string
  // such that no key is in [target, *bound): the stored prefix of the first
  // key, or that of a deleted key if very many of these come first.
  bool LowerBound(const Slice& target, std::string* bound) const;

  size_t MemoryUsage() const {
    return payload_.capacity() + removed_.MemoryUsage();
  }

 private:
  // LowerBound steps over this many deleted keys at most.
  static constexpr int kMaxSteps = 256;

  SurfPart(std::string payload, uint64_t size)
      : payload_(std::move(payload)), size_(size) {}

  const std::string payload_;
  const uint64_t size_;
  std::unique_ptr<RangeFilter> filter_;  // a Surf
  LeafSet removed_{0};
};

}  // namespace ROCKSDB_NAMESPACE::protean
