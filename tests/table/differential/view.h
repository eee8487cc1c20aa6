// SPDX-License-Identifier: Apache-2.0

//  The object of queries: a column family of both DBs, as it is, through a
//  transaction, in a read-only copy, or one SST file of it.

#pragma once

#include <functional>
#include <memory>
#include <string>

#include "rocksdb/db.h"
#include "rocksdb/utilities/transaction.h"
#include "tests/table/differential/random_options.h"
#include "tests/table/differential/twins.h"

namespace ROCKSDB_NAMESPACE::protean {

struct RandomRun;

struct View {
  std::string name;
  const FamilyPlan* family = nullptr;
  Pair<DB*> dbs = {};
  Pair<ColumnFamilyHandle*> handles = {};
  Pair<Transaction*> transactions = {};
  // Replaces all of these.
  std::function<Iterator*(Twin, const ReadOptions&)> file_iterator;
  bool snapshots = false;    // those of the twins may be used
  bool same_shape = false;   // Twins::SameShape()
  bool refresh = false;      // its iterators can be refreshed
  bool total_order = false;  // no other seeks are to be made
  bool coalescing = false;   // over all column families

  std::unique_ptr<Iterator> NewIterator(Twin twin,
                                        const ReadOptions& options) const;
};

// The time of a read: a snapshot, a timestamp, or now. It must stay in place
// while options that refer to it are in use.
class ReadPoint {
 public:
  void Draw(RandomRun* run, const View& view);
  void Set(Twin twin, ReadOptions* options) const {
    options->snapshot = snapshots_[twin];
    if (timestamps_) options->timestamp = &timestamp_slice_;
    if (!start_.empty()) options->iter_start_ts = &start_slice_;
  }
  // For iterators only: all versions since some time.
  void DrawStart(RandomRun* run);

  bool has_start() const { return !start_.empty(); }
  const Snapshot* snapshot(Twin twin) const { return snapshots_[twin]; }
  std::string ToString() const;

 private:
  Pair<const Snapshot*> snapshots_ = {};
  bool timestamps_ = false;
  std::string timestamp_;
  std::string start_;
  Slice timestamp_slice_;
  Slice start_slice_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
