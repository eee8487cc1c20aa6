//  LOUDS-Quotient: the encoding of trie levels whose nodes are neither nearly
//  full nor nearly empty.
//
//  LOUDS-Dense costs 512 bits a node whatever its fanout, LOUDS-Sparse 10 bits
//  an edge. Between them lies the fanout of 4 to 100 that the last levels over
//  random keys have. The edges of these levels, each taken as the number (node
//  << 8 | label), ascend in level order, so they are stored as Elias and Fano
//  store a sorted set, or a quotient filter its fingerprints: the number is
//  split into a quotient and a remainder of r bits.
//
//    quotients    for each quotient, a 0 for each edge that has it, then a 1
//    remainders   r bits an edge
//    HasChild     1 bit an edge, with rank
//    IsPrefixKey  1 bit a node, with rank: whether it has a terminator
//
//  With r = log2(256 / fanout) that is about r + 3 bits an edge. An edge is
//  found without a search among labels and without S-LOUDS: a select finds the
//  place of its quotient, which it shares with one other on average.

#pragma once

#include <limits>

#include "filter_policy/bits/packed_array.h"
#include "filter_policy/bits/rank_vector.h"
#include "filter_policy/bits/select_vector.h"

namespace ROCKSDB_NAMESPACE::protean {

class QuotientLevels {
 public:
  // An edge: its number in level order, the position of its bit among the
  // quotients, and its label.
  struct Edge {
    uint32_t index = 0;
    uint32_t bit = 0;
    uint32_t label = 0;
  };

  // Takes what QuotientLevelsBuilder wrote off the front of `input`, whose
  // bytes must outlive this object. False if it is damaged.
  bool Open(Slice* input, uint32_t nodes, uint32_t edges,
            uint32_t remainder_bits) {
    remainder_bits_ = remainder_bits;
    const uint64_t quotients = uint64_t{nodes} << (8 - remainder_bits);
    return edges + quotients <= std::numeric_limits<uint32_t>::max() &&
           quotients_.Open(input, edges + quotients, quotients) &&
           remainders_.Open(input, edges, remainder_bits) &&
           has_child_.Open(input, edges) && prefix_keys_.Open(input, nodes);
  }

  // The edge of that label, or false. Nodes are counted from 0 here.
  bool Find(uint32_t node, uint32_t label, Edge* edge) const {
    const uint64_t quotient = Quotient(node, label);
    *edge = Begin(quotient);
    edge->label = label;
    const uint64_t remainder = label & LowBits(remainder_bits_);
    for (; IsEdge(edge->bit); edge->bit++, edge->index++) {
      const uint64_t stored = remainders_.Get(edge->index);
      if (stored >= remainder) return stored == remainder;
    }
    return false;
  }

  // The first edge with a label of at least `label`, or false.
  bool LowerBound(uint32_t node, uint32_t label, Edge* edge) const {
    const uint64_t quotient = Quotient(node, label);
    *edge = Begin(quotient);
    const uint64_t remainder = label & LowBits(remainder_bits_);
    for (; IsEdge(edge->bit); edge->bit++, edge->index++) {
      const uint64_t stored = remainders_.Get(edge->index);
      if (stored >= remainder) {
        edge->label = Label(quotient, stored);
        return true;
      }
    }
    return SkipToEdge(node, quotient, edge);
  }

  // The edge after `*edge` in its node, or false.
  bool Next(uint32_t node, Edge* edge) const {
    const uint64_t quotient = Quotient(node, edge->label);
    edge->bit++;
    edge->index++;
    return SkipToEdge(node, quotient, edge);
  }

  // The edge before `*edge` in its node, or false.
  bool Prev(uint32_t node, Edge* edge) const {
    return SkipBackToEdge(node, Quotient(node, edge->label), edge);
  }

  // The last edge of the node, or false.
  bool Last(uint32_t node, Edge* edge) const {
    const uint64_t quotient = Quotient(node, 255);
    edge->bit = static_cast<uint32_t>(quotients_.Select(quotient));
    edge->index = static_cast<uint32_t>(edge->bit - quotient);
    return SkipBackToEdge(node, quotient, edge);
  }

  // Whether the edge leads to a node.
  bool HasChild(uint32_t index) const { return has_child_.Get(index); }
  bool HasTerminator(uint32_t node) const { return prefix_keys_.Get(node); }

  // Among the edges before `index`, those that lead to nodes.
  uint32_t EdgesToNodesBefore(uint32_t index) const {
    return static_cast<uint32_t>(has_child_.Rank(index));
  }
  // The terminators of the nodes before `node`.
  uint32_t TerminatorsBefore(uint32_t node) const {
    return static_cast<uint32_t>(prefix_keys_.Rank(node));
  }

  uint64_t edges_to_nodes() const { return has_child_.ones(); }
  uint64_t terminators() const { return prefix_keys_.ones(); }

 private:
  uint64_t Quotient(uint32_t node, uint32_t label) const {
    return (uint64_t{node} << 8 | label) >> remainder_bits_;
  }
  uint32_t Label(uint64_t quotient, uint64_t remainder) const {
    return static_cast<uint32_t>((quotient << remainder_bits_ | remainder) &
                                 0xff);
  }
  bool IsEdge(uint64_t bit) const {
    return bit < quotients_.size() && !quotients_.Get(bit);
  }

  // Where the edges of a quotient begin, if it has any.
  Edge Begin(uint64_t quotient) const {
    Edge edge;
    if (quotient > 0) {
      edge.bit = static_cast<uint32_t>(quotients_.Select(quotient - 1) + 1);
      edge.index = static_cast<uint32_t>(edge.bit - quotient);
    }
    return edge;
  }

  // Moves a place within `quotient` to the edge that is there or comes next;
  // false if that belongs to another node.
  bool SkipToEdge(uint32_t node, uint64_t quotient, Edge* edge) const {
    const uint64_t bit = quotients_.NextZero(edge->bit);
    if (bit == quotients_.size()) return false;
    quotient += bit - edge->bit;
    if (quotient >> (8 - remainder_bits_) != node) return false;
    edge->bit = static_cast<uint32_t>(bit);
    edge->label = Label(quotient, remainders_.Get(edge->index));
    return true;
  }

  // Moves a place within `quotient` to the edge before it.
  bool SkipBackToEdge(uint32_t node, uint64_t quotient, Edge* edge) const {
    const uint64_t bit = quotients_.PrevZero(edge->bit);
    if (bit == quotients_.size()) return false;
    quotient -= edge->bit - bit - 1;
    if (quotient >> (8 - remainder_bits_) != node) return false;
    edge->bit = static_cast<uint32_t>(bit);
    edge->index--;
    edge->label = Label(quotient, remainders_.Get(edge->index));
    return true;
  }

  uint32_t remainder_bits_ = 0;
  SelectVector quotients_;
  PackedArray remainders_;
  RankVector has_child_;
  RankVector prefix_keys_;
};

// Collects the edges of the levels in level order.
class QuotientLevelsBuilder {
 public:
  explicit QuotientLevelsBuilder(uint32_t remainder_bits)
      : remainder_bits_(remainder_bits) {}

  // The size in bits of so many nodes and edges, tables included.
  static uint64_t Size(uint64_t nodes, uint64_t edges,
                       uint32_t remainder_bits) {
    const uint64_t quotients = nodes << (8 - remainder_bits);
    return edges * (remainder_bits + 2) + quotients + edges / 16 +
           quotients * 32 / SelectVector::kSampleRate + nodes + nodes / 16;
  }

  void StartNode(bool has_terminator) {
    prefix_keys_.Append(has_terminator);
    nodes_++;
  }

  void AddEdge(uint32_t label, bool has_child) {
    CloseQuotients(((nodes_ - 1) << 8 | label) >> remainder_bits_);
    quotients_.Append(false);
    remainders_.Append(label & LowBits(remainder_bits_), remainder_bits_);
    has_child_.Append(has_child);
  }

  void Finish(std::string* out) {
    CloseQuotients(nodes_ << (8 - remainder_bits_));
    SelectVector::Serialize(quotients_, out);
    remainders_.SerializeTo(out);
    RankVector::Serialize(has_child_, out);
    RankVector::Serialize(prefix_keys_, out);
  }

 private:
  void CloseQuotients(uint64_t end) {
    for (; quotient_ < end; quotient_++) quotients_.Append(true);
  }

  const uint32_t remainder_bits_;
  uint64_t nodes_ = 0;
  uint64_t quotient_ = 0;  // the one that edges are being added to
  BitBuffer quotients_;
  BitBuffer remainders_;
  BitBuffer has_child_;
  BitBuffer prefix_keys_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
