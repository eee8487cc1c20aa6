// SPDX-License-Identifier: Apache-2.0

//  Which runs of a cascade filter are merged next, and whether writers wait for
//  it.
//
//  Don't Thrash (section 2) merges levels as a binary counter carries: the
//  levels up to the first empty one become that level, and nothing else happens
//  until it is done. Here merges run in the background while new runs arrive,
//  in parallel if they concern different runs, and sizes are what they are: a
//  run may be small because Flush was called, or because keys came twice. The
//  rule is the counter's, in terms of sizes: a run is merged with all newer
//  ones if they are together as large. When no merge is due, each run is larger
//  than all newer ones together, so that there are at most
//  log2(n / smallest run) + 1 of them.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "rocksdb/rocksdb_namespace.h"

namespace ROCKSDB_NAMESPACE::protean {

struct RunState {
  uint64_t entries = 0;
  // Whether the run may not be merged: because it is being merged, or cannot be
  // read.
  bool is_busy = false;
};

struct MergeChoice {
  // The runs from `begin` on, before `end`.
  size_t begin = 0;
  size_t end = 0;
};

// Chooses among runs, the newest of which is first: neighbours in age, since
// what a run says holds for all older ones. Returns nothing if no merge is due.
std::optional<MergeChoice> ChooseMerge(const std::vector<RunState>& runs);

// How writers go on while merges run.
enum class WriterPace {
  kFree,
  kDelayed,  // they are slowed down, so that memory fills slowly
  kHalted,   // they are slowed down, and get no other table
};

// Chooses the pace. Writers are slowed down if there are more than twice as
// many runs as are left when no merge is due, not counting some that arrive
// meanwhile, and halted if there are twice more. They are free if no merge
// runs, since waiting for one would have no end.
WriterPace ChoosePace(const std::vector<RunState>& runs, bool is_merging);

}  // namespace ROCKSDB_NAMESPACE::protean
