// SPDX-License-Identifier: Apache-2.0

//  Many column families and many iterators.

#include <cinttypes>
#include <cstdio>
#include <memory>

#include "db_bench_ext/limits_cases.h"
#include "table/rocksdb_internals/versions.h"

namespace ROCKSDB_NAMESPACE::protean {

void MeasureManyFamilies(const LimitsOptions& limits) {
  constexpr uint64_t kKeysOfFamily = 200;
  printf(
      "\n%" PRIu64 " column families of %" PRIu64
      " keys in one file each\n\n| policy | filling, s | opening, s | memory "
      "of the open DB, MiB | closing, s |\n|---|---:|---:|---:|---:|\n",
      limits.families, kKeysOfFamily);
  const std::string path = limits.dir + "/db";
  for (const std::string& policy : limits.policies) {
    const Options options = OptionsOf(policy);
    Check(DestroyDB(path, options));
    std::unique_ptr<DB> db;
    std::vector<ColumnFamilyHandle*> handles;
    const auto close = [&] {
      for (ColumnFamilyHandle* handle : handles) {
        Check(db->DestroyColumnFamilyHandle(handle));
      }
      handles.clear();
      db.reset();
    };
    SpreadKeys keys(kKeysOfFamily, 16);
    const Cost filled = Measure([&] {
      Check(OpenDB(&db, options, path));
      std::vector<std::string> names;
      for (uint64_t i = 0; i < limits.families; i++) {
        names.push_back("family" + std::to_string(i));
      }
      Check(db->CreateColumnFamilies(options, names, &handles));
      for (ColumnFamilyHandle* family : handles) {
        for (uint64_t i = 0; i < kKeysOfFamily; i++) {
          Check(db->Put(WriteOptions(), family, keys.Make(i), "value"));
        }
        Check(db->Flush(FlushOptions(), family));
      }
      close();
    });
    std::vector<ColumnFamilyDescriptor> descriptors = {
        {kDefaultColumnFamilyName, options}};
    for (uint64_t i = 0; i < limits.families; i++) {
      descriptors.push_back({"family" + std::to_string(i), options});
    }
    const Cost opened = Measure(
        [&] { Check(OpenDB(&db, options, path, descriptors, &handles)); });
    std::string value;
    for (ColumnFamilyHandle* family : handles) {
      if (family->GetID() == 0) continue;
      for (uint64_t i = 0; i < kKeysOfFamily; i++) {
        Check(db->Get(ReadOptions(), family, keys.Make(i), &value));
      }
    }
    const Cost closed = Measure(close);
    printf("| %s | %.1f | %.2f | %.1f | %.2f |\n", policy.c_str(),
           filled.seconds, opened.seconds, opened.kept_mib, closed.seconds);
    fflush(stdout);
    Check(DestroyDB(path, options, descriptors));
  }
}

void MeasureManyIterators(const LimitsOptions& limits) {
  constexpr uint64_t kRuns = 7;
  constexpr uint64_t kKeysOfRun = 20'000;
  printf("\n%" PRIu64 " iterators at once over %" PRIu64
         " runs\n\n| policy | making and "
         "one seek, us each | memory, KiB each | a closed seek of each, us |\n"
         "|---|---:|---:|---:|\n",
         limits.iterators, kRuns);
  const std::string path = limits.dir + "/db";
  for (const std::string& policy : limits.policies) {
    const Options options = OptionsOf(policy);
    Check(DestroyDB(path, options));
    std::unique_ptr<DB> db;
    Check(OpenDB(&db, options, path));
    const uint64_t count = kRuns * kKeysOfRun;
    SpreadKeys keys(count, 16);
    for (uint64_t run = 0; run < kRuns; run++) {
      for (uint64_t i = run; i < count; i += kRuns) {
        Check(db->Put(WriteOptions(), keys.Make(i), "value"));
      }
      Check(db->Flush(FlushOptions()));
    }
    db.reset();
    Check(OpenDB(&db, options, path));
    std::vector<std::unique_ptr<Iterator>> iterators;
    std::vector<std::string> ends(limits.iterators);
    std::vector<Slice> bounds(limits.iterators);
    std::vector<std::string> begins;
    for (uint64_t i = 0; i < limits.iterators; i++) {
      const uint64_t where = i * count / limits.iterators;
      begins.push_back(keys.MakeAbsent(where, &ends[i]).ToString());
      bounds[i] = ends[i];
    }
    const Cost made = Measure([&] {
      for (uint64_t i = 0; i < limits.iterators; i++) {
        ReadOptions read;
        read.iterate_upper_bound = &bounds[i];
        iterators.emplace_back(db->NewIterator(read));
        iterators.back()->Seek(begins[i]);
        Check(!iterators.back()->Valid(), "a range is not empty");
      }
    });
    constexpr int kRounds = 20;
    const Cost sought = Measure([&] {
      for (int round = 0; round < kRounds; round++) {
        for (uint64_t i = 0; i < limits.iterators; i++) {
          iterators[i]->Seek(begins[i]);
          Check(!iterators[i]->Valid(), "a range is not empty");
        }
      }
    });
    const auto each = static_cast<double>(limits.iterators);
    printf("| %s | %.1f | %.1f | %.1f |\n", policy.c_str(),
           1e6 * made.seconds / each, 1024 * made.kept_mib / each,
           1e6 * sought.seconds / each / kRounds);
    fflush(stdout);
    iterators.clear();
    db.reset();
    Check(DestroyDB(path, options));
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
