// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/fst/fst.h"

namespace ROCKSDB_NAMESPACE::protean {

std::string Fst::Describe() const {
  std::string text = "height " + std::to_string(height());
  for (uint32_t i = 0; i < header_.sections; i++) {
    const Section& section = sections_[i];
    text += ", " + std::to_string(section.num_levels);
    if (section.remainder_bits() == 0) {
      text += " dense";
    } else if (section.remainder_bits() == alphabet_.code_bits()) {
      text += " sparse";
    } else {
      text += " quotient(" + std::to_string(section.remainder_bits()) + ")";
    }
  }
  return text;
}

// Finds the levels one by one from the root. Their number must be the height,
// they must hold all nodes, and end where the sections do. Then every edge
// leads to a later node.
std::vector<uint32_t> Fst::LevelStarts() const {
  std::vector<uint32_t> starts;
  uint64_t begin = 0;  // the nodes of the level
  uint64_t end = 1;
  Node node = Root();
  for (uint32_t i = 0; i < header_.sections; i++) {
    if (sections_[i].num_levels == 0) return {};
    for (uint32_t left = sections_[i].num_levels; left > 0; left--) {
      if (begin >= end || end > sections_[i].end_node) return {};
      starts.push_back(static_cast<uint32_t>(begin));
      uint64_t next = header_.nodes;
      if (end < header_.nodes) {
        // The next level ends before the first child of the level after it.
        node = NodeAt(static_cast<uint32_t>(end), node);
        next = uint64_t{PlaceOf(node).edges_to_nodes} + 1;
      }
      begin = end;
      end = next;
    }
    if (begin != sections_[i].end_node) return {};
  }
  if (begin != header_.nodes || starts.size() != header_.height) return {};
  return starts;
}

Status Fst::OpenSections(Slice* input) {
  const char* headers;
  if (header_.sections > FstHeader::kMaxSections) {
    return Status::Corruption("trie: too many sections");
  }
  if (!TakeBytes(input, uint64_t{header_.sections} * FstSectionHeader::kSize,
                 &headers)) {
    return Status::Corruption("trie: section headers are cut short");
  }
  sections_.reset(new Section[header_.sections]);
  // Every node but the root has one edge that leads to it, the nodes cover all
  // edges, and every other edge is a leaf.
  uint64_t nodes = 0;
  uint64_t edges_to_nodes = 0;
  uint64_t leaves = 0;
  for (uint32_t i = 0; i < header_.sections; i++) {
    FstSectionHeader fields;
    fields.DecodeFrom(headers + i * FstSectionHeader::kSize);
    Section& section = sections_[i];
    if (!section.Open(fields, alphabet_.code_bits(), input)) {
      return Status::Corruption("trie: section " + std::to_string(i) +
                                " is damaged");
    }
    section.first_node = static_cast<uint32_t>(nodes);
    section.edges_to_nodes = static_cast<uint32_t>(edges_to_nodes);
    section.leaves = static_cast<uint32_t>(leaves);
    section.num_levels = fields.levels;
    nodes += fields.nodes;
    edges_to_nodes += fields.children;
    leaves += uint64_t{fields.edges} - fields.children + fields.terminators;
    if (nodes > header_.nodes || edges_to_nodes >= header_.nodes ||
        leaves > header_.leaves) {
      return Status::Corruption("trie: counts do not add up");
    }
    section.end_node = static_cast<uint32_t>(nodes);
  }
  if (nodes != header_.nodes || edges_to_nodes + 1 != nodes ||
      leaves != header_.leaves) {
    return Status::Corruption("trie: counts do not add up");
  }
  return LevelStarts().empty()
             ? Status::Corruption("trie: levels do not add up")
             : Status::OK();
}

Status Fst::Open(Slice* input) {
  const char* fixed;
  const char* alphabet;
  if (!TakeBytes(input, FstHeader::kSize, &fixed) ||
      !TakeBytes(input, Alphabet::kSize, &alphabet)) {
    return Status::Corruption("trie: header is cut short");
  }
  header_.DecodeFrom(fixed);
  alphabet_ = Alphabet(alphabet);
  if (header_.value_bits > 64) {
    return Status::Corruption("trie: values are too large");
  }
  if (header_.nodes > 0) {
    const Status s = OpenSections(input);
    if (!s.ok()) return s;
  } else if (header_.sections > 0 || header_.height > 0 || header_.leaves > 1) {
    // A lone leaf without any node is the empty key.
    return Status::Corruption("trie: counts do not add up");
  }
  const char* values;
  if (!TakeBytes(input, PackedArray::Bytes(header_.leaves, header_.value_bits),
                 &values)) {
    return Status::Corruption("trie: values are cut short");
  }
  values_ = PackedArray(values, header_.value_bits);
  return Status::OK();
}

FstIterator::FstIterator(const Fst* fst) : fst_(fst), cursors_(few_cursors_) {
  if (fst->height() > kInlineCursors) {
    many_cursors_.reset(new Cursor[fst->height()]);
    cursors_ = many_cursors_.get();
  }
}

// Descents are bounded by the height, so that not even a damaged trie can make
// them run for long.
inline void FstIterator::Descend() {
  Fst::Node node = cursors_[depth_ - 1].node;
  Fst::Edge edge = cursors_[depth_ - 1].edge;
  while (depth_ < fst_->height() && fst_->Follow(node, edge, &node)) {
    if (!fst_->First(node, &edge)) return;
    Push(node, edge);
  }
  valid_ = true;
}

inline bool FstIterator::PassEdge() {
  for (; depth_ > 0; depth_--) {
    Cursor& top = cursors_[depth_ - 1];
    if (fst_->Next(top.node, &top.edge)) return true;
  }
  return false;
}

template <typename Key>
inline void FstIterator::SeekTo(const Key& target) {
  depth_ = 0;
  prefix_of_target_ = false;
  valid_ = false;
  if (fst_->num_nodes() == 0) {
    // The only key, if any, is the empty one.
    valid_ = fst_->num_leaves() > 0 && target.size() == 0;
    prefix_of_target_ = valid_;
    prefix_length_ = 0;
    return;
  }
  Fst::Node node = fst_->Root();
  Fst::Edge edge;
  size_t matched = 0;
  bool is_below = false;  // all below the edge on top
  while (true) {
    if (depth_ == fst_->height()) return;
    const int run = fst_->CompareRun(node, target, &matched);
    if (run > 0 || (run == 0 && matched == target.size())) {
      // All below this node is the target or above it.
      if (!fst_->First(node, &edge)) return;
      Push(node, edge);
      prefix_of_target_ = run == 0 && edge.is_terminator;
      prefix_length_ = matched;
      break;
    }
    if (run < 0) {
      is_below = true;
      break;
    }
    const int symbol = fst_->SymbolAt(target, matched);
    if (!fst_->LowerBound(node, symbol, &edge)) {
      is_below = true;
      break;
    }
    Push(node, edge);
    if (edge.Symbol() != symbol) break;
    matched++;
    if (!fst_->Follow(node, edge, &node)) {
      valid_ = true;
      prefix_of_target_ = true;
      prefix_length_ = matched;
      return;
    }
  }
  if (is_below && !PassEdge()) return;
  Descend();
}

PROTEAN_CLONED void FstIterator::Seek(const Slice& target) { SeekTo(target); }

PROTEAN_CLONED void FstIterator::Seek(const CodedKey& target) {
  SeekTo(target);
}

PROTEAN_CLONED void FstIterator::Next() {
  valid_ = false;
  prefix_of_target_ = false;
  if (PassEdge()) Descend();
}

Slice FstIterator::path() const {
  path_.clear();
  for (size_t level = 0; level < depth_; level++) {
    const Cursor& cursor = cursors_[level];
    cursor.node.section->VisitRun(
        cursor.node.local, [this](uint64_t codes, unsigned count, uint32_t) {
          const Alphabet& alphabet = fst_->alphabet();
          for (; count > 0; count--, codes >>= alphabet.code_bits()) {
            path_.push_back(static_cast<char>(
                alphabet.Byte(codes & LowBits(alphabet.code_bits()))));
          }
          return 0;
        });
    if (!cursor.edge.is_terminator) path_.push_back(fst_->Byte(cursor.edge));
  }
  return path_;
}

uint32_t FstIterator::leaf() const {
  if (depth_ == 0) return 0;
  return fst_->Leaf(cursors_[depth_ - 1].node, cursors_[depth_ - 1].edge);
}

}  // namespace ROCKSDB_NAMESPACE::protean
