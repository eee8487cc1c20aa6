// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/fst/fst_builder.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "filter_policy/fst/fst.h"
#include "util/coding.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr uint64_t kMax32 = std::numeric_limits<uint32_t>::max();
constexpr uint64_t kMax64 = std::numeric_limits<uint64_t>::max();

// Fewer keys are hardly worth a code.
constexpr uint64_t kFewestForDigits = 1 << 10;

// Leaves of digits are cut off within a byte, which costs about half a bit of
// what a leaf tells, and queries go down more levels. So a trie of digits must
// be smaller by at least this part of a trie of bytes.
constexpr uint64_t kMinDigitGain = 8;

// Longer runs are always kept: as nodes they would be as many levels.
constexpr size_t kLongRun = 32;

// The root's run is kept, too, from this length on: as nodes, it would be as
// many levels of one edge each.
constexpr size_t kMinRunOfRoot = 4;

// A number in a record. At least the end of the record follows it.
uint64_t NumberAt(const char* at, unsigned bits) {
  const uint64_t number = DecodeFixed64(at);
  return bits < 64 ? number & LowBits(bits) : number;
}

}  // namespace

FstBuilder::FstBuilder(unsigned value_bits, FstOptions options,
                       Unfinished unfinished)
    : FstRecords((unfinished.value_bits + 7) / 8,
                 (unfinished.draft_bits + 7) / 8),
      value_bits_(value_bits),
      unfinished_(unfinished),
      options_(std::move(options)) {}

size_t FstBuilder::MemoryUsage() const {
  size_t bytes =
      FstRecords::MemoryUsage() + levels_.capacity() * sizeof(LevelRest);
  for (const Section& section : sections_) {
    bytes += sizeof(Section) + section.index.capacity() * sizeof(uint64_t);
  }
  // Prepare lists the nodes, and the list of a level may double when it grows.
  if (sections_.empty()) {
    bytes += 2 * sizeof(NodeCounts) *
             (MayUseDigits() ? std::max(NumNodes(), num_leaves_) : NumNodes());
  }
  return bytes + code_.capacity();
}

template <FstDigitNodes::Detail kDetail, typename Visitor>
uint32_t FstBuilder::VisitBackward(const Visitor& visit) const {
  FstRecords::Reader reader(*this);
  Record record;
  if (UsesDigits()) {
    FstDigitNodes nodes(key_code_, value_bytes_ + draft_bytes_);
    nodes.VisitAll<kDetail>([&](Record* next) { reader.Next(next); }, visit);
    return nodes.longest_path();
  }
  // For each node on the path, the number of children still to come.
  std::vector<uint32_t> path;
  while (reader.Next(&record)) {
    while (!path.empty() && path.back() == 0) path.pop_back();
    if (!path.empty()) path.back()--;
    const bool is_kept =
        options_.runs && path.empty() && record.run.size() >= kMinRunOfRoot;
    if (split_runs_ && !is_kept) {
      for (size_t i = 0; i < record.run.size(); i++) {
        char edge[Record::kEdgeBytes];
        EncodeFixed16(edge, static_cast<uint8_t>(record.run[i]) | kLeadsToNode);
        visit(path.size(),
              Record{edge, 1, nullptr, 0, nullptr, false, Slice()});
        path.push_back(0);
      }
      record.run.clear();
    }
    visit(path.size(), record);
    path.push_back(record.children());
  }
  return 0;
}

ByteCounts FstBuilder::CountBytes() const {
  const Alphabet alphabet(alphabet_);
  const unsigned columns = KeyCode::Columns(alphabet.size());
  ByteCounts counts(columns, std::vector<uint32_t>(columns));
  const auto column = [&](char byte) {
    return codes_[static_cast<uint8_t>(byte)] + 1u;
  };
  // The bytes that lead to the nodes still to come.
  std::vector<uint8_t> contexts = {0};
  Record record;
  for (FstRecords::Reader reader(*this); reader.Next(&record);) {
    unsigned context = contexts.back();
    contexts.pop_back();
    for (size_t i = 0; i < record.run.size(); i++) {
      const unsigned byte = column(record.run[i]);
      counts[context][byte]++;
      context = byte;
    }
    for (uint32_t i = 0; i < record.num_edges; i++) {
      const uint16_t edge = record.edge(i);
      const unsigned byte = (edge & kTerminator) != 0
                                ? 0
                                : column(static_cast<char>(edge & 0xff));
      counts[context][byte]++;
      if ((edge & kLeadsToNode) != 0) {
        contexts.push_back(static_cast<uint8_t>(byte));
      }
    }
  }
  return counts;
}

// Chooses the smaller encoding.
void FstBuilder::ChooseChildEncoding(Section* section) const {
  FstSectionHeader* header = &section->header;
  if (!options_.list_exceptions) return;
  uint64_t largest_group = 1;
  for (size_t i = 0; i + 1 < section->index.size(); i++) {
    largest_group = std::max<uint64_t>(
        largest_group, static_cast<uint32_t>(section->index[i + 1]) -
                           static_cast<uint32_t>(section->index[i]));
  }
  const unsigned bits = BitsFor(largest_group - 1);
  const uint64_t leaves = header->edges - header->children;
  const uint64_t exceptions = std::min<uint64_t>(header->children, leaves);
  if (exceptions * bits >= header->edges) return;
  header->child_encoding = leaves < header->children
                               ? FstSectionHeader::kLeavesListed
                               : FstSectionHeader::kChildrenListed;
  header->exception_bits = static_cast<uint8_t>(bits);
}

// ChooseEncoding prefers what it chooses to a single section of any encoding,
// but may give up one part in kSizeRatio, and guesses the size of HasChild.
uint64_t FstBuilder::MaxSize(const Slice& last_key) const {
  bool occurs[256];
  std::copy(std::begin(occurs_), std::end(occurs_), occurs);
  for (size_t i = 0; i < last_key.size(); i++) {
    occurs[static_cast<uint8_t>(last_key[i])] = true;
  }
  const auto bytes = static_cast<unsigned>(
      options_.reduce_alphabet ? std::count(occurs, occurs + 256, true) : 256);
  const unsigned code_bits = bytes <= 2 ? 1 : BitsFor(bytes - 1);
  const uint64_t open = std::max<uint64_t>(1, open_.size());
  const uint64_t runs = num_runs_ + open;
  const uint64_t run_bytes = run_bytes_ + lowest_depth_;
  const uint64_t leaves = num_leaves_ + 1;

  const auto size_of = [&](uint64_t split_bytes, uint64_t num_runs,
                           uint64_t run_codes) {
    FstSectionHeader section;
    const uint64_t nodes = num_nodes_ + open + split_bytes;
    section.nodes = static_cast<uint32_t>(nodes);
    section.edges =
        static_cast<uint32_t>(nodes - 1 + leaves - num_terminators_);
    section.terminators = static_cast<uint32_t>(num_terminators_);
    section.runs = static_cast<uint32_t>(num_runs);
    section.run_codes = static_cast<uint32_t>(run_codes);
    uint64_t smallest = kMax64;
    for (unsigned bits = 0; bits <= code_bits; bits++) {
      if (bits == 0 ? !options_.dense
                    : bits < code_bits && !options_.quotient) {
        continue;
      }
      section.remainder_bits = static_cast<uint8_t>(bits);
      section.dense_group_shift = bits == 0 ? options_.dense_group_shift : 0;
      smallest = std::min(smallest, FstSectionLayout(section, code_bits).end);
    }
    // The arrays of each section are rounded up, which the choice leaves out.
    constexpr uint64_t kRounding = 192;
    return FstHeader::kSize + Alphabet::kSize + FstSectionHeader::kSize +
           kRounding + smallest + smallest / FstOptions::kSizeRatio +
           section.edges / 8;
  };
  // Prepare will know all runs.
  const bool may_split =
      !options_.runs ||
      (2 * run_bytes_ < num_nodes_ + open && longest_run_ <= kLongRun);
  uint64_t split = may_split ? size_of(run_bytes, 0, 0) : 0;
  if (options_.runs && RootDepth() >= kMinRunOfRoot) {
    // The root may be a section of its own, with its run.
    constexpr uint64_t kRootSection = FstSectionHeader::kSize + 64;
    split += kRootSection;
  }
  const uint64_t kept = options_.runs ? size_of(0, runs, run_bytes) : 0;
  return std::max(split, kept) + PackedArray::Bytes(leaves, value_bits_);
}

bool FstBuilder::Prepare(uint64_t* size) {
  const uint64_t run_bytes = run_bytes_;
  split_runs_ = !options_.runs ||
                (2 * run_bytes < num_nodes_ && longest_run_ <= kLongRun);
  // An edge leads to every node, or ends in a leaf.
  if (NumNodes() + num_leaves_ > kMax32 || run_bytes > kMax32) {
    return false;
  }
  for (unsigned byte = 0; byte < 256; byte++) {
    if (occurs_[byte] || !options_.reduce_alphabet) {
      SetBit(alphabet_, byte);
    }
  }
  const Alphabet reduced(alphabet_);
  code_bits_ = reduced.code_bits();
  for (unsigned byte = 0; byte < 256; byte++) {
    codes_[byte] =
        static_cast<uint8_t>(reduced.Symbol(static_cast<uint8_t>(byte)) >> 1);
  }

  if (!ChooseSections(size)) return false;
  return !MayUseDigits() || UseDigitsIfSmaller(size);
}

bool FstBuilder::MayUseDigits() const {
  constexpr uint64_t kMost = uint64_t{1} << 28;
  const uint64_t fewest =
      options_.digits == FstOptions::kIfSmaller ? kFewestForDigits : 1;
  if (options_.digits == FstOptions::kIfSmaller && !options_.forced.empty()) {
    return false;
  }
  return options_.digits != FstOptions::kNever && options_.reduce_alphabet &&
         NumNodes() > 0 && num_leaves_ >= fewest &&
         std::count(std::begin(occurs_), std::end(occurs_), true) <=
             KeyCode::kMaxBytes &&
         num_leaves_ + NumNodes() + run_bytes_ <= kMost;
}

bool FstBuilder::UseDigitsIfSmaller(uint64_t* size) {
  const uint64_t values = PackedArray::Bytes(num_leaves_, value_bits_);
  const uint64_t limit = options_.digits == FstOptions::kIfSmaller
                             ? *size - (*size - values) / kMinDigitGain
                             : kMax64;
  const unsigned byte_code_bits = code_bits_;
  code_ = MakeKeyCode(occurs_, CountBytes());
  Slice code(code_);
  key_code_.Open(&code);
  code_bits_ = CodedKey::kDigitBits;
  value_bits_ += unfinished_.digit_bits;
  options_.dense_group_shift = kDigitGroupShift;
  if (ChooseSections(size)) {
    *size += code_.size();
    if (*size <= limit) {
      for (unsigned digit = 0; digit <= CodedKey::kDigitMask; digit++) {
        codes_[digit] = static_cast<uint8_t>(digit);
      }
      return true;
    }
  }
  code_.clear();
  code_bits_ = byte_code_bits;
  value_bits_ -= unfinished_.digit_bits;
  options_.dense_group_shift = 0;
  return ChooseSections(size);
}

bool FstBuilder::ChooseSections(uint64_t* size) {
  sections_.clear();
  levels_.clear();
  std::vector<FstLevelCounts> counts;
  // The nodes of each level, from the last to the first.
  std::vector<std::vector<NodeCounts>> nodes;
  const uint32_t longest_path = VisitBackward<FstDigitNodes::kNumbers>(
      [&](size_t level, const Record& record) {
        if (level >= counts.size()) {
          counts.resize(level + 1);
          nodes.resize(level + 1);
        }
        counts[level].Add({1, record.labels(), record.children(),
                           record.has_terminator, !record.run.empty(),
                           static_cast<uint32_t>(record.run.size())});
        nodes[level].push_back({static_cast<uint16_t>(record.labels()),
                                static_cast<uint16_t>(record.children())});
      });
  if (UsesDigits()) EncodeFixed32(code_.data(), longest_path);
  for (const FstSectionHeader& header :
       ChooseEncoding(counts, code_bits_, options_)) {
    sections_.push_back({header, FstSectionLayout(header, code_bits_), {}});
  }
  *size = FstHeader::kSize + Alphabet::kSize +
          sections_.size() * FstSectionHeader::kSize +
          PackedArray::Bytes(num_leaves_, value_bits_);
  if (sections_.size() > FstHeader::kMaxSections) return false;
  LevelRest before{};
  for (Section& section : sections_) {
    const FstSectionLayout& layout = section.layout;
    if (layout.quotient_bits < code_bits_ && layout.label_bits > kMax32) {
      return false;
    }
    before = {static_cast<size_t>(&section - sections_.data()),
              0,
              0,
              0,
              before.leaves,
              0};
    const uint64_t group_mask = LowBits(layout.group_shift);
    section.index.reserve(layout.groups + 1);
    for (uint32_t i = 0; i < section.header.levels; i++) {
      const FstLevelCounts& level = counts[levels_.size()];
      const auto& of_level = nodes[levels_.size()];
      for (auto node = of_level.rbegin(); node != of_level.rend(); ++node) {
        if ((before.nodes & group_mask) == 0) {
          section.index.push_back(before.IndexEntry());
        }
        before.nodes++;
        before.edges += node->labels;
        before.children += node->children;
      }
      before.leaves += level.edges - level.children + level.terminators;
      before.run_codes += level.run_codes;
      levels_.push_back(before);
    }
    section.index.push_back(before.IndexEntry());
    ChooseChildEncoding(&section);
    section.layout = FstSectionLayout(section.header, code_bits_);
    *size += section.layout.end;
  }
  return true;
}

void FstBuilder::WriteLabels(const Record& node, const LevelRest& rest,
                             const Section& section) const {
  const uint32_t begin = node.has_terminator ? 1 : 0;
  const unsigned remainder_bits = section.header.remainder_bits;
  char* const labels = section.arrays + section.layout.labels;
  const uint64_t first_number = uint64_t{rest.nodes} << code_bits_;
  if (remainder_bits == 0) {
    for (uint32_t i = begin; i < node.num_edges; i++) {
      SetBit(labels, first_number + codes_[node.edge(i) & 0xff]);
    }
    return;
  }
  BitWriter remainders(section.arrays + section.layout.remainders,
                       uint64_t{rest.edges} * remainder_bits);
  const uint64_t mask = LowBits(remainder_bits);
  if (section.layout.quotient_bits == 0) {
    SetBit(labels, uint64_t{rest.edges} + node.labels() - 1);
    for (uint32_t i = begin; i < node.num_edges; i++) {
      remainders.Write(codes_[node.edge(i) & 0xff], remainder_bits);
    }
    return;
  }
  // The position of an edge's bit is the number of edges before it plus the
  // number of its quotient. The bit is still a 1.
  for (uint32_t i = begin, edge = rest.edges; i < node.num_edges; i++, edge++) {
    const uint64_t code = codes_[node.edge(i) & 0xff];
    ClearBit(labels, edge + ((first_number | code) >> remainder_bits));
    remainders.Write(code & mask, remainder_bits);
  }
}

void FstBuilder::WriteChildren(const Record& node, const LevelRest& rest,
                               const Section& section) const {
  const FstSectionHeader& header = section.header;
  char* const children = section.arrays + section.layout.children;
  const uint32_t begin = node.has_terminator ? 1 : 0;
  if (header.child_encoding == FstSectionHeader::kHasChildBits) {
    if (node.children() == 0) return;
    BitWriter writer(children, rest.edges);
    for (uint32_t i = begin; i < node.num_edges; i++) {
      writer.Write((node.edge(i) & kLeadsToNode) != 0, 1);
    }
    return;
  }
  const bool leaves = header.child_encoding == FstSectionHeader::kLeavesListed;
  if ((leaves ? node.labels() - node.children() : node.children()) == 0) return;
  const uint16_t listed = leaves ? 0 : kLeadsToNode;
  const uint64_t exceptions =
      leaves ? rest.edges - rest.children : rest.children;
  const auto group_edges = static_cast<uint32_t>(
      section.index[rest.nodes >> section.layout.group_shift]);
  BitWriter writer(children, exceptions * header.exception_bits);
  for (uint32_t i = begin, edge = rest.edges; i < node.num_edges; i++, edge++) {
    if ((node.edge(i) & kLeadsToNode) == listed) {
      writer.Write(edge - group_edges, header.exception_bits);
    }
  }
}

void FstBuilder::WriteNode(const Record& node, const LevelRest& rest,
                           const CompleteValue& complete, char* values) const {
  const Section& section = sections_[rest.section];
  const FstSectionLayout& layout = section.layout;
  WriteLabels(node, rest, section);
  WriteChildren(node, rest, section);
  if (node.has_terminator) {
    SetBit(section.arrays + layout.terminators, rest.nodes);
  }
  if (!node.run.empty()) {
    SetBit(section.arrays + layout.run_marks, rest.nodes);
    SetBit(section.arrays + layout.run_starts, rest.run_codes);
    BitWriter run_writer(section.arrays + layout.run_codes,
                         uint64_t{rest.run_codes} * code_bits_);
    for (size_t i = 0; i < node.run.size(); i++) {
      run_writer.Write(codes_[static_cast<uint8_t>(node.run[i])], code_bits_);
    }
  }
  if (value_bits_ > 0) {
    BitWriter value_writer(values, uint64_t{rest.leaves} * value_bits_);
    const char* value = node.values;
    for (uint32_t i = 0; i < node.leaves; i++) {
      uint64_t bits = NumberAt(value, unfinished_.value_bits);
      value += value_bytes_;
      if (complete) {
        bits = complete(bits, NumberAt(value, unfinished_.draft_bits),
                        UsesDigits() ? node.next_digits[i] : 0);
      }
      value += draft_bytes_;
      value_writer.Write(bits, value_bits_);
    }
  }
}

void FstBuilder::Write(char* out, const CompleteValue& complete) {
  memcpy(out, code_.data(), code_.size());
  out += code_.size();
  FstHeader fst;
  fst.height = static_cast<uint32_t>(levels_.size());
  for (const Section& section : sections_) fst.nodes += section.header.nodes;
  fst.leaves = static_cast<uint32_t>(num_leaves_);
  fst.sections = static_cast<uint32_t>(sections_.size());
  fst.value_bits = value_bits_;
  fst.EncodeTo(out);
  out += FstHeader::kSize;
  if (UsesDigits()) {
    out[0] = 0xf;  // the digits 0 to 3
  } else {
    memcpy(out, alphabet_, Alphabet::kSize);
  }
  out += Alphabet::kSize;
  for (const Section& section : sections_) {
    section.header.EncodeTo(out);
    out += FstSectionHeader::kSize;
  }
  for (Section& section : sections_) {
    section.arrays = out;
    out += section.layout.end;
    for (size_t i = 0; i < section.index.size(); i++) {
      StoreWord(section.arrays, i, section.index[i]);
    }
    if (section.header.remainder_bits > 0 && section.layout.quotient_bits > 0) {
      // So far, all quotients have no edges; every edge will clear a bit.
      char* labels = section.arrays + section.layout.labels;
      const uint64_t bits = section.layout.label_bits;
      memset(labels, 0xff, BitArrayBytes(bits));
      if (bits % 64 != 0) StoreWord(labels, bits / 64, LowBits(bits % 64));
    }
  }

  VisitBackward<FstDigitNodes::kAll>([&](size_t level, const Record& record) {
    levels_[level].Take(record);
    WriteNode(record, levels_[level], complete, out);
  });

  for (const Section& section : sections_) {
    const FstSectionHeader& header = section.header;
    const FstSectionLayout& layout = section.layout;
    if (header.terminators > 0) {
      RankVector::Complete(section.arrays + layout.terminators, header.nodes);
    }
    if (header.runs > 0) {
      RankVector::Complete(section.arrays + layout.run_marks, header.nodes);
      SelectVector::Complete(section.arrays + layout.run_starts,
                             header.run_codes);
    }
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
