// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/deletion_stretches.h"

#include <algorithm>
#include <utility>

#include "filter_policy/filter_block.h"
#include "util/coding.h"

namespace ROCKSDB_NAMESPACE::protean {

// ---- Stretches ----

DeletionStretches::DeletionStretches(const Slice& encoded)
    : encoded_(encoded.ToString()) {
  if (!Parse(encoded_)) stretches_.clear();
}

bool DeletionStretches::Parse(Slice input) {
  uint32_t count = 0;
  if (!GetVarint32(&input, &count)) return input.empty();
  // Each takes three bytes at least.
  if (count > input.size() / 3) return false;
  stretches_.reserve(count);
  for (uint32_t i = 0; i < count; i++) {
    DeletionStretch stretch;
    if (!GetVarint64(&input, &stretch.deletions) ||
        !GetLengthPrefixedSlice(&input, &stretch.begin) ||
        !GetLengthPrefixedSlice(&input, &stretch.end) ||
        stretch.begin.compare(stretch.end) >= 0 ||
        (i > 0 && stretches_.back().end.compare(stretch.begin) > 0)) {
      return false;
    }
    stretches_.push_back(stretch);
  }
  return input.empty();
}

const DeletionStretch* DeletionStretches::EndingAbove(const Slice& key) const {
  const DeletionStretch* const found = std::upper_bound(
      begin(), end(), key, [](const Slice& a, const DeletionStretch& b) {
        return a.compare(b.end) < 0;
      });
  return found == end() ? nullptr : found;
}

// ---- Builder ----

void DeletionStretchesBuilder::AddDeletion(const Slice& key) {
  if (deletions_ > 0) {
    if (key == last_.slice()) return;
  } else {
    // A newer version of the key has a value.
    if (has_value_ && key == last_value_.slice()) return;
    begin_.clear();
    if (has_value_) ShortestBegin(last_value_.slice(), key, &begin_);
  }
  deletions_++;
  last_.Assign(key);
}

void DeletionStretchesBuilder::EndStretch(const Slice& key) {
  std::string end;
  if (key == last_.slice()) {
    deletions_--;
    end = key.ToString();
  } else {
    ShortestBegin(last_.slice(), key, &end);
  }
  if (deletions_ >= min_deletions_) {
    kept_.push_back({begin_, std::move(end), deletions_});
    bytes_ += kept_.back().bytes();
    if (bytes_ > std::max<uint64_t>(kMinMaxBytes, entries_ / kEntriesPerByte)) {
      DropShort();
    }
  }
  deletions_ = 0;
}

void DeletionStretchesBuilder::DropShort() {
  std::stable_sort(
      kept_.begin(), kept_.end(),
      [](const Kept& a, const Kept& b) { return a.deletions > b.deletions; });
  const size_t room = bytes_ / 2;
  bytes_ = 0;
  auto end = kept_.begin();
  while (bytes_ < room) bytes_ += (end++)->bytes();
  min_deletions_ = std::prev(end)->deletions;
  kept_.erase(end, kept_.end());
  std::sort(kept_.begin(), kept_.end(),
            [](const Kept& a, const Kept& b) { return a.begin < b.begin; });
}

std::string DeletionStretchesBuilder::Finish() {
  // The last key's own deletion may hide values in the next file.
  if (deletions_ > 0) EndStretch(last_.slice());
  std::string encoded;
  if (kept_.empty()) return encoded;
  PutVarint32(&encoded, static_cast<uint32_t>(kept_.size()));
  for (const Kept& kept : kept_) {
    PutVarint64(&encoded, kept.deletions);
    PutLengthPrefixedSlice(&encoded, kept.begin);
    PutLengthPrefixedSlice(&encoded, kept.end);
  }
  return encoded;
}

}  // namespace ROCKSDB_NAMESPACE::protean
