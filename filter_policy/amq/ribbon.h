// SPDX-License-Identifier: Apache-2.0

//  Ribbon filters (Dillinger and Walzer, "Ribbon filter: practically smaller
//  than Bloom and Xor", 2021) that keep neighbours together. They take about 30
//  % fewer bits than Bloom filters of the same false positive rate, but three
//  to four times as long to build.
//
//  A Ribbon filter solves an equation over GF(2) for each hash: of the bits of
//  a column of the solution, 128 in a row from the hash's *start* on, those
//  that its coefficients select sum up to a bit of its fingerprint. All columns
//  have the same coefficients. An absent hash solves an equation of each column
//  by chance alone.
//
//  Here, all neighbours of a group (amq_type.h) have the same coefficients, and
//  each one's start is one behind that of the neighbour before. So the sums of
//  all of them are the middle of a product of polynomials, the coefficients'
//  and the column's, which four instructions compute (PCLMULQDQ). A bit of a
//  fingerprint, too, is the one behind that of the neighbour before, in a
//  string of random bits. A query for up to 64 neighbours drops those that fail
//  in the first column, then in the second one, and ends when none is left.
//
//  Since no two neighbours have the same start, their equations never
//  contradict each other. But groups of several hashes spread less evenly. Sets
//  of many such groups have smaller groups (amq_type.h), as have small sets,
//  since the first and the last slots of a set have fewer equations.
//
//  The highest bits of a hash choose its *shard*, a Ribbon filter of its own.
//  Shards of some 100,000 hashes are solved one after the other within the
//  cache, and take fewer slots, because the slots that a hash needs grow with
//  the logarithm of the number of hashes.
//
//  header: small[0] is the logarithm of the number of shards
//  data:   for each shard, in 8 bytes: the end of its solution, in segments of
//          16 bytes from the first solution on (4 bytes); its seed (5 bits),
//          the logarithm of the size of its groups (3 bits), the columns of its
//          last block (6 bits), and its number of 128-slot blocks (18 bits).
//          Then the solutions: for each block, a segment of each of its
//          columns. The first blocks may have one column less than the last
//          ones. A shard without columns, which could not be solved, contains
//          everything

#pragma once

#include "filter_policy/amq/amq_type.h"

namespace ROCKSDB_NAMESPACE::protean {

constexpr AmqKind kRibbonAmq{6};

const AmqType& RibbonAmqType();

// AmqType::open of this kind.
AmqSet* OpenRibbon(const AmqHeader& header, const char* data, void* memory);

}  // namespace ROCKSDB_NAMESPACE::protean
