// SPDX-License-Identifier: Apache-2.0

#include "tests/table/differential/twins.h"

#include <cstdio>

#include "rocksdb/utilities/optimistic_transaction_db.h"
#include "tests/protean_db.h"
#include "tests/table/differential/run.h"

namespace ROCKSDB_NAMESPACE::protean {

void Journal::Note(const std::string& line) {
  if (print_) {
    printf("%s\n", line.c_str());
    fflush(stdout);
  }
  lines_.push_back(line);
}

void Journal::Differ(const std::string& what) {
  if (!ok()) return;
  difference_ = what;
  if (print_) printf("DIFFERENCE: %s\n", what.c_str());
}

bool Journal::Expect(const std::string& what, const std::string& plain,
                     const std::string& protean) {
  if (plain == protean) return true;
  Differ(what + "\n  plain:   " + plain + "\n  protean: " + protean);
  return false;
}

std::string Describe(const Status& status) {
  if (status.ok()) return "OK";
  return status.ToString().substr(0, status.ToString().find(": ")) + "/" +
         std::to_string(status.subcode());
}

std::string Describe(const WideColumns& columns) {
  std::string result;
  for (const WideColumn& column : columns) {
    result += Brief(column.name()) + "=" + Hex(column.value()) + ";";
  }
  return result;
}

std::string Brief(const Slice& bytes) {
  std::string result = "'";
  for (size_t i = 0; i < bytes.size();) {
    size_t run = 1;
    while (i + run < bytes.size() && bytes[i + run] == bytes[i]) run++;
    const auto c = static_cast<unsigned char>(bytes[i]);
    char one[8];
    snprintf(one, sizeof(one),
             c > ' ' && c < 0x7f && c != '\\' ? "%c" : "\\%02x", c);
    if (run < 6) {
      for (size_t j = 0; j < run; j++) result += one;
    } else {
      result += one + ("{" + std::to_string(run) + "}");
    }
    i += run;
  }
  return result + "'";
}

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
    s = OpenAs<TransactionDB>(&dbs_[twin], db_options_[twin],
                              plan_->transaction_options, paths_[twin],
                              families_[twin], &handles_[twin]);
  } else if (plan_->Transactional()) {
    OptimisticTransactionDBOptions optimistic;
    optimistic.occ_lock_buckets = 16;  // not a million mutexes for each run
    s = OpenAs<OptimisticTransactionDB>(&dbs_[twin], db_options_[twin],
                                        optimistic, paths_[twin],
                                        families_[twin], &handles_[twin]);
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
  SetLatest(view);
  if (timestamps_ && dice.OneIn(2)) {
    timestamp_slice_ = EncodeU64Ts(1 + dice.Below(run->clock), &timestamp_);
  }
}

void ReadPoint::SetLatest(const View& view) {
  timestamps_ = view.family->timestamps;
  timestamp_slice_ = MaxU64Ts();
}

void ReadPoint::DrawStart(RandomRun* run) {
  start_slice_ = EncodeU64Ts(run->dice.Below(run->clock + 1), &start_);
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
