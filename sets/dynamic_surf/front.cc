// SPDX-License-Identifier: Apache-2.0

#include "sets/dynamic_surf/front.h"

#include <algorithm>
#include <cstring>

#include "util/coding_lean.h"
#include "util/math.h"

namespace ROCKSDB_NAMESPACE::protean {

uint64_t Front::HeadOf(const Slice& key) {
  if (key.size() >= kHeadBytes) {
    return EndianSwapValue(DecodeFixed64(key.data()));
  }
  uint64_t head = 0;
  for (size_t i = 0; i < kHeadBytes; i++) {
    head = head << 8 | (i < key.size() ? static_cast<uint8_t>(key[i]) : 0u);
  }
  return head;
}

// The heads are equal. A key that ends within its head is a prefix of all
// longer ones.
int Front::CompareRest(const Entry& entry, const Slice& key) const {
  if (entry.size > kHeadBytes && key.size() > kHeadBytes) {
    Slice rest = key;
    rest.remove_prefix(kHeadBytes);
    return RestOf(entry).compare(rest);
  }
  if (entry.size == key.size()) return 0;
  return entry.size < key.size() ? -1 : 1;
}

Front::Position Front::Locate(const Slice& key) const {
  Position position;
  if (chunks_.empty()) return position;
  const uint64_t head = HeadOf(key);
  // The last chunk whose lowest key is not above the key.
  const auto above = std::partition_point(
      chunks_.begin() + 1, chunks_.end(), [&](const Chunk& chunk) {
        return Compare(chunk.lowest, head, key) <= 0;
      });
  position.chunk = static_cast<size_t>(above - chunks_.begin()) - 1;
  const std::vector<Entry>& entries = chunks_[position.chunk].entries;
  const auto found = std::partition_point(
      entries.begin(), entries.end(),
      [&](const Entry& e) { return Compare(e, head, key) < 0; });
  position.index = static_cast<size_t>(found - entries.begin());
  position.is_equal = found != entries.end() && Compare(*found, head, key) == 0;
  return position;
}

bool Front::Find(const Slice& key, FrontRecord* record) const {
  if (size_ == 0) return false;
  const Position at = Locate(key);
  if (!at.is_equal) return false;
  *record = chunks_[at.chunk].entries[at.index].record();
  return true;
}

void Front::Set(const Slice& key, const FrontRecord& record) {
  if (chunks_.empty()) chunks_.emplace_back();
  Position at = Locate(key);
  if (at.is_equal) {
    Chunk& chunk = chunks_[at.chunk];
    Entry& entry = chunk.entries[at.index];
    chunk.sum -= FrontSum::Of(entry.record());
    chunk.sum += FrontSum::Of(record);
    entry.set_record(record);
    return;
  }
  Entry entry;
  entry.head = HeadOf(key);
  entry.size = static_cast<uint32_t>(key.size()) & ((1u << 28) - 1);
  if (key.size() > kHeadBytes) {
    Slice rest = key;
    rest.remove_prefix(kHeadBytes);
    entry.place = Store(rest);
  }
  entry.set_record(record);
  if (chunks_[at.chunk].entries.size() == kChunkRecords) Split(&at);
  Chunk& chunk = chunks_[at.chunk];
  if (chunk.entries.empty()) chunk.lowest = entry;
  // Chunks grow by steps, which cost less memory than doubling them.
  if (chunk.entries.size() == chunk.entries.capacity()) {
    chunk.entries.reserve(chunk.entries.size() + kChunkRecords / 8);
  }
  chunk.entries.insert(chunk.entries.begin() + static_cast<ptrdiff_t>(at.index),
                       entry);
  chunk.sum += FrontSum::Of(record);
  size_++;
}

void Front::Split(Position* position) {
  const auto next = static_cast<ptrdiff_t>(position->chunk) + 1;
  // Keys that come in order leave full chunks behind.
  const bool is_end = position->index == kChunkRecords &&
                      static_cast<size_t>(next) == chunks_.size();
  const auto half =
      static_cast<ptrdiff_t>(is_end ? kChunkRecords : kChunkRecords / 2);
  chunks_.emplace(chunks_.begin() + next);
  Chunk& left = chunks_[position->chunk];
  Chunk& right = chunks_[static_cast<size_t>(next)];
  right.entries.assign(left.entries.begin() + half, left.entries.end());
  left.entries.resize(static_cast<size_t>(half));
  left.entries.shrink_to_fit();
  for (const Entry& entry : right.entries) {
    const FrontSum sum = FrontSum::Of(entry.record());
    left.sum -= sum;
    right.sum += sum;
  }
  if (!right.entries.empty()) right.lowest = right.entries.front();
  if (position->index > left.entries.size() || is_end) {
    position->index -= left.entries.size();
    position->chunk++;
  }
}

void Front::Erase(const Slice& key) {
  if (size_ == 0) return;
  const Position at = Locate(key);
  if (!at.is_equal) return;
  Chunk& chunk = chunks_[at.chunk];
  chunk.sum -= FrontSum::Of(chunk.entries[at.index].record());
  chunk.entries.erase(chunk.entries.begin() + static_cast<ptrdiff_t>(at.index));
  // An empty chunk would get a higher lowest key.
  if (chunk.entries.empty()) {
    chunks_.erase(chunks_.begin() + static_cast<ptrdiff_t>(at.chunk));
  }
  size_--;
}

FrontSum Front::SumWithin(size_t chunk, size_t begin, size_t end) const {
  FrontSum sum;
  for (size_t i = begin; i < end; i++) {
    sum += FrontSum::Of(chunks_[chunk].entries[i].record());
  }
  return sum;
}

FrontSum Front::SumBetween(const Slice& lo, const Slice& hi) const {
  if (size_ == 0 || lo.compare(hi) >= 0) return FrontSum();
  const Position from = Locate(lo);
  const Position to = Locate(hi);
  if (from.chunk == to.chunk) {
    return SumWithin(from.chunk, from.index, to.index);
  }
  FrontSum sum =
      SumWithin(from.chunk, from.index, chunks_[from.chunk].entries.size());
  for (size_t i = from.chunk + 1; i < to.chunk; i++) sum += chunks_[i].sum;
  return sum += SumWithin(to.chunk, 0, to.index);
}

bool Front::FirstPresent(const Slice& target, std::string* key) const {
  if (size_ == 0) return false;
  for (Cursor it(this, Locate(target)); it.Valid(); it.Next()) {
    if (it.record().is_present) {
      key->assign(it.key().data(), it.key().size());
      return true;
    }
  }
  return false;
}

size_t Front::MemoryUsage() const {
  size_t bytes = block_bytes_ + sizeof(Chunk) * chunks_.capacity();
  for (const Chunk& chunk : chunks_) {
    bytes += sizeof(Entry) * chunk.entries.capacity();
  }
  return bytes;
}

uint32_t Front::Store(const Slice& bytes) {
  if (next_end_ - next_ < bytes.size()) {
    const size_t size = std::max(kBlockBytes, bytes.size());
    next_ = uint64_t{blocks_.size()} << kBlockShift;
    // Only the first bytes of a block that is longer have places.
    next_end_ = next_ + kBlockBytes;
    blocks_.emplace_back(new char[size]);
    block_bytes_ += size;
  }
  const uint64_t place = next_;
  memcpy(&blocks_[place >> kBlockShift][place & (kBlockBytes - 1)],
         bytes.data(), bytes.size());
  next_ = std::min(next_end_, next_ + bytes.size());
  return static_cast<uint32_t>(place);
}

void Front::Cursor::SkipEmpty() {
  while (Valid() && index_ == front_->chunks_[chunk_].entries.size()) {
    chunk_++;
    index_ = 0;
  }
  if (!Valid()) return;
  const Entry& current = entry();
  char head[kHeadBytes];
  EncodeFixed64(head, EndianSwapValue(current.head));
  key_.assign(head, std::min<size_t>(current.size, kHeadBytes));
  if (current.size > kHeadBytes) {
    const Slice rest = front_->RestOf(current);
    key_.append(rest.data(), rest.size());
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
