// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/segments/segmented_filter.h"

#include <algorithm>

#include "filter_policy/segments/part_search.h"
#include "rocksdb/comparator.h"
#include "util/coding.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr size_t kEntriesOffset = 8;
constexpr size_t kEntrySize = 16;

Status Damaged() {
  return Status::Corruption("the segments of the filter are damaged");
}

uint64_t HeadOf(const Slice& key) {
  return LoadBigEndian(key.data(), key.size());
}

}  // namespace

// ---- Building ----

void SegmentWriter::EndLast(const std::string& last, const Slice& next) {
  std::string* const end = &segments_.back().end;
  *end = last;
  if (!next.empty()) BytewiseComparator()->FindShortestSeparator(end, next);
  end_bytes_ += end->size();
}

uint64_t SegmentWriter::PayloadSize() const {
  return kEntriesOffset + kEntrySize * segments_.size() + end_bytes_ +
         block_bytes_;
}

uint64_t SegmentWriter::MaxPayloadSize(uint64_t end_bytes) const {
  return PayloadSize() + kEntrySize + end_bytes;
}

void SegmentWriter::Write(char* payload) {
  EncodeFixed32(payload, static_cast<uint32_t>(segments_.size()));
  EncodeFixed32(payload + 4, 0);
  char* entry = payload + kEntriesOffset;
  char* end = entry + kEntrySize * segments_.size();
  char* block = end + end_bytes_;
  uint64_t block_offset = 0;
  uint32_t end_offset = 0;
  for (Segment& segment : segments_) {
    memcpy(block + block_offset, segment.block.get(), segment.size);
    segment.block.reset();
    block_offset += segment.size;
    memcpy(end + end_offset, segment.end.data(), segment.end.size());
    end_offset += static_cast<uint32_t>(segment.end.size());
    EncodeFixed64(entry, block_offset);
    EncodeFixed32(entry + 8, end_offset);
    EncodeFixed32(entry + 12, 0);
    entry += kEntrySize;
  }
}

// ---- Opening ----

Status SegmentedFilter::Open(const Slice& payload, FilterKind kind,
                             std::unique_ptr<RangeFilter>* filter) {
  std::unique_ptr<SegmentedFilter> opened(new SegmentedFilter);
  const Status s = opened->Read(payload, kind);
  if (s.ok()) *filter = std::move(opened);
  return s;
}

Status SegmentedFilter::Read(const Slice& payload, FilterKind kind) {
  if (payload.size() < kEntriesOffset) return Damaged();
  const uint64_t count = DecodeFixed32(payload.data());
  if (count == 0 || count > (payload.size() - kEntriesOffset) / kEntrySize) {
    return Damaged();
  }
  const char* entry = payload.data() + kEntriesOffset;
  Slice blocks(entry, payload.size() - kEntriesOffset);
  blocks.remove_prefix(kEntrySize * count);
  const uint32_t ends_size =
      DecodeFixed32(entry + kEntrySize * (count - 1) + 8);
  if (ends_size > blocks.size()) return Damaged();
  const Slice ends(blocks.data(), ends_size);
  blocks.remove_prefix(ends_size);

  uint64_t keys = 0;
  uint32_t end_offset = 0;
  uint64_t block_offset = 0;
  for (; ends_.size() < count; entry += kEntrySize) {
    const uint64_t next_block = DecodeFixed64(entry);
    const uint32_t next_end = DecodeFixed32(entry + 8);
    if (next_block < block_offset || next_block > blocks.size() ||
        next_end < end_offset || next_end > ends.size()) {
      return Damaged();
    }
    const Slice block(blocks.data() + block_offset, next_block - block_offset);
    // Segments have no segments of their own.
    if (!IsPart(block)) return Damaged();
    ends_.emplace_back(ends.data() + end_offset, next_end - end_offset);
    end_heads_.push_back(HeadOf(ends_.back()));
    blocks_.emplace_back(block);
    const Status s = CheckLast(kind, keys);
    if (!s.ok()) return s;
    keys += blocks_.back().header().num_keys;
    is_loose_ |= blocks_.back().LowerBoundIsLoose();
    is_slow_ |= blocks_.back().LowerBoundIsSlow(Slice());
    block_offset = next_block;
    end_offset = next_end;
  }
  return block_offset == blocks.size() ? Status::OK() : Damaged();
}

Status SegmentedFilter::CheckLast(FilterKind kind, uint64_t keys_before) const {
  const FilterBlock& block = blocks_.back();
  if (!block.status().ok()) return block.status();
  const FilterBlockHeader& header = block.header();
  const Slice& end = ends_.back();
  bool is_right = header.is_part && header.kind == kind && block.CanFilter() &&
                  header.num_keys > 0 && header.keys_before == keys_before &&
                  header.largest.compare(end) <= 0;
  if (ends_.size() > 1) {
    const Slice& before = ends_[ends_.size() - 2];
    // The smallest key is cut off where it is stored.
    const Slice stored(
        before.data(),
        std::min(before.size(), FilterBlockHeader::kMaxStoredKey));
    is_right = is_right && before.compare(end) < 0 &&
               header.smallest.compare(stored) >= 0;
  }
  return is_right ? Status::OK() : Damaged();
}

// ---- Questions ----

size_t SegmentedFilter::Find(const Slice& key) const {
  auto at = static_cast<size_t>(
      std::lower_bound(end_heads_.begin(), end_heads_.end(), HeadOf(key)) -
      end_heads_.begin());
  while (at < ends_.size() && ends_[at].compare(key) < 0) at++;
  return at;
}

// A Parts (part_search.h).
class SegmentCursor {
 public:
  explicit SegmentCursor(const SegmentedFilter& filter) : filter_(filter) {}

  void Seek(const Slice& key) { at_ = filter_.Find(key); }
  void SeekToLast() { at_ = filter_.num_segments() - 1; }
  void Next() { at_++; }
  bool Valid() const { return at_ < filter_.num_segments(); }
  bool AtEnd() const { return true; }
  const Slice& end() const { return filter_.ends_[at_]; }
  const FilterBlock* Part() const { return &filter_.segment(at_); }

 private:
  const SegmentedFilter& filter_;
  size_t at_ = 0;
};

bool SegmentedFilter::KeyMayMatch(const Slice& key) const {
  SegmentCursor segments(*this);
  return KeyMayMatchIn(&segments, key);
}

void SegmentedFilter::KeysMayMatch(size_t num_keys, Slice** keys,
                                   bool* may_match) const {
  for (size_t begin = 0; begin < num_keys;) {
    const size_t at = Find(*keys[begin]);
    size_t end = begin + 1;
    while (end < num_keys && Find(*keys[end]) == at) end++;
    if (at < num_segments()) {
      blocks_[at].KeysMayMatch(end - begin, keys + begin, may_match + begin);
    } else {
      std::fill(may_match + begin, may_match + end, false);
    }
    begin = end;
  }
}

bool SegmentedFilter::RangeMayMatch(const Slice& lo, const Slice& hi,
                                    bool hi_inclusive) const {
  SegmentCursor segments(*this);
  return RangeMayMatchIn(&segments, lo, hi, hi_inclusive);
}

bool SegmentedFilter::LowerBound(const Slice& target,
                                 std::string* bound) const {
  SegmentCursor segments(*this);
  return LowerBoundIn(&segments, target, &FilterBlock::LowerBound, bound);
}

bool SegmentedFilter::CountRange(const Slice& lo, const Slice& hi,
                                 bool hi_inclusive, RangeCount* count) const {
  SegmentCursor segments(*this);
  return CountRangeIn(&segments, lo, hi, hi_inclusive, count);
}

}  // namespace ROCKSDB_NAMESPACE::protean
