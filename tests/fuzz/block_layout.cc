// SPDX-License-Identifier: Apache-2.0

#include "tests/fuzz/block_layout.h"

#include "filter_policy/bits/bit_array.h"
#include "filter_policy/proteus/prefix_hash.h"
#include "filter_policy/surf/surf.h"
#include "tests/filter_blocks.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr BlockField kDirectoryFields[] = {
    {"magic", 4},
    {"version", 1},
    {"kind", 1},
    {"flags", 2},
    {"checksum", 4},
    {"size of the directory", 4},
    {"number of keys", 8},
    {"salt of the file", 8},
    {"salt of the process", 8},
    {"key lengths", 4},
    {"number of parts", 4},
};

constexpr BlockField kPartEndFields[] = {
    {"checksum of a part", 4},    {"number of a part", 4},
    {"number of a unit", 1},      {"zeros of a part", 7},
    {"compression of a part", 1}, {"trailer of a part", 4},
};

constexpr BlockField kSurfFields[] = {
    {"hash bits", 1},   {"real bits", 1}, {"prefix bits", 1},
    {"prefix step", 1}, {"zeros", 4},
};

constexpr BlockField kCodeFields[] = {
    {"longest path", 4},
    {"bytes that occur", 1},
    {"codes", 1},
    {"zero of a code", 2},
};

constexpr BlockField kSetFields[] = {
    {"kind of set", 1},      {"probes or seed", 1},    {"lines", 1},
    {"marks of the set", 1}, {"blocks of the set", 4}, {"size of the set", 8},
};

constexpr BlockField kUniformFields[] = {{"prefix bits", 4}, {"levels", 4}};

constexpr BlockField kFstFields[] = {
    {"height", 4},   {"nodes", 4},      {"leaves", 4},
    {"sections", 4}, {"value bits", 4}, {"zero", 4},
};

constexpr BlockField kSectionFields[] = {
    {"section levels", 4},   {"section nodes", 4},  {"section edges", 4},
    {"section children", 4}, {"terminators", 4},    {"runs", 4},
    {"run codes", 4},        {"remainder bits", 1}, {"child encoding", 1},
    {"exception bits", 1},   {"group shift", 1},
};

template <size_t kCount>
constexpr size_t SizeOf(const BlockField (&fields)[kCount]) {
  size_t size = 0;
  for (const BlockField& field : fields) size += field.size;
  return size;
}
static_assert(SizeOf(kDirectoryFields) == FilterDirectory::kFixedSize);
static_assert(SizeOf(kPartEndFields) == FilterDirectory::kUnitOverhead);

}  // namespace

// ---- Pieces ----

uint64_t NumberAt(const std::string& block, const BlockPiece& piece) {
  uint64_t number = 0;
  for (size_t i = piece.size; i-- > 0;) {
    number = number << 8 | static_cast<uint8_t>(block[piece.offset + i]);
  }
  return number;
}

std::string WithNumber(std::string block, const BlockPiece& piece,
                       uint64_t number) {
  for (size_t i = 0; i < piece.size; i++) {
    block[piece.offset + i] = static_cast<char>(number >> (8 * i));
  }
  return block;
}

template <size_t kCount>
void PieceLayout::AddFields(const BlockField (&fields)[kCount]) {
  for (const BlockField& field : fields) {
    Add(field.name, BlockPiece::kNumber, field.size);
  }
}

void PieceLayout::Add(const char* name, BlockPiece::Kind kind, uint64_t size) {
  if (size == 0) return;
  pieces_.push_back({name, kind, at_, static_cast<size_t>(size)});
  at_ += size;
}

bool PieceLayout::AddVarint(const char* name, uint32_t* value) {
  Slice input(At(at_), bytes_.size() - at_);
  if (!GetVarint32(&input, value)) return false;
  Add(name, BlockPiece::kVarint, bytes_.size() - at_ - input.size());
  return true;
}

bool PieceLayout::AddString(const char* length_name, const char* name,
                            Slice* string) {
  uint32_t length;
  if (!AddVarint(length_name, &length) || !Fits(length)) return false;
  *string = Slice(At(at_), length);
  Add(name, BlockPiece::kBytes, length);
  return true;
}

void PieceLayout::AddRest(const char* name, bool found) {
  whole_ = found && at_ == bytes_.size();
  Add(name, BlockPiece::kBytes, bytes_.size() - at_);
}

// ---- Directory ----

DirectoryLayout::DirectoryLayout(const Slice& directory)
    : PieceLayout(directory) {
  bool found = AddHeader() && AddDesigns();
  while (found && entries_.size() < num_parts_) found = AddEntry();
  AddRest("rest of the directory", found);
}

bool DirectoryLayout::AddHeader() {
  if (!Fits(FilterDirectory::kFixedSize)) return false;
  AddFields(kDirectoryFields);
  header_.kind = static_cast<FilterKind>(*At(kKindOffset));
  header_.flags = DecodeFixed16(At(kFlagsOffset));
  header_.num_keys = DecodeFixed64(At(kNumKeysOffset));
  header_.salt.file = DecodeFixed64(At(kSaltOffset));
  header_.salt.process = DecodeFixed64(At(kSaltOffset + 8));
  header_.key_lengths = DecodeFixed32(At(kKeyLengthsOffset));
  num_parts_ = DecodeFixed32(At(kNumPartsOffset));
  return AddString("length of smallest key", "smallest key",
                   &header_.smallest) &&
         AddString("length of largest key", "largest key", &header_.largest);
}

bool DirectoryLayout::AddDesigns() {
  uint32_t count;
  if (!AddVarint("number of designs", &count)) return false;
  for (; count > 0; count--) {
    uint32_t length;
    if (!AddVarint("length of a design", &length) || !Fits(length)) {
      return false;
    }
    designs_.emplace_back(At(at_), length);
    ProteusHeader proteus;
    if (proteus.DecodeFrom(designs_.back())) {
      uint32_t value;
      AddVarint("shortest key", &value);
      AddVarint("neighbor bits", &value);
      for (const Layer& layer : proteus.design) {
        AddVarint("kind of a layer", &value);
        if (layer.kind != Layer::Kind::kKeys) AddVarint("bits", &value);
        if (layer.kind == Layer::Kind::kTrie) AddVarint("lead", &value);
        if (layer.kind == Layer::Kind::kSeries) AddVarint("stride", &value);
      }
    } else {
      Add("design", BlockPiece::kBytes, length);
    }
  }
  return true;
}

bool DirectoryLayout::AddEntry() {
  Entry entry;
  if (!AddVarint("size of a payload", &entry.payload_size) ||
      !AddVarint("size of a second payload", &entry.second_size) ||
      !AddVarint("keys of a part", &entry.num_keys) || !Fits(1)) {
    return false;
  }
  entry.kind = static_cast<uint8_t>(*At(at_));
  Add("kind of a part", BlockPiece::kNumber, 1);
  if (!AddVarint("design of a part", &entry.design) ||
      !AddString("length of a beginning", "beginning of a part",
                 &entry.begin)) {
    return false;
  }
  entries_.push_back(entry);
  return true;
}

std::string DirectoryLayout::DesignOf(const Entry& entry, bool second) const {
  if (entry.design >= designs_.size()) return "";
  const Slice& design = designs_[entry.design];
  ProteusHeader header;
  if (!second || !header.DecodeFrom(design)) return design.ToString();
  header.design.RemoveTrie();
  return header.Encode();
}

// ---- Payload ----

PayloadLayout::PayloadLayout(const Slice& payload, uint8_t kind,
                             const Slice& design)
    : PieceLayout(payload) {
  const auto filter = static_cast<FilterKind>(kind);
  AddRest("rest of the payload",
          (filter == kSurfKind && AddSurf()) ||
              (filter == kProteusKind && AddProteus(design)));
}

bool PayloadLayout::AddSurf() {
  if (!Fits(SizeOf(kSurfFields))) return false;
  const bool is_coded = (*At(at_) & 0x80) != 0;
  AddFields(kSurfFields);
  return (!is_coded || AddCode()) && AddTrie();
}

bool PayloadLayout::AddCode() {
  if (!Fits(KeyCode::kHeaderSize)) return false;
  const uint64_t bytes = static_cast<uint8_t>(*At(at_ + 4));
  const uint64_t codes = static_cast<uint8_t>(*At(at_ + 5));
  AddFields(kCodeFields);
  const uint64_t size = KeyCode::Size(static_cast<unsigned>(bytes),
                                      static_cast<unsigned>(codes)) -
                        KeyCode::kHeaderSize;
  if (!Fits(size)) return false;
  Add("code", BlockPiece::kBytes, size);
  return true;
}

bool PayloadLayout::AddProteus(const Slice& encoded) {
  ProteusHeader header;
  if (!header.DecodeFrom(encoded) ||
      !Fits(header.design.num_sets() * Amq::kHeaderSize)) {
    return false;
  }
  const ProteusDesign& design = header.design;
  for (const Layer& layer : design) {
    if (layer.is_set()) AddSet(layer.bits);
  }
  return (design.num_sets() == design.size() || AddUniform()) && AddSetData();
}

void PayloadLayout::AddSet(uint32_t prefix_bits) {
  Set set;
  set.header = at_;
  set.fields.DecodeFrom(At(at_));
  set.data = 0;
  set.alphabets =
      prefix_bits == 0
          ? 0
          : static_cast<uint8_t>(*At(at_ + ProteusHeader::kSetAlphabets));
  sets_.push_back(set);
  AddFields(kSetFields);
}

// The data of all sets, then their alphabets.
bool PayloadLayout::AddSetData() {
  for (Set& set : sets_) {
    set.data = at_;
    if (!Fits(set.fields.bytes)) return false;
    Add("set", BlockPiece::kBits, set.fields.bytes);
  }
  for (const Set& set : sets_) {
    if (!Fits(set.alphabets)) return false;
    for (size_t i = 0; i < set.alphabets; i++) {
      Add("alphabet of a place", BlockPiece::kNumber, 1);
    }
  }
  return true;
}

bool PayloadLayout::AddUniform() {
  if (!Fits(SizeOf(kUniformFields))) return false;
  Uniform uniform;
  uniform.header = at_;
  AddFields(kUniformFields);
  uniform.prefix_bits = DecodeFixed32(At(uniform.header));
  uniform.levels = DecodeFixed32(At(uniform.header + 4));
  uniform.table = at_;
  const uint64_t table = (uint64_t{4} * uniform.levels + 7) / 8 * 8;
  if (uniform.prefix_bits > kMaxPrefixBits ||
      uniform.levels > BytesForBits(uniform.prefix_bits) || !Fits(table)) {
    return false;
  }
  for (uint32_t i = 0; i < table / 4; i++) {
    Add("leaves above", BlockPiece::kNumber, 4);
  }
  if (!AddTrie()) return false;
  uniform.suffixes = at_;
  const uint64_t bytes =
      BitArrayBytes(SuffixBits(bytes_, uniform, trie_->fields.leaves));
  const bool fits = Fits(bytes);
  if (fits) Add("suffixes", BlockPiece::kBits, bytes);
  uniform.end = at_;
  uniform_ = uniform;
  return fits;
}

uint64_t SuffixBits(const Slice& payload, const PayloadLayout::Uniform& uniform,
                    uint32_t leaves) {
  uint64_t bits = 0;
  uint32_t first = 0;
  for (uint32_t level = 0; level < uniform.levels; level++) {
    const uint32_t next =
        level + 1 < uniform.levels
            ? DecodeFixed32(payload.data() + uniform.table + 4 * (level + 1))
            : leaves;
    const uint64_t stored = 8 * (uint64_t{level} + 1);
    if (next > first && uniform.prefix_bits > stored) {
      bits += (next - first) * (uniform.prefix_bits - stored);
    }
    first = next;
  }
  return bits;
}

bool PayloadLayout::AddTrie() {
  if (!Fits(FstHeader::kSize + Alphabet::kSize)) return false;
  Trie trie;
  trie.header = at_;
  trie.fields.DecodeFrom(At(at_));
  AddFields(kFstFields);
  trie.code_bits = Alphabet(At(at_)).code_bits();
  Add("alphabet", BlockPiece::kBits, Alphabet::kSize);
  trie.values = trie.end = at_;
  trie_ = trie;
  const uint64_t sections = trie.fields.sections;
  if (sections > FstHeader::kMaxSections ||
      !Fits(sections * FstSectionHeader::kSize)) {
    return false;
  }
  const size_t headers = at_;
  for (uint64_t i = 0; i < sections; i++) AddFields(kSectionFields);
  for (uint64_t i = 0; i < sections; i++) {
    if (!AddSection(headers + i * FstSectionHeader::kSize)) return false;
  }
  trie_->values = trie_->end = at_;
  const uint64_t values = BitArrayBytes(uint64_t{trie.fields.leaves} *
                                        std::min(trie.fields.value_bits, 64u));
  if (!Fits(values)) return false;
  Add("values", BlockPiece::kBits, values);
  trie_->end = at_;
  return true;
}

bool PayloadLayout::AddSection(size_t header) {
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
    Add(array.name, BlockPiece::kBits, arrays + array.end - at_);
  }
  return true;
}

// ---- Blocks ----

PartEndLayout::PartEndLayout(const Slice& end) : PieceLayout(end) {
  const bool found = Fits(SizeOf(kPartEndFields));
  if (found) AddFields(kPartEndFields);
  AddRest("rest of a part", found);
}

SplitBlock::SplitBlock(const Slice& block) {
  Slice left = block;
  const auto take = [&left](uint64_t size) {
    const Slice taken(left.data(), std::min<uint64_t>(size, left.size()));
    left.remove_prefix(taken.size());
    return taken.ToString();
  };
  directory = take(block.size() < FilterDirectory::kFixedSize
                       ? block.size()
                       : DecodeFixed32(block.data() + kDirectorySizeOffset));
  const DirectoryLayout layout(directory);
  layout.ForEachUnit([&](size_t entry, bool second, uint32_t size) {
    if (left.empty()) return;
    Unit& unit = units.emplace_back();
    unit.entry = entry;
    unit.second = second;
    unit.payload = take(size);
    unit.end = take(FilterDirectory::kUnitOverhead);
  });
  rest = left.ToString();
}

std::string SplitBlock::Join() const {
  std::string block = directory;
  for (const Unit& unit : units) {
    block += unit.payload;
    block += unit.end;
  }
  return block + rest;
}

BlockLayout::BlockLayout(const Slice& block)
    : PieceLayout(block),
      directory_(Slice(block.data(), SplitBlock(block).directory.size())) {
  AddPieces(directory_);
  bool found = directory_.whole();
  directory_.ForEachUnit([&](size_t index, bool second, uint32_t size) {
    found = found && Fits(size) &&
            Fits(uint64_t{size} + FilterDirectory::kUnitOverhead);
    if (!found) return;
    const size_t payload = at_;
    const DirectoryLayout::Entry& entry = directory_.entries()[index];
    units_.push_back(
        {payload, PayloadLayout(Slice(At(payload), size), entry.kind,
                                directory_.DesignOf(entry, second))});
    AddPieces(units_.back().layout);
    AddPieces(PartEndLayout(Slice(At(at_), FilterDirectory::kUnitOverhead)));
  });
  for (const Unit& unit : units_) found = found && unit.layout.whole();
  AddRest("rest", found);
}

void BlockLayout::AddPieces(const PieceLayout& layout) {
  for (const BlockPiece& piece : layout.pieces()) {
    Add(piece.name, piece.kind, piece.size);
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
