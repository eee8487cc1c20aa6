// SPDX-License-Identifier: Apache-2.0

//  A DB at work, for scripts/check.sh monitoring:
//
//      monitored_db DB FILE SECONDS
//
//  Reads, writes and refreshes the filters of two column families, one of them
//  with filters of RocksDB, and replaces FILE every second by its metrics.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "plugin/filter_statistics.h"
#include "plugin/refresh_filters.h"
#include "rocksdb/convenience.h"
#include "rocksdb/db.h"
#include "rocksdb/statistics.h"
#include "table/rocksdb_internals/versions.h"

using namespace ROCKSDB_NAMESPACE;           // NOLINT
using namespace ROCKSDB_NAMESPACE::protean;  // NOLINT

namespace {

constexpr int kKeys = 100000;

void Require(const Status& s) {
  if (s.ok() || s.IsNotFound()) return;
  fprintf(stderr, "monitored_db: %s\n", s.ToString().c_str());
  exit(1);
}

std::string Key(int i) {
  char key[16];
  snprintf(key, sizeof(key), "%08d", i);
  return key;
}

ColumnFamilyOptions FamilyOptions(const std::string& policy) {
  ColumnFamilyOptions options;
  Require(GetColumnFamilyOptionsFromString(
      ConfigOptions(), options,
      "disable_auto_compactions=true;"
      "table_factory={id=ProteanTable;filter_policy=" +
          policy + "}",
      &options));
  return options;
}

class MonitoredDB {
 public:
  explicit MonitoredDB(const std::string& folder) {
    DBOptions options;
    options.create_if_missing = true;
    options.create_missing_column_families = true;
    options.statistics = CreateDBStatistics();
    const std::vector<ColumnFamilyDescriptor> families = {
        {"default",
         FamilyOptions("{id=protean.Proteus;bits_per_key=10;sample_every=1}")},
        {"stock", FamilyOptions("bloomfilter:10")}};
    Require(OpenDB(&db_, options, folder, families, &families_));
  }
  ~MonitoredDB() {
    for (ColumnFamilyHandle* family : families_) delete family;
  }

  DB* db() const { return db_.get(); }

  // Half of the keys are even, and have values.
  void WriteFile(int keys) {
    for (ColumnFamilyHandle* family : families_) {
      for (int i = 0; i < keys; i++) {
        Require(db_->Put(WriteOptions(), family, Key(2 * Draw(kKeys / 2)),
                         std::string(100, 'v')));
      }
      Require(db_->Flush(FlushOptions(), family));
    }
  }
  void Read(int times) {
    for (int i = 0; i < times; i++) {
      for (ColumnFamilyHandle* family : families_) {
        std::string value;
        Require(db_->Get(ReadOptions(), family, Key(Draw(kKeys)), &value));
        const int begin = Draw(kKeys);
        const std::string end = Key(begin + 3);
        const Slice bound = end;
        for (const bool closed : {true, false}) {
          ReadOptions read;
          if (closed) read.iterate_upper_bound = &bound;
          const std::unique_ptr<Iterator> it(db_->NewIterator(read, family));
          it->Seek(Key(begin));
          Require(it->status());
        }
      }
    }
  }
  std::string Metrics() const {
    std::vector<FilterStatistics> all(families_.size());
    for (size_t i = 0; i < all.size(); i++) {
      Require(GetFilterStatistics(db_.get(), families_[i], &all[i]));
    }
    return ToPrometheus(all);
  }

 private:
  int Draw(int below) {
    return static_cast<int>(random_() % static_cast<unsigned>(below));
  }

  std::mt19937 random_{1};
  std::unique_ptr<DB> db_;
  std::vector<ColumnFamilyHandle*> families_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  using Clock = std::chrono::steady_clock;
  const std::string file = argv[2];
  const auto end = Clock::now() + std::chrono::seconds(atoi(argv[3]));
  MonitoredDB monitored(argv[1]);
  for (int i = 0; i < 3; i++) monitored.WriteFile(5000);
  // Slow enough that most looks at the metrics find a refresh running.
  RefreshOptions refresh;
  refresh.all_files = true;
  refresh.bytes_per_second = 20 << 10;
  const FilterRefresher refresher(
      monitored.db(), monitored.db()->DefaultColumnFamily(), refresh,
      /*period_seconds=*/1, nullptr, argv[1] + std::string("/protean.sock"));
  Env* const env = Env::Default();
  while (Clock::now() < end) {
    const auto next = Clock::now() + std::chrono::seconds(1);
    monitored.WriteFile(10);
    while (Clock::now() < next) monitored.Read(10);
    Require(WriteStringToFile(env, monitored.Metrics(), file + ".new"));
    Require(env->RenameFile(file + ".new", file));
  }
  return 0;
}
