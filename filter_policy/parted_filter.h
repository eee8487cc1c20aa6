// SPDX-License-Identifier: Apache-2.0

//  The filter of a file, which consists of parts, each over a contiguous range
//  of the keys. A question needs few of them:
//
//  - A range needs the part in which it begins and, if it ends beyond that, the
//    next one. No others: where a part lies within the range, so do its keys.
//  - A seek needs the part of its target, and the next one if that part has no
//    key at or above the target.
//  - A count needs the parts in which the range begins and ends; the directory
//    has the number of keys in each.
//
//  A part that cannot be used may hold any key, and the others go on filtering.

#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "filter_policy/filter_block.h"
#include "filter_policy/range_filter.h"

namespace ROCKSDB_NAMESPACE::protean {

// What a seek or a count asks the filter of an SST file: one block
// (FilterBlock), or parts in the block cache
// (table/rocksdb_internals/cached_filter.h). Where a function says "certainly",
// a filter that cannot be read says no.
class FileRangeFilter {
 public:
  virtual ~FileRangeFilter() = default;

  const FilterDirectory& directory() const { return directory_; }
  const FilterBlockHeader& header() const { return directory_.header(); }

  // Returns true if the filter can answer range queries: it is of a kind that
  // filters, and neither the directory nor all parts are damaged.
  bool CanFilter() const { return can_filter_; }

  // These answer as the functions of RangeFilter do, and also use what is known
  // of the smallest and the largest key.
  bool KeyMayMatch(const Slice& key) const {
    if (!can_filter_) return true;
    if (!LengthMayMatch(key)) return false;
    const RangeFilter* const part = PartWith(key);
    return part == nullptr || part->KeyMayMatch(key);
  }
  // Keys that are in order are looked up part by part.
  void KeysMayMatch(size_t num_keys, Slice** keys, bool* may_match) const;
  bool RangeMayMatch(const Slice& lo, const Slice& hi, bool hi_inclusive) const;
  // False if certainly no key starts with `prefix`.
  bool PrefixMayMatch(const Slice& prefix) const;
  // Answers what RocksDB asks: for a key, or with a prefix extractor perhaps
  // for a prefix.
  bool EntryMayMatch(const Slice& entry) const {
    return (header().flags & FilterBlockHeader::kAskedForPrefixes) != 0
               ? PrefixMayMatch(entry)
               : KeyMayMatch(entry);
  }

  // A stored bound above `target` is not above the largest key.
  bool LowerBound(const Slice& target, std::string* bound) const;
  // A LowerBound that knows the smallest and the largest key alone.
  bool QuickLowerBound(const Slice& target, std::string* bound) const {
    const bool is_below = target.compare(header().smallest) < 0;
    const Slice& first = is_below ? header().smallest : target;
    bound->assign(first.data(), first.size());
    return MayHaveKeyAtOrAbove(target);
  }
  bool LowerBoundIsLoose() const {
    return only_ != nullptr ? only_->LowerBoundIsLoose() : parts_may_be_loose_;
  }
  // Returns true if LowerBound(target) is slow.
  bool LowerBoundIsSlow(const Slice& target) const {
    if (!can_filter_) return false;
    const RangeFilter* const part = PartWith(target);
    return part != nullptr && part->LowerBoundIsSlow();
  }
  // Filters of every kind can count a range that encloses all keys.
  bool CountRange(const Slice& lo, const Slice& hi, bool hi_inclusive,
                  RangeCount* count) const;

  // False if certainly all keys are below, or above, `bound`.
  bool MayHaveKeyAtOrAbove(const Slice& bound) const {
    return !can_filter_ || !IsAbove(bound);
  }
  bool MayHaveKeyAtOrBelow(const Slice& bound) const {
    return header().smallest.compare(bound) <= 0;
  }
  // True only if the file certainly holds a key below, or not below, `bound`.
  bool HasKeyBelow(const Slice& bound) const {
    return can_filter_ && HasKeys() && IsAbove(bound, header().smallest);
  }
  bool HasKeyAtOrAbove(const Slice& bound) const {
    return can_filter_ && HasKeys() && header().largest.compare(bound) >= 0;
  }
  // True only if the file certainly holds a key.
  bool HasKeys() const { return header().num_keys > 0; }
  // The beginnings of these keys, as in FilterBlockHeader.
  Slice smallest() const { return header().smallest; }
  Slice largest() const { return header().largest; }

 protected:
  // The directory is read, and outlives this object.
  explicit FileRangeFilter(const FilterDirectory& directory)
      : directory_(directory) {}
  FileRangeFilter(const FileRangeFilter&) = delete;
  FileRangeFilter& operator=(const FileRangeFilter&) = delete;
  // Called by the constructor once the directory is read. A filter whose one
  // part stays the same names it. Without `can_filter`, no part can be used.
  void SetUp(const RangeFilter* only, bool can_filter);

  // The part with this index, or nullptr if it may hold any key. Valid until
  // the call for a third part.
  virtual const RangeFilter* PartOf(size_t index) const = 0;

 private:
  // False if no key of the file is as long (modulo 32) as `key`, which may be a
  // key cut short or extended.
  bool LengthMayMatch(const Slice& key) const {
    return (key_lengths_ & FilterBlockHeader::LengthBit(key)) != 0;
  }
  bool IsOutside(const Slice& lo, const Slice& hi, bool hi_inclusive) const;
  // Returns true if `key` is certainly above another key, of which only the
  // first bytes are known: `stored`.
  static bool IsAbove(const Slice& key, const Slice& stored) {
    return key.compare(stored) > 0 &&
           (stored.size() < FilterBlockHeader::kMaxStoredKey ||
            !key.starts_with(stored));
  }
  // Returns true if `key` is certainly above the largest key.
  bool IsAbove(const Slice& key) const {
    return IsAbove(key, header().largest);
  }
  // The part that has the key if the file has it.
  const RangeFilter* PartWith(const Slice& key) const {
    return only_ != nullptr ? only_ : PartOf(directory_.Find(key));
  }
  bool LowerBoundInParts(const Slice& target, std::string* bound) const;
  bool CountInParts(const Slice& lo, const Slice& hi, bool hi_inclusive,
                    RangeCount* count) const;

  const FilterDirectory& directory_;
  const RangeFilter* only_ = nullptr;
  bool can_filter_ = false;
  bool parts_may_be_loose_ = false;
  uint32_t key_lengths_ = 0;  // all bits set if unknown
  // The first 8 bytes of the smallest and of the largest key, as numbers.
  uint64_t smallest_head_ = 0;
  uint64_t largest_head_ = 0;
};

// A filter block that is in memory with all its parts. Immutable and thread
// safe.
class FilterBlock final : public FileRangeFilter {
 public:
  // Never fails: of a block that is damaged, or of an unknown version or kind,
  // what cannot be used lets all keys through, and status() says why.
  // `contents` must outlive this object.
  explicit FilterBlock(const Slice& contents);

  // Why the filter, or the first such part of it, is not used.
  const Status& status() const { return status_; }

  // The first part; nullptr if there is none, or if it cannot be used.
  const RangeFilter* filter() const {
    return parts_.empty() ? nullptr : parts_.front().get();
  }

 private:
  const RangeFilter* PartOf(size_t index) const override {
    return parts_[index].get();
  }

  // Opens a unit; nullptr if it is damaged.
  std::unique_ptr<RangeFilter> OpenUnit(const Slice& contents,
                                        const UnitName& name);
  std::unique_ptr<RangeFilter> OpenPart(const Slice& contents, size_t part);
  Slice BytesOf(const Slice& contents, const UnitName& name) const {
    const FilterUnit& unit = directory_.UnitOf(name);
    return Slice(contents.data() + unit.offset, unit.size());
  }

  FilterDirectory directory_;
  std::vector<std::unique_ptr<RangeFilter>> parts_;
  Status status_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
