// SPDX-License-Identifier: Apache-2.0

//  Questions to a filter that consists of parts, each over a contiguous range
//  of the keys:
//
//  - A range needs the part in which it begins and, if it ends in another one,
//    that other part. No other parts are needed: where one lies between the
//    two, it has a key, and all its keys are in the range.
//  - A seek needs the part of its target, and the next one if that part ends
//    below all keys that it could find.
//  - A count needs the parts in which the range begins and ends. Each part
//    tells how many keys the parts before it hold.
//
//  The parts are those of a partitioned filter (table/partitioned_filter.h), or
//  the segments of a large whole one (segmented_filter.h). A Parts is a cursor
//  over either:
//
//    Seek(key)      goes to the first part that ends at or above the key
//    SeekToLast()
//    Next()
//    Valid()
//    AtEnd()        whether the cursor, which is not valid, is certainly behind
//                   the last part. Moves the cursor
//    end()          a string at or above all keys of the part at the cursor.
//                   The keys of the parts behind are above it, but for the
//                   part's last key, which the next part may hold, too
//    Part()         the part at the cursor, or nullptr if it may hold any key

#pragma once

#include <string>
#include <utility>

#include "filter_policy/filter_block.h"

namespace ROCKSDB_NAMESPACE::protean {

template <typename Parts>
bool KeyMayMatchIn(Parts* parts, const Slice& key) {
  parts->Seek(key);
  if (!parts->Valid()) return !parts->AtEnd();
  const FilterBlock* const part = parts->Part();
  return part == nullptr || part->KeyMayMatch(key);
}

template <typename Parts>
bool RangeMayMatchIn(Parts* parts, const Slice& lo, const Slice& hi,
                     bool hi_inclusive) {
  parts->Seek(lo);
  if (!parts->Valid()) return !parts->AtEnd();
  const FilterBlock* part = parts->Part();
  if (part == nullptr || part->RangeMayMatch(lo, hi, hi_inclusive)) return true;
  // A key that ends a part is in that part, even if the next one has it too.
  if (hi.compare(parts->end()) <= 0) return false;
  parts->Next();
  if (!parts->Valid()) return !parts->AtEnd();
  // All keys of this part are in the range.
  if (hi.compare(parts->end()) > 0) return true;
  part = parts->Part();
  return part == nullptr || part->RangeMayMatch(lo, hi, hi_inclusive);
}

// LowerBound or QuickLowerBound of a FilterBlock.
using BoundFunction = bool (FilterBlock::*)(const Slice& target,
                                            std::string* bound) const;

template <typename Parts>
bool LowerBoundIn(Parts* parts, const Slice& target, BoundFunction bound_in,
                  std::string* bound) {
  for (parts->Seek(target); parts->Valid(); parts->Next()) {
    const FilterBlock* const part = parts->Part();
    if (part == nullptr) break;
    if ((part->*bound_in)(target, bound)) return true;
  }
  if (!parts->Valid() && parts->AtEnd()) return false;
  bound->assign(target.data(), target.size());
  return true;
}

// Whether a part counts. RocksDB adds prefixes to parts, which are counted as
// keys there and in the parts behind.
inline bool Counts(const FilterBlock* part) {
  return part != nullptr &&
         (part->header().flags & FilterBlockHeader::kAskedForPrefixes) == 0;
}

// Counts the keys of a part from `lo` on; the part ends at `end`.
inline bool CountFrom(const FilterBlock& part, const Slice& lo,
                      const Slice& end, RangeCount* count) {
  if (lo.compare(part.smallest()) <= 0) {
    count->count = part.header().num_keys;
    return true;
  }
  const bool counted = part.CountRange(lo, end, /*hi_inclusive=*/true, count);
  count->high_ambiguous = false;
  return counted;
}

// Lowers a limit of RangeCount to the end of the part that the ambiguous key is
// in.
inline void LimitToPart(const Slice& end, std::string* limit) {
  // The first string above the end.
  std::string behind = end.ToString() + '\0';
  if (limit->empty() || behind < *limit) *limit = std::move(behind);
}

template <typename Parts>
bool CountRangeIn(Parts* parts, const Slice& lo, const Slice& hi,
                  bool hi_inclusive, RangeCount* count) {
  RangeCount sum;
  parts->Seek(lo);
  if (!parts->Valid()) {
    *count = std::move(sum);
    return parts->AtEnd();
  }
  const FilterBlock* part = parts->Part();
  if (!Counts(part)) return false;
  const std::string low_end = parts->end().ToString();
  if (hi.compare(low_end) <= 0) {
    RangeCount inside;
    if (!part->CountRange(lo, hi, hi_inclusive, &inside)) return false;
    LimitToPart(low_end, &inside.low_limit);
    LimitToPart(low_end, &inside.high_limit);
    *count = std::move(inside);
    return true;
  }
  // All keys of this part from `lo` on, which none of the others is beyond.
  RangeCount low;
  if (!CountFrom(*part, lo, low_end, &low)) return false;
  sum.count = low.count;
  sum.low_ambiguous = low.low_ambiguous;
  sum.low_shared = low.low_shared;
  sum.low_limit = std::move(low.low_limit);
  LimitToPart(low_end, &sum.low_limit);
  const uint64_t keys_to_low =
      part->header().keys_before + part->header().num_keys;
  parts->Seek(hi);
  const bool is_behind = !parts->Valid();
  if (is_behind) {
    if (!parts->AtEnd()) return false;
    parts->SeekToLast();
  }
  const std::string high_end = parts->end().ToString();
  if (high_end != low_end) {
    part = parts->Part();
    if (!Counts(part)) return false;
    RangeCount high;
    if (is_behind) {
      high.count = part->header().num_keys;
    } else if (!part->CountRange(Slice(), hi, hi_inclusive, &high)) {
      return false;
    }
    // The difference is negative where this part begins with the key with which
    // the other one ends.
    sum.count += high.count + part->header().keys_before - keys_to_low;
    sum.high_ambiguous = high.high_ambiguous;
    sum.high_shared = high.high_shared;
    sum.high_limit = std::move(high.high_limit);
    LimitToPart(high_end, &sum.high_limit);
  }
  *count = std::move(sum);
  return true;
}

}  // namespace ROCKSDB_NAMESPACE::protean
