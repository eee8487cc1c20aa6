// SPDX-License-Identifier: Apache-2.0

#include "tests/fuzz/block_layout.h"

#include "filter_policy/bits/bit_array.h"
#include "tests/filter_blocks.h"

namespace ROCKSDB_NAMESPACE::protean {

// ---- Pieces ----

uint64_t NumberAt(const std::string& block, const BlockPiece& piece) {
  uint64_t number = 0;
  if (piece.kind == BlockPiece::kVarint) {
    Slice input(&block[piece.offset], piece.size);
    GetVarint64(&input, &number);
    return number;
  }
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

bool PieceLayout::Add(const char* name, BlockPiece::Kind kind, uint64_t size) {
  if (size > bytes_.size() - at_) return false;
  if (size == 0) return true;
  pieces_.push_back({name, kind, at_, static_cast<size_t>(size)});
  at_ += size;
  return true;
}

bool PieceLayout::AddFields(uint32_t size,
                            std::initializer_list<const char*> names) {
  return std::all_of(names.begin(), names.end(), [&](const char* name) {
    return Add(name, BlockPiece::kNumber, size);
  });
}

bool PieceLayout::AddVarint(const char* name, uint32_t* value) {
  Slice input(At(at_), bytes_.size() - at_);
  return GetVarint32(&input, value) &&
         Add(name, BlockPiece::kVarint, bytes_.size() - at_ - input.size());
}

bool PieceLayout::AddString(const char* length_name, const char* name,
                            Slice* string) {
  uint32_t length;
  if (!AddVarint(length_name, &length)) return false;
  const size_t begin = at_;
  if (!Add(name, BlockPiece::kBytes, length)) return false;
  *string = Slice(At(begin), length);
  return true;
}

void PieceLayout::AddRest(const char* name, bool found) {
  whole_ = found && at_ == bytes_.size();
  Add(name, BlockPiece::kBytes, bytes_.size() - at_);
}

// ---- Directory ----

DirectoryLayout::DirectoryLayout(const Slice& directory)
    : PieceLayout(directory) {
  bool found = AddHeader();
  while (found && entries_.size() < num_parts_) found = AddEntry();
  AddRest("rest of the directory", found);
}

bool DirectoryLayout::AddHeader() {
  if (!AddFields(4, {"magic"}) || !AddFields(1, {"version", "kind"}) ||
      !AddFields(2, {"flags"}) ||
      !AddFields(4, {"checksum", "size of the directory"}) ||
      !AddFields(
          8, {"number of keys", "salt of the file", "salt of the process"}) ||
      !AddFields(4, {"key lengths", "number of parts"})) {
    return false;
  }
  header_.kind = static_cast<FilterKind>(*At(kKindOffset));
  header_.flags = DecodeFixed16(At(kFlagsOffset));
  header_.num_keys = DecodeFixed64(At(kNumKeysOffset));
  header_.salt.file = DecodeFixed64(At(kSaltOffset));
  header_.salt.process = DecodeFixed64(At(kSaltOffset + 8));
  header_.key_lengths = DecodeFixed32(At(kKeyLengthsOffset));
  num_parts_ = DecodeFixed32(At(kNumPartsOffset));
  uint32_t count;
  bool found =
      AddString("length of smallest key", "smallest key", &header_.smallest) &&
      AddString("length of largest key", "largest key", &header_.largest) &&
      AddVarint("number of designs", &count);
  for (; found && count > 0; count--) {
    uint32_t length;
    found = AddVarint("length of a design", &length) &&
            length <= bytes_.size() - at_;
    if (!found) break;
    Slice design(At(at_), length);
    designs_.push_back(design);
    // Numbers, if it has not been damaged.
    for (uint32_t number; !design.empty() && GetVarint32(&design, &number);) {
      Add("number of a design", BlockPiece::kVarint,
          static_cast<uint64_t>(design.data() - At(at_)));
    }
    Add("design", BlockPiece::kBytes, design.size());
  }
  return found;
}

bool DirectoryLayout::AddEntry() {
  Entry entry;
  if (!AddVarint("size of a payload", &entry.sizes[0]) ||
      !AddVarint("size of a second payload", &entry.sizes[1]) ||
      !AddVarint("keys of a part", &entry.num_keys) ||
      !Add("kind of a part", BlockPiece::kNumber, 1)) {
    return false;
  }
  entry.kind = static_cast<uint8_t>(*At(at_ - 1));
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
  return AddFields(1,
                   {"hash bits", "real bits", "prefix bits", "prefix step"}) &&
         AddFields(4, {"zeros"}) && ((*At(0) & 0x80) == 0 || AddCode()) &&
         AddTrie();
}

bool PayloadLayout::AddCode() {
  const char* const header = At(at_);
  return AddFields(4, {"longest path"}) &&
         AddFields(1, {"bytes that occur", "codes"}) &&
         AddFields(2, {"zero of a code"}) &&
         Add("code", BlockPiece::kBytes,
             KeyCode::Size(static_cast<uint8_t>(header[4]),
                           static_cast<uint8_t>(header[5])) -
                 KeyCode::kHeaderSize);
}

bool PayloadLayout::AddProteus(const Slice& encoded) {
  ProteusHeader header;
  if (!header.DecodeFrom(encoded)) return false;
  const ProteusDesign& design = header.design;
  for (const Layer& layer : design) {
    if (layer.is_set() && !AddSet(layer.bits)) return false;
  }
  return (design.num_sets() == design.size() || AddUniform()) && AddSetData();
}

bool PayloadLayout::AddSet(uint32_t prefix_bits) {
  Set set;
  set.header = at_;
  if (!AddFields(
          1, {"kind of set", "probes or seed", "lines", "marks of the set"}) ||
      !AddFields(4, {"blocks of the set"}) ||
      !AddFields(8, {"size of the set"})) {
    return false;
  }
  set.fields.DecodeFrom(At(set.header));
  set.alphabets = prefix_bits == 0
                      ? 0
                      : static_cast<uint8_t>(
                            *At(set.header + ProteusHeader::kSetAlphabets));
  sets_.push_back(set);
  return true;
}

// The data of all sets, then their alphabets.
bool PayloadLayout::AddSetData() {
  for (const Set& set : sets_) {
    if (!Add("set", BlockPiece::kBits, set.fields.bytes)) return false;
  }
  for (const Set& set : sets_) {
    for (size_t i = 0; i < set.alphabets; i++) {
      if (!Add("alphabet of a place", BlockPiece::kNumber, 1)) return false;
    }
  }
  return true;
}

bool PayloadLayout::AddUniform() {
  Uniform uniform;
  uniform.header = at_;
  if (!AddFields(4, {"prefix bits", "levels"})) return false;
  uniform.prefix_bits = DecodeFixed32(At(uniform.header));
  uniform.levels = DecodeFixed32(At(uniform.header + 4));
  uniform.table = at_;
  if (uniform.prefix_bits > kMaxPrefixBits ||
      uniform.levels > BytesForBits(uniform.prefix_bits)) {
    return false;
  }
  // There is an even number of them.
  for (uint32_t i = 0; i < uniform.levels + uniform.levels % 2; i++) {
    if (!Add("leaves above", BlockPiece::kNumber, 4)) return false;
  }
  if (!AddTrie()) return false;
  uniform.suffixes = at_;
  const uint64_t bits = SuffixBits(bytes_, uniform, trie_->fields.leaves);
  const bool fits = Add("suffixes", BlockPiece::kBits, BitArrayBytes(bits));
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
  Trie trie;
  trie.header = at_;
  if (!AddFields(
          4, {"height", "nodes", "leaves", "sections", "value bits", "zero"}) ||
      !Add("alphabet", BlockPiece::kBits, Alphabet::kSize)) {
    return false;
  }
  trie.fields.DecodeFrom(At(trie.header));
  trie.code_bits = Alphabet(At(at_ - Alphabet::kSize)).code_bits();
  trie.values = trie.end = at_;
  trie_ = trie;
  const uint64_t sections = trie.fields.sections;
  if (sections > FstHeader::kMaxSections) return false;
  const size_t headers = at_;
  for (uint64_t i = 0; i < sections; i++) {
    if (!AddFields(4,
                   {"section levels", "section nodes", "section edges",
                    "section children", "terminators", "runs", "run codes"}) ||
        !AddFields(1, {"remainder bits", "child encoding", "exception bits",
                       "group shift"})) {
      return false;
    }
  }
  for (uint64_t i = 0; i < sections; i++) {
    if (!AddSection(headers + i * FstSectionHeader::kSize)) return false;
  }
  trie_->values = trie_->end = at_;
  const uint64_t bits = std::min(trie.fields.value_bits, 64u);
  const bool fits = Add("values", BlockPiece::kBits,
                        BitArrayBytes(trie.fields.leaves * bits));
  trie_->end = at_;
  return fits;
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
  if (layout.end > bytes_.size() - at_) return false;
  trie_->sections.push_back({header, at_, fields, layout});
  const std::pair<const char*, uint64_t> arrays[] = {
      {"index", layout.labels},
      {"labels", layout.remainders},
      {"remainders", layout.children},
      {"children", layout.terminators},
      {"terminator marks", layout.run_marks},
      {"run marks", layout.run_starts},
      {"run starts", layout.run_codes},
      {"codes of runs", layout.end}};
  uint64_t begin = 0;
  for (const auto& [name, end] : arrays) {
    Add(name, BlockPiece::kBits, end - begin);
    begin = end;
  }
  return true;
}

// ---- Blocks ----

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

BlockLayout::BlockLayout(const Slice& block) : PieceLayout(block) {
  const SplitBlock split(block);
  const DirectoryLayout directory(Slice(block.data(), split.directory.size()));
  AddPieces(directory);
  bool found = directory.whole();
  directory.ForEachUnit([&](size_t index, bool second, uint32_t size) {
    found = found && size <= bytes_.size() - at_;
    if (!found) return;
    const DirectoryLayout::Entry& entry = directory.entries()[index];
    units_.push_back({at_, PayloadLayout(Slice(At(at_), size), entry.kind,
                                         directory.DesignOf(entry, second))});
    AddPieces(units_.back().layout);
    found = AddFields(4, {"checksum of a part", "number of a part"}) &&
            AddFields(1, {"number of a unit"}) &&
            AddFields(7, {"zeros of a part"}) &&
            AddFields(1, {"compression of a part"}) &&
            AddFields(4, {"trailer of a part"});
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
