// SPDX-License-Identifier: Apache-2.0

#include "sets/dynamic_surf/surf_parts.h"

#include <algorithm>

namespace ROCKSDB_NAMESPACE::protean {

void SurfParts::Insert(const Slice& key) {
  FrontRecord record;
  FrontRecord frozen;
  if (!active_->Find(key, &record)) {
    if (frozen_ != nullptr && frozen_->Find(key, &frozen)) {
      // The merge takes it away if it was deleted.
      record.below = frozen.is_present ? Below::kCertainly : Below::kNo;
    } else if (bottom_->KeyMayMatch(key)) {
      record.below = Below::kMaybe;
    }
  } else if (record.is_present) {
    return;
  }
  record.is_present = true;
  active_->Set(key, record);
}

void SurfParts::Delete(const Slice& key) {
  FrontRecord record;
  FrontRecord frozen;
  uint32_t leaf;
  if (active_->Find(key, &record)) {
    if (record.below == Below::kNo) {
      active_->Erase(key);
    } else {
      active_->Set(key, {/*is_present=*/false, record.below});
    }
  } else if (frozen_ != nullptr && frozen_->Find(key, &frozen)) {
    if (frozen.is_present) {
      active_->Set(key, {/*is_present=*/false, Below::kCertainly});
    }
  } else if (bottom_->FindLeaf(key, &leaf)) {
    if (frozen_ != nullptr) {
      active_->Set(key, {/*is_present=*/false, Below::kCertainly});
    } else {
      bottom_->Remove(leaf);
    }
  }
}

bool SurfParts::KeyMayMatch(const Slice& key) const {
  FrontRecord record;
  if (active_->Find(key, &record)) return record.is_present;
  if (frozen_ != nullptr && frozen_->Find(key, &record)) {
    return record.is_present;
  }
  return bottom_->KeyMayMatch(key);
}

bool SurfParts::RangeMayMatch(const Slice& lo, const Slice& hi) const {
  if (lo.compare(hi) >= 0) return false;
  const bool all_live = bottom_->removed().size() == 0;
  const bool in_bottom =
      bottom_->surf().RangeMayMatch(lo, hi, /*hi_inclusive=*/false);
  if (in_bottom && all_live && active_->size() == 0 && frozen_ == nullptr) {
    return true;
  }
  FrontSum sum = active_->SumBetween(lo, hi);
  if (frozen_ != nullptr) sum += frozen_->SumBetween(lo, hi);
  if (!in_bottom) return sum.most > 0;
  if (sum.most > 0 || (all_live && sum.most == 0)) return true;
  const RangeCount count = bottom_->Count(lo, hi, /*hi_inclusive=*/false);
  return static_cast<int64_t>(count.count) + sum.most > 0;
}

bool SurfParts::LowerBound(const Slice& target, std::string* bound) const {
  bool found = bottom_->LowerBound(target, bound);
  std::string key;
  for (const Front* front : {active_.get(), frozen_.get()}) {
    if (front == nullptr || !front->FirstPresent(target, &key)) continue;
    if (!found || Slice(key).compare(*bound) < 0) *bound = key;
    found = true;
  }
  return found;
}

void SurfParts::Count(const Slice& lo, const Slice& hi, uint64_t* least,
                      uint64_t* most) const {
  const RangeCount count = bottom_->Count(lo, hi, /*hi_inclusive=*/false);
  FrontSum sum = active_->SumBetween(lo, hi);
  if (frozen_ != nullptr) sum += frozen_->SumBetween(lo, hi);
  const int64_t all =
      std::max<int64_t>(static_cast<int64_t>(count.count) + sum.most, 0);
  const int64_t ends = std::min<int64_t>(
      static_cast<int64_t>(count.count),
      (count.low_ambiguous ? 1 : 0) + (count.high_ambiguous ? 1 : 0));
  *most = static_cast<uint64_t>(all);
  *least = static_cast<uint64_t>(std::max<int64_t>(all - ends - sum.unsure, 0));
}

void SurfParts::Freeze() {
  frozen_ = std::exchange(active_, std::make_unique<Front>());
}

std::unique_ptr<SurfPart> SurfParts::Install(
    std::unique_ptr<SurfPart> merged, std::unique_ptr<Front>* merged_front) {
  *merged_front = std::move(frozen_);
  return std::exchange(bottom_, std::move(merged));
}

void SurfParts::Unfreeze() {
  AddRecords(*active_, frozen_.get());
  active_ = std::move(frozen_);
}

void AddRecords(const Front& newer, Front* older) {
  for (Front::Cursor it(&newer); it.Valid(); it.Next()) {
    FrontRecord record = it.record();
    FrontRecord old;
    // What is below the older front, only that front knows.
    if (older->Find(it.key(), &old)) record.below = old.below;
    if (!record.is_present && record.below == Below::kNo) {
      older->Erase(it.key());
    } else {
      older->Set(it.key(), record);
    }
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
