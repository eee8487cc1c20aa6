// SPDX-License-Identifier: Apache-2.0

//  How a section of a Fast Succinct Trie (fst_section.h) is laid out in a
//  filter block.

#pragma once

#include <cstdint>

#include "filter_policy/bits/packed_array.h"
#include "filter_policy/bits/rank_vector.h"
#include "filter_policy/bits/select_vector.h"

namespace ROCKSDB_NAMESPACE::protean {

// The part of a section in the header of a trie; the arrays follow later.
struct FstSectionHeader {
  enum ChildEncoding : uint8_t {
    kHasChildBits = 0,
    kChildrenListed = 1,  // the exceptions lead to nodes
    kLeavesListed = 2,    // the exceptions end in leaves
  };

  uint32_t levels = 0;
  uint32_t nodes = 0;
  uint32_t edges = 0;
  uint32_t children = 0;     // edges that lead to nodes
  uint32_t terminators = 0;  // nodes that have one
  uint32_t runs = 0;         // nodes that have a run (fst.h)
  uint32_t run_codes = 0;    // codes in all runs
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
    run_marks = terminators +
                (header.terminators == 0 ? 0 : RankVector::Bytes(header.nodes));
    run_starts =
        run_marks + (header.runs == 0 ? 0 : RankVector::Bytes(header.nodes));
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

}  // namespace ROCKSDB_NAMESPACE::protean
