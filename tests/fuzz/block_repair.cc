// SPDX-License-Identifier: Apache-2.0

#include "tests/fuzz/block_repair.h"

#include <vector>

#include "filter_policy/amq/bloom.h"
#include "filter_policy/amq/ribbon.h"
#include "filter_policy/bits/bit_array.h"
#include "filter_policy/surf/surf.h"
#include "tests/filter_blocks.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Payloads are followed by kReadPadding zeros while they are repaired.
Slice WithoutPadding(const std::string& payload) {
  return Slice(payload.data(), payload.size() - kReadPadding);
}

// Adds or removes bytes at the end of an array.
void Resize(std::string* payload, size_t begin, size_t end, uint64_t size) {
  if (begin + size < end) payload->erase(begin + size, end - begin - size);
  if (begin + size > end) payload->insert(end, begin + size - end, '\x5a');
}

void ClearBit(char* words, uint64_t pos) {
  words[pos / 8] = static_cast<char>(static_cast<uint8_t>(words[pos / 8]) &
                                     ~(1u << pos % 8));
}

void ClearTail(char* words, uint64_t size) {
  for (uint64_t pos = size; pos % 64 != 0; pos++) ClearBit(words, pos);
}

// Sets or clears bits among the first `size`, until `ones` of them are set.
void FitOnes(char* words, uint64_t size, uint64_t ones, Dice* random) {
  uint64_t found = size == 0 ? 0 : CountOnes(words, 0, size);
  const bool set = found < ones;
  for (uint64_t pos = random->Below(size); found != ones;
       pos = pos + 1 == size ? 0 : pos + 1) {
    if (GetBit(words, pos) == set) continue;
    if (set) {
      SetBit(words, pos);
      found++;
    } else {
      ClearBit(words, pos);
      found--;
    }
  }
}

void StorePacked(char* words, uint64_t index, unsigned width, uint64_t value) {
  for (unsigned i = 0; i < width; i++) {
    const uint64_t pos = index * width + i;
    if ((value >> i & 1) != 0) {
      SetBit(words, pos);
    } else {
      ClearBit(words, pos);
    }
  }
}

class TrieRepair {
 public:
  TrieRepair(std::string* payload, const PayloadLayout& layout, Dice* random)
      : payload_(*payload), trie_(*layout.trie()), random_(random) {}

  // Where the trie ends may change: the number of values follows the sections.
  bool Repair() {
    if (trie_.sections.size() != trie_.fields.sections) return false;
    if (trie_.sections.empty()) return FitLoneLeaf();
    if (!FitTotals()) return false;
    for (const PayloadLayout::Section& section : trie_.sections) {
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

  bool FitLoneLeaf() {
    Store(trie_.header, 0, 0);
    Store(trie_.header, 4, 0);
    trie_.fields.leaves = std::min(trie_.fields.leaves, 1u);
    FitValues();
    return true;
  }

  // Every node except the root has an edge that leads to it.
  bool FitTotals() {
    uint64_t nodes = 0;
    uint64_t children = 0;
    for (const Section& section : trie_.sections) {
      nodes += section.fields.nodes;
      children += section.fields.children;
    }
    for (Section& section : trie_.sections) {
      FstSectionHeader& fields = section.fields;
      if (children + 1 == nodes) break;
      if (fields.child_encoding != FstSectionHeader::kHasChildBits) continue;
      const uint64_t wanted = nodes - 1 + fields.children - children;
      const uint64_t given = nodes - 1 + fields.children < children
                                 ? 0
                                 : std::min<uint64_t>(wanted, fields.edges);
      children += given - fields.children;
      fields.children = static_cast<uint32_t>(given);
      Store(section.header, 12, given);
    }
    trie_.fields.nodes = static_cast<uint32_t>(nodes);
    Store(trie_.header, 4, nodes);
    return nodes > 0 && children + 1 == nodes;
  }

  bool FitSection(const Section& section) {
    const FstSectionHeader& fields = section.fields;
    const FstSectionLayout& layout = section.layout;
    const bool dense = fields.remainder_bits == 0;
    char* const arrays = At(section.arrays);
    if (fields.nodes == 0 || fields.edges == 0 ||
        fields.terminators > fields.nodes || fields.runs > fields.nodes ||
        fields.runs > fields.run_codes ||
        (fields.runs == 0 && fields.run_codes > 0)) {
      return false;
    }
    char* const labels = arrays + layout.labels;
    const uint64_t ones =
        dense ? fields.edges : uint64_t{fields.nodes} << layout.quotient_bits;
    if (ones > layout.label_bits) return false;
    ClearTail(labels, layout.label_bits);
    if (dense) {
      FitOnes(labels, layout.label_bits, ones, random_);
    } else {
      SetBit(labels, layout.label_bits - 1);
      FitOnes(labels, layout.label_bits - 1, ones - 1, random_);
    }
    if (fields.terminators > 0) {
      FitRank(arrays + layout.terminators, fields.nodes, fields.terminators);
    }
    if (fields.runs > 0) {
      FitRank(arrays + layout.run_marks, fields.nodes, fields.runs);
      char* const starts = arrays + layout.run_starts;
      ClearTail(starts, fields.run_codes);
      SetBit(starts, 0);
      while (CountOnes(starts, 0, fields.run_codes) != fields.runs) {
        FitOnes(starts, fields.run_codes, fields.runs, random_);
        SetBit(starts, 0);
      }
      SelectVector::Complete(starts, fields.run_codes);
    }
    return FitChildren(section);
  }

  void FitRank(char* vector, uint64_t bits, uint64_t ones) {
    ClearTail(vector, bits);
    FitOnes(vector, bits, ones, random_);
    RankVector::Complete(vector, bits);
  }

  // Repairs the index, which decides which edges lead to nodes. Records the
  // number of these edges for each node.
  bool FitChildren(const Section& section) {
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
      FitOnes(children, fields.edges, fields.children, random_);
    }
    std::vector<uint32_t> ends;  // the first edge behind each node
    FindEdges(fields, layout, labels, &ends);
    std::vector<bool> leads(fields.edges, leaves);
    uint64_t left = fields.exceptions();
    uint64_t written = 0;
    uint32_t edges_before = 0;
    uint32_t children_before = 0;
    for (uint64_t group = 0; group < layout.groups; group++) {
      const uint64_t old = LoadWord(index, group);
      const uint64_t next = LoadWord(index, group + 1);
      EncodeFixed32(index + 8 * group, edges_before);
      EncodeFixed32(index + 8 * group + 4, children_before);
      const uint64_t last_node =
          std::min<uint64_t>(fields.nodes, (group + 1) << layout.group_shift);
      const uint32_t edges_behind = ends[last_node - 1];
      const uint32_t edges = edges_behind - edges_before;
      uint32_t leading = 0;
      if (!listed) {
        leading = static_cast<uint32_t>(
            CountOnes(children, edges_before, edges_behind));
        for (uint32_t i = edges_before; i < edges_behind; i++) {
          leads[i] = GetBit(children, i);
        }
      } else {
        // The group keeps its number, if the later groups can take the others.
        uint64_t some = (next >> 32) - (old >> 32);
        if (leaves) some = (next & ~0u) - (old & ~0u) - some;
        const uint64_t room = fields.edges - edges_behind;
        some = std::min<uint64_t>({some, left, edges});
        some = std::max(some, left - std::min(left, room));
        if (some > edges) return false;
        FitExceptions(children, fields.exception_bits, written, some, edges);
        for (uint64_t i = written; i < written + some; i++) {
          leads[edges_before + Place(children, fields.exception_bits, i)] =
              !leaves;
        }
        written += some;
        left -= some;
        leading = static_cast<uint32_t>(leaves ? edges - some : some);
      }
      edges_before = edges_behind;
      children_before += leading;
    }
    EncodeFixed32(index + 8 * layout.groups, edges_before);
    EncodeFixed32(index + 8 * layout.groups + 4, children_before);
    uint32_t edge = 0;
    for (const uint32_t end : ends) {
      uint32_t count = 0;
      for (; edge < end; edge++) count += leads[edge];
      children_of_.push_back(count);
    }
    return edges_before == fields.edges && children_before == fields.children;
  }

  static void FindEdges(const FstSectionHeader& fields,
                        const FstSectionLayout& layout, const char* labels,
                        std::vector<uint32_t>* ends) {
    const uint64_t per_node = fields.remainder_bits == 0
                                  ? layout.label_bits / fields.nodes
                                  : uint64_t{1} << layout.quotient_bits;
    uint32_t edges = 0;
    uint64_t quotients = 0;
    for (uint64_t pos = 0; pos < layout.label_bits; pos++) {
      const bool one = GetBit(labels, pos);
      if (fields.remainder_bits == 0) {
        edges += one;
        quotients++;
      } else if (layout.quotient_bits == 0) {
        edges++;
        quotients += one;
      } else {
        edges += !one;
        quotients += one;
      }
      if (quotients == per_node) {
        ends->push_back(edges);
        quotients = 0;
      }
    }
    ends->resize(fields.nodes, edges);
  }

  static uint64_t Place(const char* words, unsigned width, uint64_t index) {
    return width == 0 ? 0 : GetBits(words, index * width, width);
  }

  // Makes the places ascend, below `edges`.
  static void FitExceptions(char* words, unsigned width, uint64_t begin,
                            uint64_t count, uint64_t edges) {
    uint64_t least = 0;
    for (uint64_t i = 0; i < count; i++) {
      const uint64_t place = std::clamp(Place(words, width, begin + i), least,
                                        edges - (count - i));
      StorePacked(words, begin + i, width, place);
      least = place + 1;
    }
  }

  // Computes the levels from the root downwards.
  bool FitLevels() {
    uint64_t begin = 0;
    uint64_t end = 1;
    uint64_t node = 0;
    uint64_t children = 0;
    uint64_t behind = 0;  // first node behind the section
    uint32_t height = 0;
    for (const Section& section : trie_.sections) {
      behind += section.fields.nodes;
      uint32_t levels = 0;
      while (begin < behind) {
        if (begin >= end || end > behind) return false;
        for (; node < end; node++) children += children_of_[node];
        begin = end;
        end = children + 1;
        levels++;
      }
      Store(section.header, 0, levels);
      height += levels;
    }
    Store(trie_.header, 0, height);
    return true;
  }

  void FitValues() {
    uint64_t leaves = 0;
    for (const Section& section : trie_.sections) {
      leaves += section.fields.edges - section.fields.children +
                section.fields.terminators;
    }
    if (trie_.sections.empty()) leaves = trie_.fields.leaves;
    Store(trie_.header, 8, leaves);
    const uint32_t bits = std::min(trie_.fields.value_bits, 64u);
    Store(trie_.header, 16, bits);
    const size_t size = static_cast<size_t>(BitArrayBytes(leaves * bits));
    Resize(&payload_, trie_.values, trie_.end, size);
  }

  std::string& payload_;
  PayloadLayout::Trie trie_;
  Dice* const random_;
  std::vector<uint32_t> children_of_;
};

// ---- SuRF ----

bool FitTrie(const PayloadLayout& layout, std::string* payload, Dice* random) {
  return layout.trie().has_value() &&
         TrieRepair(payload, layout, random).Repair();
}

bool FitSurf(std::string* payload, Dice* random) {
  const auto lay_out = [payload] {
    return PayloadLayout(WithoutPadding(*payload),
                         static_cast<uint8_t>(kSurfKind), Slice());
  };
  if (!FitTrie(lay_out(), payload, random)) return false;
  const PayloadLayout layout = lay_out();
  char* const header = payload->data();
  const uint32_t bits = layout.trie()->fields.value_bits;
  constexpr uint8_t kCoded = 0x80;
  const uint8_t coded = static_cast<uint8_t>(header[0]) & kCoded;
  const uint8_t old_hash_bits = static_cast<uint8_t>(header[0]) & ~kCoded;
  const uint32_t hash_bits =
      std::min<uint32_t>({old_hash_bits, SurfSuffix::kMaxHashBits, bits});
  const uint32_t prefix_bits =
      std::min<uint32_t>({static_cast<uint8_t>(header[2]),
                          SurfSuffix::kMaxPrefixBits, bits - hash_bits});
  // In a trie of digits, the real bits are one digit or none.
  const uint32_t rest = bits - hash_bits - prefix_bits;
  const uint32_t real_bits =
      coded == 0 ? std::min(rest, SurfSuffix::kMaxRealBits)
      : header[1] != 0 && rest >= CodedKey::kDigitBits ? CodedKey::kDigitBits
                                                       : 0;
  header[0] = static_cast<char>((bits - real_bits - prefix_bits) | coded);
  header[1] = static_cast<char>(real_bits);
  header[2] = static_cast<char>(prefix_bits);
  const auto step = static_cast<uint8_t>(header[3]);
  if (prefix_bits > 0 &&
      (step == 0 || PrefixReach(prefix_bits, step) > kMaxPrefixReach)) {
    header[3] = static_cast<char>(kUsualPrefixStep);
  }
  payload->resize(layout.trie()->end + kReadPadding);
  return bits - real_bits - prefix_bits <= SurfSuffix::kMaxHashBits;
}

// ---- Proteus ----

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

// Adapts the layers to each other. Drops those that cannot be in the list.
void FitDesign(ProteusDesign* design) {
  ProteusDesign fitted;
  uint32_t longest = 0;
  for (Layer layer : *design) {
    const auto kind = static_cast<uint32_t>(layer.kind);
    if (kind == 0 || kind > 4) layer.kind = Layer::Kind::kPrefixes;
    if (layer.kind == Layer::Kind::kKeys) {
      layer.asked_by_points = true;
    } else if (layer.bits <= longest || layer.bits > kMaxPrefixBits) {
      layer.bits = longest + 1 + layer.bits % 32;
    }
    if (layer.kind == Layer::Kind::kSeries) {
      layer.bits = BytesForBits(layer.bits) * 8;
      layer.stride = std::min(BytesForBits(layer.stride) * 8, kMaxPrefixBits);
      if (layer.stride == 0) layer.kind = Layer::Kind::kPrefixes;
    }
    if (layer.lead > 7 || layer.bits + layer.lead > 64) layer.lead = 0;
    for (const bool asked : {layer.asked_by_points, true, false}) {
      ProteusDesign longer = fitted;
      layer.asked_by_points = asked;
      longer.Add(layer);
      if (!longer.IsValid()) continue;
      fitted = longer;
      longest = layer.bits;
      break;
    }
  }
  *design = fitted;
}

// Repairs one of the sets, which has `room` bytes.
void FitSet(char* header, size_t room) {
  AmqHeader set;
  set.DecodeFrom(header);
  set.bytes = std::min<uint64_t>(set.bytes, room);
  if (set.kind == kBloomAmq) {
    set.bytes -= set.bytes % BloomSet::kLineBytes;
    set.small[0] = static_cast<uint8_t>(1 + (set.small[0] - 1u) % 24);
    set.small[1] = static_cast<uint8_t>(1 + (set.small[1] - 1u) % 3);
  }
  if (set.kind == kRibbonAmq) {
    set.small[0] = static_cast<uint8_t>(set.small[0] % 8);
    if (set.bytes < 8u << set.small[0]) set = AmqHeader();
  } else if (set.bytes == 0 || set.kind != kBloomAmq) {
    set = AmqHeader();
  }
  set.EncodeTo(header);
}

// Limits the alphabets of a set of prefixes of `bits` bits to those that fit,
// also into `room` bytes. Returns their number.
size_t FitAlphabets(char* header, uint32_t bits, size_t room) {
  if (bits == 0) return 0;
  char& marks = header[ProteusHeader::kSetAlphabets];
  const size_t count =
      std::min<size_t>({static_cast<uint8_t>(marks), BytesForBits(bits), room});
  marks = static_cast<char>(count);
  return count;
}

bool FitProteus(std::string* design, std::string* payload, Dice* random) {
  ProteusHeader header;
  if (!header.DecodeFrom(*design)) return false;
  FitDesign(&header.design);
  const auto lay_out = [&] {
    *design = header.Encode();
    return PayloadLayout(WithoutPadding(*payload),
                         static_cast<uint8_t>(kProteusKind), *design);
  };
  if (header.design.num_sets() < header.design.size()) {
    if (!FitTrie(lay_out(), payload, random) ||
        !FitUniform(lay_out(), payload, &header.design)) {
      return false;
    }
    FitDesign(&header.design);
  }
  const PayloadLayout layout = lay_out();
  const size_t sets = layout.uniform().has_value()
                          ? layout.uniform()->end
                          : header.design.num_sets() * Amq::kHeaderSize;
  if (sets > WithoutPadding(*payload).size()) return false;
  size_t room = WithoutPadding(*payload).size() - sets;
  size_t taken = 0;
  size_t number = 0;
  for (const Layer& layer : header.design) {
    if (!layer.is_set() || number == layout.sets().size()) continue;
    const size_t alphabets = FitAlphabets(
        &(*payload)[layout.sets()[number++].header], layer.bits, room);
    taken += alphabets;
    room -= alphabets;
  }
  for (const PayloadLayout::Set& set : layout.sets()) {
    FitSet(&(*payload)[set.header], room);
    AmqHeader fitted;
    fitted.DecodeFrom(&(*payload)[set.header]);
    taken += static_cast<size_t>(fitted.bytes);
    room -= static_cast<size_t>(fitted.bytes);
  }
  payload->resize(sets + taken + kReadPadding);
  return true;
}

// The design is adapted to the payload.
bool FitPayload(FilterKind kind, std::string* design, std::string* payload,
                Dice* random) {
  payload->append(kReadPadding, '\0');
  const bool whole = kind == kSurfKind ? FitSurf(payload, random)
                     : kind == kProteusKind
                         ? FitProteus(design, payload, random)
                         : false;
  payload->resize(payload->size() - kReadPadding);
  return whole;
}

// Adds the second unit of a part, if there is one that fits the design that the
// part has got.
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

}  // namespace

void RepairChecksums(std::string* block) {
  if (block->size() < FilterDirectory::kFixedSize) return;
  memcpy(block->data(), "PRTN", 4);
  (*block)[kVersionOffset] = 1;
  *block = WithRightChecksums(std::move(*block));
}

void RepairSums(SplitBlock* block) {
  constexpr uint64_t kMaxMore = 256;
  std::string& directory = block->directory;
  if (directory.size() < FilterDirectory::kFixedSize) return;
  const DirectoryLayout layout(directory);
  uint64_t keys = 0;
  uint64_t wanted = directory.size();
  for (const DirectoryLayout::Entry& entry : layout.entries()) {
    keys += entry.num_keys;
  }
  layout.ForEachUnit([&](size_t, bool, uint32_t size) {
    wanted += uint64_t{size} + FilterDirectory::kUnitOverhead;
  });
  EncodeFixed32(&directory[kDirectorySizeOffset],
                static_cast<uint32_t>(directory.size()));
  EncodeFixed64(&directory[kNumKeysOffset], keys);
  EncodeFixed32(&directory[kNumPartsOffset],
                static_cast<uint32_t>(layout.entries().size()));
  std::string joined = block->Join();
  joined.resize(std::min<uint64_t>(wanted, joined.size() + kMaxMore));
  *block = SplitBlock(joined);
}

bool RepairBlock(const SplitBlock& damaged, Dice* random, std::string* block) {
  const DirectoryLayout directory(damaged.directory);
  FilterBlockHeader header = directory.header();
  FilterBlockWriter writer;
  bool whole = true;
  uint64_t keys = 0;
  std::string begin;
  for (const SplitBlock::Unit& unit : damaged.units) {
    if (unit.second) continue;
    // There may be more parts than entries.
    DirectoryLayout::Entry entry;
    if (writer.num_parts() < directory.entries().size()) {
      entry = directory.entries()[writer.num_parts()];
    } else if (!directory.entries().empty()) {
      entry = directory.entries().back();
    }
    std::string design = directory.DesignOf(entry, /*second=*/false);
    std::string payload = unit.payload;
    whole = FitPayload(header.kind, &design, &payload, random) && whole;
    // Where parts begin ascends.
    if (writer.num_parts() > 0) {
      begin = Slice(entry.begin).compare(begin) > 0 ? entry.begin.ToString()
                                                    : begin + '\0';
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
  block->assign(writer.Size(header), '\0');
  writer.Write(header, block->data());
  return whole;
}

}  // namespace ROCKSDB_NAMESPACE::protean
