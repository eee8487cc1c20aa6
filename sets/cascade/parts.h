// SPDX-License-Identifier: Apache-2.0

//  What a cascade filter consists of at a moment, and lookups in it.
//
//  There are three kinds of parts, in the order of age: the active table, which
//  takes inserts; full tables, which wait to be written; and runs. Full tables
//  and runs never change. Their lists are replaced as a whole, so that a lookup
//  goes through one state of them, in which each entry is in exactly one part.

#pragma once

#include <array>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "sets/cascade/memory_table.h"
#include "sets/cascade/run_store.h"

namespace ROCKSDB_NAMESPACE::protean {

// The parts that do not change, each list with the newest first.
struct SealedParts {
  std::vector<std::shared_ptr<const MemoryTable>> full_tables;
  Runs runs;
};

// Thread safe, but for Open.
class CascadeParts {
 public:
  explicit CascadeParts(RunStore* store) : store_(store) {}

  CascadeParts(const CascadeParts&) = delete;
  CascadeParts& operator=(const CascadeParts&) = delete;

  // Starts with an active table and the runs that the store has opened.
  void Open(std::unique_ptr<MemoryTable> active, Runs runs);

  // Adds or takes away a copy of a fingerprint. Returns nullptr, or the active
  // table if it is full; nothing has changed then.
  using TableChange = bool (MemoryTable::*)(uint64_t fingerprint);
  const MemoryTable* Change(uint64_t fingerprint, TableChange change);

  // Returns true if there is a copy of the fingerprint, or may be one in a page
  // that cannot be read. Looks at the newest parts first, and at no more of
  // them than it has to.
  bool MayContain(uint64_t fingerprint);

  // Makes the active table a full one if it is still `seen`; `active` is empty
  // and takes its place. Returns whether it did.
  bool Seal(const MemoryTable* seen, std::unique_ptr<MemoryTable> active);

  // Writes the runs that `change` leaves to the manifest, and then replaces the
  // lists by what `change` makes of them. `change` is called twice, and
  // must not depend on the full tables that came last. If the manifest cannot
  // be written, the lists are as they were; `*may_be_listed` is that of
  // RunStore::List.
  Status Install(const std::function<void(SealedParts*)>& change,
                 bool* may_be_listed);

  std::shared_ptr<const SealedParts> sealed() const;
  const MemoryTable* active() const;
  uint64_t EntriesOfActive() const;
  size_t MemoryUsage() const;
  const RunReadCounts& reads() const { return reads_; }

 private:
  using StripeMutexes = std::array<std::mutex, MemoryTable::kStripes>;
  // Locks all stripes.
  class AllStripes {
   public:
    explicit AllStripes(StripeMutexes* mutexes);
    ~AllStripes();

   private:
    StripeMutexes* const mutexes_;
  };

  RunStore* const store_;
  RunReadCounts reads_;
  // A thread that replaces active_ or sealed_ holds all stripes. A thread that
  // holds one may use both, and that stripe of the active table.
  mutable StripeMutexes stripe_mutexes_;
  std::unique_ptr<MemoryTable> active_;
  std::shared_ptr<const SealedParts> sealed_;
  // Held while the manifest and the list of runs are replaced; taken before
  // stripes.
  std::mutex install_mutex_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
