// SPDX-License-Identifier: Apache-2.0

//  Two databases that hold the same writes, the objects that are open on them,
//  and what of them queries are about.

#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "rocksdb/db.h"
#include "rocksdb/env.h"
#include "rocksdb/utilities/transaction.h"
#include "rocksdb/wide_columns.h"
#include "tests/table/differential/random_options.h"

namespace ROCKSDB_NAMESPACE::protean {

struct RandomRun;

enum Twin { kProtean, kPlain };
constexpr std::array<Twin, 2> kTwins = {kProtean, kPlain};
template <typename T>
using Pair = std::array<T, 2>;

// What a run has done so far, one line per operation, and the first difference
// between the twins.
class Journal {
 public:
  // With `print`, lines go to stdout at once, so that a crash shows them.
  explicit Journal(bool print) : print_(print) {}

  void Note(const std::string& line);

  // Records a difference, unless there is one already. The rest of the run does
  // not count then.
  void Differ(const std::string& what);
  // Reports a difference if the strings differ. Returns whether they agree.
  bool Expect(const std::string& what, const std::string& plain,
              const std::string& protean);

  bool ok() const { return difference_.empty(); }
  const std::string& difference() const { return difference_; }
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  const bool print_;
  std::vector<std::string> lines_;
  std::string difference_;
};

// A status without its message, which may contain the name of a file.
std::string Describe(const Status& status);
std::string Describe(const WideColumns& columns);
// Bytes in printable form; long runs of the same byte are shortened.
std::string Brief(const Slice& bytes);

class Twins {
 public:
  explicit Twins(const RunPlan* plan);
  ~Twins();

  // Opens both twins according to the present plan.
  Status Open();
  // Snapshots end here.
  void Close();

  DB* db(Twin twin) const { return dbs_[twin].get(); }
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

// ---- The object of a query ----

// A column family of both DBs, as it is, through a transaction, in a read-only
// copy, or one SST file of it.
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
  // Now, which must be said where there are timestamps.
  void SetLatest(const View& view);
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
