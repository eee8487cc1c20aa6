// SPDX-License-Identifier: Apache-2.0

//  One run: two databases with options drawn from a seed, and random writes,
//  reads and changes of their state, until a difference or the end.

#pragma once

#include <array>
#include <cstdio>
#include <deque>
#include <functional>

#include "rocksdb/slice_transform.h"
#include "rocksdb/utilities/optimistic_transaction_db.h"
#include "rocksdb/utilities/transaction.h"
#include "rocksdb/utilities/transaction_db.h"
#include "rocksdb/wide_columns.h"
#include "table/rocksdb_internals/versions.h"
#include "tests/dice.h"
#include "tests/protean_db.h"

namespace ROCKSDB_NAMESPACE::protean {

// ---- What later versions of RocksDB have ----

// Large columns of entities are kept in blob files, too.
constexpr bool kColumnsMayBeBlobs = PROTEAN_ROCKSDB_AT_LEAST(11, 0);

// Scans of several ranges that are announced. (There are some from 10.5 on, but
// with other rules of what may be announced, and what may follow.)
#if PROTEAN_ROCKSDB_AT_LEAST(11, 7)
#define PROTEAN_TESTS_MULTI_SCAN 1
#else
#define PROTEAN_TESTS_MULTI_SCAN 0
#endif
constexpr bool kHasMultiScan = PROTEAN_TESTS_MULTI_SCAN != 0;

// ---- Keys ----

// The keys of a column family, out of families that hurt, and strings around
// them.
class KeyPool {
 public:
  KeyPool() = default;
  // Keys of one family, about `size` of them, of `shortest` bytes or more.
  KeyPool(Dice* dice, const Comparator* order, size_t size, size_t shortest);

  const std::vector<std::string>& keys() const { return keys_; }
  const Comparator* order() const { return order_; }
  const std::string& name() const { return name_; }

  bool Less(const std::string& a, const std::string& b) const {
    return order_->CompareWithoutTimestamp(a, /*a_has_ts=*/false, b,
                                           /*b_has_ts=*/false) < 0;
  }
  // Compares as Less does.
  auto less() const {
    return [this](const std::string& a, const std::string& b) {
      return Less(a, b);
    };
  }

  const std::string& Pick(Dice* dice) const { return dice->In(keys_); }
  // A key, a string next to one, or one that has nothing to do with them; if
  // there is a `domain`, one that lies in it.
  std::string PickAround(Dice* dice,
                         const SliceTransform* domain = nullptr) const {
    for (int attempt = 0; attempt < 5; attempt++) {
      std::string key = Pick(dice);
      if (dice->OneIn(10)) {
        key = Pick(dice).substr(0, dice->Below(12));
        for (size_t n = dice->Below(4); n > 0; n--) key += dice->Byte();
      } else if (!dice->OneIn(3)) {
        key = dice->In(Around(key));
      }
      if (domain == nullptr ||
          (domain->InDomain(key) && key.size() >= shortest_)) {
        return key;
      }
    }
    return Pick(dice);
  }
  // A key after `from`, mostly within a few keys.
  std::string PickAfter(Dice* dice, const std::string& from) const {
    const auto behind =
        std::upper_bound(keys_.begin(), keys_.end(), from, less());
    const size_t left = keys_.end() - behind;
    if (left == 0) return from + '\xff';
    const size_t near = dice->OneIn(4) ? left : std::min<size_t>(left, 6);
    const std::string& key = behind[dice->Below(near)];
    return dice->OneIn(3) ? dice->In(Around(key)) : key;
  }
  // Both of them.
  std::pair<std::string, std::string> PickRange(Dice* dice) const {
    const std::string begin = PickAround(dice);
    return {begin, PickAfter(dice, begin)};
  }

 private:
  std::vector<std::string> keys_;  // in the order of order_
  const Comparator* order_ = nullptr;
  size_t shortest_ = 0;
  std::string name_;
};

// ---- The plan: the kind of DB, its column families, and options ----

// Both twins share them. Only Protean's twin has filters.

enum class DbKind {
  kPlain,
  kOptimistic,
  kWriteCommitted,
  kWritePrepared,
  kWriteUnprepared
};

struct FamilyPlan {
  std::string name;
  KeyPool pool;
  size_t shortest_key;
  bool timestamps;

  // These are drawn again when the DBs are reopened.
  ColumnFamilyOptions options;
  std::array<std::string, 2> tables;  // strings of the table factories
  bool multi_scans;                   // may be read by CompareMultiScan

  // The keys of `pool` that are put only when they are absent, and deleted by
  // SingleDelete only, as that function requires.
  std::vector<bool> single_delete;
  std::vector<bool> is_put;  // of those

  // The extractor, if all keys of the pool lie in its domain.
  const SliceTransform* Domain() const {
    const SliceTransform* extractor = options.prefix_extractor.get();
    if (extractor == nullptr) return nullptr;
    for (const std::string& key : pool.keys()) {
      if (!extractor->InDomain(key)) return nullptr;
    }
    return extractor;
  }
};

struct RunPlan {
  // `live` allows flushes and compactions in the background.
  RunPlan(Dice* dice, const std::string& directory, bool control, bool live);

  // Changes the options that may differ from one opening of the DBs to the
  // next.
  void DrawAgain(Dice* dice);
  std::string ToString() const;

  bool Transactional() const { return kind != DbKind::kPlain; }
  bool Pessimistic() const {
    return Transactional() && kind != DbKind::kOptimistic;
  }
  // Before they are committed.
  bool WritesEarly() const {
    return kind == DbKind::kWritePrepared || kind == DbKind::kWriteUnprepared;
  }

  std::string directory;
  // Both twins are stock RocksDB: a difference is a mistake of the test, or
  // nondeterminism in RocksDB.
  bool control;
  DbKind kind;
  // Only the run itself compacts and flushes, so that the twins have the same
  // files, and answers that depend on the files can be compared.
  bool frozen;
  bool in_memory;
  bool range_deletes;
  bool disable_wal;
  int num_operations;
  DBOptions db_options;
  TransactionDBOptions transaction_options;
  std::vector<FamilyPlan> families;

 private:
  void DrawFamily(Dice* dice, FamilyPlan* family);
  void DrawExtractor(Dice* dice, FamilyPlan* family);
  void DrawTables(Dice* dice, FamilyPlan* family);
  std::string DrawPolicy(Dice* dice, const FamilyPlan& family) const;
};

// ---- The twins ----

struct RandomRun;

enum Twin { kProtean, kPlain };
constexpr std::array<Twin, 2> kTwins = {kProtean, kPlain};
template <typename T>
using Pair = std::array<T, 2>;

// What a run has done so far, and the first difference between the twins.
class Journal {
 public:
  // With `print`, lines go to stdout at once, so that a crash shows them.
  explicit Journal(bool print) : print_(print) {}

  void Note(const std::string& line) {
    if (print_) {
      printf("%s\n", line.c_str());
      fflush(stdout);
    }
    lines_.push_back(line);
  }

  // Records a difference, unless there is one already. The rest of the run does
  // not count then.
  void Differ(const std::string& what) {
    if (!ok()) return;
    difference_ = what;
    if (print_) printf("DIFFERENCE: %s\n", what.c_str());
  }
  // Reports a difference if the strings differ. Returns whether they agree.
  bool Expect(const std::string& what, const std::string& plain,
              const std::string& protean) {
    if (plain == protean) return true;
    Differ(what + "\n  plain:   " + plain + "\n  protean: " + protean);
    return false;
  }

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
// Empty without a snapshot.
std::string Describe(const Snapshot* snapshot);
std::string Describe(const WideColumns& columns);
// Bytes in printable form; long runs of the same byte are shortened.
std::string Brief(const Slice& bytes);

class Twins {
 public:
  explicit Twins(const RunPlan* plan) : plan_(plan) {
    for (Twin twin : kTwins) {
      paths_[twin] =
          plan->directory + (twin == kProtean ? "/protean" : "/plain");
      envs_[twin].reset(plan->in_memory ? NewMemEnv(Env::Default())
                                        : new EnvWrapper(Env::Default()));
    }
  }
  ~Twins() { Close(); }

  // Opens both twins according to the present plan.
  Status Open() {
    const Status s = Open(kProtean);
    return s.ok() ? Open(kPlain) : s;
  }
  // Snapshots end here.
  void Close() {
    while (!snapshots_.empty()) ReleaseSnapshot(snapshots_.size() - 1);
    for (Twin twin : kTwins) {
      if (dbs_[twin] == nullptr) continue;
      for (ColumnFamilyHandle* handle : handles_[twin]) delete handle;
      handles_[twin].clear();
      dbs_[twin].reset();
    }
  }

  DB* db(Twin twin) const { return dbs_[twin].get(); }
  ColumnFamilyHandle* handle(Twin twin, size_t family) const {
    return handles_[twin][family];
  }
  Env* env(Twin twin) const { return envs_[twin].get(); }
  const std::string& path(Twin twin) const { return paths_[twin]; }
  // The options and families of the last Open().
  Options options(Twin twin, size_t family) const {
    return Options(db_options_[twin], families_[twin][family].options);
  }
  const std::vector<ColumnFamilyDescriptor>& families(Twin twin) const {
    return families_[twin];
  }

  void TakeSnapshot() {
    snapshots_.push_back(
        {db(kProtean)->GetSnapshot(), db(kPlain)->GetSnapshot()});
  }
  void ReleaseSnapshot(size_t index) {
    for (Twin twin : kTwins) db(twin)->ReleaseSnapshot(snapshots_[index][twin]);
    snapshots_.erase(snapshots_.begin() + static_cast<ptrdiff_t>(index));
  }
  size_t num_snapshots() const { return snapshots_.size(); }
  const Pair<const Snapshot*>& snapshot(size_t index) const {
    return snapshots_[index];
  }

  // Whether files and memtables of the column family hold the same internal
  // keys in both twins, so that answers that depend on them must be equal too.
  bool SameShape(size_t family) const {
    return Shape(kProtean, family) == Shape(kPlain, family);
  }

 private:
  Status Open(Twin twin) {
    db_options_[twin] = plan_->db_options;
    db_options_[twin].env = envs_[twin].get();
    families_[twin].clear();
    for (const FamilyPlan& family : plan_->families) {
      ColumnFamilyOptions options = family.options;
      ConfigOptions config;
      config.env = envs_[twin].get();
      const Status s = TableFactory::CreateFromString(
          config, family.tables[twin], &options.table_factory);
      if (!s.ok()) return s;
      families_[twin].emplace_back(family.name, options);
    }
    handles_[twin].clear();
    std::unique_ptr<DB>* const db = &dbs_[twin];
    const DBOptions& options = db_options_[twin];
    if (plan_->Pessimistic()) {
      return OpenAs<TransactionDB>(db, options, plan_->transaction_options,
                                   paths_[twin], families_[twin],
                                   &handles_[twin]);
    }
    if (plan_->Transactional()) {
      OptimisticTransactionDBOptions optimistic;
      optimistic.occ_lock_buckets = 16;  // not a million mutexes for each run
      return OpenAs<OptimisticTransactionDB>(db, options, optimistic,
                                             paths_[twin], families_[twin],
                                             &handles_[twin]);
    }
    return OpenDB(db, options, paths_[twin], families_[twin], &handles_[twin]);
  }

  std::string Shape(Twin twin, size_t family) const {
    std::string shape;
    for (const char* property : {"rocksdb.num-entries-active-mem-table",
                                 "rocksdb.num-entries-imm-mem-tables",
                                 "rocksdb.num-deletes-active-mem-table"}) {
      std::string value;
      db(twin)->GetProperty(handle(twin, family), property, &value);
      shape += value + " ";
    }
    ColumnFamilyMetaData metadata;
    db(twin)->GetColumnFamilyMetaData(handle(twin, family), &metadata);
    for (const LevelMetaData& level : metadata.levels) {
      for (const SstFileMetaData& file : level.files) {
        shape += std::to_string(level.level) + ":" + Hex(file.smallestkey) +
                 "-" + Hex(file.largestkey) + ":" +
                 std::to_string(file.num_entries) + ":" +
                 std::to_string(file.num_deletions) + ":" +
                 std::to_string(file.smallest_seqno) + "-" +
                 std::to_string(file.largest_seqno) + " ";
      }
    }
    return shape;
  }

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
                                        const ReadOptions& options) const {
    Iterator* it = nullptr;
    if (file_iterator != nullptr) {
      it = file_iterator(twin, options);
    } else if (transactions[twin] != nullptr) {
      it = transactions[twin]->GetIterator(options, handles[twin]);
    } else {
      it = dbs[twin]->NewIterator(options, handles[twin]);
    }
    return std::unique_ptr<Iterator>(it);
  }
};

// ---- The run ----

// A transaction on both twins that is prepared, or will get further writes.
struct OpenTransaction {
  Pair<std::unique_ptr<Transaction>> twins;
  bool prepared = false;
};

// Iterators over both twins with the same random options, which are moved in
// the same random way and compared after every step, where RocksDB promises
// that.
class Walk {
 public:
  virtual ~Walk() = default;
  virtual void Step() = 0;
  virtual bool Uses(const Snapshot* snapshot) const = 0;
};
std::unique_ptr<Walk> NewWalk(RandomRun* run, const View& view);
// Some steps of a new one.
inline void WalkOnce(RandomRun* run, const View& view, size_t steps) {
  const std::unique_ptr<Walk> walk = NewWalk(run, view);
  for (; steps > 0; steps--) walk->Step();
}

struct RandomRun {
  RandomRun(uint64_t seed_, const std::string& directory, bool control,
            bool live, bool print)
      : seed(seed_),
        dice(seed_),
        journal(print),
        plan(&dice, directory, control, live),
        twins(&plan) {}
  // The latest state of a column family.
  View Latest(size_t family) {
    View view;
    view.name = "family " + std::to_string(family);
    view.family = &plan.families[family];
    for (Twin twin : kTwins) {
      view.dbs[twin] = twins.db(twin);
      view.handles[twin] = twins.handle(twin, family);
    }
    view.snapshots = true;
    view.same_shape = plan.frozen && twins.SameShape(family);
    // RocksDB does not correctly refresh iterators that know of prepared
    // transactions.
    view.refresh = !plan.WritesEarly();
    return view;
  }

  // Does the same to both twins, and expects the same status. Returns whether
  // it is OK.
  bool Both(const std::string& what,
            const std::function<Status(Twin)>& operation) {
    if (!journal.ok()) return false;
    journal.Note(what);
    Pair<Status> statuses;
    for (Twin twin : kTwins) statuses[twin] = operation(twin);
    const auto& [protean, plain] = statuses;
    if (!plain.ok() || !protean.ok()) {
      journal.Note("  " + plain.ToString() + " / " + protean.ToString());
    }
    return journal.Expect(what, Describe(plain), Describe(protean)) &&
           plain.ok();
  }

  uint64_t seed;
  Dice dice;
  Journal journal;
  RunPlan plan;
  Twins twins;
  uint64_t clock = 1;       // the timestamp of the last write
  uint64_t num_writes = 0;  // to any column family
  uint64_t num_values = 0;  // that were drawn
  std::vector<OpenTransaction> transactions;
  // Iterators that stay open while other things happen.
  std::deque<std::unique_ptr<Walk>> walks;
};

// The time of a read: a snapshot, a timestamp, or now. It stays in place while
// options that refer to it are in use.
class ReadPoint {
 public:
  void Draw(RandomRun* run, const View& view) {
    Dice& dice = run->dice;
    if (view.snapshots && run->twins.num_snapshots() > 0 && dice.OneIn(2)) {
      snapshots_ = run->twins.snapshot(dice.Below(run->twins.num_snapshots()));
    }
    SetLatest(view);
    if (timestamps_ && dice.OneIn(2)) {
      timestamp_slice_ = EncodeU64Ts(1 + dice.Below(run->clock), &timestamp_);
    }
  }
  void Set(Twin twin, ReadOptions* options) const {
    options->snapshot = snapshots_[twin];
    if (timestamps_) options->timestamp = &timestamp_slice_;
    if (!start_.empty()) options->iter_start_ts = &start_slice_;
  }
  // Now, which must be said where there are timestamps.
  void SetLatest(const View& view) {
    timestamps_ = view.family->timestamps;
    timestamp_slice_ = MaxU64Ts();
  }
  // For iterators only: all versions since some time.
  void DrawStart(RandomRun* run) {
    start_slice_ = EncodeU64Ts(run->dice.Below(run->clock + 1), &start_);
  }

  bool has_start() const { return !start_.empty(); }
  const Snapshot* snapshot(Twin twin) const { return snapshots_[twin]; }
  std::string ToString() const {
    std::string result = Describe(snapshots_[kPlain]);
    if (timestamps_) result += " ts " + timestamp_slice_.ToString(true);
    if (has_start()) result += " from ts " + start_slice_.ToString(true);
    return result;
  }

 private:
  Pair<const Snapshot*> snapshots_ = {};
  bool timestamps_ = false;
  std::string timestamp_;
  std::string start_;
  Slice timestamp_slice_;
  Slice start_slice_;
};

// ---- Writes of all kinds, in all ways (random_writes.cc) ----

// One to a dozen writes: single, in batches, or in transactions.
void WriteSome(RandomRun* run);
// Enough writes for a file or more.
void WriteMany(RandomRun* run);
void Ingest(RandomRun* run, size_t family);

void EndTransactions(RandomRun* run);

// A flush or a compaction of some kind.
void Flush(RandomRun* run, size_t family);
void Compact(RandomRun* run, size_t family);

// ---- Reads (random_reads.cc) ----

// One query of any kind: of one key, of many, of entities; or whether a key may
// exist.
void ComparePointRead(RandomRun* run, const View& view);

// The latest value of every key of the pool, by Get and by MultiGet.
void CompareAllKeys(RandomRun* run, const View& view);

// Scans a few ranges, both ways, which are announced to the iterator before it
// is sought. REQUIRES: the family's plan says that it is for such scans
void CompareMultiScan(RandomRun* run, const View& view);

void CompareKeyVersions(RandomRun* run, size_t family);
// Each SST file of Protean's twin, read by both tables, holds the same keys.
void CompareFiles(RandomRun* run, size_t family);
void CompareCheckpoints(RandomRun* run);
void CompareSecondaries(RandomRun* run);
// Iterators over all column families at once.
void CompareManyFamilies(RandomRun* run);

}  // namespace ROCKSDB_NAMESPACE::protean
