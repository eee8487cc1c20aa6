#include "filter_policy/fst/fst_builder.h"

#include <limits>

#include "filter_policy/fst/fst.h"
#include "util/coding.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr uint64_t kMax32 = std::numeric_limits<uint32_t>::max();

// A record ends with the length of the run (4 bytes), and the numbers of edges
// and of leaves (2 bytes each).
constexpr size_t kRecordEnd = 8;

// Longer runs are always kept: as nodes they would be as many levels.
constexpr size_t kLongRun = 32;

}  // namespace

FstBuilder::FstBuilder(unsigned value_bits, FstOptions options)
    : value_bits_(value_bits),
      value_bytes_((value_bits + 7) / 8),
      options_(std::move(options)) {}

void FstBuilder::AddLast(const Slice& key, size_t shared, uint64_t value) {
  if (open_.empty()) {
    if (key.empty()) {
      // The empty key alone needs no node.
      num_leaves_ = 1;
      return;
    }
    Open(0);
  }
  AddLeaf(key, shared, value);
  while (open_.size() > 1) CloseLowest(key, 0);
  AppendRecord(open_.back(), Slice(key.data(), open_.back().depth));
  open_.clear();
}

void FstBuilder::CloseLowest(const Slice& key, size_t fork) {
  const OpenNode node = open_.back();
  open_.pop_back();
  const bool forks = open_.empty() || open_.back().depth < fork;
  if (!forks) fork = open_.back().depth;
  AppendRecord(node, Slice(key.data() + fork + 1, node.depth - fork - 1));
  edges_.resize(node.first_edge);
  values_.resize(node.first_value);
  if (forks) Open(fork);
  edges_.push_back(static_cast<uint8_t>(key[fork]) | kLeadsToNode);
}

void FstBuilder::AppendRecord(const OpenNode& node, const Slice& run) {
  const size_t num_edges = edges_.size() - node.first_edge;
  const size_t num_values = values_.size() - node.first_value;
  const size_t start = records_.size();
  records_.resize(start + 2 * num_edges + num_values * value_bytes_ +
                  run.size() + kRecordEnd);
  char* out = records_.data() + start;
  size_t leaves = 0;
  for (size_t i = node.first_edge; i < edges_.size(); i++, out += 2) {
    const uint16_t edge = edges_[i];
    EncodeFixed16(out, edge);
    leaves += (edge & kLeadsToNode) == 0;
    if ((edge & kTerminator) == 0) occurs_[edge & 0xff] = true;
  }
  for (size_t i = node.first_value; i < values_.size(); i++) {
    for (unsigned byte = 0; byte < value_bytes_; byte++) {
      *out++ = static_cast<char>(values_[i] >> (8 * byte));
    }
  }
  for (size_t i = 0; i < run.size(); i++) {
    occurs_[static_cast<uint8_t>(run[i])] = true;
    *out++ = run[i];
  }
  EncodeFixed32(out, static_cast<uint32_t>(run.size()));
  EncodeFixed16(out + 4, static_cast<uint16_t>(num_edges));
  EncodeFixed16(out + 6, static_cast<uint16_t>(leaves));
  num_nodes_++;
  run_bytes_ += run.size();
  longest_run_ = std::max(longest_run_, run.size());
}

size_t FstBuilder::MemoryUsage() const {
  size_t bytes = open_.capacity() * sizeof(OpenNode) +
                 edges_.capacity() * sizeof(uint16_t) +
                 values_.capacity() * sizeof(uint64_t) + records_.capacity() +
                 levels_.capacity() * sizeof(LevelRest);
  for (const Section& section : sections_) {
    bytes += sizeof(Section) + section.index.capacity() * sizeof(uint64_t);
  }
  return bytes;
}

template <typename Visitor>
void FstBuilder::VisitBackward(const Visitor& visit) const {
  // For each node on the path, the children that are still to come.
  std::vector<uint32_t> path;
  Record record;
  for (size_t end = records_.size(); end > 0;) {
    while (!path.empty() && path.back() == 0) path.pop_back();
    if (!path.empty()) path.back()--;

    const char* trailer = records_.data() + end - kRecordEnd;
    const uint32_t run_length = DecodeFixed32(trailer);
    record.num_edges = DecodeFixed16(trailer + 4);
    record.leaves = DecodeFixed16(trailer + 6);
    record.run = Slice(trailer - run_length, run_length);
    record.values = record.run.data() - record.leaves * value_bytes_;
    record.edges = record.values - 2 * record.num_edges;
    record.has_terminator = (record.edge(0) & kTerminator) != 0;
    end = static_cast<size_t>(record.edges - records_.data());

    if (!keep_runs_) {
      for (size_t i = 0; i < run_length; i++) {
        char edge[2];
        EncodeFixed16(edge, static_cast<uint8_t>(record.run[i]) | kLeadsToNode);
        visit(path.size(), Record{edge, 1, nullptr, 0, false, Slice()});
        path.push_back(0);
      }
      record.run.clear();
    }
    visit(path.size(), record);
    path.push_back(record.children());
  }
}

std::vector<FstLevelCounts> FstBuilder::CountLevels() const {
  std::vector<FstLevelCounts> levels;
  VisitBackward([&](size_t level, const Record& record) {
    if (level >= levels.size()) levels.resize(level + 1);
    FstLevelCounts& counts = levels[level];
    counts.nodes++;
    counts.edges += record.labels();
    counts.children += record.children();
    counts.terminators += record.has_terminator;
    counts.runs += !record.run.empty();
    counts.run_codes += static_cast<uint32_t>(record.run.size());
  });
  return levels;
}

std::vector<FstBuilder::LevelRest> FstBuilder::WholeLevels(
    const std::vector<FstLevelCounts>& counts) const {
  std::vector<LevelRest> levels;
  uint32_t leaves = 0;
  for (size_t section = 0, level = 0; section < sections_.size(); section++) {
    LevelRest rest{section, 0, 0, 0, leaves, 0};
    for (uint32_t i = 0; i < sections_[section].header.levels; i++, level++) {
      rest.nodes += counts[level].nodes;
      rest.edges += counts[level].edges;
      rest.children += counts[level].children;
      rest.leaves += counts[level].edges - counts[level].children +
                     counts[level].terminators;
      rest.run_codes += counts[level].run_codes;
      levels.push_back(rest);
    }
    leaves = rest.leaves;
  }
  return levels;
}

void FstBuilder::FillIndex(std::vector<LevelRest> levels) {
  for (Section& section : sections_) {
    section.index.resize(section.layout.groups + 1);
    section.index.back() =
        uint64_t{section.header.children} << 32 | section.header.edges;
  }
  VisitBackward([&](size_t level, const Record& record) {
    LevelRest& rest = levels[level];
    rest.Take(record);
    Section& section = sections_[rest.section];
    const unsigned shift = section.layout.group_shift;
    if ((rest.nodes & LowBits(shift)) == 0) {
      section.index[rest.nodes >> shift] =
          uint64_t{rest.children} << 32 | rest.edges;
    }
  });
}

// The smaller one.
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

bool FstBuilder::Prepare(uint64_t* size) {
  keep_runs_ = options_.runs &&
               (2 * run_bytes_ >= num_nodes_ || longest_run_ > kLongRun);
  if (num_leaves_ > kMax32 || run_bytes_ > kMax32 ||
      num_nodes_ + (keep_runs_ ? 0 : run_bytes_) > kMax32) {
    return false;
  }
  char alphabet[Alphabet::kSize] = {};
  for (unsigned byte = 0; byte < 256; byte++) {
    if (occurs_[byte] || !options_.reduce_alphabet) SetBit(alphabet, byte);
  }
  const Alphabet reduced(alphabet);
  code_bits_ = reduced.code_bits();
  for (unsigned byte = 0; byte < 256; byte++) {
    codes_[byte] =
        static_cast<uint8_t>(reduced.Symbol(static_cast<uint8_t>(byte)) >> 1);
  }

  const std::vector<FstLevelCounts> counts = CountLevels();
  if (!counts.empty()) {
    for (const FstSectionHeader& header :
         ChooseEncoding(counts, code_bits_, options_)) {
      sections_.push_back({header, FstSectionLayout(header, code_bits_), {}});
    }
  }
  levels_ = WholeLevels(counts);
  FillIndex(levels_);
  *size = FstHeader::kSize + Alphabet::kSize +
          sections_.size() * FstSectionHeader::kSize +
          PackedArray::Bytes(num_leaves_, value_bits_);
  for (Section& section : sections_) {
    if (section.layout.quotient_bits < code_bits_ &&
        section.layout.label_bits > kMax32) {
      return false;
    }
    ChooseChildEncoding(&section);
    section.layout = FstSectionLayout(section.header, code_bits_);
    *size += section.layout.end;
  }
  return true;
}

void FstBuilder::WriteNode(const Record& node, const LevelRest& rest,
                           char* values) const {
  const Section& section = sections_[rest.section];
  const FstSectionHeader& header = section.header;
  const FstSectionLayout& layout = section.layout;
  char* labels = section.arrays + layout.labels;
  char* children = section.arrays + layout.children;
  const bool list = header.child_encoding != FstSectionHeader::kHasChildBits;
  const uint16_t exception =
      header.child_encoding == FstSectionHeader::kLeavesListed ? 0
                                                               : kLeadsToNode;
  const uint64_t before = section.index[rest.nodes >> layout.group_shift];
  const uint64_t group_edges = static_cast<uint32_t>(before);
  const uint64_t exceptions =
      header.child_encoding == FstSectionHeader::kLeavesListed
          ? rest.edges - rest.children
          : rest.children;

  BitWriter remainder_writer(section.arrays + layout.remainders,
                             uint64_t{rest.edges} * header.remainder_bits);
  BitWriter child_writer(
      children, list ? exceptions * header.exception_bits : rest.edges);
  const uint64_t first_number = uint64_t{rest.nodes} << code_bits_;
  uint64_t edge = rest.edges;
  for (uint32_t i = node.has_terminator ? 1 : 0; i < node.num_edges;
       i++, edge++) {
    const uint16_t entry = node.edge(i);
    const uint64_t code = codes_[entry & 0xff];
    if (header.remainder_bits == 0) {
      SetBit(labels, first_number + code);
    } else {
      remainder_writer.Write(code & LowBits(header.remainder_bits),
                             header.remainder_bits);
      if (layout.quotient_bits > 0) {
        ClearBit(labels,
                 edge + ((first_number | code) >> header.remainder_bits));
      }
    }
    if (!list) {
      child_writer.Write((entry & kLeadsToNode) != 0, 1);
    } else if ((entry & kLeadsToNode) == exception) {
      child_writer.Write(edge - group_edges, header.exception_bits);
    }
  }
  if (layout.quotient_bits == 0) SetBit(labels, edge - 1);

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
  if (value_bits_ > 0 && node.values != nullptr) {
    BitWriter value_writer(values, uint64_t{rest.leaves} * value_bits_);
    const char* value = node.values;
    for (uint32_t i = 0; i < node.leaves; i++) {
      uint64_t bits = 0;
      for (unsigned byte = 0; byte < value_bytes_; byte++) {
        bits |= uint64_t{static_cast<uint8_t>(*value++)} << (8 * byte);
      }
      value_writer.Write(bits, value_bits_);
    }
  }
}

void FstBuilder::Write(char* out) {
  const uint64_t nodes = num_nodes_ + (keep_runs_ ? 0 : run_bytes_);
  const uint64_t fields[] = {levels_.size(),   nodes,       num_leaves_,
                             sections_.size(), value_bits_, 0};
  for (uint64_t field : fields) {
    EncodeFixed32(out, static_cast<uint32_t>(field));
    out += 4;
  }
  for (unsigned byte = 0; byte < 256; byte++) {
    if (occurs_[byte] || !options_.reduce_alphabet) SetBit(out, byte);
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
      // All quotients without edges; every edge will clear a bit.
      char* labels = section.arrays + section.layout.labels;
      const uint64_t bits = section.layout.label_bits;
      memset(labels, 0xff, BitArrayBytes(bits));
      if (bits % 64 != 0) StoreWord(labels, bits / 64, LowBits(bits % 64));
    }
  }

  VisitBackward([&](size_t level, const Record& record) {
    levels_[level].Take(record);
    WriteNode(record, levels_[level], out);
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
