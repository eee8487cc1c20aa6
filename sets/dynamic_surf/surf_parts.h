// SPDX-License-Identifier: Apache-2.0

//  The parts of a SuRF with updates, and what they say together. The newer part
//  decides where it knows a key:
//
//    active front   takes inserts and deletes
//    frozen front   is being merged into the static part, while a merge runs
//    static part    a SuRF with tombstones (surf_part.h)
//
//  A front knows its keys as a whole, the static part knows leaves. So it is
//  never certain that a leaf is that of a key, but in one case: a key that is
//  deleted was inserted, so if no front has it, its leaf is there. Such a leaf
//  gets a tombstone or, while a merge reads the static part, the active front
//  remembers the key.
//
//  An inserted key that finds a leaf, since it is there already or since it
//  collides with another key, is marked in its record (Below::kMaybe). When it
//  is deleted, the record stays: the leaf may be that of another key. The next
//  merge asks the source of the keys.

#pragma once

#include <memory>
#include <string>
#include <utility>

#include "sets/dynamic_surf/front.h"
#include "sets/dynamic_surf/surf_part.h"

namespace ROCKSDB_NAMESPACE::protean {

// Not synchronized: functions that are not const need the parts for themselves.
class SurfParts {
 public:
  SurfParts(std::unique_ptr<SurfPart> bottom, std::unique_ptr<Front> active)
      : active_(std::move(active)), bottom_(std::move(bottom)) {}

  void Insert(const Slice& key);
  // Deletes a key that was inserted.
  void Delete(const Slice& key);

  // Answer as a RangeFilter does.
  bool KeyMayMatch(const Slice& key) const;
  // Returns true if any key may be in [lo, hi).
  bool RangeMayMatch(const Slice& lo, const Slice& hi) const;
  bool LowerBound(const Slice& target, std::string* bound) const;
  // Stores the bounds of the number of keys in [lo, hi).
  void Count(const Slice& lo, const Slice& hi, uint64_t* least,
             uint64_t* most) const;

  // Freezes the active front, for a merge. REQUIRES: frozen() == nullptr
  void Freeze();
  // Ends a merge. Returns the static part that `merged` replaces, whose memory
  // takes long to free; the frozen front goes to `*merged_front`.
  std::unique_ptr<SurfPart> Install(std::unique_ptr<SurfPart> merged,
                                    std::unique_ptr<Front>* merged_front);
  // Ends a merge that has failed: makes one front of the two.
  void Unfreeze();

  const Front& active() const { return *active_; }
  const Front* frozen() const { return frozen_.get(); }
  const SurfPart& bottom() const { return *bottom_; }

 private:
  std::unique_ptr<Front> active_;
  std::unique_ptr<Front> frozen_;
  std::unique_ptr<SurfPart> bottom_;
};

// Adds the records of a newer front to those of an older one.
void AddRecords(const Front& newer, Front* older);

}  // namespace ROCKSDB_NAMESPACE::protean
