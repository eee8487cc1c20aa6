// SPDX-License-Identifier: Apache-2.0

#include "tests/fuzz/block_layout.h"

#include "filter_policy/bits/bit_array.h"
#include "filter_policy/proteus/key_bits.h"
#include "filter_policy/surf/surf.h"
#include "tests/filter_blocks.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// tests/filter_blocks.h has the other offsets.
constexpr size_t kSmallestSizeOffset = 24;
constexpr size_t kLargestSizeOffset = 26;

constexpr BlockField kEnvelope[] = {
    {"magic", 0, 4},
    {"version", kVersionOffset, 1},
    {"kind", kKindOffset, 1},
    {"flags", kFlagsOffset, 2},
    {"checksum", kChecksumOffset, 4},
    {"payload offset", kPayloadOffset, 4},
    {"number of keys", 16, 8},
    {"length of smallest key", kSmallestSizeOffset, 2},
    {"length of largest key", kLargestSizeOffset, 2},
    {"key lengths", 28, 4},
};

// Fields of version 2 only.
constexpr BlockField kSalt[] = {
    {"salt of the file", 32, 8},
    {"salt of the process", 40, 8},
};

constexpr BlockField kPartEnvelope[] = {
    {"magic", 0, 4},
    {"version", kVersionOffset, 1},
    {"kind", kKindOffset, 1},
    {"flags", kFlagsOffset, 2},
    {"checksum", kChecksumOffset, 4},
    {"key lengths", 12, 4},
    {"number of keys", 16, 4},
    {"unused bytes", 20, 4},
    {"keys before", 24, 6},
    {"length of smallest key", 30, 1},
    {"length of largest key", 31, 1},
};
constexpr size_t kSaltSize = 16;

constexpr size_t kSurfHeaderSize = 8;
constexpr BlockField kSurfFields[] = {
    {"hash bits", 0, 1},   {"real bits", 1, 1}, {"prefix bits", 2, 1},
    {"prefix step", 3, 1}, {"zeros", 4, 4},
};

constexpr BlockField kCodeFields[] = {
    {"longest path", 0, 4},
    {"bytes that occur", 4, 1},
    {"codes", 5, 1},
    {"zero of a code", 6, 2},
};

constexpr BlockField kProteusFields[] = {
    {"l1 of the trie", 0, 4},
    {"l1 of the first set", 4, 4},
    {"l2", 8, 4},
    {"stride", 12, 4},
    {"head of smallest key", 16, 8},
    {"head of largest key", 24, 8},
    {"shortest key", 32, 4},
    {"samples", 36, 4},
    {"samples outside", 40, 4},
    {"model micros", 44, 4},
    {"predicted rate", 48, 4},
    {"trie lead", 52, 1},
    {"neighbor bits", 53, 2},
    {"zero", 55, 1},
};

constexpr BlockField kSetFields[] = {
    {"kind of set", 0, 1},
    {"probes or seed", 1, 1},
    {"lines", 2, 1},
    {"marks of the set", 3, 1},
    {"blocks of the set", 4, 4},
    {"size of the set", 8, 8},
};

constexpr size_t kUniformHeaderSize = 8;
constexpr BlockField kUniformFields[] = {
    {"prefix bits", 0, 4},
    {"levels", 4, 4},
};

constexpr BlockField kFstFields[] = {
    {"height", 0, 4},    {"nodes", 4, 4},       {"leaves", 8, 4},
    {"sections", 12, 4}, {"value bits", 16, 4}, {"zero", 20, 4},
};

constexpr BlockField kSectionFields[] = {
    {"section levels", 0, 4},  {"section nodes", 4, 4},
    {"section edges", 8, 4},   {"section children", 12, 4},
    {"terminators", 16, 4},    {"runs", 20, 4},
    {"run codes", 24, 4},      {"remainder bits", 28, 1},
    {"child encoding", 29, 1}, {"exception bits", 30, 1},
    {"group shift", 31, 1},
};

}  // namespace

BlockLayout::BlockLayout(const Slice& block) : block_(block) {
  whole_ = AddEnvelope() && AddPayload() && at_ == payload_end_;
  const size_t end = block_.size();
  if (at_ < payload_end_)
    AddPart("rest", BlockPart::kBytes, payload_end_ - at_);
  if (end >= kHeaderSize && block_[kVersionOffset] == 3) AddEndOfPart();
  AddPart("padding", BlockPart::kBytes, end - at_);
}

void BlockLayout::AddEndOfPart() {
  const size_t smallest = static_cast<uint8_t>(*At(30));
  const size_t largest = static_cast<uint8_t>(*At(31));
  const size_t left = block_.size() - at_;
  if (left < kSaltSize + smallest + largest) return;
  AddPart("unused", BlockPart::kBytes, left - kSaltSize - smallest - largest);
  AddPart("smallest key", BlockPart::kBytes, smallest);
  AddPart("largest key", BlockPart::kBytes, largest);
}

bool BlockLayout::AddEnvelopeOfPart() {
  AddFields(kPartEnvelope, 0);
  payload_ = at_;
  kind_ = static_cast<uint8_t>(block_[kKindOffset]);
  const size_t behind = kSaltSize + static_cast<uint8_t>(*At(30)) +
                        static_cast<uint8_t>(*At(31)) + DecodeFixed32(At(20));
  if (behind > block_.size() - payload_) return false;
  payload_end_ = block_.size() - behind;
  return true;
}

template <size_t kCount>
void BlockLayout::AddFields(const BlockField (&fields)[kCount], size_t header) {
  for (const BlockField& field : fields) {
    parts_.push_back(
        {field.name, BlockPart::kNumber, header + field.offset, field.size});
    at_ = header + field.offset + field.size;
  }
}

void BlockLayout::AddPart(const char* name, BlockPart::Kind kind,
                          uint64_t size) {
  if (size == 0) return;
  parts_.push_back({name, kind, at_, static_cast<size_t>(size)});
  at_ += size;
}

bool BlockLayout::AddEnvelope() {
  if (block_.size() < kHeaderSize + kReadPadding) return false;
  payload_end_ = block_.size() - kReadPadding;
  if (block_[kVersionOffset] == 3) return AddEnvelopeOfPart();
  AddFields(kEnvelope, 0);
  if (block_[kVersionOffset] == 2 || block_[kVersionOffset] == 4) {
    if (block_.size() < kSaltedHeaderSize + kReadPadding) return false;
    AddFields(kSalt, 0);
  }
  kind_ = static_cast<uint8_t>(block_[kKindOffset]);
  const size_t smallest = DecodeFixed16(At(kSmallestSizeOffset));
  const size_t largest = DecodeFixed16(At(kLargestSizeOffset));
  payload_ = DecodeFixed32(At(kPayloadOffset));
  if (payload_ < at_ + smallest + largest || payload_ > payload_end_) {
    return false;
  }
  AddPart("smallest key", BlockPart::kBytes, smallest);
  AddPart("largest key", BlockPart::kBytes, largest);
  AddPart("gap", BlockPart::kBytes, payload_ - at_);
  return true;
}

bool BlockLayout::AddSegments() {
  is_segmented_ = true;
  constexpr size_t kEntry = 16;
  if (!Fits(8)) return false;
  const uint64_t count = DecodeFixed32(At(at_));
  AddPart("segments", BlockPart::kNumber, 4);
  AddPart("zero of segments", BlockPart::kNumber, 4);
  if (count == 0 || !Fits(kEntry * count)) return false;
  const size_t entries = at_;
  for (uint64_t i = 0; i < count; i++) {
    AddPart("end of a segment's block", BlockPart::kNumber, 8);
    AddPart("end of a segment's end", BlockPart::kNumber, 4);
    AddPart("zero of a segment", BlockPart::kNumber, 4);
  }
  const char* const last = At(entries + kEntry * (count - 1));
  const uint64_t ends = DecodeFixed32(last + 8);
  if (!Fits(ends)) return false;
  AddPart("ends of segments", BlockPart::kBytes, ends);
  if (!Fits(DecodeFixed64(last))) return false;
  AddPart("blocks of segments", BlockPart::kBytes, DecodeFixed64(last));
  return true;
}

bool BlockLayout::AddPayload() {
  if (block_[kVersionOffset] == 4) return AddSegments();
  if (kind_ == static_cast<uint8_t>(kSurfKind)) {
    if (!Fits(kSurfHeaderSize)) return false;
    const bool is_coded = (*At(at_) & 0x80) != 0;
    AddFields(kSurfFields, at_);
    return (!is_coded || AddCode()) && AddTrie();
  }
  return kind_ == static_cast<uint8_t>(kProteusKind) && AddProteus();
}

bool BlockLayout::AddCode() {
  if (!Fits(KeyCode::kHeaderSize)) return false;
  const uint64_t bytes = static_cast<uint8_t>(*At(at_ + 4));
  const uint64_t codes = static_cast<uint8_t>(*At(at_ + 5));
  AddFields(kCodeFields, at_);
  const uint64_t size = KeyCode::Size(static_cast<unsigned>(bytes),
                                      static_cast<unsigned>(codes)) -
                        KeyCode::kHeaderSize;
  if (!Fits(size)) return false;
  AddPart("code", BlockPart::kBytes, size);
  return true;
}

void BlockLayout::AddSet(size_t header, uint32_t prefix_bits) {
  AddFields(kSetFields, header);
  Set set;
  set.header = header;
  set.fields.DecodeFrom(At(header));
  set.data = 0;
  set.alphabets =
      prefix_bits == 0
          ? 0
          : static_cast<uint8_t>(*At(header + ProteusHeader::kSetMarks));
  sets_.push_back(set);
}

// The header has fields of different lengths, which are taken for bytes.
bool BlockLayout::AddProteusPart() {
  const size_t begin = at_;
  Slice input(At(begin), payload_end_ - begin);
  ProteusHeader header;
  ProteusHeader::SetHeaders sets;
  if (!header.DecodeFrom(&input, &sets)) return false;
  is_proteus_part_ = true;
  AddPart("header of the part", BlockPart::kBytes, sets.first);
  const ProteusDesign& design = header.design;
  if (header.HasFirstSet())
    AddSet(begin + sets.first, design.first_prefix_bits);
  if (header.HasSecondSet()) AddSet(begin + sets.second, design.prefix_bits);
  return design.trie_bits == 0 || AddUniform();
}

bool BlockLayout::AddProteus() {
  const size_t begin = at_;
  if (Fits(4) && DecodeFixed32(At(begin)) >> 24 == 1) {
    return AddProteusPart() && AddSetData();
  }
  Slice input(At(begin), payload_end_ - begin);
  ProteusHeader header;
  ProteusHeader::SetHeaders sets;
  if (!header.DecodeFrom(&input, &sets)) return false;
  AddFields(kProteusFields, begin);
  const ProteusDesign& design = header.design;
  AddSet(begin + sets.first, design.first_prefix_bits);
  AddSet(begin + sets.second, design.prefix_bits);
  return (design.trie_bits == 0 || AddUniform()) && AddSetData();
}

// The data of all sets, then their alphabets.
bool BlockLayout::AddSetData() {
  for (Set& set : sets_) {
    set.data = at_;
    if (!Fits(set.fields.bytes)) return false;
    AddPart("set", BlockPart::kBits, set.fields.bytes);
  }
  for (const Set& set : sets_) {
    if (!Fits(set.alphabets)) return false;
    for (size_t i = 0; i < set.alphabets; i++) {
      AddPart("alphabet of a place", BlockPart::kNumber, 1);
    }
  }
  return true;
}

bool BlockLayout::AddUniform() {
  if (!Fits(kUniformHeaderSize)) return false;
  Uniform uniform;
  uniform.header = at_;
  AddFields(kUniformFields, at_);
  uniform.prefix_bits = DecodeFixed32(At(uniform.header));
  uniform.levels = DecodeFixed32(At(uniform.header + 4));
  uniform.table = at_;
  const uint64_t table = (uint64_t{4} * uniform.levels + 7) / 8 * 8;
  if (uniform.prefix_bits > kMaxPrefixBits ||
      uniform.levels > BytesForBits(uniform.prefix_bits) || !Fits(table)) {
    return false;
  }
  for (uint32_t i = 0; i < table / 4; i++) {
    AddPart("leaves above", BlockPart::kNumber, 4);
  }
  if (!AddTrie()) return false;
  uniform.suffixes = at_;
  const uint64_t bytes =
      BitArrayBytes(SuffixBits(block_, uniform, trie_->fields.leaves));
  if (!Fits(bytes)) {
    uniform.end = at_;
    uniform_ = uniform;
    return false;
  }
  AddPart("suffixes", BlockPart::kBits, bytes);
  uniform.end = at_;
  uniform_ = uniform;
  return true;
}

uint64_t SuffixBits(const Slice& block, const BlockLayout::Uniform& uniform,
                    uint32_t leaves) {
  uint64_t bits = 0;
  uint32_t first = 0;
  for (uint32_t level = 0; level < uniform.levels; level++) {
    const uint32_t next =
        level + 1 < uniform.levels
            ? DecodeFixed32(block.data() + uniform.table + 4 * (level + 1))
            : leaves;
    const uint64_t stored = 8 * (uint64_t{level} + 1);
    if (next > first && uniform.prefix_bits > stored) {
      bits += (next - first) * (uniform.prefix_bits - stored);
    }
    first = next;
  }
  return bits;
}

bool BlockLayout::AddTrie() {
  if (!Fits(FstHeader::kSize + Alphabet::kSize)) return false;
  Trie trie;
  trie.header = at_;
  trie.fields.DecodeFrom(At(at_));
  AddFields(kFstFields, at_);
  trie.code_bits = Alphabet(At(at_)).code_bits();
  AddPart("alphabet", BlockPart::kBits, Alphabet::kSize);
  trie.values = trie.end = at_;
  trie_ = trie;
  const uint64_t sections = trie.fields.sections;
  if (sections > FstHeader::kMaxSections ||
      !Fits(sections * FstSectionHeader::kSize)) {
    return false;
  }
  const size_t headers = at_;
  for (uint64_t i = 0; i < sections; i++) AddFields(kSectionFields, at_);
  for (uint64_t i = 0; i < sections; i++) {
    if (!AddSection(headers + i * FstSectionHeader::kSize)) return false;
  }
  trie_->values = trie_->end = at_;
  const uint64_t values = BitArrayBytes(uint64_t{trie.fields.leaves} *
                                        std::min(trie.fields.value_bits, 64u));
  if (!Fits(values)) return false;
  AddPart("values", BlockPart::kBits, values);
  trie_->end = at_;
  return true;
}

bool BlockLayout::AddSection(size_t header) {
  FstSectionHeader fields;
  fields.DecodeFrom(At(header));
  if (fields.remainder_bits > trie_->code_bits || fields.exception_bits > 32 ||
      fields.children > fields.edges ||
      fields.child_encoding > FstSectionHeader::kLeavesListed ||
      fields.dense_group_shift > FstSectionLayout::kMaxDenseGroupShift) {
    return false;
  }
  const FstSectionLayout layout(fields, trie_->code_bits);
  if (!Fits(layout.end)) return false;
  trie_->sections.push_back({header, at_, fields, layout});
  const size_t arrays = at_;
  const struct {
    const char* name;
    uint64_t end;
  } all[] = {{"index", layout.labels},
             {"labels", layout.remainders},
             {"remainders", layout.children},
             {"children", layout.terminators},
             {"terminator marks", layout.run_marks},
             {"run marks", layout.run_starts},
             {"run starts", layout.run_codes},
             {"codes of runs", layout.end}};
  for (const auto& array : all) {
    AddPart(array.name, BlockPart::kBits, arrays + array.end - at_);
  }
  return true;
}

}  // namespace ROCKSDB_NAMESPACE::protean
