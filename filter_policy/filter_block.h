// SPDX-License-Identifier: Apache-2.0

//  The filter block of an SST file: an envelope around the payload of the
//  filter, the same for every kind of filter.
//
//    offset  size
//         0     4   magic "PRTN"
//         4     1   format version: 2 with a salt, 1 without; 4 is 2 in
//                   segments (segmented_filter.h)
//         5     1   kind of the filter (filter_kinds.h)
//         6     2   flags
//         8     4   CRC-32C of all bytes but these four
//        12     4   offset of the payload
//        16     8   number of distinct keys
//        24     2   length of the stored part of the smallest key, at most 64
//        26     2   length of the stored part of the largest key, at most 64
//        28     4   key lengths % 32, a bit for each; zero if not known
//        32    16   but in version 1: the salt, the number of the file first
//  32 or 48         the stored parts of the smallest and of the largest key
//                   payload
//                   16 zero bytes, so that queries may read whole words
//
//  A part of a partitioned filter has a shorter envelope, since there are many:
//
//         0     4   magic "PRTN"
//         4     1   format version: 3
//         5     1   kind of the filter
//         6     2   flags
//         8     4   CRC-32C of all bytes but these four
//        12     4   key lengths % 32, as above
//        16     4   number of distinct keys
//        20     4   number of unused bytes
//        24     6   number of distinct keys in the parts before
//        30     1   length of the stored part of the smallest key
//        31     1   length of the stored part of the largest key
//        32         payload
//                   unused zero bytes
//                   the stored parts of the smallest and of the largest key
//                   the salt, 16 bytes
//
//  All numbers are little endian. A block is read in place, at any alignment.

#pragma once

#include <algorithm>
#include <memory>
#include <string>

#include "filter_policy/file_range_filter.h"
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
    // The first or the last entry may be no key, but the prefix of the key
    // before or after this part, which RocksDB adds for its prefix seeks.
    kMayHoldPrefixes = 1 << 2,
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
  // Whether this is a part of a partitioned filter, and the number of distinct
  // keys in the parts before, without those that this part holds, too.
  bool is_part = false;
  uint64_t keys_before = 0;
  // Whether the payload is in segments, each with a filter of the kind.
  bool is_segmented = false;

  // Makes the header that of a block whose keys no filter can hold.
  void HoldNoKeys() {
    kind = FilterKind::kAlwaysTrue;
    smallest = Slice();
    largest = Slice();
    key_lengths = 0;
    salt = FilterSalt();
    is_segmented = false;
  }

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

// Whether a block, which may be damaged, says that it is that of a part.
bool IsPart(const Slice& block);

// Write the block of a part, whose payload comes first and may be shorter than
// the size that was planned.
char* PayloadOfPart(char* block);
void FinishPart(const FilterBlockHeader& header, uint64_t payload_size,
                char* block, size_t size);

// An opened filter block. Immutable and thread safe.
class FilterBlock final : public FileRangeFilter {
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

  bool KeyMayMatch(const Slice& key) const override {
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
  bool RangeMayMatch(const Slice& lo, const Slice& hi,
                     bool hi_inclusive) const override;
  // False if certainly no key starts with `prefix`.
  bool PrefixMayMatch(const Slice& prefix) const;
  // Answers what RocksDB asks: for a key, or with a prefix extractor for a
  // prefix, without saying for which of the two.
  bool EntryMayMatch(const Slice& entry) const {
    return (header_.flags & FilterBlockHeader::kAskedForPrefixes) != 0
               ? PrefixMayMatch(entry)
               : KeyMayMatch(entry);
  }

  bool LowerBound(const Slice& target, std::string* bound) const override;
  bool LowerBoundIsLoose() const override {
    return filter_ != nullptr && filter_->LowerBoundIsLoose();
  }
  bool LowerBoundIsSlow(const Slice& /*target*/) const override {
    return filter_ != nullptr && filter_->LowerBoundIsSlow();
  }
  bool QuickLowerBound(const Slice& target, std::string* bound) const override {
    const bool is_below = target.compare(header_.smallest) < 0;
    const Slice& first = is_below ? header_.smallest : target;
    bound->assign(first.data(), first.size());
    return MayHaveKeyAtOrAbove(target);
  }
  bool CountRange(const Slice& lo, const Slice& hi, bool hi_inclusive,
                  RangeCount* count) const override;

  bool MayHaveKeyAtOrAbove(const Slice& bound) const override {
    return !CanFilter() || header_.num_keys == 0 || !IsAbove(bound);
  }
  bool MayHaveKeyAtOrBelow(const Slice& bound) const override {
    return header_.smallest.compare(bound) <= 0;
  }
  bool HasKeyBelow(const Slice& bound) const override {
    return CanFilter() && header_.num_keys > 0 &&
           IsAbove(bound, header_.smallest);
  }
  bool HasKeyAtOrAbove(const Slice& bound) const override {
    return filter_ != nullptr && header_.num_keys > 0 &&
           header_.largest.compare(bound) >= 0;
  }
  bool HasKeys() const override { return header_.num_keys > 0; }
  Slice smallest() const override { return header_.smallest; }
  Slice largest() const override { return header_.largest; }

  // The filter, or nullptr. It is a SegmentedFilter if the header says that the
  // payload is in segments.
  const RangeFilter* filter() const { return filter_.get(); }

 private:
  Status Open(const Slice& contents);
  // Read the rest of the header, and where the payload is; false if the lengths
  // do not fit.
  bool ReadWhole(const Slice& contents, uint8_t version, Slice* payload);
  bool ReadPart(const Slice& contents, Slice* payload);
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
