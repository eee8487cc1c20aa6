// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/filter_block.h"

#include <algorithm>

#include "filter_policy/bits/bit_util.h"
#include "filter_policy/bits/checksum.h"
#include "util/coding.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr char kMagic[] = {'P', 'R', 'T', 'N'};
// Format versions.
constexpr uint8_t kUnsalted = 1;
constexpr uint8_t kSalted = 2;
constexpr uint8_t kPart = 3;
constexpr uint8_t kSegmented = 4;
constexpr size_t kVersionOffset = 4;
constexpr size_t kKindOffset = 5;
constexpr size_t kFlagsOffset = 6;
constexpr size_t kChecksumOffset = 8;
constexpr size_t kPayloadOffset = 12;
constexpr size_t kNumKeysOffset = 16;
constexpr size_t kSmallestSizeOffset = 24;
constexpr size_t kLargestSizeOffset = 26;
constexpr size_t kKeyLengthsOffset = 28;
constexpr size_t kFileSaltOffset = 32;
constexpr size_t kProcessSaltOffset = 40;

// Where a part has its fields.
namespace part {
constexpr size_t kKeyLengthsOffset = 12;
constexpr size_t kNumKeysOffset = 16;
constexpr size_t kUnusedOffset = 20;
constexpr size_t kKeysBeforeOffset = 24;
constexpr size_t kKeysBeforeBytes = 6;
constexpr size_t kSmallestSizeOffset = 30;
constexpr size_t kLargestSizeOffset = 31;
constexpr size_t kPayloadOffset = 32;
constexpr size_t kSaltBytes = 16;
static_assert(kSaltBytes >= kReadPadding, "the salt is behind the payload");
}  // namespace part

size_t HeaderSize(uint8_t version) { return version == kUnsalted ? 32 : 48; }

Slice StoredPart(const Slice& key) {
  return Slice(key.data(),
               std::min(key.size(), FilterBlockHeader::kMaxStoredKey));
}

size_t StoredBytes(const FilterBlockHeader& header) {
  return StoredPart(header.smallest).size() + StoredPart(header.largest).size();
}

uint8_t VersionOf(const FilterBlockHeader& header) {
  return header.is_segmented    ? kSegmented
         : header.salt.IsNone() ? kUnsalted
                                : kSalted;
}

size_t PayloadOffset(const FilterBlockHeader& header) {
  const size_t keys_end = HeaderSize(VersionOf(header)) + StoredBytes(header);
  return (keys_end + 7) / 8 * 8;
}

// The CRC-32C of the whole block except for the checksum itself.
uint32_t Checksum(const Slice& block) {
  const uint32_t before = ExtendCrc32c(0, Slice(block.data(), kChecksumOffset));
  return ExtendCrc32c(before, Slice(block.data() + kPayloadOffset,
                                    block.size() - kPayloadOffset));
}

}  // namespace

size_t FilterBlockSize(const FilterBlockHeader& header, uint64_t payload_size) {
  if (header.is_part) {
    return part::kPayloadOffset + payload_size + StoredBytes(header) +
           part::kSaltBytes;
  }
  return PayloadOffset(header) + payload_size + kReadPadding;
}

namespace {

// Writes what is the same in all versions.
void WriteStart(const FilterBlockHeader& header, uint8_t version, char* block) {
  memcpy(block, kMagic, sizeof(kMagic));
  block[kVersionOffset] = static_cast<char>(version);
  block[kKindOffset] = static_cast<char>(header.kind);
  EncodeFixed16(block + kFlagsOffset, header.flags);
}

// Writes the stored parts of the keys, and returns where they end.
char* WriteKeys(const FilterBlockHeader& header, char* out) {
  for (const Slice& key : {header.smallest, header.largest}) {
    const Slice stored = StoredPart(key);
    memcpy(out, stored.data(), stored.size());
    out += stored.size();
  }
  return out;
}

void WriteSalt(const FilterSalt& salt, char* out) {
  EncodeFixed64(out, salt.file);
  EncodeFixed64(out + 8, salt.process);
}

FilterSalt ReadSalt(const char* in) {
  FilterSalt salt;
  salt.file = DecodeFixed64(in);
  salt.process = DecodeFixed64(in + 8);
  return salt;
}

}  // namespace

char* StartFilterBlock(const FilterBlockHeader& header, char* block) {
  const size_t payload_offset = PayloadOffset(header);
  const uint8_t version = VersionOf(header);
  WriteStart(header, version, block);
  EncodeFixed32(block + kPayloadOffset, static_cast<uint32_t>(payload_offset));
  EncodeFixed64(block + kNumKeysOffset, header.num_keys);
  EncodeFixed16(block + kSmallestSizeOffset,
                static_cast<uint16_t>(StoredPart(header.smallest).size()));
  EncodeFixed16(block + kLargestSizeOffset,
                static_cast<uint16_t>(StoredPart(header.largest).size()));
  EncodeFixed32(block + kKeyLengthsOffset, header.key_lengths);
  if (version != kUnsalted) WriteSalt(header.salt, block + kFileSaltOffset);
  WriteKeys(header, block + HeaderSize(version));
  return block + payload_offset;
}

bool IsPart(const Slice& block) {
  return block.size() > kVersionOffset &&
         static_cast<uint8_t>(block[kVersionOffset]) == kPart;
}

char* PayloadOfPart(char* block) { return block + part::kPayloadOffset; }

void FinishPart(const FilterBlockHeader& header, uint64_t payload_size,
                char* block, size_t size) {
  WriteStart(header, kPart, block);
  EncodeFixed32(block + part::kKeyLengthsOffset, header.key_lengths);
  EncodeFixed32(block + part::kNumKeysOffset,
                static_cast<uint32_t>(header.num_keys));
  EncodeFixed32(
      block + part::kUnusedOffset,
      static_cast<uint32_t>(size - FilterBlockSize(header, payload_size)));
  for (size_t i = 0; i < part::kKeysBeforeBytes; i++) {
    block[part::kKeysBeforeOffset + i] =
        static_cast<char>(header.keys_before >> (8 * i));
  }
  block[part::kSmallestSizeOffset] =
      static_cast<char>(StoredPart(header.smallest).size());
  block[part::kLargestSizeOffset] =
      static_cast<char>(StoredPart(header.largest).size());
  char* const salt = block + size - part::kSaltBytes;
  WriteKeys(header, salt - StoredBytes(header));
  WriteSalt(header.salt, salt);
  FinishFilterBlock(block, size);
}

void FinishFilterBlock(char* block, size_t size) {
  EncodeFixed32(block + kChecksumOffset, Checksum(Slice(block, size)));
}

FilterBlock::FilterBlock(const Slice& contents) : status_(Open(contents)) {
  if (!status_.ok()) filter_.reset();
}

Status FilterBlock::Open(const Slice& contents) {
  const char* data = contents.data();
  if (contents.size() < HeaderSize(kUnsalted) + kReadPadding) {
    return Status::Corruption("filter block is cut short");
  }
  if (memcmp(data, kMagic, sizeof(kMagic)) != 0) {
    return Status::Corruption("filter block has the wrong magic number");
  }
  const auto version = static_cast<uint8_t>(data[kVersionOffset]);
  if (version < kUnsalted || version > kSegmented) {
    return Status::NotSupported("filter block has format version " +
                                std::to_string(version) +
                                ", this version of Protean reads 1 to 4");
  }
  if (DecodeFixed32(data + kChecksumOffset) != Checksum(contents)) {
    return Status::Corruption("filter block has the wrong checksum");
  }
  header_.kind = static_cast<FilterKind>(data[kKindOffset]);
  header_.flags = DecodeFixed16(data + kFlagsOffset);
  Slice payload;
  if (!(version == kPart ? ReadPart(contents, &payload)
                         : ReadWhole(contents, version, &payload))) {
    return Status::Corruption("filter block has impossible lengths");
  }
  key_lengths_ = header_.key_lengths == 0 ? ~uint32_t{0} : header_.key_lengths;
  smallest_head_ =
      LoadBigEndian(header_.smallest.data(), header_.smallest.size());
  largest_head_ = LoadBigEndian(header_.largest.data(), header_.largest.size());

  const FilterType* type = FindFilterType(header_.kind);
  if (type == nullptr) {
    return Status::NotSupported(
        "filter block is of the unknown kind " +
        std::to_string(static_cast<unsigned>(header_.kind)));
  }
  header_.is_segmented = version == kSegmented;
  return header_.is_segmented ? OpenSegments(payload, header_.kind, &filter_)
                              : type->open(payload, header_.salt, &filter_);
}

bool FilterBlock::ReadWhole(const Slice& contents, uint8_t version,
                            Slice* payload) {
  const char* data = contents.data();
  header_.num_keys = DecodeFixed64(data + kNumKeysOffset);
  header_.key_lengths = DecodeFixed32(data + kKeyLengthsOffset);
  const size_t smallest_size = DecodeFixed16(data + kSmallestSizeOffset);
  const size_t largest_size = DecodeFixed16(data + kLargestSizeOffset);
  const size_t payload_offset = DecodeFixed32(data + kPayloadOffset);
  const size_t payload_end = contents.size() - kReadPadding;
  const size_t header_size = HeaderSize(version);
  if (smallest_size > FilterBlockHeader::kMaxStoredKey ||
      largest_size > FilterBlockHeader::kMaxStoredKey ||
      payload_offset < header_size + smallest_size + largest_size ||
      payload_offset > payload_end) {
    return false;
  }
  if (version != kUnsalted) header_.salt = ReadSalt(data + kFileSaltOffset);
  header_.smallest = Slice(data + header_size, smallest_size);
  header_.largest = Slice(data + header_size + smallest_size, largest_size);
  *payload = Slice(data + payload_offset, payload_end - payload_offset);
  return true;
}

bool FilterBlock::ReadPart(const Slice& contents, Slice* payload) {
  const char* data = contents.data();
  header_.is_part = true;
  header_.key_lengths = DecodeFixed32(data + part::kKeyLengthsOffset);
  header_.num_keys = DecodeFixed32(data + part::kNumKeysOffset);
  for (size_t i = 0; i < part::kKeysBeforeBytes; i++) {
    header_.keys_before |=
        uint64_t{static_cast<uint8_t>(data[part::kKeysBeforeOffset + i])}
        << (8 * i);
  }
  const size_t smallest_size =
      static_cast<uint8_t>(data[part::kSmallestSizeOffset]);
  const size_t largest_size =
      static_cast<uint8_t>(data[part::kLargestSizeOffset]);
  const size_t unused = DecodeFixed32(data + part::kUnusedOffset);
  const size_t salt_offset = contents.size() - part::kSaltBytes;
  const size_t keys_size = smallest_size + largest_size;
  if (smallest_size > FilterBlockHeader::kMaxStoredKey ||
      largest_size > FilterBlockHeader::kMaxStoredKey ||
      salt_offset < part::kPayloadOffset + keys_size ||
      unused > salt_offset - keys_size - part::kPayloadOffset) {
    return false;
  }
  header_.salt = ReadSalt(data + salt_offset);
  const char* const keys = data + salt_offset - keys_size;
  header_.smallest = Slice(keys, smallest_size);
  header_.largest = Slice(keys + smallest_size, largest_size);
  *payload = Slice(data + part::kPayloadOffset,
                   salt_offset - keys_size - unused - part::kPayloadOffset);
  return true;
}

// Whether the range ends before the smallest key, or begins after the largest
// one.
bool FilterBlock::IsOutside(const Slice& lo, const Slice& hi,
                            bool hi_inclusive) const {
  // The stored part of the smallest key is never above that key.
  const int order = hi.compare(header_.smallest);
  return order < 0 || (order == 0 && !hi_inclusive) || IsAbove(lo);
}

bool FilterBlock::RangeMayMatch(const Slice& lo, const Slice& hi,
                                bool hi_inclusive) const {
  if (filter_ == nullptr) return true;
  // The first bytes usually decide.
  const bool inside = LoadBigEndian(hi.data(), hi.size()) > smallest_head_ &&
                      LoadBigEndian(lo.data(), lo.size()) < largest_head_;
  if (!inside && CanFilter() && header_.num_keys > 0 &&
      IsOutside(lo, hi, hi_inclusive)) {
    return false;
  }
  return filter_->RangeMayMatch(lo, hi, hi_inclusive);
}

bool FilterBlock::LowerBound(const Slice& target, std::string* bound) const {
  if (CanFilter() && header_.num_keys > 0) {
    const bool below = target.compare(header_.smallest) < 0;
    if (IsAbove(target) ||
        !filter_->LowerBound(below ? header_.smallest : target, bound)) {
      return false;
    }
    // Only a damaged filter stores a bound below `target`.
    if (Slice(*bound).compare(target) >= 0) {
      if (Slice(*bound).compare(header_.largest) <= 0) return true;
      if (IsAbove(*bound)) return false;
    }
  }
  bound->assign(target.data(), target.size());
  return true;
}

bool FilterBlock::CountRange(const Slice& lo, const Slice& hi,
                             bool hi_inclusive, RangeCount* count) const {
  if (!CanFilter() ||
      (header_.flags & FilterBlockHeader::kMayHoldPrefixes) != 0) {
    return false;
  }
  *count = RangeCount();
  if (header_.num_keys == 0 || IsOutside(lo, hi, hi_inclusive)) return true;
  if (lo.compare(header_.smallest) <= 0 && IsAbove(hi)) {
    count->count = header_.num_keys;
    return true;
  }
  return filter_->CountRange(lo, hi, hi_inclusive, count);
}

bool FilterBlock::PrefixMayMatch(const Slice& prefix) const {
  if (filter_ == nullptr ||
      (header_.flags & FilterBlockHeader::kPrefixesUnknown) != 0) {
    return true;
  }
  std::string end;
  return !FirstBehindPrefix(prefix, &end) ||
         RangeMayMatch(prefix, end, /*hi_inclusive=*/false);
}

}  // namespace ROCKSDB_NAMESPACE::protean
