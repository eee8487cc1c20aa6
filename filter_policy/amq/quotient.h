// SPDX-License-Identifier: Apache-2.0

//  Static quotient filters: sorted hashes of which the upper part, the
//  quotient, is stored by counting, and the lower part, the remainder, as it
//  is. No slot is empty, unlike in a quotient filter that grows
//  (quotient/quotient_filter.h): a hash takes r bits for its remainder, one for
//  itself, and its share of one for each quotient (Elias, "Efficient Storage
//  and Retrieval by Content and Address of Static Files", 1974). So these sets
//  have a quarter of a Bloom filter's false positives at 14 bits a hash. To
//  build them means to sort the hashes, a small part of the time that a Ribbon
//  filter takes.
//
//  The quotient of a hash is (h * m) >> 32, where h is the hash's upper half,
//  and the remainder is its lowest r bits. A query counts to its quotient, and
//  compares the remainders there, of which there is about one to every two
//  quotients. So the rate of false positives for n hashes is n / (m 2^r). It
//  depends on m and r in such a way that m can make up for an r that is a whole
//  number.
//
//  The hashes of neighbours (amq_type.h) have the same quotient, and remainders
//  that follow each other. So one query compares the remainders with those of
//  all neighbours in a range.
//
//  header: small[0] r, small[1] the logarithm of the size of a group, which is
//  at most r and at most kNeighbourBits, large m
//  data:   for each 512 quotients an entry of 8 bytes: the number of hashes
//  with
//          smaller quotients (32 bits), and the number of hashes of the first
//          128, 256 and 384 of these quotients (10 bits each); at last an entry
//          with the number of all hashes
//          the counts, in bits: two zeros, then for each quotient a one for
//          each of its hashes, and a zero; up to a multiple of 8 bytes
//          the remainders, r bits each; up to a multiple of 8 bytes
//          24 zero bytes or more, so that queries may read whole words

#pragma once

#include "filter_policy/amq/amq_type.h"

namespace ROCKSDB_NAMESPACE::protean {

constexpr AmqKind kQuotientAmq{5};

const AmqType& QuotientAmqType();

}  // namespace ROCKSDB_NAMESPACE::protean
