// SPDX-License-Identifier: Apache-2.0

#include "tests/table/differential/twins.h"

#include <algorithm>

#include "rocksdb/comparator.h"
#include "rocksdb/convenience.h"
#include "rocksdb/utilities/optimistic_transaction_db.h"
#include "table/rocksdb_internals/versions.h"
#include "tests/key_families.h"
#include "tests/table/differential/run.h"

namespace ROCKSDB_NAMESPACE::protean {

Twins::Twins(const RunPlan* plan) : plan_(plan) {
  for (Twin twin : kTwins) {
    paths_[twin] = plan->directory + (twin == kProtean ? "/protean" : "/plain");
    envs_[twin].reset(plan->in_memory ? NewMemEnv(Env::Default())
                                      : new EnvWrapper(Env::Default()));
  }
}

Twins::~Twins() { Close(); }

Status Twins::Open() {
  for (Twin twin : kTwins) {
    const Status s = Open(twin);
    if (!s.ok()) return s;
  }
  return Status::OK();
}

Status Twins::Open(Twin twin) {
  db_options_[twin] = plan_->db_options;
  db_options_[twin].env = envs_[twin].get();
  families_[twin].clear();
  for (const FamilyPlan& family : plan_->families) {
    ColumnFamilyOptions options = family.options;
    ConfigOptions config;
    config.env = envs_[twin].get();
    const Status s = TableFactory::CreateFromString(config, family.tables[twin],
                                                    &options.table_factory);
    if (!s.ok()) return s;
    families_[twin].emplace_back(family.name, options);
  }
  handles_[twin].clear();
  Status s;
  if (plan_->Pessimistic()) {
    TransactionDB* transaction_db = nullptr;
    s = TransactionDB::Open(db_options_[twin], plan_->transaction_options,
                            paths_[twin], families_[twin], &handles_[twin],
                            &transaction_db);
    dbs_[twin].reset(transaction_db);
  } else if (plan_->Transactional()) {
    OptimisticTransactionDB* optimistic_db = nullptr;
    OptimisticTransactionDBOptions optimistic;
    optimistic.occ_lock_buckets = 16;  // not a million mutexes for each run
    s = OptimisticTransactionDB::Open(db_options_[twin], optimistic,
                                      paths_[twin], families_[twin],
                                      &handles_[twin], &optimistic_db);
    dbs_[twin].reset(optimistic_db);
  } else {
    s = OpenDB(&dbs_[twin], db_options_[twin], paths_[twin], families_[twin],
               &handles_[twin]);
  }
  return s;
}

void Twins::Close() {
  while (!snapshots_.empty()) ReleaseSnapshot(snapshots_.size() - 1);
  for (Twin twin : kTwins) {
    if (dbs_[twin] == nullptr) continue;
    for (ColumnFamilyHandle* handle : handles_[twin]) delete handle;
    handles_[twin].clear();
    dbs_[twin].reset();
  }
}

TransactionDB* Twins::transaction_db(Twin twin) const {
  return plan_->Pessimistic() ? static_cast<TransactionDB*>(db(twin)) : nullptr;
}

Options Twins::options(Twin twin, size_t family) const {
  return Options(db_options_[twin], families_[twin][family].options);
}

void Twins::TakeSnapshot() {
  snapshots_.push_back(
      {db(kProtean)->GetSnapshot(), db(kPlain)->GetSnapshot()});
}

void Twins::ReleaseSnapshot(size_t index) {
  for (Twin twin : kTwins) db(twin)->ReleaseSnapshot(snapshots_[index][twin]);
  snapshots_.erase(snapshots_.begin() + static_cast<ptrdiff_t>(index));
}

bool Twins::SameShape(size_t family) const {
  return Shape(kProtean, family) == Shape(kPlain, family);
}

std::string Twins::Shape(Twin twin, size_t family) const {
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
      shape += std::to_string(level.level) + ":" + Hex(file.smallestkey) + "-" +
               Hex(file.largestkey) + ":" + std::to_string(file.num_entries) +
               ":" + std::to_string(file.num_deletions) + ":" +
               std::to_string(file.smallest_seqno) + "-" +
               std::to_string(file.largest_seqno) + " ";
    }
  }
  return shape;
}

std::unique_ptr<Iterator> View::NewIterator(Twin twin,
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

void ReadPoint::Draw(RandomRun* run, const View& view) {
  Dice& dice = run->dice;
  if (view.snapshots && run->twins.num_snapshots() > 0 && dice.OneIn(2)) {
    snapshots_ = run->twins.snapshot(dice.Below(run->twins.num_snapshots()));
  }
  if (view.family->timestamps) {
    timestamps_ = true;
    timestamp_ =
        dice.OneIn(2)
            ? MaxU64Ts().ToString()
            : EncodeU64Ts(1 + dice.Below(run->clock), &timestamp_).ToString();
    timestamp_slice_ = timestamp_;
  }
}

void ReadPoint::DrawStart(RandomRun* run) {
  std::string buffer;
  start_ = EncodeU64Ts(run->dice.Below(run->clock + 1), &buffer).ToString();
  start_slice_ = start_;
}

std::string ReadPoint::ToString() const {
  std::string result;
  if (snapshots_[kPlain] != nullptr) {
    result +=
        " snapshot " + std::to_string(snapshots_[kPlain]->GetSequenceNumber());
  }
  if (timestamps_) result += " ts " + timestamp_slice_.ToString(true);
  if (has_start()) result += " from ts " + start_slice_.ToString(true);
  return result;
}

}  // namespace ROCKSDB_NAMESPACE::protean
