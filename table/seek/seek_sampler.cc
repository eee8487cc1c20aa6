// SPDX-License-Identifier: Apache-2.0

#include "table/seek/seek_sampler.h"

#include <string>

#include "filter_policy/range_filter.h"
#include "rocksdb/slice_transform.h"

namespace ROCKSDB_NAMESPACE::protean {

void SeekSampler::RecordNothingFrom(const Slice& target) const {
  if (bounds_.upper() != nullptr) {
    RecordEmptyRange(target, *bounds_.upper(), /*hi_inclusive=*/false);
    return;
  }
  const SliceTransform* extractor = inner_.prefix_extractor();
  if (!inner_.SeeksPrefixes() || !extractor->InDomain(target)) return;
  // The range of which the block-based table has asked the filter.
  const Slice prefix = extractor->Transform(target);
  std::string end;
  if (target.starts_with(prefix) && FirstBehindPrefix(prefix, &end)) {
    RecordEmptyRange(prefix, end, /*hi_inclusive=*/false);
  }
}

void SeekSampler::Record(const Slice& target, bool found) {
  if (found) {
    search_.Watch(target, /*backwards=*/false, /*inclusive=*/true);
  } else {
    RecordNothingFrom(target);
  }
}

void SeekSampler::SampleBackwards(const Slice& target, bool inclusive,
                                  bool found) {
  if (found ? !search_.IsJoined() : bounds_.lower() == nullptr) return;
  if (!queue_->Tick()) return;
  if (found) {
    search_.Watch(target, /*backwards=*/true, inclusive);
  } else {
    RecordEmptyRange(*bounds_.lower(), target, inclusive);
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
