// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/open_db/dead_ranges.h"

#include <algorithm>
#include <utility>

namespace ROCKSDB_NAMESPACE::protean {

bool DeadRange::HasFile(uint64_t file) const {
  return std::binary_search(files.begin(), files.end(), file);
}

// ---- Finder ----

void DeadRangeFinder::Begin(const Slice& target, bool inclusive) {
  target_.assign(target.data(), target.size());
  sees_all_ = true;
  entries_ = 0;
  range_ = DeadRange();
  range_.begin = target_;
  if (!inclusive) range_.begin.push_back('\0');
}

bool DeadRangeFinder::Pass(uint64_t file, const Slice& user_key,
                           bool is_deletion, SequenceNumber sequence,
                           bool sees_all) {
  if (user_key.compare(range_.begin) < 0) return true;
  if (user_key == target_) {
    // There may be newer entries of the target.
    range_.begin.push_back('\0');
    return true;
  }
  if (entries_ == 0 || user_key != key_) {
    if (!is_deletion) return false;
    key_.assign(user_key.data(), user_key.size());
    if (entries_ == 0 || key_ < range_.first) range_.first = key_;
  }
  entries_++;
  range_.sequence = std::max(range_.sequence, sequence);
  sees_all_ = sees_all_ && sees_all;
  AddFile(file);
  return true;
}

void DeadRangeFinder::AddFile(uint64_t file) {
  auto& files = range_.files;
  if (std::find(files.begin(), files.end(), file) == files.end()) {
    files.push_back(file);
  }
}

void DeadRangeFinder::Skip(const Slice& from, const DeadRange* range,
                           bool sees_all) {
  key_.assign(from.data(), from.size());
  if (entries_ == 0) range_.first = std::max(key_, range_.begin);
  entries_++;
  if (range == nullptr) return;
  sees_all_ = sees_all_ && sees_all;
  range_.sequence = std::max(range_.sequence, range->sequence);
  for (const uint64_t file : range->files) AddFile(file);
}

bool DeadRangeFinder::Finish(const Slice& end, DeadRange* range) {
  if (entries_ < min_entries_ || range_.files.empty() ||
      end.compare(range_.first) <= 0) {
    return false;
  }
  *range = std::move(range_);
  if (!sees_all_ && range->begin == target_) range->begin.push_back('\0');
  range->end = end.ToString();
  std::sort(range->files.begin(), range->files.end());
  return true;
}

// ---- Ranges ----

size_t DeadRanges::BytesOf(const DeadRange& range) {
  // Each file has an entry with a copy of the end.
  constexpr size_t kEntryBytes = 96;
  return sizeof(DeadRange) + range.begin.size() + range.first.size() +
         (range.files.size() + 1) * (kEntryBytes + range.end.size());
}

bool DeadRanges::MakeRoomFor(DeadRange* range) {
  for (const uint64_t file : range->files) {
    for (auto known = by_file_.find(file); known != by_file_.end();
         known = by_file_.find(file)) {
      const auto next = known->second.upper_bound(range->begin);
      if (next == known->second.end()) break;
      const DeadRange& other = **next->second;
      if (other.begin >= range->end) break;
      const bool begins_inside = other.begin > range->begin;
      const bool ends_inside = other.end < range->end;
      if (!begins_inside && !ends_inside) return false;
      if (begins_inside && !ends_inside) {
        range->end = other.begin;
      } else if (other.begin < range->begin) {
        range->begin = other.end;
        range->first = std::max(range->first, range->begin);
      } else {
        Remove(next->second);
      }
      if (range->first >= range->end) return false;
    }
  }
  return true;
}

void DeadRanges::Add(DeadRange range) {
  const size_t bytes = BytesOf(range);
  if (bytes > max_bytes_ / 8) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!MakeRoomFor(&range)) return;
  while (bytes_ + bytes > max_bytes_) Remove(ranges_.begin());
  const auto place = ranges_.insert(
      ranges_.end(), std::make_shared<const DeadRange>(std::move(range)));
  bytes_ += BytesOf(**place);
  for (const uint64_t file : (*place)->files) {
    by_file_[file][(*place)->end] = place;
  }
}

void DeadRanges::Remove(Ranges::iterator range) {
  for (const uint64_t file : (*range)->files) {
    const auto known = by_file_.find(file);
    known->second.erase((*range)->end);
    if (known->second.empty()) by_file_.erase(known);
  }
  bytes_ -= BytesOf(**range);
  ranges_.erase(range);
}

std::shared_ptr<const DeadRange> DeadRanges::Find(uint64_t file,
                                                  const Slice& key) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto known = by_file_.find(file);
  if (known == by_file_.end()) return nullptr;
  const auto next = known->second.upper_bound(key.ToString());
  if (next == known->second.end() || !(*next->second)->Contains(key)) {
    return nullptr;
  }
  return *next->second;
}

void DeadRanges::Forget(uint64_t file) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto known = by_file_.find(file); known != by_file_.end();
       known = by_file_.find(file)) {
    Remove(known->second.begin()->second);
  }
}

size_t DeadRanges::size() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return ranges_.size();
}

}  // namespace ROCKSDB_NAMESPACE::protean
