// SPDX-License-Identifier: Apache-2.0

#include "sets/quotient/quotient_multiset.h"

#include <algorithm>
#include <cstring>

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// A tail of this many blocks is longer than any cluster of random fingerprints
// reaches: the chance that one passes it falls by a factor of e with every 10
// slots at 95 % load.
constexpr uint64_t kTailBlocks = 4;

// The blocks of an empty filter, with its tail.
uint64_t FirstBlocks(const QuotientShape& shape) {
  const uint64_t canonical = QuotientBlocks::CanonicalBlocks(shape);
  return canonical + std::min(canonical, kTailBlocks);
}

// The number of hashes whose slots are loaded at the same time. With more, a
// core waits for the requests that it has under way already: insertions then
// take 1.4 times as long.
constexpr size_t kBatch = 16;

size_t MemoryBytes(const QuotientShape& shape, uint64_t num_blocks) {
  return num_blocks * QuotientBlocks::BlockBytes(shape.remainder_bits) +
         kReadPadding;
}

}  // namespace

Status QuotientMultiset::Create(const QuotientShape& shape,
                                const FilterSalt& salt,
                                std::unique_ptr<QuotientMultiset>* filter) {
  filter->reset();
  if (!shape.IsValid()) {
    return Status::InvalidArgument(
        "a quotient filter has quotients of 1 to " +
        std::to_string(QuotientShape::kMaxQuotientBits) +
        " bits, remainders of 1 to " +
        std::to_string(QuotientShape::kMaxRemainderBits) +
        ", and fingerprints of at most 64 bits; asked for: quotients of " +
        std::to_string(shape.quotient_bits) + ", remainders of " +
        std::to_string(shape.remainder_bits));
  }
  std::unique_ptr<QuotientMultiset> made(new QuotientMultiset(salt));
  if (!made->SetNumBlocks(shape, FirstBlocks(shape))) {
    return Status::MemoryLimit("no memory for a quotient filter");
  }
  *filter = std::move(made);
  return Status::OK();
}

bool QuotientMultiset::SetNumBlocks(const QuotientShape& shape,
                                    uint64_t num_blocks) {
  std::unique_ptr<char, Free> memory(
      static_cast<char*>(calloc(1, MemoryBytes(shape, num_blocks))));
  if (memory == nullptr) return false;
  if (memory_ != nullptr) {
    memcpy(memory.get(), memory_.get(), blocks_.bytes());
  }
  memory_ = std::move(memory);
  blocks_ = MutableQuotientBlocks(shape, memory_.get(), num_blocks);
  return true;
}

bool QuotientMultiset::ProvideFreeSlot(uint64_t taken) {
  if (taken + 1 < blocks_.num_slots()) return true;
  const uint64_t tail =
      blocks_.num_blocks() - QuotientBlocks::CanonicalBlocks(shape());
  return SetNumBlocks(shape(), blocks_.num_blocks() + tail);
}

size_t QuotientMultiset::BytesOf(const QuotientShape& shape) {
  return sizeof(QuotientMultiset) + MemoryBytes(shape, FirstBlocks(shape));
}

size_t QuotientMultiset::MemoryUsage() const {
  return sizeof(*this) + MemoryBytes(shape(), blocks_.num_blocks());
}

// The bytes that are between a slot and the first free slot in the mean: with
// load a, these are (1 + 1 / (1 - a)^2) / 2 slots (Knuth, The Art of Computer
// Programming, volume 3, section 6.4).
size_t QuotientMultiset::ExpectedMovedBytes() const {
  const double full = static_cast<double>(shape().num_quotients());
  const double free_share = 1 - static_cast<double>(size_) / full;
  const double slots = (1 + 1 / (free_share * free_share)) / 2;
  return static_cast<size_t>(slots) *
         QuotientBlocks::BlockBytes(shape().remainder_bits) /
         QuotientBlocks::kSlots;
}

inline bool QuotientMultiset::InsertFingerprint(uint64_t fingerprint) {
  if (size_ >= capacity()) return false;
  const uint64_t quotient = shape().Quotient(fingerprint);
  const uint64_t remainder = shape().Remainder(fingerprint);
  uint64_t slot = blocks_.RunBegin(quotient);
  const uint64_t free_slot = blocks_.FirstFree(slot);
  if (!ProvideFreeSlot(free_slot)) return false;
  bool is_runend = true;
  if (blocks_.IsOccupied(quotient)) {
    // The place is before the first remainder that is not smaller.
    for (;; slot++) {
      if (blocks_.Remainder(slot) >= remainder) {
        is_runend = false;
        break;
      }
      if (blocks_.IsRunend(slot)) {
        blocks_.SetRunend(slot++, false);
        break;
      }
    }
  } else {
    blocks_.SetOccupied(quotient, true);
  }
  blocks_.MoveUp(slot, free_slot, remainder, is_runend);
  blocks_.ChangeOffsets(quotient / QuotientBlocks::kSlots, free_slot, +1);
  size_++;
  return true;
}

inline bool QuotientMultiset::DeleteFingerprint(uint64_t fingerprint) {
  const uint64_t quotient = shape().Quotient(fingerprint);
  const uint64_t remainder = shape().Remainder(fingerprint);
  if (!blocks_.IsOccupied(quotient)) return false;
  const uint64_t begin = blocks_.RunBegin(quotient);
  uint64_t slot = begin;
  for (;; slot++) {
    const uint64_t stored = blocks_.Remainder(slot);
    if (stored == remainder) break;
    if (stored > remainder || blocks_.IsRunend(slot)) return false;
  }
  const uint64_t end = blocks_.FirstUnshifted(slot);
  if (blocks_.IsRunend(slot)) {
    if (slot == begin) {
      blocks_.SetOccupied(quotient, false);
    } else {
      blocks_.SetRunend(slot - 1, true);
    }
  }
  blocks_.MoveDown(slot, end);
  blocks_.ChangeOffsets(quotient / QuotientBlocks::kSlots, end - 1, -1);
  size_--;
  return true;
}

PROTEAN_CLONED bool QuotientMultiset::Insert(uint64_t hash) {
  const uint64_t fingerprint = shape().Fingerprint(hash);
  blocks_.PrefetchFor(fingerprint);
  return InsertFingerprint(fingerprint);
}

PROTEAN_CLONED bool QuotientMultiset::Delete(uint64_t hash) {
  return DeleteFingerprint(shape().Fingerprint(hash));
}

PROTEAN_CLONED bool QuotientMultiset::Contains(uint64_t hash) const {
  const uint64_t fingerprint = shape().Fingerprint(hash);
  blocks_.PrefetchFor(fingerprint);
  return blocks_.Contains(fingerprint);
}

PROTEAN_CLONED uint64_t QuotientMultiset::Count(uint64_t hash) const {
  return blocks_.Count(shape().Fingerprint(hash));
}

PROTEAN_CLONED size_t QuotientMultiset::InsertBatch(const uint64_t* hashes,
                                                    size_t count) {
  const size_t moved_bytes = ExpectedMovedBytes();
  const auto prefetch = [&](uint64_t hash) {
    blocks_.PrefetchFor(shape().Fingerprint(hash), moved_bytes);
  };
  for (size_t i = 0; i < std::min(count, kBatch); i++) prefetch(hashes[i]);
  for (size_t i = 0; i < count; i++) {
    if (i + kBatch < count) prefetch(hashes[i + kBatch]);
    if (!InsertFingerprint(shape().Fingerprint(hashes[i]))) return i;
  }
  return count;
}

PROTEAN_CLONED void QuotientMultiset::ContainsBatch(const uint64_t* hashes,
                                                    size_t count,
                                                    bool* contained) const {
  for (size_t i = 0; i < std::min(count, kBatch); i++) {
    blocks_.PrefetchFor(shape().Fingerprint(hashes[i]));
  }
  for (size_t i = 0; i < count; i++) {
    if (i + kBatch < count) {
      blocks_.PrefetchFor(shape().Fingerprint(hashes[i + kBatch]));
    }
    contained[i] = blocks_.Contains(shape().Fingerprint(hashes[i]));
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
