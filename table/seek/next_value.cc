// SPDX-License-Identifier: Apache-2.0

#include "table/seek/next_value.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

bool Store(const Slice& key, const Slice* limit, std::string* next) {
  if (limit != nullptr && key.compare(*limit) >= 0) return false;
  next->assign(key.data(), key.size());
  return true;
}

const Slice& Larger(const Slice& a, const Slice& b) {
  return a.compare(b) < 0 ? b : a;
}

}  // namespace

bool NextValue(const FileRangeFilter* filter,
               const DeletionStretches* stretches, const Slice& position,
               const Slice& from, const Slice* limit, std::string* next) {
  // The file has no key between `from` and where its iterator is.
  Slice start = Larger(from, position);
  for (;;) {
    if (limit != nullptr && start.compare(*limit) >= 0) return false;
    const DeletionStretch* const stretch =
        stretches == nullptr ? nullptr : stretches->EndingAbove(start);
    const bool is_before =
        stretch != nullptr && stretch->begin.compare(start) > 0;
    if (stretch != nullptr && !is_before) {
      // The end tells the next value from the last deletion, so the filter
      // need not be asked for what follows.
      start = stretch->end;
      filter = nullptr;
      continue;
    }
    const Slice* end = limit;
    if (is_before && (limit == nullptr || stretch->begin.compare(*limit) < 0)) {
      end = &stretch->begin;
    }
    if (filter == nullptr || end == nullptr ||
        filter->RangeMayMatch(start, *end, /*hi_inclusive=*/false)) {
      return Store(start, limit, next);
    }
    if (!filter->HasKeyAtOrAbove(*end)) {
      return Store(Larger(start, filter->largest()), limit, next);
    }
    start = *end;
    filter = nullptr;
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
