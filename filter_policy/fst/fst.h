// SPDX-License-Identifier: Apache-2.0

//  Fast Succinct Trie, the query side (SuRF paper, section 2).
//
//  An FST is a static trie over bytes, with a value for each key. Nodes are
//  numbered in level order: the root is node 0, and the k-th edge (in level
//  order, from 0) that leads to a node leads to node k + 1. Every other edge
//  ends in a leaf; leaves are numbered in level order too, and stand for the
//  stored keys. Where a stored key ends at a node because it is a prefix of
//  other keys, the node has a *terminator*, a leaf without an edge, which comes
//  before its edges.
//
//  A node can have a *run*: bytes that all keys below it share, and that are
//  matched before its edges. So a path of nodes with one edge each, which is
//  frequent in text keys, is one node. A "level" counts the edges on a path,
//  not its bytes.
//
//  Successive levels whose best encoding is the same form a section
//  (fst_section.h): usually LOUDS-Dense for the upper levels, LOUDS-Sparse for
//  the lower ones. Bytes are stored as codes (key_code.h).
//
//    header     FstHeader
//    alphabet   32 bytes
//    sections   FstSectionHeader, 32 bytes each
//    arrays     of each section
//    values     value_bits bits a leaf, in the order of leaf numbers

#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "filter_policy/fst/fst_section.h"
#include "filter_policy/fst/key_code.h"
#include "rocksdb/slice.h"
#include "rocksdb/status.h"

namespace ROCKSDB_NAMESPACE::protean {

struct FstHeader {
  uint32_t height = 0;  // levels of edges; 0 if there is no node
  uint32_t nodes = 0;
  uint32_t leaves = 0;  // stored keys
  uint32_t sections = 0;
  uint32_t value_bits = 0;
  // 4 bytes of zero

  static constexpr size_t kSize = 24;
  // A reader takes about 200 bytes of memory for each section.
  static constexpr size_t kMaxSections = 64;

  void EncodeTo(char* out) const {
    for (uint32_t field : {height, nodes, leaves, sections, value_bits, 0u}) {
      EncodeFixed32(out, field);
      out += 4;
    }
  }
  void DecodeFrom(const char* in) {
    for (uint32_t* field : {&height, &nodes, &leaves, &sections, &value_bits}) {
      *field = DecodeFixed32(in);
      in += 4;
    }
  }
};

class Fst {
 public:
  // A section with the totals of the sections above it, so that it can be
  // navigated as if the whole trie had its encoding (section 2.4).
  struct Section : FstSection {
    uint32_t first_node = 0;
    uint32_t edges_to_nodes = 0;
    uint32_t leaves = 0;
    uint32_t end_node = 0;
    uint32_t num_levels = 0;
  };

  // A node, known by its section and its number in it.
  struct Node {
    const Section* section = nullptr;
    uint32_t local = 0;
  };

  // An edge or the terminator of a node.
  struct Edge : FstSection::Edge {
    bool is_terminator = false;

    // Orders the edges of a node, and compares with the symbols of bytes.
    int Symbol() const {
      return is_terminator ? -1 : static_cast<int>(2 * code + 1);
    }
  };

  // A place between the edges of one level: how many edges to nodes, and how
  // many leaves, come before it in level order.
  struct Place {
    uint32_t edges_to_nodes = 0;
    uint32_t leaves = 0;
  };

  // Takes a serialized FST off the front of `input`, whose bytes must outlive
  // this object and be followed by kReadPadding readable bytes. Returns
  // Corruption if any count, table or length disagrees with the rest. After OK,
  // no call with valid arguments reads outside those bytes. The labels of the
  // edges are not checked: only the block's checksum protects them.
  Status Open(Slice* input);

  uint32_t height() const { return header_.height; }
  uint32_t num_leaves() const { return header_.leaves; }
  uint32_t num_nodes() const { return header_.nodes; }
  const PackedArray& values() const { return values_; }
  // The encodings in words, from the root downwards: "2 dense, 1 quotient(4)".
  std::string Describe() const;

  // The number of the first node on each level. Empty if the levels contradict
  // the headers, which Open refuses.
  std::vector<uint32_t> LevelStarts() const;
  const Alphabet& alphabet() const { return alphabet_; }
  // Returns true if the trie may be one of digits (key_code.h).
  bool HoldsDigits() const {
    return alphabet_.size() == CodedKey::kDigitMask + 1 &&
           alphabet_.Byte(CodedKey::kDigitMask) == CodedKey::kDigitMask;
  }

  // REQUIRES: num_nodes() > 0
  Node Root() const { return {sections_.get(), 0}; }

  // The node with a number, which is not above `from` in the trie;
  // number < num_nodes().
  Node NodeAt(uint32_t number, const Node& from) const {
    const Section* section = from.section;
    while (number >= section->end_node) section++;
    return {section, number - section->first_node};
  }
  uint32_t Number(const Node& node) const {
    return node.section->first_node + node.local;
  }

  // Compares the node's run with the bytes of `target` after the first
  // `*depth`. Returns 0 if these begin with the run; `*depth` is then advanced
  // past its end. Returns a number below (above) 0 if all keys of the node are
  // below (above) the target. They are above it if the target ends within the
  // run.
  int CompareRun(const Node& node, const Slice& target, size_t* depth) const {
    const unsigned code_bits = alphabet_.code_bits();
    return node.section->VisitRun(
        node.local, [&](uint64_t codes, unsigned count, uint32_t) {
          for (; count > 0; count--, codes >>= code_bits, ++*depth) {
            if (*depth == target.size()) return 1;
            const int stored =
                static_cast<int>(2 * (codes & LowBits(code_bits)) + 1);
            const int wanted = Symbol(target[*depth]);
            if (stored != wanted) return stored < wanted ? -1 : 1;
          }
          return 0;
        });
  }
  // CompareRun in a trie of digits.
  int CompareRun(const Node& node, const CodedKey& target,
                 size_t* depth) const {
    constexpr unsigned kDigitBits = CodedKey::kDigitBits;
    return node.section->VisitRun(
        node.local, [&](uint64_t stored, unsigned count, uint32_t of_run) {
          const uint64_t wanted = target.Load(*depth);
          const uint64_t differ =
              (stored ^ wanted) & LowBits(kDigitBits * count);
          const size_t same =
              differ == 0
                  ? count
                  : static_cast<unsigned>(__builtin_ctzll(differ)) / kDigitBits;
          const size_t left = target.size() - *depth;
          if (left <= same && left < of_run) return 1;
          *depth += same;
          if (differ == 0) return 0;
          const unsigned shift = kDigitBits * static_cast<unsigned>(same);
          return (stored >> shift & CodedKey::kDigitMask) <
                         (wanted >> shift & CodedKey::kDigitMask)
                     ? -1
                     : 1;
        });
  }

  // Symbols and bytes are those of the alphabet (key_code.h).
  int Symbol(char byte) const {
    return alphabet_.Symbol(static_cast<uint8_t>(byte));
  }
  int SymbolAt(const Slice& key, size_t i) const { return Symbol(key[i]); }
  int SymbolAt(const CodedKey& key, size_t i) const {
    return static_cast<int>(2 * key[i] + 1);
  }
  char Byte(const Edge& edge) const {
    return static_cast<char>(alphabet_.Byte(edge.code));
  }

  bool HasTerminator(const Node& node) const {
    return node.section->HasTerminator(node.local);
  }

  // Each of these finds an edge of the node; false if there is none.

  bool Find(const Node& node, int symbol, Edge* edge) const {
    edge->is_terminator = false;
    return (symbol & 1) != 0 &&
           node.section->Find(node.local, static_cast<uint32_t>(symbol) >> 1,
                              edge);
  }

  // The first edge whose symbol is at least `symbol`.
  bool LowerBound(const Node& node, int symbol, Edge* edge) const {
    edge->is_terminator = false;
    return node.section->LowerBound(node.local,
                                    static_cast<uint32_t>(symbol) >> 1, edge);
  }

  // The terminator, or the first edge.
  bool First(const Node& node, Edge* edge) const {
    edge->is_terminator = HasTerminator(node);
    if (edge->is_terminator) {
      edge->index = node.section->EdgesBefore(node.local);
      return true;
    }
    return node.section->LowerBound(node.local, 0, edge);
  }

  bool Last(const Node& node, Edge* edge) const {
    edge->is_terminator = false;
    return node.section->Last(node.local, edge);
  }

  bool Next(const Node& node, Edge* edge) const {
    if (!edge->is_terminator) return node.section->Next(node.local, edge);
    edge->is_terminator = false;
    return node.section->LowerBound(node.local, 0, edge);
  }

  // Returns true if the edge leads to a node, which is then stored in `*child`;
  // else it ends in a leaf.
  bool Follow(const Node& node, const Edge& edge, Node* child) const {
    const Section& section = *node.section;
    uint32_t children;
    if (edge.is_terminator ||
        !section.LeadsToNode(node.local, edge.index, &children)) {
      return false;
    }
    *child = NodeAt(section.edges_to_nodes + children + 1, node);
    return true;
  }

  uint32_t Leaf(const Node& node, const Edge& edge) const {
    return PlaceOf(node, edge).leaves;
  }

  // The place before the edge.
  Place PlaceOf(const Node& node, const Edge& edge) const {
    return PlaceAt(node, edge.index,
                   node.section->ChildrenBefore(node.local, edge.index),
                   node.local + (edge.is_terminator ? 0 : 1));
  }
  // The place before an edge that leads to a child.
  Place PlaceOf(const Node& node, const Edge& edge, const Node& child) const {
    return PlaceAt(node, edge.index,
                   Number(child) - 1 - node.section->edges_to_nodes,
                   node.local + 1);
  }
  // The place before all edges of the node, and its terminator.
  Place PlaceOf(const Node& node) const {
    const uint32_t edge = node.section->EdgesBefore(node.local);
    return PlaceAt(node, edge, node.section->ChildrenBefore(node.local, edge),
                   node.local);
  }

  // Prefetches what Find reads first.
  void Prefetch(const Node& node, int symbol) const {
    node.section->Prefetch(node.local, static_cast<uint32_t>(symbol) >> 1);
  }

 private:
  // The place before an edge of the node's section, before which `children`
  // edges of the section lead to nodes, after the terminators of the first
  // `nodes` of its nodes.
  Place PlaceAt(const Node& node, uint32_t edge, uint32_t children,
                uint32_t nodes) const {
    const Section& section = *node.section;
    return {
        section.edges_to_nodes + children,
        section.leaves + edge - children + section.TerminatorsBefore(nodes)};
  }

  Status OpenSections(Slice* input);

  FstHeader header_;
  Alphabet alphabet_;
  PackedArray values_;
  std::unique_ptr<Section[]> sections_;
};

// Walks the leaves of a Fast Succinct Trie in key order (SuRF paper,
// section 2.4). The iterator keeps a cursor for each level, so that moving on
// costs no rank or select until it enters a new node.
class FstIterator {
 public:
  // The trie must outlive the iterator, which is not valid until positioned.
  explicit FstIterator(const Fst* fst);
  FstIterator(const FstIterator&) = delete;
  FstIterator& operator=(const FstIterator&) = delete;

  bool Valid() const { return valid_; }
  void SeekToFirst() { Seek(Slice()); }

  // Moves to the first leaf whose path is a prefix of `target`, or `target`
  // itself, or above it. In the first two cases IsPrefixOfTarget() is true, and
  // unless the leaf is a terminator, its key may lie on either side of the
  // target. A terminator whose path is a proper prefix is skipped.
  void Seek(const Slice& target);
  void Seek(const CodedKey& target);
  bool IsPrefixOfTarget() const { return prefix_of_target_; }
  // The length of the path, in bytes or digits, if it is a prefix of the
  // target.
  size_t prefix_length() const { return prefix_length_; }

  // REQUIRES: Valid()
  void Next();

  // The bytes, or digits, on the path to the leaf. Valid until the iterator
  // moves. REQUIRES: Valid()
  Slice path() const;
  // The leaf's number, in level order. REQUIRES: Valid()
  uint32_t leaf() const;
  // Returns true if the leaf is a terminator, whose key is its path. REQUIRES:
  // Valid()
  bool IsWholeKey() const {
    return depth_ == 0 || cursors_[depth_ - 1].edge.is_terminator;
  }

 private:
  struct Cursor {
    Fst::Node node;
    Fst::Edge edge;
  };

  // The iterator allocates nothing for tries of at most this height, as most
  // are.
  static constexpr uint32_t kInlineCursors = 64;

  template <typename Key>
  void SeekTo(const Key& target);
  void Push(const Fst::Node& node, const Fst::Edge& edge) {
    new (&cursors_[depth_++]) Cursor{node, edge};
  }
  // Goes down to the first leaf below the edge on top.
  void Descend();
  // Leaves the edge on top, and all below it, for the next one. False if there
  // is none.
  bool PassEdge();

  const Fst* fst_;
  Cursor* cursors_;
  size_t depth_ = 0;  // cursors in use
  bool valid_ = false;
  bool prefix_of_target_ = false;
  size_t prefix_length_ = 0;
  mutable std::string path_;
  std::unique_ptr<Cursor[]> many_cursors_;
  union {  // not initialized
    Cursor few_cursors_[kInlineCursors];
  };
};

}  // namespace ROCKSDB_NAMESPACE::protean
