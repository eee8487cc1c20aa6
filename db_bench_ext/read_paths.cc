// SPDX-License-Identifier: Apache-2.0

//  The four hot read paths, with every block in the cache: Get, a closed seek,
//  a scan and an open seek, over level-0 files that overlap. The queries are
//  asked once to warm the caches and once more in CountedQueries, the function
//  whose instructions scripts/count_instructions.sh counts.

#include <gflags/gflags.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "db_bench_ext/own_flags.h"
#include "rocksdb/convenience.h"
#include "rocksdb/db.h"
#include "rocksdb/options.h"
#include "table/rocksdb_internals/versions.h"
#include "util/coding.h"
#include "util/hash.h"
#include "util/math.h"

DEFINE_string(path, "point", "point, range, scan or open_seek");
DEFINE_string(table_factory, "ProteanTable",
              "Table factory, as in an options string");
DEFINE_uint64(runs, 1,
              "Level-0 files, each of which has its share of the keys");
DEFINE_uint64(num, 200'000, "Keys");
DEFINE_uint64(queries, 10'000, "Queries");
DEFINE_uint64(scan_length, 50, "Keys that a scan reads");
DEFINE_string(dir, "/tmp/protean_read_paths", "Folder of the database");

namespace ROCKSDB_NAMESPACE::protean {

namespace {

void Check(const Status& s) {
  if (s.ok()) return;
  fprintf(stderr, "read_paths: %s\n", s.ToString().c_str());
  exit(1);
}

std::string BigEndian(uint64_t number) {
  std::string key;
  PutFixed64(&key, EndianSwapValue(number));
  return key;
}

// Pseudo-random keys. The first FLAGS_num are stored.
std::string Key(uint64_t i) {
  return BigEndian(Hash64(reinterpret_cast<const char*>(&i), sizeof(i)));
}

std::unique_ptr<DB> Build() {
  Options options;
  Check(GetColumnFamilyOptionsFromString(ConfigOptions(), options,
                                         "table_factory=" + FLAGS_table_factory,
                                         &options));
  options.create_if_missing = true;
  options.disable_auto_compactions = true;
  options.compression = kNoCompression;
  Check(DestroyDB(FLAGS_dir, options));
  std::unique_ptr<DB> db;
  Check(OpenDB(&db, options, FLAGS_dir));
  for (uint64_t run = 0; run < FLAGS_runs; run++) {
    for (uint64_t i = run; i < FLAGS_num; i += FLAGS_runs) {
      Check(db->Put(WriteOptions(), Key(i), std::string(32, 'v')));
    }
    Check(db->Flush(FlushOptions()));
  }
  return db;
}

// Half of the points and closed ranges hold nothing.
uint64_t AskQueries(DB* db) {
  uint64_t found = 0;
  PinnableSlice value;
  std::string upper;
  Slice upper_bound;
  ReadOptions read_options;
  if (FLAGS_path == "range") read_options.iterate_upper_bound = &upper_bound;
  const std::unique_ptr<Iterator> it(db->NewIterator(read_options));
  for (uint64_t i = 0; i < FLAGS_queries; i++) {
    const uint64_t absent = i % 2 == 1 ? FLAGS_num : 0;
    const std::string target = Key(i * 7919 % FLAGS_num + absent);
    if (FLAGS_path == "point") {
      value.Reset();
      if (db->Get(ReadOptions(), db->DefaultColumnFamily(), target, &value)
              .ok()) {
        found++;
      }
      continue;
    }
    upper = target;
    upper[5] = static_cast<char>(upper[5] + 1);
    upper_bound = upper;
    uint64_t left = FLAGS_path == "scan" ? FLAGS_scan_length : 1;
    for (it->Seek(target); it->Valid() && left > 0; left--) {
      found += it->value().size() > 0 ? 1 : 0;
      if (left > 1) it->Next();
    }
    Check(it->status());
  }
  return found;
}

[[gnu::noinline]] uint64_t CountedQueries(DB* db) { return AskQueries(db); }

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean

int main(int argc, char** argv) {
  using namespace ROCKSDB_NAMESPACE::protean;
  ParseOwnFlags("read_paths",
                "Builds a database and asks it the queries of one hot read "
                "path, for scripts/count_instructions.sh.",
                &argc, &argv);
  if (FLAGS_path != "point" && FLAGS_path != "range" && FLAGS_path != "scan" &&
      FLAGS_path != "open_seek") {
    fprintf(stderr,
            "read_paths: --path=%s; allowed: point, range, scan, open_seek\n",
            FLAGS_path.c_str());
    return 1;
  }
  const auto db = Build();
  AskQueries(db.get());
  printf("%llu\n", static_cast<unsigned long long>(CountedQueries(db.get())));
  return 0;
}
