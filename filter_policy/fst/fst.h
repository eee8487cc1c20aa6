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
//  The upper levels are encoded as LOUDS-Dense, the lower ones as LOUDS-Sparse,
//  and levels of a fanout between as LOUDS-Quotient (quotient_levels.h), which
//  the paper does not have. The builder sets the two borders between them, the
//  *cutoffs*, so that the trie becomes small.
//
// clang-format off
//    LOUDS-Dense, for each node
//      D-Labels       256 bits: which labels it has
//      D-HasChild     256 bits: which of them lead to nodes
//      base           2 x 32 bits: edges to nodes and leaves before the node
//      D-IsPrefixKey  1 bit: whether it has a terminator
// clang-format on
//    The two bitmaps of a node fill one cache line. Rank needs no other table:
//    the base counts all before the node, and at most four population counts
//    complete it.
//
// clang-format off
//    LOUDS-Sparse, for each edge
//      S-Labels       8 bits; a terminator is written as 0xff
//      S-HasChild     1 bit, with rank
//      S-LOUDS        1 bit, set on the first edge of each node, with select
// clang-format on
//    A terminator cannot be mistaken for the label 0xff. A node with a
//    terminator has at least one more edge, so its first label is 0xff and it
//    is not alone; the label 0xff is the last of its node, so it is first only
//    if alone.

#pragma once

#include <cstdint>
#include <limits>

#include "filter_policy/bits/rank_vector.h"
#include "filter_policy/bits/select_vector.h"
#include "filter_policy/fst/quotient_levels.h"
#include "rocksdb/slice.h"
#include "rocksdb/status.h"

namespace ROCKSDB_NAMESPACE::protean {

// The fields that a serialized FST begins with, each a 32-bit number. The
// arrays follow in the order of the figure above.
struct FstHeader {
  uint32_t height = 0;          // levels of edges; 0 if there is no node
  uint32_t dense_levels = 0;    // levels in LOUDS-Dense
  uint32_t dense_nodes = 0;     // nodes in LOUDS-Dense
  uint32_t quotient_nodes = 0;  // nodes in LOUDS-Quotient
  uint32_t quotient_edges = 0;  // edges in LOUDS-Quotient
  uint32_t remainder_bits = 0;  // of LOUDS-Quotient, 1 to 7
  uint32_t sparse_nodes = 0;    // nodes in LOUDS-Sparse
  uint32_t sparse_edges = 0;    // edges in LOUDS-Sparse
  uint32_t leaves = 0;          // stored keys
  uint32_t unused = 0;

  static constexpr size_t kSize = 40;
};

class Fst {
 public:
  static constexpr uint8_t kTerminatorLabel = 0xff;
  static constexpr uint32_t kRoot = 0;

  // A node as the navigation below wants it. `begin` and `end` are the range of
  // its edges in S-Labels; other nodes do not use them.
  struct Node {
    uint32_t number = 0;
    uint32_t begin = 0;
    uint32_t end = 0;
  };

  // An edge of a node. What `pos` and `bit` mean depends on the encoding.
  struct Edge {
    static constexpr int kTerminator = -1;

    uint32_t pos = 0;  // sparse: index in S-Labels; quotient: index of the edge
    uint32_t bit = 0;  // quotient: position among the quotients
    int label = 0;     // 0 to 255, or kTerminator

    bool IsTerminator() const { return label == kTerminator; }
  };

  // Takes a serialized FST off the front of `input`, whose bytes must outlive
  // this object and be followed by kReadPadding readable bytes. Corruption if
  // any count, table or length disagrees with the rest. After OK, no call with
  // valid arguments reads outside those bytes. Which labels the edges have is
  // not checked: there, the block's checksum stands alone.
  Status Open(Slice* input);

  uint32_t height() const { return header_.height; }
  uint32_t num_leaves() const { return header_.leaves; }
  uint32_t num_nodes() const { return num_nodes_; }
  const FstHeader& header() const { return header_; }

  // The node of that number; number < num_nodes().
  Node NodeAt(uint32_t number) const {
    Node node;
    node.number = number;
    if (number >= sparse_begin_) {
      node.begin = static_cast<uint32_t>(louds_.Select(number - sparse_begin_));
      node.end = static_cast<uint32_t>(louds_.NextOne(node.begin));
    }
    return node;
  }

  bool HasTerminator(const Node& node) const {
    if (IsDense(node)) {
      return LoadWord(dense_prefix_keys_, node.number / 64) >>
                 (node.number % 64) &
             1;
    }
    if (IsQuotient(node)) return quotient_.HasTerminator(Local(node));
    return node.end - node.begin > 1 &&
           static_cast<uint8_t>(labels_[node.begin]) == kTerminatorLabel;
  }

  // Each of these finds an edge of the node; false if there is none.

  // The edge with that label.
  bool Find(const Node& node, uint8_t label, Edge* edge) const {
    edge->label = label;
    if (IsDense(node)) return DenseBit(node.number, kLabels, label);
    if (IsQuotient(node)) {
      QuotientLevels::Edge found;
      const bool there = quotient_.Find(Local(node), label, &found);
      edge->pos = found.index;
      edge->bit = found.bit;
      return there;
    }
    edge->pos = SparseLowerBound(node, label);
    return edge->pos < node.end &&
           static_cast<uint8_t>(labels_[edge->pos]) == label;
  }

  // The first edge with a label of at least `label`.
  bool LowerBound(const Node& node, unsigned label, Edge* edge) const {
    if (label > 255) return false;
    if (IsDense(node)) return DenseLowerBound(node, label, edge);
    if (IsQuotient(node)) {
      QuotientLevels::Edge found;
      return quotient_.LowerBound(Local(node), label, &found) &&
             FromQuotient(found, edge);
    }
    return SparseEdge(node, SparseLowerBound(node, label), edge);
  }

  // The first edge, which is the terminator if there is one.
  bool First(const Node& node, Edge* edge) const {
    const bool terminator = HasTerminator(node);
    if (IsSparse(node)) {
      edge->pos = node.begin;
      edge->label = static_cast<uint8_t>(labels_[node.begin]);
    } else if (!LowerBound(node, 0, edge) && !terminator) {
      return false;
    }
    if (terminator) edge->label = Edge::kTerminator;
    return true;
  }

  // The last edge.
  bool Last(const Node& node, Edge* edge) const {
    if (IsSparse(node)) return SparseEdge(node, node.end - 1, edge);
    if (IsDense(node)) return DenseBefore(node, 256, edge);
    QuotientLevels::Edge found;
    return quotient_.Last(Local(node), &found) && FromQuotient(found, edge);
  }

  // The edge after `*edge`.
  bool Next(const Node& node, Edge* edge) const {
    if (IsSparse(node)) return SparseEdge(node, edge->pos + 1, edge);
    if (IsDense(node) || edge->IsTerminator()) {
      return LowerBound(node, edge->label + 1, edge);
    }
    QuotientLevels::Edge moved = ToQuotient(*edge);
    return quotient_.Next(Local(node), &moved) && FromQuotient(moved, edge);
  }

  // The edge before `*edge`, down to the terminator.
  bool Prev(const Node& node, Edge* edge) const;

  // Whether the edge leads to a node; else it ends in a leaf.
  bool HasChild(const Node& node, const Edge& edge) const {
    if (edge.IsTerminator()) return false;
    if (IsDense(node)) return DenseBit(node.number, kHasChild, edge.label);
    if (IsQuotient(node)) return quotient_.HasChild(edge.pos);
    return has_child_.Get(edge.pos);
  }

  // The number of the node that the edge leads to; HasChild(node, edge).
  uint32_t Child(const Node& node, const Edge& edge) const {
    return EdgesToNodesBefore(node, edge) + 1;
  }

  // The number of the leaf that the edge ends in; !HasChild(node, edge).
  uint32_t Leaf(const Node& node, const Edge& edge) const {
    return LeavesBefore(node, edge);
  }

  // How many edges before this one, in level order, lead to nodes.
  uint32_t EdgesToNodesBefore(const Node& node, const Edge& edge) const {
    if (IsSparse(node)) {
      return sparse_edges_to_nodes_ +
             static_cast<uint32_t>(has_child_.Rank(edge.pos));
    }
    if (IsQuotient(node)) {
      return dense_edges_to_nodes_ + quotient_.EdgesToNodesBefore(edge.pos);
    }
    return DenseEdgesToNodesBefore(node, edge);
  }

  // How many edges before this one, in level order, end in leaves.
  uint32_t LeavesBefore(const Node& node, const Edge& edge) const {
    if (IsSparse(node)) {
      return sparse_leaves_ + edge.pos -
             static_cast<uint32_t>(has_child_.Rank(edge.pos));
    }
    if (IsQuotient(node)) {
      return dense_leaves_ + edge.pos - quotient_.EdgesToNodesBefore(edge.pos) +
             quotient_.TerminatorsBefore(Local(node) + !edge.IsTerminator());
    }
    return DenseLeavesBefore(node, edge);
  }

 private:
  static constexpr uint64_t kLabels = 0;
  static constexpr uint64_t kHasChild = 4;
  static constexpr uint64_t kDenseWords = 8;

  bool IsDense(const Node& node) const {
    return node.number < header_.dense_nodes;
  }
  bool IsSparse(const Node& node) const { return node.number >= sparse_begin_; }
  bool IsQuotient(const Node& node) const {
    return !IsDense(node) && !IsSparse(node);
  }
  uint32_t Local(const Node& node) const {
    return node.number - header_.dense_nodes;
  }

  static bool FromQuotient(const QuotientLevels::Edge& found, Edge* edge) {
    edge->pos = found.index;
    edge->bit = found.bit;
    edge->label = static_cast<int>(found.label);
    return true;
  }
  static QuotientLevels::Edge ToQuotient(const Edge& edge) {
    return {edge.pos, edge.bit, static_cast<uint32_t>(edge.label)};
  }

  uint64_t DenseWord(uint32_t number, uint64_t bitmap, uint64_t word) const {
    return LoadWord(dense_, kDenseWords * number + bitmap + word);
  }
  bool DenseBit(uint32_t number, uint64_t bitmap, unsigned bit) const {
    return DenseWord(number, bitmap, bit / 64) >> (bit % 64) & 1;
  }

  bool DenseLowerBound(const Node& node, unsigned label, Edge* edge) const {
    unsigned word = label / 64;
    uint64_t bits =
        DenseWord(node.number, kLabels, word) & ~LowBits(label % 64);
    while (bits == 0) {
      if (++word == 4) return false;
      bits = DenseWord(node.number, kLabels, word);
    }
    edge->label = static_cast<int>(64 * word + __builtin_ctzll(bits));
    return true;
  }

  // The last edge with a label below `label`, which is at most 256.
  bool DenseBefore(const Node& node, unsigned label, Edge* edge) const {
    unsigned word = label / 64;
    uint64_t bits = label % 64 == 0 ? 0
                                    : DenseWord(node.number, kLabels, word) &
                                          LowBits(label % 64);
    while (bits == 0) {
      if (word-- == 0) return false;
      bits = DenseWord(node.number, kLabels, word);
    }
    edge->label = static_cast<int>(64 * word + 63 - __builtin_clzll(bits));
    return true;
  }

  uint32_t DenseEdgesToNodesBefore(const Node& node, const Edge& edge) const {
    uint32_t count = LoadWord32(dense_bases_, 2 * node.number);
    if (edge.IsTerminator()) return count;
    const unsigned label = edge.label;
    for (unsigned word = 0; word < label / 64; word++) {
      count += PopCount(DenseWord(node.number, kHasChild, word));
    }
    return count + PopCount(DenseWord(node.number, kHasChild, label / 64) &
                            LowBits(label % 64));
  }

  uint32_t DenseLeavesBefore(const Node& node, const Edge& edge) const {
    uint32_t count = LoadWord32(dense_bases_, 2 * node.number + 1);
    if (edge.IsTerminator()) return count;
    if (HasTerminator(node)) count++;
    const unsigned label = edge.label;
    for (unsigned word = 0; word < label / 64; word++) {
      count += PopCount(DenseWord(node.number, kLabels, word) &
                        ~DenseWord(node.number, kHasChild, word));
    }
    return count + PopCount(DenseWord(node.number, kLabels, label / 64) &
                            ~DenseWord(node.number, kHasChild, label / 64) &
                            LowBits(label % 64));
  }

  // The index in S-Labels, or node.end.
  uint32_t SparseLowerBound(const Node& node, unsigned label) const {
    return LowerBoundLabel(labels_, node.begin + HasTerminator(node), node.end,
                           static_cast<uint8_t>(label));
  }
  bool SparseEdge(const Node& node, uint32_t pos, Edge* edge) const {
    if (pos >= node.end) return false;
    edge->pos = pos;
    edge->label = static_cast<uint8_t>(labels_[pos]);
    return true;
  }

  bool ValidateDense();
  bool ValidateHeight() const;

  FstHeader header_;
  uint32_t num_nodes_ = 0;
  uint32_t sparse_begin_ = 0;          // number of the first sparse node
  const char* dense_ = nullptr;        // kDenseWords words a node
  const char* dense_bases_ = nullptr;  // two 32-bit numbers a node
  const char* dense_prefix_keys_ = nullptr;
  QuotientLevels quotient_;
  const char* labels_ = nullptr;
  RankVector has_child_;
  SelectVector louds_;

  // What the levels above hold in all, so that each encoding can be navigated
  // as if the whole trie had it (section 2.4).
  uint32_t dense_edges_to_nodes_ = 0;
  uint32_t dense_leaves_ = 0;
  uint32_t sparse_edges_to_nodes_ = 0;
  uint32_t sparse_leaves_ = 0;
};

}  // namespace ROCKSDB_NAMESPACE::protean
