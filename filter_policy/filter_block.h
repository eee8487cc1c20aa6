// SPDX-License-Identifier: Apache-2.0

//  The filter block of an SST file: an envelope around the payload of the
//  filter, the same for every kind of filter.
//
//    offset  size
//         0     4   magic "PRTN"
//         4     1   format version: 2 with a salt, 1 without
//         5     1   kind of the filter (filter_kinds.h)
//         6     2   flags
//         8     4   CRC-32C of all bytes but these four
//        12     4   offset of the payload
//        16     8   number of distinct keys
//        24     2   length of the stored part of the smallest key, at most 64
//        26     2   length of the stored part of the largest key, at most 64
//        28     4   key lengths % 32, a bit for each; zero if not known
//        32    16   in version 2: the salt, the number of the file first
//  32 or 48         the stored parts of the smallest and of the largest key
//                   payload
//                   16 zero bytes, so that queries may read whole words
//
//  All numbers are little endian. A block is read in place, at any alignment.

#pragma once

#include <algorithm>
#include <memory>
#include <string>

#include "filter_policy/filter_kinds.h"
#include "filter_policy/range_filter.h"

namespace ROCKSDB_NAMESPACE::protean {

struct FilterBlockHeader {
  enum Flags : uint16_t {
    // Readers may ask for prefixes of keys as well as for keys, because the
    // file was written with a prefix extractor.
    kAskedForPrefixes = 1 << 0,
    // The extracted prefixes are not literal prefixes of the keys, so the
    // filter cannot answer for them.
    kPrefixesUnknown = 1 << 1,
  };

  FilterKind kind = FilterKind::kAlwaysTrue;
  uint16_t flags = 0;
  uint64_t num_keys = 0;
  // The smallest and largest key, or the first 64 bytes of them.
  Slice smallest;
  Slice largest;
  // The lengths of the keys modulo 32, a bit for each; 0 if unknown.
  uint32_t key_lengths = 0;
  // The salt of the payload's hashes; none if nothing in the payload is hashed.
  FilterSalt salt;

  static uint32_t LengthBit(const Slice& key) {
    return uint32_t{1} << (key.size() % 32);
  }

  static constexpr size_t kMaxStoredKey = 64;
};

// The size of a block with this header and a payload of `payload_size` bytes.
size_t FilterBlockSize(const FilterBlockHeader& header, uint64_t payload_size);

// Writes the header to `block`, which has FilterBlockSize() zero bytes. Returns
// where the payload belongs. Once the payload is there, FinishFilterBlock
// completes the block.
char* StartFilterBlock(const FilterBlockHeader& header, char* block);
void FinishFilterBlock(char* block, size_t size);

// An opened filter block. Immutable and thread safe.
class FilterBlock {
 public:
  // Never fails: a block that is damaged, or whose version or kind is unknown
  // to this version of Protean, gives a filter that always answers "may match",
  // and status() says why. `contents` must outlive this object.
  explicit FilterBlock(const Slice& contents);

  const Status& status() const { return status_; }
  const FilterBlockHeader& header() const { return header_; }

  // Whether the filter can answer range queries: it is intact and of a kind
  // that filters.
  bool CanFilter() const {
    return filter_ != nullptr && header_.kind != FilterKind::kAlwaysTrue;
  }

  // As in RangeFilter, but these functions also use what the header says of the
  // keys.
  bool KeyMayMatch(const Slice& key) const {
    return filter_ == nullptr ||
           (LengthMayMatch(key) && filter_->KeyMayMatch(key));
  }
  // Stores an answer for each of the `num_keys` keys.
  void KeysMayMatch(size_t num_keys, Slice** keys, bool* may_match) const {
    if (filter_ != nullptr) {
      filter_->KeysMayMatch(num_keys, keys, may_match);
      for (size_t i = 0; i < num_keys; i++) {
        may_match[i] &= LengthMayMatch(*keys[i]);
      }
    } else {
      std::fill_n(may_match, num_keys, true);
    }
  }
  bool RangeMayMatch(const Slice& lo, const Slice& hi, bool hi_inclusive) const;

  // False if certainly no key starts with `prefix`.
  bool PrefixMayMatch(const Slice& prefix) const;

  // As RangeFilter::LowerBound. A stored bound above `target` is not above the
  // largest key.
  bool LowerBound(const Slice& target, std::string* bound) const;
  bool LowerBoundIsLoose() const {
    return filter_ != nullptr && filter_->LowerBoundIsLoose();
  }
  bool LowerBoundIsSlow() const {
    return filter_ != nullptr && filter_->LowerBoundIsSlow();
  }
  // As RangeFilter::CountRange. Filters of every kind can count a range that
  // encloses all keys.
  bool CountRange(const Slice& lo, const Slice& hi, bool hi_inclusive,
                  RangeCount* count) const;

  // False if certainly all keys are below `bound`.
  bool MayHaveKeyAtOrAbove(const Slice& bound) const {
    return !CanFilter() || header_.num_keys == 0 || !IsAbove(bound);
  }
  // True only if the file certainly holds a key below `bound`.
  bool HasKeyBelow(const Slice& bound) const {
    return CanFilter() && header_.num_keys > 0 &&
           IsAbove(bound, header_.smallest);
  }

  // True only if the file certainly holds a key at or above `bound`.
  bool HasKeyAtOrAbove(const Slice& bound) const {
    return filter_ != nullptr && header_.num_keys > 0 &&
           header_.largest.compare(bound) >= 0;
  }

  // The filter, or nullptr.
  const RangeFilter* filter() const { return filter_.get(); }

 private:
  Status Open(const Slice& contents);
  // False if no key of the file is as long (modulo 32) as `key`, which may be a
  // key cut short or extended.
  bool LengthMayMatch(const Slice& key) const {
    return (key_lengths_ & FilterBlockHeader::LengthBit(key)) != 0;
  }
  bool IsOutside(const Slice& lo, const Slice& hi, bool hi_inclusive) const;
  // Whether `key` is certainly above another key, of which only the first bytes
  // are known: `stored`.
  static bool IsAbove(const Slice& key, const Slice& stored) {
    return key.compare(stored) > 0 &&
           (stored.size() < FilterBlockHeader::kMaxStoredKey ||
            !key.starts_with(stored));
  }
  // Whether `key` is certainly above the largest key.
  bool IsAbove(const Slice& key) const { return IsAbove(key, header_.largest); }

  FilterBlockHeader header_;
  // The first 8 bytes of the smallest and of the largest key, as numbers.
  uint64_t smallest_head_ = 0;
  uint64_t largest_head_ = 0;
  uint32_t key_lengths_ = 0;  // all bits set if unknown
  std::unique_ptr<RangeFilter> filter_;
  Status status_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
