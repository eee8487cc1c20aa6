// SPDX-License-Identifier: Apache-2.0

//  A section of a Fast Succinct Trie: successive levels in one encoding.
//
//  The edges of a section, each taken as the number (node << a | code) with
//  codes of a bits, ascend in level order. All encodings store this sorted set
//  of numbers, each split into its upper bits, the *quotient*, and b lower
//  bits, the *remainder*:
//
//    LOUDS-Dense, b = 0: every quotient has one edge or none.
//      D-Labels     1 bit a quotient: whether it has one
//    LOUDS-Quotient, 0 < b < a: as Elias and Fano store a sorted set, or a
//    quotient filter its fingerprints.
//      quotients    for each quotient, a 0 for each edge that has it, then a 1
//      remainders   b bits an edge
//    LOUDS-Sparse, b = a: the quotient is the node, and no node is without
//    edges.
//      S-LOUDS      1 bit an edge, set on the last edge of its node
//      S-Labels     a bits an edge
//
//  The SuRF paper (section 2) has the first and the last encoding. LOUDS-Dense
//  costs 2^a bits a node, whatever its fanout, LOUDS-Sparse a + 1 bits an edge.
//  The last levels over random keys have a fanout of 4 to 100, for which
//  neither is good. There, with b = log2(2^a / fanout), LOUDS-Quotient takes
//  about b + 2 bits an edge, and finds an edge without a search, since a
//  quotient has one or two edges.
//
//  For each group of 2^k nodes (in LOUDS-Dense one node, unless codes have few
//  bits), the *index* has two counts: of all edges before the group, and of
//  those that lead to nodes. For edges, this is the only look-up table of
//  select and of rank.
//
//  The smaller of two encodings tells which edges lead to nodes:
//    HasChild     1 bit an edge
//    exceptions   the edges that differ from most others, in ascending order,
//                 each as its position in its group
//
//  Where a stored key ends at a node because it is a prefix of other keys, the
//  node has a *terminator*, which is no edge, has no label, and comes before
//  all edges.

#pragma once

#include <algorithm>
#include <cstdint>

#include "filter_policy/bits/bit_array.h"

namespace ROCKSDB_NAMESPACE::protean {

// The numbers of what levels hold.
struct FstLevelCounts {
  uint32_t nodes = 0;
  uint32_t edges = 0;
  uint32_t children = 0;     // edges that lead to nodes
  uint32_t terminators = 0;  // nodes that have one
  uint32_t runs = 0;         // nodes that have a run (fst.h)
  uint32_t run_codes = 0;    // codes in all runs

  void Add(const FstLevelCounts& level) {
    nodes += level.nodes;
    edges += level.edges;
    children += level.children;
    terminators += level.terminators;
    runs += level.runs;
    run_codes += level.run_codes;
  }
};

// The part of a section in the header of a trie; the arrays follow later.
struct FstSectionHeader : FstLevelCounts {
  enum ChildEncoding : uint8_t {
    kHasChildBits = 0,
    kChildrenListed = 1,  // the exceptions lead to nodes
    kLeavesListed = 2,    // the exceptions end in leaves
  };

  uint32_t levels = 0;
  uint8_t remainder_bits = 0;
  ChildEncoding child_encoding = kHasChildBits;
  uint8_t exception_bits = 0;     // bits of each exception
  uint8_t dense_group_shift = 0;  // log2 of the nodes in a group, LOUDS-Dense

  static constexpr size_t kSize = 32;

  void EncodeTo(char* out) const {
    const uint32_t numbers[] = {levels,      nodes, edges,    children,
                                terminators, runs,  run_codes};
    for (uint32_t number : numbers) {
      EncodeFixed32(out, number);
      out += 4;
    }
    out[0] = static_cast<char>(remainder_bits);
    out[1] = static_cast<char>(child_encoding);
    out[2] = static_cast<char>(exception_bits);
    out[3] = static_cast<char>(dense_group_shift);
  }
  void DecodeFrom(const char* in) {
    for (uint32_t* number : {&levels, &nodes, &edges, &children, &terminators,
                             &runs, &run_codes}) {
      *number = DecodeFixed32(in);
      in += 4;
    }
    remainder_bits = static_cast<uint8_t>(in[0]);
    child_encoding = static_cast<ChildEncoding>(in[1]);
    exception_bits = static_cast<uint8_t>(in[2]);
    dense_group_shift = static_cast<uint8_t>(in[3]);
  }

  uint64_t exceptions() const {
    return child_encoding == kChildrenListed ? children
           : child_encoding == kLeavesListed ? edges - children
                                             : 0;
  }
};

// Where the arrays of a section lie, in bytes from the first one, and how its
// nodes are grouped. The arrays follow each other without gaps; the index is
// the first one.
struct FstSectionLayout {
  static constexpr unsigned kGroupQuotientBits = 7;
  static constexpr unsigned kMaxDenseGroupShift = 9;

  FstSectionLayout(const FstSectionHeader& header, unsigned code_bits)
      : quotient_bits(code_bits - header.remainder_bits),
        group_shift(header.remainder_bits == 0
                        ? header.dense_group_shift
                        : kGroupQuotientBits - quotient_bits),
        groups((uint64_t{header.nodes} + (uint64_t{1} << group_shift) - 1) >>
               group_shift),
        label_bits(
            header.remainder_bits == 0 ? uint64_t{header.nodes} << code_bits
            : quotient_bits == 0
                ? header.edges
                : header.edges + (uint64_t{header.nodes} << quotient_bits)) {
    labels = (groups + 1) * 8;
    remainders = labels + BitArrayBytes(label_bits);
    children =
        remainders + PackedArray::Bytes(header.edges, header.remainder_bits);
    terminators =
        children +
        (header.child_encoding == FstSectionHeader::kHasChildBits
             ? BitArrayBytes(header.edges)
             : PackedArray::Bytes(header.exceptions(), header.exception_bits));
    const auto mark_bytes = [&header](uint64_t marked) {
      return marked == 0 ? 0 : RankVector::Bytes(header.nodes, marked);
    };
    run_marks = terminators + mark_bytes(header.terminators);
    run_starts = run_marks + mark_bytes(header.runs);
    run_codes =
        run_starts + (header.runs == 0
                          ? 0
                          : SelectVector::Bytes(header.run_codes, header.runs));
    end = run_codes + PackedArray::Bytes(header.run_codes, code_bits);
  }

  unsigned quotient_bits;  // log2 of the quotients of a node
  unsigned group_shift;    // log2 of the nodes in a group
  uint64_t groups;
  uint64_t label_bits;  // size of D-Labels, the quotients, or S-LOUDS
  uint64_t labels;
  uint64_t remainders;
  uint64_t children;
  uint64_t terminators;
  uint64_t run_marks;
  uint64_t run_starts;
  uint64_t run_codes;
  uint64_t end;
};

// The query side. Nodes are numbered from 0 in each section.
class FstSection {
 public:
  // An edge: its number among those of the section, the position of its bit in
  // the quotients or S-LOUDS, and its code.
  struct Edge {
    uint32_t index = 0;
    uint32_t bit = 0;
    uint32_t code = 0;
  };

  // Takes the arrays off the front of `input`, whose bytes must outlive this
  // object and be followed by kReadPadding readable bytes. False if the header
  // or the arrays are inconsistent.
  bool Open(const FstSectionHeader& header, unsigned code_bits, Slice* input);

  unsigned remainder_bits() const { return remainder_bits_; }

  // Each of these finds an edge of the node; false if there is none.

  bool Find(uint32_t node, uint32_t code, Edge* edge) const {
    edge->code = code;
    if (remainder_bits_ == 0) {
      const uint64_t bit = DenseBit(node, code);
      if (!GetBit(labels_, bit)) return false;
      edge->index = DenseIndex(node, bit);
      return true;
    }
    if (quotient_bits_ == 0) {
      return SparseLowerBound(node, code, edge) && edge->code == code;
    }
    const uint64_t quotient = Quotient(node, code);
    FirstOfQuotient(node, quotient, edge);
    const uint64_t remainder = code & LowBits(remainder_bits_);
    uint64_t stored;
    return FirstInQuotient(remainder, edge, &stored) && stored == remainder;
  }

  // The first edge with a code of at least `code`, which may be any number.
  bool LowerBound(uint32_t node, uint32_t code, Edge* edge) const {
    if (code >> code_bits_ != 0) return false;
    if (remainder_bits_ == 0) {
      const uint64_t begin = DenseBit(node, 0);
      const uint64_t end = begin + (uint64_t{1} << code_bits_);
      const uint64_t bit = NextBit<true>(labels_, end, begin + code);
      if (bit == end) return false;
      edge->code = static_cast<uint32_t>(bit - begin);
      edge->index = DenseIndex(node, bit);
      return true;
    }
    if (quotient_bits_ == 0) return SparseLowerBound(node, code, edge);
    const uint64_t quotient = Quotient(node, code);
    FirstOfQuotient(node, quotient, edge);
    uint64_t stored;
    if (FirstInQuotient(code & LowBits(remainder_bits_), edge, &stored)) {
      edge->code = Code(quotient, stored);
      return true;
    }
    return SkipToEdge(node, quotient, edge);
  }

  bool Last(uint32_t node, Edge* edge) const {
    if (remainder_bits_ == 0) {
      const uint64_t begin = DenseBit(node, 0);
      const uint64_t end = DenseBit(uint64_t{node} + 1, 0);
      const uint64_t bit = PrevBit<true>(labels_, begin, end);
      if (bit == end) return false;
      edge->code = static_cast<uint32_t>(bit - begin);
      edge->index = DenseIndex(node, bit);
      return true;
    }
    if (quotient_bits_ == 0) {
      FirstOfNode(node, edge);
      edge->bit = edge->index = EndOfNode(*edge) - 1;
      edge->code = static_cast<uint32_t>(remainders_.Get(edge->index));
      return true;
    }
    // The edges of the last quotient end with a 1.
    const uint64_t end_quotient = (uint64_t{node} + 1) << quotient_bits_;
    FirstOfQuotient(node, end_quotient, edge);
    const uint64_t end = edge->bit - 1;
    const uint64_t bit = PrevBit<false>(labels_, 0, end);
    if (bit == end) return false;
    const uint64_t quotient = end_quotient - (end - bit);
    if (quotient >> quotient_bits_ != node) return false;
    edge->bit = static_cast<uint32_t>(bit);
    edge->index--;
    edge->code = Code(quotient, remainders_.Get(edge->index));
    return true;
  }

  bool Next(uint32_t node, Edge* edge) const {
    if (remainder_bits_ == 0) {
      const uint64_t end = DenseBit(node + 1, 0);
      const uint64_t bit =
          NextBit<true>(labels_, end, DenseBit(node, edge->code) + 1);
      if (bit == end) return false;
      edge->code = static_cast<uint32_t>(bit - DenseBit(node, 0));
      edge->index++;
      return true;
    }
    if (quotient_bits_ == 0) {
      if (GetBit(labels_, edge->bit)) return false;
      edge->bit = ++edge->index;
      edge->code = static_cast<uint32_t>(remainders_.Get(edge->index));
      return true;
    }
    const uint64_t quotient = Quotient(node, edge->code);
    edge->bit++;
    edge->index++;
    return SkipToEdge(node, quotient, edge);
  }

  // The number of the node's first edge, which is also the number of edges
  // before the node.
  uint32_t EdgesBefore(uint32_t node) const {
    if (remainder_bits_ == 0) return DenseIndex(node, DenseBit(node, 0));
    Edge edge;
    if (quotient_bits_ == 0) {
      FirstOfNode(node, &edge);
    } else {
      FirstOfQuotient(node, uint64_t{node} << quotient_bits_, &edge);
    }
    return edge.index;
  }

  // Returns true if an edge of the node leads to a node. If so, stores how many
  // edges before it do.
  bool LeadsToNode(uint32_t node, uint32_t index, uint32_t* children) const {
    if (all_lead_) {
      *children = index;
      return true;
    }
    if (none_leads_) return false;
    if (child_encoding_ != FstSectionHeader::kHasChildBits) {
      return ListedChildren(node, index, children);
    }
    if (!GetBit(children_, index)) return false;
    *children = ChildrenBefore(node, index);
    return true;
  }

  // How many edges before this one lead to nodes. The edge is one of the
  // node's, or the first one after them.
  uint32_t ChildrenBefore(uint32_t node, uint32_t index) const {
    if (all_lead_) return index;
    if (none_leads_) return 0;
    uint32_t children;
    if (child_encoding_ != FstSectionHeader::kHasChildBits) {
      ListedChildren(node, index, &children);
      return children;
    }
    const Counts before = Before(node);
    return before.children +
           static_cast<uint32_t>(CountOnes(children_, before.edges, index));
  }

  bool HasTerminator(uint32_t node) const {
    return has_terminators_ && terminators_.Get(node);
  }
  uint32_t TerminatorsBefore(uint32_t node) const {
    return has_terminators_ ? static_cast<uint32_t>(terminators_.Rank(node))
                            : 0;
  }

  // Calls visit(codes, count, left) for the codes of the node's run, as many as
  // fit into a word each time: `count` codes, the first one in the lowest bits,
  // of `left` that are left of the run. Stops when it returns another number
  // than 0, and returns that number.
  template <typename Visit>
  int VisitRun(uint32_t node, const Visit& visit) const {
    if (!has_runs_ || !run_marks_.Get(node)) return 0;
    auto begin =
        static_cast<uint32_t>(run_starts_.Select(run_marks_.Rank(node)));
    const auto end = static_cast<uint32_t>(run_starts_.Next(begin));
    while (begin < end) {
      const unsigned count =
          std::min<uint32_t>(end - begin, kLoadBits / code_bits_);
      const int result =
          visit(GetBits(run_codes_, uint64_t{begin} * code_bits_, kLoadBits),
                count, end - begin);
      if (result != 0) return result;
      begin += count;
    }
    return 0;
  }

  // Prefetches what Find reads first.
  void Prefetch(uint32_t node, uint32_t code) const {
    protean::Prefetch(index_ + 8 * (node >> group_shift_));
    if (remainder_bits_ == 0) {
      protean::Prefetch(labels_ + DenseBit(node, code) / 8);
    }
  }

 private:
  // An entry of the index: the counts of what comes before its group.
  struct Counts {
    uint32_t edges;
    uint32_t children;

    uint32_t Exceptions(bool leaves_listed) const {
      return leaves_listed ? edges - children : children;
    }
  };

  Counts Before(uint64_t node) const { return Entry(node >> group_shift_); }
  Counts Entry(uint64_t group) const {
    const uint64_t entry = LoadWord(index_, group);
    return {static_cast<uint32_t>(entry), static_cast<uint32_t>(entry >> 32)};
  }

  uint64_t DenseBit(uint64_t node, uint32_t code) const {
    return (node << code_bits_) + code;
  }

  // The number of edges before a bit of the node's.
  uint32_t DenseIndex(uint64_t node, uint64_t bit) const {
    const uint64_t group = node >> group_shift_;
    return static_cast<uint32_t>(
        Entry(group).edges +
        CountOnes(labels_, DenseBit(group << group_shift_, 0), bit));
  }

  uint64_t Quotient(uint32_t node, uint32_t code) const {
    return (uint64_t{node} << code_bits_ | code) >> remainder_bits_;
  }
  uint32_t Code(uint64_t quotient, uint64_t remainder) const {
    return static_cast<uint32_t>((quotient << remainder_bits_ | remainder) &
                                 LowBits(code_bits_));
  }

  // The place where the edges of a quotient begin, if it has any. The quotient
  // is one of the node's, or the first one after them.
  void FirstOfQuotient(uint32_t node, uint64_t quotient, Edge* edge) const {
    const uint64_t first = (uint64_t{node} >> group_shift_)
                           << FstSectionLayout::kGroupQuotientBits;
    uint64_t bit = first + Before(node).edges;
    if (quotient > first) {
      bit = SelectFrom(labels_, bit, quotient - first - 1) + 1;
    }
    edge->bit = static_cast<uint32_t>(bit);
    edge->index = static_cast<uint32_t>(bit - quotient);
  }

  // Moves a place where the edges of a quotient begin to the first edge whose
  // remainder is at least `remainder`, and stores that one's remainder. If
  // there is none, moves to the end of the edges, and returns false.
  bool FirstInQuotient(uint64_t remainder, Edge* edge, uint64_t* stored) const {
    for (;;) {
      // The edges are 0s up to the next 1. Those whose remainders one load
      // brings are searched at once.
      const uint64_t ahead = GetBits(labels_, edge->bit, kLoadBits);
      const unsigned edges = std::min<unsigned>(
          remainders_per_load_, static_cast<unsigned>(__builtin_ctzll(
                                    ahead | uint64_t{1} << kLoadBits)));
      uint64_t remainders =
          GetBits(remainders_.data(), uint64_t{edge->index} * remainder_bits_,
                  kLoadBits);
      const uint64_t mask = LowBits(remainder_bits_);
      for (unsigned i = 0; i < edges; i++, remainders >>= remainder_bits_) {
        *stored = remainders & mask;
        if (*stored >= remainder) {
          edge->bit += i;
          edge->index += i;
          return true;
        }
      }
      edge->bit += edges;
      edge->index += edges;
      if (edges < remainders_per_load_ || GetBit(labels_, edge->bit)) {
        return false;
      }
    }
  }

  // In LOUDS-Sparse, stores the node's first edge without its code, and returns
  // the number after its last edge.
  void FirstOfNode(uint32_t node, Edge* edge) const {
    uint64_t bit = Before(node).edges;
    const uint64_t skip = node & LowBits(group_shift_);
    if (skip > 0) bit = SelectFrom(labels_, bit, skip - 1) + 1;
    edge->index = edge->bit = static_cast<uint32_t>(bit);
  }
  uint32_t EndOfNode(const Edge& first) const {
    return static_cast<uint32_t>(
               NextBit<true>(labels_, label_bits_, first.bit)) +
           1;
  }

  bool SparseLowerBound(uint32_t node, uint32_t code, Edge* edge) const {
    FirstOfNode(node, edge);
    const uint32_t end = EndOfNode(*edge);
    edge->index = code_bits_ == 8
                      ? LowerBoundLabel(remainders_.data(), edge->index, end,
                                        static_cast<uint8_t>(code))
                      : LowerBound(remainders_, edge->index, end, code);
    edge->bit = edge->index;
    if (edge->index >= end) return false;
    edge->code = static_cast<uint32_t>(remainders_.Get(edge->index));
    return true;
  }

  // Moves a place within `quotient` to the edge that is there or comes next;
  // false if that belongs to another node.
  bool SkipToEdge(uint32_t node, uint64_t quotient, Edge* edge) const {
    const uint64_t bit = NextBit<false>(labels_, label_bits_, edge->bit);
    if (bit == label_bits_) return false;
    quotient += bit - edge->bit;
    if (quotient >> quotient_bits_ != node) return false;
    edge->bit = static_cast<uint32_t>(bit);
    edge->code = Code(quotient, remainders_.Get(edge->index));
    return true;
  }

  // LeadsToNode where exceptions are listed. Always stores the number of edges
  // before that lead to nodes.
  bool ListedChildren(uint32_t node, uint32_t index, uint32_t* children) const {
    const uint64_t group = uint64_t{node} >> group_shift_;
    const Counts before = Entry(group);
    const Counts behind = Entry(group + 1);
    const bool leaves_listed =
        child_encoding_ == FstSectionHeader::kLeavesListed;
    const uint32_t begin = before.Exceptions(leaves_listed);
    const uint32_t end = behind.Exceptions(leaves_listed);
    const uint32_t place = index - before.edges;
    const uint32_t found = LowerBound(exceptions_, begin, end, place);
    const bool listed = found < end && exceptions_.Get(found) == place;
    const uint32_t exceptions = found - begin;
    *children =
        before.children + (leaves_listed ? place - exceptions : exceptions);
    return listed != leaves_listed;
  }

  // The index in [begin, end) of the first number that is at least `wanted`, or
  // `end`. The numbers in the range ascend.
  static uint32_t LowerBound(const PackedArray& numbers, uint32_t begin,
                             uint32_t end, uint64_t wanted) {
    while (end - begin > kLinearSearch) {
      const uint32_t middle = begin + (end - begin) / 2;
      if (numbers.Get(middle) < wanted) {
        begin = middle + 1;
      } else {
        end = middle;
      }
    }
    while (begin < end && numbers.Get(begin) < wanted) begin++;
    return begin;
  }

  bool ValidateIndex(uint64_t nodes, uint64_t groups) const;

  static constexpr uint32_t kLinearSearch = 8;
  static constexpr unsigned kLoadBits = 57;  // limit of GetBits

  const char* index_ = nullptr;
  const char* labels_ = nullptr;
  const char* children_ = nullptr;
  PackedArray remainders_;
  uint64_t label_bits_ = 0;
  uint8_t code_bits_ = 0;
  uint8_t remainder_bits_ = 0;
  uint8_t quotient_bits_ = 0;
  uint8_t group_shift_ = 0;
  uint8_t remainders_per_load_ = 0;
  bool all_lead_ = false;  // every edge leads to a node
  bool none_leads_ = false;
  FstSectionHeader::ChildEncoding child_encoding_ =
      FstSectionHeader::kHasChildBits;
  bool has_terminators_ = false;
  bool has_runs_ = false;
  PackedArray exceptions_;
  RankVector terminators_;
  RankVector run_marks_;
  SelectVector run_starts_;
  const char* run_codes_ = nullptr;
};

}  // namespace ROCKSDB_NAMESPACE::protean
