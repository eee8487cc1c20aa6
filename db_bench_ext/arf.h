// SPDX-License-Identifier: Apache-2.0

//  ARF, the Adaptive Range Filter (Alexiou, Kossmann and Larson, "Adaptive
//  Range Filters for Cold Data: Avoiding Trips to Siberia", VLDB 2013), which
//  the SuRF paper compares itself with, for keys of 8 bytes. For benchmarks
//  only. It is not its authors' code.
//
//  A binary tree over the key space: the root is the range of all numbers, and
//  an inner node has both halves of its range as children. A leaf says whether
//  any key may lie in its range. The full tree of the keys answers everything,
//  but few of its nodes fit into the memory. Sample queries choose which: a
//  query that finds nothing uses all nodes that it overlaps and that hold keys,
//  since only their children can tell the keys from the query. The most used
//  ones are the inner nodes. They are a tree, since a node is used at least as
//  often as its children. What memory is left goes to unused nodes, from the
//  root on.
//
//  The paper's filter is trained while it is asked: a false positive splits
//  leaves, and where memory ends, nodes that have not been used for a while are
//  joined again. Over queries like the samples, that tends to the most used
//  nodes, too. Here, the training is part of building, and the filter does not
//  change afterwards.
//
//  The tree is a bit sequence in breadth-first order, as in the paper: for each
//  child, whether it is an inner node, and for each leaf, whether it has keys.
//  The paper scans the sequence level by level; here, rank finds the children
//  of a node, with a table that counts in the budget.

#pragma once

#include "rocksdb/rocksdb_namespace.h"

namespace ROCKSDB_NAMESPACE::protean {

// Registers the kind and its policy, protean.Arf or arf:BITS_PER_KEY, in this
// process. Must be called before the policy is used.
void RegisterArf();

}  // namespace ROCKSDB_NAMESPACE::protean
