// SPDX-License-Identifier: Apache-2.0

//  Loads a saved quotient filter: as it is, with the right checksum, and
//  changed as little as makes it consistent. Then it must hold the fingerprints
//  that it says, and can be changed and saved again.

#include <cstring>

#include "sets/quotient/quotient_cursor.h"
#include "sets/quotient/saved_quotient.h"
#include "tests/fuzz/fuzz_targets.h"
#include "util/coding.h"
#include "util/crc32c.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr unsigned kSlots = QuotientBlocks::kSlots;
// saved_quotient.h has the layout.
constexpr size_t kQuotientBitsAt = 5;
constexpr size_t kRemainderBitsAt = 6;
constexpr size_t kChecksumAt = 8;
constexpr size_t kChecksumEnds = 12;
constexpr size_t kSizeAt = 16;
constexpr size_t kNumBlocksAt = 40;
constexpr size_t kBlocksAt = 48;

std::string WithChecksum(std::string bytes) {
  if (bytes.size() < kBlocksAt) return bytes;
  const uint32_t before = crc32c::Value(bytes.data(), kChecksumAt);
  EncodeFixed32(bytes.data() + kChecksumAt,
                crc32c::Extend(before, bytes.data() + kChecksumEnds,
                               bytes.size() - kChecksumEnds));
  return bytes;
}

// ---- Consistent blocks ----

// Ends the run that begins in `begin` where the blocks say, or before it holds
// more than `most`. Puts its remainders in order. Returns the slot behind it.
uint64_t MakeRun(MutableQuotientBlocks* blocks, uint64_t begin, uint64_t most) {
  uint64_t last = begin;
  while (!blocks->IsRunend(last) && last + 1 - begin < most &&
         last + 2 < blocks->num_slots()) {
    last++;
  }
  blocks->SetRunend(last, true);
  std::vector<uint64_t> remainders;
  for (uint64_t slot = begin; slot <= last; slot++) {
    remainders.push_back(blocks->Remainder(slot));
  }
  std::sort(remainders.begin(), remainders.end());
  for (uint64_t slot = begin; slot <= last; slot++) {
    blocks->SetRemainder(slot, remainders[slot - begin]);
  }
  return last + 1;
}

// Changes runends, occupied bits and offsets so that they agree. Returns the
// number of fingerprints.
uint64_t MakeConsistent(MutableQuotientBlocks* blocks) {
  const uint64_t capacity = blocks->shape().capacity();
  uint64_t size = 0;
  uint64_t behind = 0;  // the slot behind the last run
  for (uint64_t slot = 0; slot < blocks->num_slots(); slot++) {
    if (slot % kSlots == 0) {
      blocks->SetOffset(slot / kSlots, behind > slot ? behind - slot : 0);
    }
    const uint64_t begin = std::max(behind, slot);
    if (blocks->IsOccupied(slot) && size < capacity &&
        slot < blocks->shape().num_quotients() &&
        begin + 1 < blocks->num_slots()) {
      behind = MakeRun(blocks, begin, capacity - size);
      size += behind - begin;
    } else {
      blocks->SetOccupied(slot, false);
      if (slot >= behind) blocks->SetRunend(slot, false);
    }
  }
  return size;
}

// A whole filter that has as much of the input as it can.
std::string Repaired(const Slice& input) {
  const auto byte = [&](size_t at) {
    return static_cast<uint8_t>(at < input.size() ? input[at] : 0);
  };
  const QuotientShape shape{1 + byte(kQuotientBitsAt) % 8u,
                            1 + byte(kRemainderBitsAt) % 56u};
  const uint64_t num_blocks =
      QuotientBlocks::CanonicalBlocks(shape) + byte(kNumBlocksAt) % 4u;
  const size_t size =
      kBlocksAt + num_blocks * QuotientBlocks::BlockBytes(shape.remainder_bits);
  std::string bytes(input.data(), std::min(input.size(), size));
  bytes.resize(size + kReadPadding);
  memcpy(bytes.data(), "PRTQ\1", 5);
  bytes[kQuotientBitsAt] = static_cast<char>(shape.quotient_bits);
  bytes[kRemainderBitsAt] = static_cast<char>(shape.remainder_bits);
  EncodeFixed64(bytes.data() + kNumBlocksAt, num_blocks);
  MutableQuotientBlocks blocks(shape, bytes.data() + kBlocksAt, num_blocks);
  EncodeFixed64(bytes.data() + kSizeAt, MakeConsistent(&blocks));
  return WithChecksum(bytes);
}

// ---- Questions ----

std::vector<uint64_t> FingerprintsOf(const QuotientBlocks& blocks) {
  std::vector<uint64_t> fingerprints;
  for (QuotientCursor cursor(blocks); cursor.Valid(); cursor.Next()) {
    fingerprints.push_back(cursor.Fingerprint());
  }
  return fingerprints;
}

void CheckContents(const QuotientMultiset& filter,
                   const std::vector<uint64_t>& fingerprints) {
  const unsigned shift = 64 - filter.blocks().shape().fingerprint_bits();
  for (const uint64_t fingerprint : fingerprints) {
    const auto [first, last] =
        std::equal_range(fingerprints.begin(), fingerprints.end(), fingerprint);
    Check(filter.Contains(fingerprint << shift), "no hash is missed");
    Check(filter.blocks().Count(fingerprint) ==
              static_cast<uint64_t>(last - first),
          "the copies of a hash are counted");
  }
}

// The filter can be changed and saved again. Takes its fingerprints.
void CheckChanges(const Slice& bytes, QuotientMultiset* filter,
                  std::vector<uint64_t> fingerprints) {
  const unsigned shift = 64 - filter->shape().fingerprint_bits();
  // Some go, one comes.
  for (size_t i = 0; i < fingerprints.size(); i += 1 + i) {
    Check(filter->Delete(fingerprints[i] << shift), "a hash is deleted");
    fingerprints.erase(fingerprints.begin() + static_cast<ptrdiff_t>(i));
  }
  const uint64_t hash =
      crc32c::Value(bytes.data(), bytes.size()) * ~uint64_t{0};
  if (filter->size() < filter->capacity()) {
    Check(filter->Insert(hash), "there is room");
    fingerprints.push_back(hash >> shift);
    std::sort(fingerprints.begin(), fingerprints.end());
  }
  Check(FingerprintsOf(filter->blocks()) == fingerprints,
        "changes change what they should");
  std::string again;
  SaveQuotientMultiset(*filter, &again);
  std::unique_ptr<QuotientMultiset> loaded;
  Check(LoadQuotientMultiset(again, &loaded).ok() &&
            loaded->size() == fingerprints.size(),
        "what is saved again is loaded");
}

// `is_whole` says that the filter has been made consistent.
void Open(const std::string& bytes, bool is_whole) {
  std::unique_ptr<QuotientMultiset> filter;
  const Status s = LoadQuotientMultiset(bytes, &filter);
  if (!s.ok()) {
    Check(!is_whole, "a whole filter opens");
    Check(s.IsCorruption() || s.IsNotSupported(),
          "a damaged filter is refused");
    return;
  }
  for (uint64_t i = 0; i < 64; i++) {
    const uint64_t hash = i * 0x9e3779b97f4a7c15;
    Check(filter->Contains(hash) || filter->Count(hash) == 0,
          "what is counted is contained");
  }
  const std::vector<uint64_t> fingerprints = FingerprintsOf(filter->blocks());
  Check(fingerprints.size() == filter->size(), "all fingerprints are read");
  // A filter that was only given a checksum may have remainders in any order.
  if (!std::is_sorted(fingerprints.begin(), fingerprints.end())) {
    Check(!is_whole, "fingerprints are read in order");
    return;
  }
  CheckContents(*filter, fingerprints);
  CheckChanges(bytes, filter.get(), fingerprints);
}

void Run(const Slice& input) {
  const std::string bytes = input.ToString();
  Open(bytes, /*is_whole=*/false);
  Open(WithChecksum(bytes), /*is_whole=*/false);
  Open(Repaired(bytes), /*is_whole=*/true);
}

std::string SeedOf(const QuotientShape& shape, uint64_t hashes, uint64_t mask) {
  std::unique_ptr<QuotientMultiset> filter;
  Check(QuotientMultiset::Create(shape, FilterSalt(), &filter).ok(),
        "a filter is made");
  for (uint64_t i = 0; i < hashes; i++) {
    filter->Insert((i * 0x9e3779b97f4a7c15) | mask);
  }
  std::string bytes;
  SaveQuotientMultiset(*filter, &bytes);
  return bytes;
}

std::vector<std::string> Seeds() {
  return {SeedOf({1, 1}, 0, 0), SeedOf({4, 12}, 9, 0), SeedOf({6, 3}, 60, 0),
          SeedOf({7, 5}, 121, 0), SeedOf({8, 4}, 100, 0),
          SeedOf({8, 56}, 243, 0),
          // The end of the slots, and its tail.
          SeedOf({7, 9}, 80, uint64_t{31} << 59)};
}

}  // namespace

const FuzzTarget kQuotientTarget = {"quotient", Run, Seeds};

}  // namespace ROCKSDB_NAMESPACE::protean
