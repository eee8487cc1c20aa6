//  Fast Succinct Trie, the query side (SuRF paper, section 2).
//
//  An FST is a static trie with one byte per edge. Nodes are numbered in level
//  order: the root is node 0, and the k-th edge (in level order, from 0) that
//  leads to a node leads to node k + 1. Every other edge ends in a leaf; leaves
//  are numbered in level order too, and stand for the stored keys. Where a
//  stored key ends at a node because it is a prefix of other keys, the node has
//  a *terminator*: an edge without a label, before all others, that ends in a
//  leaf.
//
//  The upper levels are encoded as LOUDS-Dense, the lower ones as LOUDS-Sparse;
//  the level between is the *cutoff*.
//
//    LOUDS-Dense, for each node     D-Labels     256 bits, which labels it has
//                                   D-HasChild   256 bits, which of them lead
//                                   to nodes base         32 + 32 bits, the
//                                   edges to nodes and the leaves before the
//                                   node D-IsPrefixKey  1 bit, whether it has a
//                                   terminator
//      The two bitmaps of a node fill one cache line. Rank needs no other
//      table: the base counts all before the node, and at most four population
//      counts complete it.
//
//    LOUDS-Sparse, for each edge    S-Labels     8 bits; a terminator is
//    written as 0xff
//                                   S-HasChild   1 bit, with rank
//                                   S-LOUDS      1 bit, set on the first edge
//                                   of each node, with select
//      A terminator cannot be mistaken for the label 0xff. A node with a
//      terminator has at least one more edge, so its first label is 0xff and it
//      is not alone; the label 0xff is the last of its node, so it is first
//      only if alone.

#pragma once

#include <cstdint>
#include <limits>

#include "filter_policy/bits/rank_vector.h"
#include "filter_policy/bits/select_vector.h"
#include "rocksdb/slice.h"
#include "rocksdb/status.h"

namespace ROCKSDB_NAMESPACE::protean {

// The fields that a serialized FST begins with, each a 32-bit number. The
// arrays follow in the order of the figure above.
struct FstHeader {
  uint32_t height = 0;         // levels of edges; 0 if there is no node
  uint32_t dense_levels = 0;   // levels above the cutoff
  uint32_t dense_nodes = 0;    // nodes above the cutoff
  uint32_t sparse_nodes = 0;   // nodes at and below the cutoff
  uint32_t sparse_labels = 0;  // edges at and below the cutoff
  uint32_t leaves = 0;         // stored keys

  static constexpr size_t kSize = 24;
};

class Fst {
 public:
  static constexpr uint8_t kTerminatorLabel = 0xff;
  static constexpr uint32_t kRoot = 0;

  // Positions of edges in their node. A dense position is 0 for the terminator
  // and label + 1 otherwise; a sparse one is an index into S-Labels.
  static constexpr uint32_t kNoEdge = std::numeric_limits<uint32_t>::max();

  // A node as the navigation below wants it. `begin` and `end` are the range of
  // its edges in S-Labels; a dense node does not use them.
  struct Node {
    uint32_t number = 0;
    uint32_t begin = 0;
    uint32_t end = 0;
  };

  // Takes a serialized FST off the front of `input`, whose bytes must outlive
  // this object and be followed by kReadPadding readable bytes. Corruption if
  // any count, table or length disagrees with the rest. After OK, no call with
  // valid arguments reads outside those bytes.
  Status Open(Slice* input);

  uint32_t height() const { return header_.height; }
  uint32_t num_leaves() const { return header_.leaves; }
  uint32_t num_nodes() const {
    return header_.dense_nodes + header_.sparse_nodes;
  }
  const FstHeader& header() const { return header_; }

  // The node of that number; number < num_nodes().
  Node NodeAt(uint32_t number) const {
    Node node;
    node.number = number;
    if (!IsDense(number)) {
      node.begin =
          static_cast<uint32_t>(louds_.Select(number - header_.dense_nodes));
      node.end = static_cast<uint32_t>(louds_.NextOne(node.begin));
    }
    return node;
  }

  bool HasTerminator(const Node& node) const {
    if (IsDense(node.number)) {
      return LoadWord(dense_prefix_keys_, node.number / 64) >>
                 (node.number % 64) &
             1;
    }
    return IsSparseTerminator(node, node.begin);
  }

  bool IsTerminator(const Node& node, uint32_t pos) const {
    return IsDense(node.number) ? pos == 0 : IsSparseTerminator(node, pos);
  }

  // The label of an edge that is not a terminator.
  uint8_t Label(const Node& node, uint32_t pos) const {
    return IsDense(node.number) ? static_cast<uint8_t>(pos - 1)
                                : static_cast<uint8_t>(labels_[pos]);
  }

  // The first edge of the node, its terminator included.
  uint32_t First(const Node& node) const {
    if (!IsDense(node.number)) return node.begin;
    return HasTerminator(node) ? 0 : DenseLowerBound(node, 0);
  }

  // The last edge of the node.
  uint32_t Last(const Node& node) const {
    if (!IsDense(node.number)) return node.end - 1;
    const uint32_t pos = DenseBefore(node, 256);
    return pos != kNoEdge ? pos : 0;
  }

  // The edge after `pos`, or kNoEdge.
  uint32_t Next(const Node& node, uint32_t pos) const {
    if (IsDense(node.number)) return DenseLowerBound(node, pos);
    return pos + 1 < node.end ? pos + 1 : kNoEdge;
  }

  // The edge before `pos`, the terminator included, or kNoEdge.
  uint32_t Prev(const Node& node, uint32_t pos) const {
    if (!IsDense(node.number)) return pos > node.begin ? pos - 1 : kNoEdge;
    if (pos == 0) return kNoEdge;
    const uint32_t before = DenseBefore(node, pos - 1);
    return before != kNoEdge || !HasTerminator(node) ? before : 0;
  }

  // The first edge with a label of at least `label`, or kNoEdge.
  uint32_t LowerBound(const Node& node, uint8_t label) const {
    if (IsDense(node.number)) return DenseLowerBound(node, label);
    const uint32_t begin =
        node.begin + (IsSparseTerminator(node, node.begin) ? 1 : 0);
    const uint32_t pos = LowerBoundLabel(labels_, begin, node.end, label);
    return pos < node.end ? pos : kNoEdge;
  }

  // The edge with that label, or kNoEdge.
  uint32_t Find(const Node& node, uint8_t label) const {
    if (IsDense(node.number)) {
      return DenseBit(node.number, kLabels, label) ? label + 1u : kNoEdge;
    }
    const uint32_t pos = LowerBound(node, label);
    return pos != kNoEdge && static_cast<uint8_t>(labels_[pos]) == label
               ? pos
               : kNoEdge;
  }

  // Whether the edge leads to a node; else it ends in a leaf.
  bool HasChild(const Node& node, uint32_t pos) const {
    if (IsDense(node.number)) {
      return pos != 0 && DenseBit(node.number, kHasChild, pos - 1);
    }
    return has_child_.Get(pos);
  }

  // The number of the node that the edge leads to; HasChild(node, pos).
  uint32_t Child(const Node& node, uint32_t pos) const {
    return EdgesToNodesBefore(node, pos) + 1;
  }

  // The number of the leaf that the edge ends in; !HasChild(node, pos).
  uint32_t Leaf(const Node& node, uint32_t pos) const {
    return LeavesBefore(node, pos);
  }

  // How many edges before this one, in level order, lead to nodes.
  uint32_t EdgesToNodesBefore(const Node& node, uint32_t pos) const;

  // How many edges before this one, in level order, end in leaves.
  uint32_t LeavesBefore(const Node& node, uint32_t pos) const;

 private:
  static constexpr uint64_t kLabels = 0;
  static constexpr uint64_t kHasChild = 4;
  static constexpr uint64_t kDenseWords = 8;

  bool IsDense(uint32_t number) const { return number < header_.dense_nodes; }

  uint64_t DenseWord(uint32_t number, uint64_t bitmap, uint64_t word) const {
    return LoadWord(dense_, kDenseWords * number + bitmap + word);
  }

  bool DenseBit(uint32_t number, uint64_t bitmap, unsigned bit) const {
    return DenseWord(number, bitmap, bit / 64) >> (bit % 64) & 1;
  }

  // The position of the first label >= `label` (at most 256), or kNoEdge.
  uint32_t DenseLowerBound(const Node& node, unsigned label) const {
    if (label > 255) return kNoEdge;
    unsigned word = label / 64;
    uint64_t bits =
        DenseWord(node.number, kLabels, word) & ~LowBits(label % 64);
    while (bits == 0) {
      if (++word == 4) return kNoEdge;
      bits = DenseWord(node.number, kLabels, word);
    }
    return 64 * word + __builtin_ctzll(bits) + 1;
  }

  // The position of the last label < `label` (at most 256), or kNoEdge.
  uint32_t DenseBefore(const Node& node, unsigned label) const {
    unsigned word = label / 64;
    uint64_t bits = label % 64 == 0 ? 0
                                    : DenseWord(node.number, kLabels, word) &
                                          LowBits(label % 64);
    while (bits == 0) {
      if (word-- == 0) return kNoEdge;
      bits = DenseWord(node.number, kLabels, word);
    }
    return 64 * word + 63 - __builtin_clzll(bits) + 1;
  }

  bool IsSparseTerminator(const Node& node, uint32_t pos) const {
    return pos == node.begin && node.end - node.begin > 1 &&
           static_cast<uint8_t>(labels_[pos]) == kTerminatorLabel;
  }

  bool ValidateDense(uint32_t* edges_to_nodes, uint32_t* leaves) const;

  FstHeader header_;
  const char* dense_ = nullptr;        // kDenseWords words a node
  const char* dense_bases_ = nullptr;  // two 32-bit numbers a node
  const char* dense_prefix_keys_ = nullptr;
  const char* labels_ = nullptr;
  RankVector has_child_;
  SelectVector louds_;

  // What the dense levels hold in all, so that the sparse ones can be navigated
  // as if the whole trie were LOUDS-Sparse (section 2.4).
  uint32_t dense_edges_to_nodes_ = 0;
  uint32_t dense_leaves_ = 0;
};

}  // namespace ROCKSDB_NAMESPACE::protean
