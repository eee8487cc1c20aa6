// SPDX-License-Identifier: Apache-2.0

//  Two databases that hold the same writes, and the objects that are open on
//  them.

#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "rocksdb/db.h"
#include "rocksdb/env.h"
#include "tests/table/differential/journal.h"
#include "tests/table/differential/random_options.h"

namespace ROCKSDB_NAMESPACE::protean {

template <typename T>
using Pair = std::array<T, 2>;

class Twins {
 public:
  explicit Twins(const RunPlan* plan);
  ~Twins();

  // Opens both twins according to the present plan.
  Status Open();
  // Snapshots end here.
  void Close();

  DB* db(Twin twin) const { return dbs_[twin].get(); }
  TransactionDB* transaction_db(Twin twin) const;
  ColumnFamilyHandle* handle(Twin twin, size_t family) const {
    return handles_[twin][family];
  }
  Env* env(Twin twin) const { return envs_[twin].get(); }
  const std::string& path(Twin twin) const { return paths_[twin]; }
  // The options and families of the last Open().
  Options options(Twin twin, size_t family) const;
  const std::vector<ColumnFamilyDescriptor>& families(Twin twin) const {
    return families_[twin];
  }

  void TakeSnapshot();
  void ReleaseSnapshot(size_t index);
  size_t num_snapshots() const { return snapshots_.size(); }
  const Pair<const Snapshot*>& snapshot(size_t index) const {
    return snapshots_[index];
  }

  // Whether files and memtables of the column family hold the same internal
  // keys in both twins, so that answers that depend on them must be equal too.
  bool SameShape(size_t family) const;

 private:
  Status Open(Twin twin);
  std::string Shape(Twin twin, size_t family) const;

  const RunPlan* const plan_;
  Pair<std::unique_ptr<Env>> envs_;
  Pair<std::string> paths_;
  Pair<DBOptions> db_options_;
  Pair<std::vector<ColumnFamilyDescriptor>> families_;
  Pair<std::vector<ColumnFamilyHandle*>> handles_;
  Pair<std::unique_ptr<DB>> dbs_;
  std::vector<Pair<const Snapshot*>> snapshots_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
