// SPDX-License-Identifier: Apache-2.0

//  An iterator over each twin, with the same random options, which are moved in
//  the same random way and compared after every step. Nothing is compared where
//  RocksDB promises nothing.

#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "rocksdb/iterator.h"
#include "tests/table/differential/journal.h"
#include "tests/table/differential/twins.h"

namespace ROCKSDB_NAMESPACE::protean {

struct RandomRun;

class RandomWalk {
 public:
  RandomWalk(RandomRun* run, const View& view);
  // Compares the keys that were pinned with what they were.
  ~RandomWalk();

  void Step();
  bool Uses(const Snapshot* snapshot) const {
    return at_.snapshot(kPlain) == snapshot ||
           refreshed_to_[kPlain] == snapshot;
  }

 private:
  enum class Mode {
    kTotalOrder,
    kAutoPrefix,
    kSamePrefix,
    kImplicitPrefix,
  };

  void DrawMode();
  void DrawOptions();
  void DrawBounds();
  std::string DrawTarget();

  void DrawSeek();
  void Seek();
  void SeekForPrev();
  void SeekToEnd(bool last);
  void Refresh();

  void Move(const std::string& what,
            const std::function<void(Iterator*)>& move);
  void Compare();
  bool CompareInPrefix();
  void ComparePinned();
  std::string DescribeEntry(Iterator* it);
  bool InPrefix(const Iterator& it) const;

  Iterator* plain() { return iterators_[kPlain].get(); }
  Iterator* protean() { return iterators_[kProtean].get(); }

  RandomRun* const run_;
  const View view_;
  const std::string name_;
  const SliceTransform* const extractor_;
  // The range in which targets and bounds must lie.
  const SliceTransform* domain_ = nullptr;
  Mode mode_ = Mode::kTotalOrder;
  bool forward_only_ = false;
  bool cached_only_ = false;  // Protean's iterator may not read
  bool values_ = true;        // are compared
  bool same_pins_ = false;    // both pin the same keys
  bool refresh_ = false;      // they can be refreshed
  ReadOptions options_;
  ReadPoint at_;
  Pair<const Snapshot*> refreshed_to_ = {};

  // The targets of the pointers in ReadOptions.
  std::string lower_;
  std::string upper_;
  Slice lower_slice_;
  Slice upper_slice_;
  bool has_lower_ = false;
  bool has_upper_ = false;

  Pair<std::unique_ptr<Iterator>> iterators_;
  std::string movement_;
  bool must_seek_ = true;
  uint64_t writes_at_seek_ = 0;
  // For kImplicitPrefix: what the last seek has promised. From either end, keys
  // come in order as long as the direction stays.
  std::string prefix_;
  enum { kPrefix, kForward, kBackward } promised_ = kPrefix;
  std::vector<std::pair<Slice, std::string>> pins_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
