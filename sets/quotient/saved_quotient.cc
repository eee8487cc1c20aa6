// SPDX-License-Identifier: Apache-2.0

#include "sets/quotient/saved_quotient.h"

#include <algorithm>
#include <cstring>

#include "filter_policy/bits/checksum.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr char kMagic[] = {'P', 'R', 'T', 'Q'};
constexpr uint8_t kVersion = 1;
constexpr size_t kVersionOffset = 4;
constexpr size_t kQuotientBitsOffset = 5;
constexpr size_t kRemainderBitsOffset = 6;
constexpr size_t kChecksumOffset = 8;
constexpr size_t kChecksumEnd = 12;
constexpr size_t kSizeOffset = 16;
constexpr size_t kFileSaltOffset = 24;
constexpr size_t kProcessSaltOffset = 32;
constexpr size_t kNumBlocksOffset = 40;
constexpr size_t kBlocksOffset = 48;

uint32_t Checksum(const Slice& bytes) {
  const uint32_t before = ExtendCrc32c(0, Slice(bytes.data(), kChecksumOffset));
  return ExtendCrc32c(
      before, Slice(bytes.data() + kChecksumEnd, bytes.size() - kChecksumEnd));
}

// The first runend at or after `slot`, or the number of slots.
uint64_t NextRunend(const QuotientBlocks& blocks, uint64_t slot) {
  constexpr unsigned kSlots = QuotientBlocks::kSlots;
  if (slot >= blocks.num_slots()) return blocks.num_slots();
  uint64_t block = slot / kSlots;
  uint64_t word = blocks.Runends(block) & ~LowBits(slot % kSlots);
  while (word == 0) {
    if (++block == blocks.num_blocks()) return blocks.num_slots();
    word = blocks.Runends(block);
  }
  return block * kSlots + __builtin_ctzll(word);
}

// Returns true if the bits and the offsets of the blocks agree, so that they
// can be those of `size` fingerprints. Then each search ends within the blocks.
bool AreConsistent(const QuotientBlocks& blocks, uint64_t size) {
  constexpr unsigned kSlots = QuotientBlocks::kSlots;
  const uint64_t num_quotients = blocks.shape().num_quotients();
  uint64_t count = 0;
  uint64_t next = 0;  // the slot behind the last run
  for (uint64_t block = 0; block < blocks.num_blocks(); block++) {
    const uint64_t begin = block * kSlots;
    if (blocks.Offset(block) != (next > begin ? next - begin : 0)) return false;
    for (uint64_t word = blocks.Occupieds(block); word != 0; word &= word - 1) {
      const uint64_t quotient = begin + __builtin_ctzll(word);
      const uint64_t run_begin = std::max(next, quotient);
      const uint64_t run_end = NextRunend(blocks, next);
      // The last slot of all is free.
      if (quotient >= num_quotients || run_end < run_begin ||
          run_end + 1 >= blocks.num_slots()) {
        return false;
      }
      next = run_end + 1;
      count += next - run_begin;
    }
  }
  return count == size && NextRunend(blocks, next) == blocks.num_slots();
}

// The blocks up to the last one that holds something. The last slot is free.
uint64_t BlocksInUse(const QuotientBlocks& blocks) {
  uint64_t num_blocks = QuotientBlocks::CanonicalBlocks(blocks.shape());
  while (num_blocks < blocks.num_blocks() &&
         (blocks.Offset(num_blocks) > 0 ||
          blocks.IsRunend(num_blocks * QuotientBlocks::kSlots - 1))) {
    num_blocks++;
  }
  return num_blocks;
}

// What saved bytes say; the blocks are in them.
struct Saved {
  uint64_t size = 0;
  FilterSalt salt;
  QuotientBlocks blocks;
};

// Stores what the bytes say. Returns an error if they are damaged.
Status Parse(const Slice& bytes, Saved* saved) {
  const char* const data = bytes.data();
  if (bytes.size() < kBlocksOffset + kReadPadding) {
    return Status::Corruption("quotient filter is cut short");
  }
  if (memcmp(data, kMagic, sizeof(kMagic)) != 0) {
    return Status::Corruption("quotient filter has the wrong magic number");
  }
  const auto version = static_cast<uint8_t>(data[kVersionOffset]);
  if (version != kVersion) {
    return Status::NotSupported("quotient filter has format version " +
                                std::to_string(version) +
                                ", this version of Protean reads 1");
  }
  if (DecodeFixed32(data + kChecksumOffset) != Checksum(bytes)) {
    return Status::Corruption("quotient filter has the wrong checksum");
  }
  const QuotientShape shape{static_cast<uint8_t>(data[kQuotientBitsOffset]),
                            static_cast<uint8_t>(data[kRemainderBitsOffset])};
  const uint64_t num_blocks = DecodeFixed64(data + kNumBlocksOffset);
  const size_t size_of_blocks = bytes.size() - kBlocksOffset - kReadPadding;
  const size_t block_bytes = QuotientBlocks::BlockBytes(shape.remainder_bits);
  if (!shape.IsValid() || size_of_blocks % block_bytes != 0 ||
      size_of_blocks / block_bytes != num_blocks ||
      num_blocks < QuotientBlocks::CanonicalBlocks(shape)) {
    return Status::Corruption("quotient filter has impossible lengths");
  }
  saved->size = DecodeFixed64(data + kSizeOffset);
  saved->salt = {DecodeFixed64(data + kFileSaltOffset),
                 DecodeFixed64(data + kProcessSaltOffset)};
  saved->blocks = QuotientBlocks(shape, data + kBlocksOffset, num_blocks);
  if (saved->size > shape.capacity() ||
      !AreConsistent(saved->blocks, saved->size)) {
    return Status::Corruption("quotient filter contradicts itself");
  }
  return Status::OK();
}

}  // namespace

void SaveQuotientMultiset(const QuotientMultiset& filter, std::string* bytes) {
  const QuotientBlocks& blocks = filter.blocks();
  const uint64_t num_blocks = BlocksInUse(blocks);
  const size_t block_bytes =
      num_blocks * QuotientBlocks::BlockBytes(blocks.shape().remainder_bits);
  bytes->assign(kBlocksOffset + block_bytes + kReadPadding, '\0');
  char* const out = bytes->data();
  memcpy(out, kMagic, sizeof(kMagic));
  out[kVersionOffset] = static_cast<char>(kVersion);
  out[kQuotientBitsOffset] = static_cast<char>(blocks.shape().quotient_bits);
  out[kRemainderBitsOffset] = static_cast<char>(blocks.shape().remainder_bits);
  EncodeFixed64(out + kSizeOffset, filter.size());
  EncodeFixed64(out + kFileSaltOffset, filter.salt().file);
  EncodeFixed64(out + kProcessSaltOffset, filter.salt().process);
  EncodeFixed64(out + kNumBlocksOffset, num_blocks);
  memcpy(out + kBlocksOffset, blocks.data(), block_bytes);
  EncodeFixed32(out + kChecksumOffset, Checksum(*bytes));
}

Status LoadQuotientMultiset(const Slice& bytes,
                            std::unique_ptr<QuotientMultiset>* filter) {
  filter->reset();
  Saved saved;
  Status s = Parse(bytes, &saved);
  if (!s.ok()) return s;
  const QuotientBlocks& blocks = saved.blocks;
  std::unique_ptr<QuotientMultiset> made;
  s = QuotientMultiset::Create(blocks.shape(), saved.salt, &made);
  if (!s.ok()) return s;
  if (blocks.num_blocks() > made->blocks_.num_blocks() &&
      !made->SetNumBlocks(blocks.shape(), blocks.num_blocks())) {
    return Status::MemoryLimit("no memory for a quotient filter");
  }
  memcpy(made->memory_.get(), blocks.data(), blocks.bytes());
  made->size_ = saved.size;
  *filter = std::move(made);
  return Status::OK();
}

}  // namespace ROCKSDB_NAMESPACE::protean
