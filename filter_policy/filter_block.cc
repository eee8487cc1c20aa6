// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/filter_block.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "filter_policy/bits/bit_util.h"
#include "filter_policy/bits/checksum.h"
#include "util/coding.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr char kMagic[] = {'P', 'R', 'T', 'N'};
constexpr uint8_t kVersion = 1;
constexpr size_t kVersionOffset = 4;
constexpr size_t kKindOffset = 5;
constexpr size_t kFlagsOffset = 6;
constexpr size_t kChecksumOffset = 8;
constexpr size_t kSizeOffset = 12;
constexpr size_t kNumKeysOffset = 16;  // the other fields follow each other
// Offsets of a unit's numbers from the end of its payload.
constexpr size_t kPartNumberOffset = 4;
constexpr size_t kUnitNumberOffset = 8;
// The minimum size of an entry.
constexpr size_t kMinEntrySize = 6;

Slice StoredPart(const Slice& key) {
  return Slice(key.data(),
               std::min(key.size(), FilterBlockHeader::kMaxStoredKey));
}

uint32_t DirectoryChecksum(const Slice& directory) {
  const uint32_t before =
      ExtendCrc32c(0, Slice(directory.data(), kChecksumOffset));
  return ExtendCrc32c(before, Slice(directory.data() + kSizeOffset,
                                    directory.size() - kSizeOffset));
}

// The checksum of a unit whose numbers have been written.
uint32_t UnitChecksum(const FilterSalt& salt, const Slice& payload) {
  char start[16];
  EncodeFixed64(start, salt.file);
  EncodeFixed64(start + 8, salt.process);
  const uint32_t before =
      ExtendCrc32c(ExtendCrc32c(0, Slice(start, sizeof(start))), payload);
  return ExtendCrc32c(
      before, Slice(payload.data() + payload.size() + 4, kReadPadding - 4));
}

Status Damaged(const char* what) {
  return Status::Corruption(std::string("filter block ") + what);
}

}  // namespace

// ---- Reading ----

Status FilterDirectory::ReadSize(const Slice& front, uint64_t* size) {
  if (front.size() < kFixedSize) return Damaged("is cut short");
  const char* const data = front.data();
  if (memcmp(data, kMagic, sizeof(kMagic)) != 0) {
    return Damaged("has the wrong magic number");
  }
  const auto version = static_cast<uint8_t>(data[kVersionOffset]);
  if (version != kVersion) {
    return Status::NotSupported("filter block has format version " +
                                std::to_string(version) +
                                ", this version of Protean reads 1");
  }
  *size = DecodeFixed32(data + kSizeOffset);
  return *size < kFixedSize ? Damaged("has impossible lengths") : Status::OK();
}

Status FilterDirectory::Read(const Slice& directory, uint64_t block_size) {
  uint64_t size;
  Status s = ReadSize(directory, &size);
  if (!s.ok()) return s;
  if (size > directory.size()) return Damaged("is cut short");
  const char* const data = directory.data();
  const Slice bytes(data, size);
  if (DecodeFixed32(data + kChecksumOffset) != DirectoryChecksum(bytes)) {
    return Damaged("has the wrong checksum");
  }
  header_.kind = static_cast<FilterKind>(data[kKindOffset]);
  header_.flags = DecodeFixed16(data + kFlagsOffset);
  if (!ReadEntries(Slice(data + kNumKeysOffset, size - kNumKeysOffset), size,
                   block_size)) {
    s = Damaged("has impossible lengths");
  } else if (FindFilterType(header_.kind) == nullptr) {
    s = Status::NotSupported(
        "filter block is of the unknown kind " +
        std::to_string(static_cast<unsigned>(header_.kind)));
  }
  if (!s.ok()) {
    header_ = FilterBlockHeader();
    parts_.clear();
  }
  return s;
}

bool FilterDirectory::ReadEntries(Slice input, uint64_t offset,
                                  uint64_t block_size) {
  uint32_t num_parts, num_designs;
  if (!GetFixed64(&input, &header_.num_keys) ||
      !GetFixed64(&input, &header_.salt.file) ||
      !GetFixed64(&input, &header_.salt.process) ||
      !GetFixed32(&input, &header_.key_lengths) ||
      !GetFixed32(&input, &num_parts) ||
      !GetLengthPrefixedSlice(&input, &header_.smallest) ||
      !GetLengthPrefixedSlice(&input, &header_.largest) ||
      std::max(header_.smallest.size(), header_.largest.size()) >
          FilterBlockHeader::kMaxStoredKey ||
      !GetVarint32(&input, &num_designs) || num_designs > input.size()) {
    return false;
  }
  std::vector<Slice> designs(num_designs);
  for (Slice& design : designs) {
    if (!GetLengthPrefixedSlice(&input, &design)) return false;
  }
  if (num_parts > input.size() / kMinEntrySize) return false;
  parts_.resize(num_parts);
  heads_.reserve(num_parts);
  uint64_t keys = 0;
  const char kind = static_cast<char>(header_.kind);
  const auto place = [&offset](FilterUnit* unit) {
    unit->offset = offset;
    offset += unit->payload_size + FilterDirectory::kUnitOverhead;
  };
  for (FilterPart& part : parts_) {
    uint32_t num_keys, design;
    if (!GetVarint32(&input, &part.first.payload_size) ||
        !GetVarint32(&input, &part.second.payload_size) ||
        !GetVarint32(&input, &num_keys) ||
        !input.starts_with(Slice(&kind, 1))) {
      return false;
    }
    input.remove_prefix(1);
    if (!GetVarint32(&input, &design) ||
        !GetLengthPrefixedSlice(&input, &part.begin) ||
        design >= designs.size()) {
      return false;
    }
    place(&part.first);
    part.num_keys = num_keys;
    part.keys_before = keys;
    part.design = designs[design];
    const bool ascends = &part == parts_.data()
                             ? part.begin.empty()
                             : part.begin.compare((&part)[-1].begin) > 0;
    if (!ascends || num_keys == 0) return false;
    heads_.push_back(LoadBigEndian(part.begin.data(), part.begin.size()));
    keys += num_keys;
  }
  for (FilterPart& part : parts_) {
    if (part.HasSecond()) place(&part.second);
  }
  const bool holds_keys = header_.kind != FilterKind::kAlwaysTrue;
  return input.empty() && offset == block_size &&
         (holds_keys ? keys == header_.num_keys : parts_.empty());
}

size_t FilterDirectory::Find(const Slice& key) const {
  if (parts_.size() == 1) return 0;
  // The first 8 bytes usually decide.
  const uint64_t head = LoadBigEndian(key.data(), key.size());
  auto behind = std::upper_bound(heads_.begin(), heads_.end(), head);
  if (*(behind - 1) == head) {
    behind = std::partition_point(
        std::lower_bound(heads_.begin(), behind, head), behind,
        [&](const uint64_t& begin) {
          return parts_[&begin - heads_.data()].begin.compare(key) <= 0;
        });
  }
  // The first part begins with the empty string, whose head is 0.
  return static_cast<size_t>(behind - heads_.begin()) - 1;
}

Status FilterDirectory::OpenUnit(const UnitName& name, const Slice& bytes,
                                 std::unique_ptr<RangeFilter>* filter) const {
  const FilterUnit& unit = UnitOf(name);
  if (bytes.size() != unit.size()) return Damaged("has a part cut short");
  const Slice payload(bytes.data(), unit.payload_size);
  const char* const behind = payload.data() + payload.size();
  if (!(NameOf(bytes) == name) ||
      DecodeFixed32(behind) != UnitChecksum(header_.salt, payload)) {
    return Damaged("has a part with the wrong checksum");
  }
  return FindFilterType(header_.kind)->open(ContentsOf(name, bytes), filter);
}

Status FilterDirectory::OpenBoth(size_t part, const Slice& first,
                                 const Slice& second,
                                 std::unique_ptr<RangeFilter>* filter) const {
  PartContents contents = ContentsOf({part, false}, first);
  contents.second = ContentsOf({part, true}, second).payload;
  return FindFilterType(header_.kind)->open(contents, filter);
}

PartContents FilterDirectory::ContentsOf(const UnitName& name,
                                         const Slice& bytes) const {
  const size_t part = name.part;
  const bool is_last = part + 1 == parts_.size();
  const Slice& smallest = part == 0 ? header_.smallest : parts_[part].begin;
  const Slice& largest = is_last ? header_.largest : parts_[part + 1].begin;
  PartContents contents;
  contents.payload = Slice(bytes.data(), UnitOf(name).payload_size);
  contents.is_second = name.second;
  contents.design = parts_[part].design;
  contents.salt = header_.salt;
  contents.smallest = LoadBigEndian(smallest.data(), smallest.size());
  contents.largest = LoadBigEndian(largest.data(), largest.size());
  return contents;
}

UnitName FilterDirectory::NameOf(const Slice& bytes) const {
  if (bytes.size() < kReadPadding) return {};
  const char* const behind = bytes.data() + bytes.size() - kReadPadding;
  const uint32_t part = DecodeFixed32(behind + kPartNumberOffset);
  const auto unit = static_cast<uint8_t>(behind[kUnitNumberOffset]);
  if (part >= parts_.size() || unit > parts_[part].HasSecond()) return {};
  return {part, unit == 1};
}

// ---- Writing ----

char* FilterBlockWriter::AddPart(uint64_t num_keys, const Slice& begin,
                                 const Slice& design, uint64_t payload_size) {
  const auto same = std::find(designs_.rbegin(), designs_.rend(), design);
  Part& part = parts_.emplace_back();
  part.design = static_cast<size_t>(designs_.rend() - same) - 1;
  if (same == designs_.rend()) {
    part.design = designs_.size();
    designs_.push_back(design.ToString());
    entries_bytes_ += 5 + design.size();
  }
  entries_bytes_ += FilterDirectory::kMaxEntrySize + begin.size();
  part.num_keys = num_keys;
  part.begin = begin.ToString();
  return Add(payload_size, &part.units[0]);
}

char* FilterBlockWriter::AddSecondUnit(uint64_t payload_size) {
  return Add(payload_size, &parts_.back().units[1]);
}

char* FilterBlockWriter::Add(uint64_t payload_size, std::string* unit) {
  unit->resize(payload_size + FilterDirectory::kUnitOverhead);
  part_bytes_ += unit->size();
  return unit->data();
}

std::string FilterBlockWriter::Directory(
    const FilterBlockHeader& header) const {
  std::string out(kMagic, sizeof(kMagic));
  out.push_back(kVersion);
  out.push_back(static_cast<char>(header.kind));
  PutFixed16(&out, header.flags);
  out.resize(kNumKeysOffset);
  PutFixed64(&out, header.num_keys);
  PutFixed64(&out, header.salt.file);
  PutFixed64(&out, header.salt.process);
  PutFixed32(&out, header.key_lengths);
  PutFixed32(&out, static_cast<uint32_t>(parts_.size()));
  PutLengthPrefixedSlice(&out, StoredPart(header.smallest));
  PutLengthPrefixedSlice(&out, StoredPart(header.largest));
  PutVarint32(&out, static_cast<uint32_t>(designs_.size()));
  for (const std::string& design : designs_) {
    PutLengthPrefixedSlice(&out, design);
  }
  for (const Part& part : parts_) {
    for (const std::string& unit : part.units) {
      const size_t overhead = unit.empty() ? 0 : FilterDirectory::kUnitOverhead;
      PutVarint32(&out, static_cast<uint32_t>(unit.size() - overhead));
    }
    PutVarint32(&out, static_cast<uint32_t>(part.num_keys));
    out.push_back(static_cast<char>(header.kind));
    PutVarint32(&out, static_cast<uint32_t>(part.design));
    PutLengthPrefixedSlice(&out, part.begin);
  }
  EncodeFixed32(&out[kSizeOffset], static_cast<uint32_t>(out.size()));
  EncodeFixed32(&out[kChecksumOffset], DirectoryChecksum(out));
  return out;
}

void FilterBlockWriter::Write(const FilterBlockHeader& header, char* block) {
  const std::string directory = Directory(header);
  memcpy(block, directory.data(), directory.size());
  block += directory.size();
  for (const size_t second : {0, 1}) {
    for (size_t i = 0; i < parts_.size(); i++) {
      const std::string unit = std::move(parts_[i].units[second]);
      if (unit.empty()) continue;
      memcpy(block, unit.data(), unit.size());
      const Slice payload(block, unit.size() - FilterDirectory::kUnitOverhead);
      char* const behind = block + payload.size();
      EncodeFixed32(behind + kPartNumberOffset, static_cast<uint32_t>(i));
      behind[kUnitNumberOffset] = static_cast<char>(second);
      EncodeFixed32(behind, UnitChecksum(header.salt, payload));
      block += unit.size();
    }
  }
}

bool ShortestBegin(const Slice& last, const Slice& key, std::string* begin) {
  const size_t shared = SharedBytes(last, key);
  if (shared == key.size()) return false;
  begin->assign(key.data(), shared + 1);
  return true;
}

}  // namespace ROCKSDB_NAMESPACE::protean
