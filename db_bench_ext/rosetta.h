// SPDX-License-Identifier: Apache-2.0

//  Rosetta, the baseline of the Proteus paper (Luo et al., "Rosetta: A Robust
//  Space-Time Optimized Range Filter for Key-Value Stores", SIGMOD 2020), for
//  keys of 8 bytes. For benchmarks only. It is not its authors' code, and how
//  it shares memory among its levels is our reading of the paper's
//  descriptions.
//
//  A level of the binary tree over the key space, counted from the keys, is a
//  Bloom filter of all prefixes that lack as many bits as the level says. A
//  range is cut into dyadic nodes. A node that its level lets through is
//  doubted: its halves are asked, down to the keys. A level without a filter
//  lets all nodes through.
//
//  Levels 1 to n have a rate of 1/2, with which a node has as many false
//  positives as a key, whatever its level (the paper's first allocation), and
//  level 0 has the rest of the memory. Sample queries choose n; with 0, all
//  memory is in the last level (the paper's single-level filter).

#pragma once

#include "rocksdb/rocksdb_namespace.h"

namespace ROCKSDB_NAMESPACE::protean {

// Registers the kind and its policy, protean.Rosetta or rosetta:BITS_PER_KEY,
// in this process. Must be called before the policy is used.
void RegisterRosetta();

}  // namespace ROCKSDB_NAMESPACE::protean
