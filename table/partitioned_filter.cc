// SPDX-License-Identifier: Apache-2.0

#include "table/partitioned_filter.h"

#include "filter_policy/segments/part_search.h"

namespace ROCKSDB_NAMESPACE::protean {

bool PartitionedFilter::EntryMayMatch(const Slice& entry,
                                      const Slice& key) const {
  parts_.Seek(key);
  if (!parts_.Valid()) return !parts_.AtEnd();
  const FilterBlock* const part = parts_.Part();
  return part == nullptr || part->EntryMayMatch(entry);
}

bool PartitionedFilter::KeyMayMatch(const Slice& key) const {
  return KeyMayMatchIn(&parts_, key);
}

bool PartitionedFilter::RangeMayMatch(const Slice& lo, const Slice& hi,
                                      bool hi_inclusive) const {
  return RangeMayMatchIn(&parts_, lo, hi, hi_inclusive);
}

bool PartitionedFilter::LowerBound(const Slice& target,
                                   std::string* bound) const {
  return LowerBoundIn(&parts_, target, &FilterBlock::LowerBound, bound);
}

bool PartitionedFilter::QuickLowerBound(const Slice& target,
                                        std::string* bound) const {
  return LowerBoundIn(&parts_, target, &FilterBlock::QuickLowerBound, bound);
}

bool PartitionedFilter::LowerBoundIsSlow(const Slice& target) const {
  parts_.Seek(target);
  if (!parts_.Valid()) return false;
  const FilterBlock* const part = parts_.Part();
  return part != nullptr && part->LowerBoundIsSlow(target);
}

bool PartitionedFilter::CountRange(const Slice& lo, const Slice& hi,
                                   bool hi_inclusive, RangeCount* count) const {
  return CountRangeIn(&parts_, lo, hi, hi_inclusive, count);
}

bool PartitionedFilter::MayHaveKeyAtOrAbove(const Slice& bound) const {
  parts_.Seek(bound);
  if (!parts_.Valid()) return !parts_.AtEnd();
  if (!parts_.IsLast()) return true;
  const FilterBlock* const part = parts_.Part();
  return part == nullptr || part->MayHaveKeyAtOrAbove(bound);
}

bool PartitionedFilter::MayHaveKeyAtOrBelow(const Slice& bound) const {
  parts_.SeekToFirst();
  if (!parts_.Valid() || bound.compare(parts_.end()) >= 0) return true;
  const FilterBlock* const part = parts_.Part();
  return part == nullptr || part->MayHaveKeyAtOrBelow(bound);
}

bool PartitionedFilter::HasKeyBelow(const Slice& bound) const {
  parts_.SeekToFirst();
  if (!parts_.Valid()) return false;
  if (bound.compare(parts_.end()) > 0) return true;
  const FilterBlock* const part = parts_.Part();
  return part != nullptr && part->HasKeyBelow(bound);
}

bool PartitionedFilter::HasKeyAtOrAbove(const Slice& bound) const {
  parts_.Seek(bound);
  if (!parts_.Valid()) return false;
  if (!parts_.IsLast()) return true;
  const FilterBlock* const part = parts_.Part();
  return part != nullptr && part->HasKeyAtOrAbove(bound);
}

Slice PartitionedFilter::smallest() const {
  parts_.SeekToFirst();
  const FilterBlock* const part = parts_.Valid() ? parts_.Part() : nullptr;
  return part == nullptr ? Slice() : part->smallest();
}

Slice PartitionedFilter::largest() const {
  parts_.SeekToLast();
  const FilterBlock* const part = parts_.Valid() ? parts_.Part() : nullptr;
  return part == nullptr ? Slice() : part->largest();
}

void PartitionedFilter::ForEachPart(
    const std::function<void(const Status& status, const FilterBlock* part)>&
        visit) const {
  for (parts_.SeekToFirst(); parts_.Valid(); parts_.Next()) {
    const FilterBlock* block;
    const Status s = parts_.Load(&block);
    visit(s, block);
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
