// SPDX-License-Identifier: Apache-2.0

//  A structure-aware mutator for inputs that hold a filter block.

#include "filter_policy/amq/bloom.h"
#include "filter_policy/amq/ribbon.h"
#include "filter_policy/bits/bit_array.h"
#include "tests/filter_blocks.h"
#include "tests/fuzz/block_layout.h"
#include "tests/fuzz/fuzz_input.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// ---- Repairs ----
//
// The changes of a mutation stay, and what contradicts them is adapted. Counts
// in headers of payloads are taken as true, bits are set and cleared until they
// agree with the counts, and all redundant data (sizes, sums, rank and select
// tables, the index, levels, checksums) is computed again. What still
// contradicts itself then stays so.

// Payloads are followed by kReadPadding zeros while they are repaired.
Slice WithoutPadding(const std::string& payload) {
  return Slice(payload.data(), payload.size() - kReadPadding);
}

// Adds or removes bytes at the end of an array.
void Resize(std::string* payload, size_t begin, size_t end, uint64_t size) {
  if (begin + size < end) payload->erase(begin + size, end - begin - size);
  if (begin + size > end) payload->insert(end, begin + size - end, '\x5a');
}

void AssignBit(char* words, uint64_t pos, bool one) {
  one ? SetBit(words, pos) : ClearBit(words, pos);
}

void ClearTail(char* words, uint64_t size) {
  for (uint64_t pos = size; pos % 64 != 0; pos++) AssignBit(words, pos, false);
}

// Sets or clears bits in [begin, end) until `ones` are set; false if too few.
bool FitOnes(char* words, uint64_t begin, uint64_t end, uint64_t ones,
             Dice* random) {
  if (ones > end - begin) return false;
  uint64_t found = begin == end ? 0 : CountOnes(words, begin, end);
  const bool set = found < ones;
  for (uint64_t pos = begin + random->Below(end - begin); found != ones;
       pos = pos + 1 == end ? begin : pos + 1) {
    if (GetBit(words, pos) == set) continue;
    AssignBit(words, pos, set);
    found = set ? found + 1 : found - 1;
  }
  return true;
}

class TrieRepair {
 public:
  TrieRepair(std::string* payload, const PayloadLayout& layout, Dice* random)
      : payload_(*payload), trie_(*layout.trie()), random_(random) {}

  // Where the trie ends may change: the number of values follows the sections.
  bool Repair() {
    if (trie_.sections.size() != trie_.fields.sections) return false;
    for (const Section& section : trie_.sections) {
      if (!FitSection(section)) return false;
    }
    if (!FitLevels()) return false;
    FitValues();
    return true;
  }

 private:
  using Section = PayloadLayout::Section;

  char* At(size_t offset) { return &payload_[offset]; }
  void Store(size_t header, size_t field, uint64_t value) {
    EncodeFixed32(At(header + field), static_cast<uint32_t>(value));
  }

  bool FitSection(const Section& section) {
    const FstSectionHeader& fields = section.fields;
    const FstSectionLayout& layout = section.layout;
    if (fields.nodes == 0 || fields.edges == 0 ||
        fields.runs > fields.run_codes) {
      return false;
    }
    char* const arrays = At(section.arrays);
    char* const labels = arrays + layout.labels;
    uint64_t end = layout.label_bits;
    uint64_t ones = fields.edges;
    ClearTail(labels, end);
    if (fields.remainder_bits > 0) {
      AssignBit(labels, --end, true);
      ones = (uint64_t{fields.nodes} << layout.quotient_bits) - 1;
    }
    if (!FitOnes(labels, 0, end, ones, random_) ||
        !FitRank(arrays + layout.terminators, fields.nodes,
                 fields.terminators) ||
        !FitRank(arrays + layout.run_marks, fields.nodes, fields.runs)) {
      return false;
    }
    if (fields.runs > 0) {
      char* const starts = arrays + layout.run_starts;
      ClearTail(starts, fields.run_codes);
      AssignBit(starts, 0, true);
      FitOnes(starts, 1, fields.run_codes, fields.runs - 1, random_);
      SelectVector::Complete(starts, fields.run_codes);
    }
    if (!FitIndex(section)) return false;
    Slice input(arrays, payload_.size() - section.arrays);
    return sections_.emplace_back().Open(fields, trie_.code_bits, &input);
  }

  // There is no vector without ones.
  bool FitRank(char* vector, uint64_t bits, uint64_t ones) {
    if (ones == 0) return true;
    ClearTail(vector, bits);
    if (!FitOnes(vector, 0, bits, ones, random_)) return false;
    RankVector::Complete(vector, bits);
    return true;
  }

  // Repairs which edges lead to nodes, and the index, which counts both.
  bool FitIndex(const Section& section) {
    const FstSectionHeader& fields = section.fields;
    const FstSectionLayout& layout = section.layout;
    char* const index = At(section.arrays);
    const char* const labels = index + layout.labels;
    char* const children = index + layout.children;
    const bool listed =
        fields.child_encoding != FstSectionHeader::kHasChildBits;
    const bool leaves =
        fields.child_encoding == FstSectionHeader::kLeavesListed;
    if (!listed) {
      ClearTail(children, fields.edges);
      if (!FitOnes(children, 0, fields.edges, fields.children, random_)) {
        return false;
      }
    }
    const uint64_t bits_of_node = layout.label_bits / fields.nodes;
    uint64_t bit = 0;  // of the labels, behind those of the group
    uint64_t written = 0;
    uint64_t edges_before = 0;
    uint64_t children_before = 0;
    const auto store = [&](uint64_t group) {
      EncodeFixed32(index + 8 * group, static_cast<uint32_t>(edges_before));
      EncodeFixed32(index + 8 * group + 4,
                    static_cast<uint32_t>(children_before));
    };
    for (uint64_t group = 0; group < layout.groups; group++) {
      const uint64_t old = LoadWord(index, group);
      const uint64_t next = LoadWord(index, group + 1);
      store(group);
      const uint64_t begin = group << layout.group_shift;
      const uint64_t end =
          std::min<uint64_t>(fields.nodes, (group + 1) << layout.group_shift);
      uint64_t behind = edges_before;
      if (fields.remainder_bits == 0) {
        behind += CountOnes(labels, begin * bits_of_node, end * bits_of_node);
      } else {
        const uint64_t quotients = (end - begin) << layout.quotient_bits;
        bit = SelectFrom(labels, bit, quotients - 1) + 1;
        behind = layout.quotient_bits == 0
                     ? bit
                     : bit - (end << layout.quotient_bits);
      }
      const uint64_t edges = behind - edges_before;
      uint64_t leading = 0;
      if (!listed) {
        leading = edges == 0 ? 0 : CountOnes(children, edges_before, behind);
      } else {
        // The group keeps its number, if the later groups can take the others.
        uint64_t some = (next >> 32) - (old >> 32);
        if (leaves) some = (next & ~0u) - (old & ~0u) - some;
        const uint64_t left = fields.exceptions() - written;
        const uint64_t room = fields.edges - behind;
        some = std::min({some, left, edges});
        some = std::max(some, left - std::min(left, room));
        if (some > edges) return false;
        leading = leaves ? edges - some : some;
        // Places ascend.
        for (uint64_t least = 0; some > 0; some--, written++) {
          const unsigned width = fields.exception_bits;
          const uint64_t place = std::clamp(
              width == 0 ? 0 : GetBits(children, written * width, width), least,
              edges - some);
          for (unsigned i = 0; i < width; i++) {
            AssignBit(children, written * width + i, (place >> i & 1) != 0);
          }
          least = place + 1;
        }
      }
      edges_before = behind;
      children_before += leading;
    }
    store(layout.groups);
    return true;
  }

  // Computes the levels from the root downwards, and the number of nodes.
  bool FitLevels() {
    uint64_t begin = 0;
    uint64_t end = 1;
    uint64_t first = 0;     // node of the section
    uint64_t children = 0;  // of the sections before
    uint32_t height = 0;
    for (size_t i = 0; i < sections_.size(); i++) {
      const FstSectionHeader& fields = trie_.sections[i].fields;
      const uint64_t behind = first + fields.nodes;
      uint32_t levels = 0;
      for (; begin < behind; levels++) {
        if (begin >= end || end > behind) return false;
        const auto local = static_cast<uint32_t>(end - first);
        begin = end;
        end = children + 1 +
              (local == fields.nodes
                   ? fields.children
                   : sections_[i].ChildrenBefore(
                         local, sections_[i].EdgesBefore(local)));
      }
      Store(trie_.sections[i].header, 0, levels);
      height += levels;
      first = behind;
      children += fields.children;
    }
    Store(trie_.header, 0, height);
    Store(trie_.header, 4, first);
    return true;
  }

  void FitValues() {
    uint64_t leaves = 0;
    for (const Section& section : trie_.sections) {
      leaves += section.fields.edges - section.fields.children +
                section.fields.terminators;
    }
    if (trie_.sections.empty()) leaves = std::min(trie_.fields.leaves, 1u);
    Store(trie_.header, 8, leaves);
    const uint32_t bits = std::min(trie_.fields.value_bits, 64u);
    Store(trie_.header, 16, bits);
    const size_t size = static_cast<size_t>(BitArrayBytes(leaves * bits));
    Resize(&payload_, trie_.values, trie_.end, size);
  }

  std::string& payload_;
  PayloadLayout::Trie trie_;
  Dice* const random_;
  std::vector<FstSection> sections_;  // repaired
};

// ---- Payloads ----

PayloadLayout LayOut(const std::string& payload, FilterKind kind,
                     const std::string& design) {
  return PayloadLayout(WithoutPadding(payload), static_cast<uint8_t>(kind),
                       design);
}

bool FitTrie(const PayloadLayout& layout, std::string* payload, Dice* random) {
  return layout.trie().has_value() &&
         TrieRepair(payload, layout, random).Repair();
}

// The values of a trie are suffixes of as many bits as the header says.
bool FitSurf(std::string* payload, Dice* random) {
  if (!FitTrie(LayOut(*payload, kSurfKind, ""), payload, random)) return false;
  const PayloadLayout layout = LayOut(*payload, kSurfKind, "");
  char* const header = payload->data();
  uint32_t bits = layout.trie()->fields.value_bits;
  for (const size_t field : {1, 2}) {  // real bits and prefix bits
    const uint32_t some =
        std::min<uint32_t>(bits, static_cast<uint8_t>(header[field]));
    header[field] = static_cast<char>(some);
    bits -= some;
  }
  header[0] = static_cast<char>((header[0] & 0x80) | bits);
  payload->resize(layout.trie()->end + kReadPadding);
  return true;
}

// Repairs the table of leaves and the suffixes, and adapts the design to them.
bool FitUniform(const PayloadLayout& layout, std::string* payload,
                ProteusDesign* design) {
  if (!layout.uniform().has_value()) return false;
  const PayloadLayout::Uniform& uniform = *layout.uniform();
  const FstHeader& fst = layout.trie()->fields;
  if (uniform.levels != fst.height || fst.nodes == 0 ||
      uniform.prefix_bits == 0) {
    return false;
  }
  uint32_t first = 0;
  for (uint32_t level = 0; level < uniform.levels; level++) {
    char* const entry = &(*payload)[uniform.table + 4 * level];
    first =
        level == 0 ? 0 : std::clamp(DecodeFixed32(entry), first, fst.leaves);
    EncodeFixed32(entry, first);
  }
  const uint64_t size =
      BitArrayBytes(SuffixBits(*payload, uniform, fst.leaves));
  // A wrong table needs far more bytes than there are.
  if (size > 2 * payload->size()) return false;
  Resize(payload, uniform.suffixes, uniform.end, size);
  for (Layer& layer : *design) {
    if (layer.is_set()) continue;
    if (layer.lead > 7 || uniform.prefix_bits > 64 ||
        layer.lead >= uniform.prefix_bits) {
      layer.lead = 0;
    }
    layer.bits = uniform.prefix_bits - layer.lead;
  }
  return true;
}

// Drops the layers that cannot be in the list.
void FitDesign(ProteusDesign* design) {
  ProteusDesign fitted;
  for (const Layer& layer : *design) {
    ProteusDesign longer = fitted;
    longer.Add(layer);
    if (longer.IsValid()) fitted = longer;
  }
  *design = fitted;
}

// Repairs one of the sets, which has `room` bytes. Returns how many it takes.
size_t FitSet(char* header, size_t room) {
  AmqHeader set;
  set.DecodeFrom(header);
  set.bytes = std::min<uint64_t>(set.bytes, room);
  const bool is_bloom = set.kind == kBloomAmq;
  if (is_bloom) set.bytes -= set.bytes % BloomSet::kLineBytes;
  const bool fits = is_bloom ? set.bytes > 0
                             : set.kind == kRibbonAmq && set.small[0] < 8 &&
                                   set.bytes >= 8u << set.small[0];
  if (!fits) set = AmqHeader();
  set.EncodeTo(header);
  return static_cast<size_t>(set.bytes);
}

bool FitProteus(std::string* design, std::string* payload, Dice* random) {
  ProteusHeader header;
  if (!header.DecodeFrom(*design)) return false;
  const auto lay_out = [&] {
    FitDesign(&header.design);
    *design = header.Encode();
    return LayOut(*payload, kProteusKind, *design);
  };
  if (header.design.num_sets() < header.design.size() &&
      (!FitTrie(lay_out(), payload, random) ||
       !FitUniform(lay_out(), payload, &header.design))) {
    return false;
  }
  const PayloadLayout layout = lay_out();
  const size_t sets = layout.uniform().has_value()
                          ? layout.uniform()->end
                          : header.design.num_sets() * Amq::kHeaderSize;
  const size_t size = WithoutPadding(*payload).size();
  if (sets > size) return false;
  size_t room = size - sets;
  size_t number = 0;
  for (const Layer& layer : header.design) {
    if (!layer.is_set() || number == layout.sets().size()) continue;
    const size_t at = layout.sets()[number++].header;
    char& alphabets = (*payload)[at + ProteusHeader::kSetAlphabets];
    if (layer.bits == 0) continue;
    const size_t fitting = std::min<size_t>(
        {static_cast<uint8_t>(alphabets), BytesForBits(layer.bits), room});
    alphabets = static_cast<char>(fitting);
    room -= fitting;
  }
  for (const PayloadLayout::Set& set : layout.sets()) {
    room -= FitSet(&(*payload)[set.header], room);
  }
  payload->resize(size - room + kReadPadding);
  return true;
}

// The design is adapted to the payload.
bool FitPayload(FilterKind kind, std::string* design, std::string* payload,
                Dice* random) {
  payload->append(kReadPadding, '\0');
  const bool whole =
      (kind == kSurfKind && FitSurf(payload, random)) ||
      (kind == kProteusKind && FitProteus(design, payload, random));
  payload->resize(payload->size() - kReadPadding);
  return whole;
}

// Adds a part's second unit, if there is one that fits the part's new design.
void AddSecondUnit(const SplitBlock& damaged, size_t entry,
                   const std::string& design, Dice* random,
                   FilterBlockWriter* writer) {
  ProteusHeader header;
  const auto unit = std::find_if(
      damaged.units.begin(), damaged.units.end(),
      [entry](const auto& u) { return u.second && u.entry == entry; });
  if (unit == damaged.units.end() || !header.DecodeFrom(design)) return;
  header.design.RemoveTrie();
  std::string fitted = header.Encode();
  std::string payload = unit->payload;
  if (FitPayload(kProteusKind, &fitted, &payload, random) && !payload.empty() &&
      fitted == header.Encode()) {
    memcpy(writer->AddSecondUnit(payload.size()), payload.data(),
           payload.size());
  }
}

// `random` chooses the bits to change.
std::string RepairBlock(const SplitBlock& damaged, Dice* random) {
  const DirectoryLayout directory(damaged.directory);
  const std::vector<DirectoryLayout::Entry>& entries = directory.entries();
  FilterBlockHeader header = directory.header();
  FilterBlockWriter writer;
  uint64_t keys = 0;
  std::string begin;
  for (const SplitBlock::Unit& unit : damaged.units) {
    if (unit.second) continue;
    // There may be more parts than entries.
    const DirectoryLayout::Entry entry =
        entries.empty()
            ? DirectoryLayout::Entry()
            : entries[std::min(writer.num_parts(), entries.size() - 1)];
    std::string design = directory.DesignOf(entry, /*second=*/false);
    std::string payload = unit.payload;
    FitPayload(header.kind, &design, &payload, random);
    // Where parts begin ascends.
    if (writer.num_parts() > 0) {
      begin = std::max(entry.begin.ToString(), begin + '\0');
    }
    const uint32_t num_keys = std::max(entry.num_keys, 1u);
    memcpy(writer.AddPart(num_keys, begin, design, payload.size()),
           payload.data(), payload.size());
    AddSecondUnit(damaged, unit.entry, design, random, &writer);
    keys += num_keys;
  }
  if (header.kind == FilterKind::kAlwaysTrue) {
    writer = FilterBlockWriter();
  } else {
    header.num_keys = keys;
  }
  std::string block(writer.Size(header), '\0');
  writer.Write(header, block.data());
  return block;
}

// ---- Mutations ----

constexpr size_t kMaxQueryBytes = 512;

std::string ChangedInPlace(const std::string& bytes, GenericMutator generic) {
  std::string changed = MutateGenerically(bytes, bytes.size(), generic);
  changed.resize(bytes.size());
  return changed;
}

// The bytes of a border value, or of one near this number or the other one.
std::string OtherNumber(const std::string& bytes, const BlockPiece& piece,
                        const BlockPiece& other, Dice* random) {
  const bool is_varint = piece.kind == BlockPiece::kVarint;
  const size_t size = is_varint ? 4 : piece.size;
  const uint64_t max = ~uint64_t{0} >> (64 - 8 * size);
  const uint64_t old = NumberAt(bytes, piece);
  const uint64_t number = random->Of<uint64_t>(
      {0, 1, max, max / 2, max / 2 + 1, old + 1, old - 1, old + 8, old - 8,
       2 * old, NumberAt(bytes, other) - 1 + random->Below(3)});
  std::string changed;
  if (is_varint) {
    PutVarint32(&changed, static_cast<uint32_t>(number));
  } else {
    PutFixed64(&changed, number);
    changed.resize(size);
  }
  return changed;
}

// Changes one of the pieces.
void MutatePieces(const std::vector<BlockPiece>& pieces, std::string* bytes,
                  Dice* random, GenericMutator generic) {
  std::vector<BlockPiece> numbers;
  std::vector<BlockPiece> others;
  for (const BlockPiece& piece : pieces) {
    (piece.IsNumber() ? numbers : others).push_back(piece);
  }
  if (pieces.empty()) return;
  const bool is_number =
      others.empty() || (!numbers.empty() && random->OneIn(3));
  const BlockPiece& piece = random->In(is_number ? numbers : others);
  std::string changed = bytes->substr(piece.offset, piece.size);
  if (is_number && !random->OneIn(4)) {
    changed = OtherNumber(*bytes, piece, random->In(numbers), random);
  } else if (random->OneIn(12)) {  // as with a wrong size
    changed.resize(random->OneIn(2) ? random->Below(piece.size)
                                    : piece.size + 8 * (1 + random->Below(4)),
                   random->OneIn(2) ? '\0' : '\xff');
  } else {
    changed = ChangedInPlace(changed, generic);
  }
  bytes->replace(piece.offset, piece.size, changed);
}

// Changes the directory or a unit; or swaps two units, leaves one out, or
// repeats one, so that the directory tells lies.
void MutateBlock(SplitBlock* block, BlockCare care, Dice* random,
                 GenericMutator generic) {
  const bool any = care == BlockCare::kEnvelope;
  const DirectoryLayout directory(block->directory);
  std::vector<SplitBlock::Unit>& units = block->units;
  if (units.empty() || random->OneIn(any ? 2 : 6)) {
    MutatePieces(directory.pieces(), &block->directory, random, generic);
    return;
  }
  const size_t index = random->Below(units.size());
  const auto at = units.begin() + static_cast<ptrdiff_t>(index);
  switch (random->Below(24)) {
    case 0:
      std::swap(*at, units[random->Below(units.size())]);
      return;
    case 1:
      units.erase(at);
      return;
    case 2:
      units.insert(at, SplitBlock::Unit(*at));
      return;
  }
  if (any && random->OneIn(8)) {
    at->end = ChangedInPlace(at->end, generic);
    return;
  }
  const DirectoryLayout::Entry entry = at->entry < directory.entries().size()
                                           ? directory.entries()[at->entry]
                                           : DirectoryLayout::Entry();
  const PayloadLayout payload(at->payload, entry.kind,
                              directory.DesignOf(entry, at->second));
  MutatePieces(payload.pieces(), &at->payload, random, generic);
}

// Whatever the directory says of them, the units end where they did.
std::string Repair(const SplitBlock& block, BlockCare care, Dice* random) {
  const bool is_payload = care == BlockCare::kPayload;
  const uint64_t lot = random->Below(16);
  if (lot < (is_payload ? 14 : 7)) return RepairBlock(block, random);
  std::string repaired = block.Join();
  if (is_payload || lot < 11) RepairChecksums(&repaired);
  return repaired;
}

}  // namespace

void RepairChecksums(std::string* block) {
  if (block->size() < FilterDirectory::kFixedSize) return;
  memcpy(block->data(), "PRTN", 4);
  (*block)[kVersionOffset] = 1;
  *block = WithRightChecksums(std::move(*block));
}

BlockInput BlockInput::Parse(const Slice& input) {
  FuzzInput pieces(input);
  BlockInput result;
  result.queries = pieces.Bytes(pieces.Number16()).ToString();
  result.block = pieces.rest().ToString();
  return result;
}

std::string BlockInput::Join() const {
  std::string input;
  PutFixed16(&input, static_cast<uint16_t>(queries.size()));
  return input + queries + block;
}

std::string MutateBlockInput(const Slice& bytes, size_t max_size,
                             BlockCare care, Dice* random,
                             GenericMutator generic) {
  const BlockInput original = BlockInput::Parse(bytes);
  // A mutation may be too large.
  for (int tries = 0; tries < 4; tries++) {
    BlockInput input = original;
    if (random->OneIn(4)) {
      if (random->OneIn(4)) {
        // The first bytes contain keys.
        const size_t begin = random->Below(std::min<size_t>(
            input.block.size(), 4 * FilterDirectory::kFixedSize));
        input.queries.insert(
            0, StoreStrings({input.block.substr(begin, random->Below(24))}));
      }
      input.queries =
          MutateStrings(input.queries, kMaxQueryBytes, random, generic);
    }
    if (!random->OneIn(6)) {
      SplitBlock block(input.block);
      for (uint64_t left = 1 + random->Below(3); left > 0; left--) {
        MutateBlock(&block, care, random, generic);
      }
      input.block = Repair(block, care, random);
    }
    const std::string joined = input.Join();
    if (joined.size() <= max_size) return joined;
  }
  return bytes.ToString();
}

}  // namespace ROCKSDB_NAMESPACE::protean
