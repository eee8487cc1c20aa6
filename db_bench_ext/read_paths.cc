// SPDX-License-Identifier: Apache-2.0

//  The four hot read paths, with every block in the cache: Get, a closed seek,
//  a scan and an open seek, over level-0 files that overlap; making and
//  destroying iterators; and three ways to ask whether keys or ranges exist.
//  The queries are asked once to warm the caches and once more in
//  CountedQueries, the function whose instructions
//  scripts/count_instructions.sh counts.

#include <gflags/gflags.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "db_bench_ext/own_flags.h"
#include "db_bench_ext/slow_env.h"
#include "db_bench_ext/stopwatch.h"
#include "filter_policy/bits/key_digest.h"
#include "plugin/may_exist.h"
#include "rocksdb/convenience.h"
#include "rocksdb/db.h"
#include "rocksdb/options.h"
#include "table/rocksdb_internals/versions.h"
#include "util/coding.h"
#include "util/hash.h"
#include "util/math.h"

DEFINE_string(path, "point",
              "point, range, scan, open_seek, create (an iterator, and destroy "
              "it), iterator (create, seek, destroy), key_may_exist (of "
              "RocksDB), keys_may_exist or ranges_may_exist (in batches)");
DEFINE_string(table_factory, "ProteanTable",
              "Table factory, as in an options string");
DEFINE_uint64(runs, 1,
              "Level-0 files, each of which has its share of the keys");
DEFINE_uint64(num, 200'000, "Keys");
DEFINE_uint64(
    key_bytes, 8,
    "Size of a key, at least 8. Of 8 bytes, all are random; of 16 and "
    "more, the 8 before the last 8, and all others are the same in "
    "all keys, so that each key's digest is its own");
DEFINE_double(present, 0.5, "Share of the queries whose targets are stored");
DEFINE_bool(share_digests, true,
            "Have a query hash a long key once, and not in each filter again");
DEFINE_uint64(queries, 10'000, "Queries");
DEFINE_uint64(scan_length, 50, "Keys that a scan reads");
DEFINE_string(dir, "/tmp/protean_read_paths", "Folder of the database");
DEFINE_bool(reuse, false,
            "Reads the database that an earlier call has left in --dir");
DEFINE_uint64(rounds, 0,
              "Prints the least time for a query, of so many rounds: processor "
              "time, or with --read_latency_us, the time that passes");
DEFINE_uint32(read_latency_us, 0, "Delay added to each read of a file");

namespace ROCKSDB_NAMESPACE::protean {

namespace {

std::string BigEndian(uint64_t number) {
  std::string key;
  PutFixed64(&key, EndianSwapValue(number));
  return key;
}

// Pseudo-random keys. The first FLAGS_num are stored.
std::string Key(uint64_t i) {
  const size_t more = FLAGS_key_bytes - 8;
  const size_t behind = std::min<size_t>(more, 8);
  return std::string(more - behind, 'k') +
         BigEndian(Hash64(reinterpret_cast<const char*>(&i), sizeof(i))) +
         std::string(behind, 'k');
}

std::unique_ptr<DB> Build(Env* env) {
  Options options;
  options.env = env;
  Check(GetColumnFamilyOptionsFromString(ConfigOptions(), options,
                                         "table_factory=" + FLAGS_table_factory,
                                         &options));
  options.create_if_missing = true;
  options.disable_auto_compactions = true;
  options.compression = kNoCompression;
  if (!FLAGS_reuse) Check(DestroyDB(FLAGS_dir, options));
  std::unique_ptr<DB> db;
  Check(OpenDB(&db, options, FLAGS_dir));
  if (FLAGS_reuse) return db;
  for (uint64_t run = 0; run < FLAGS_runs; run++) {
    for (uint64_t i = run; i < FLAGS_num; i += FLAGS_runs) {
      Check(db->Put(WriteOptions(), Key(i), std::string(32, 'v')));
    }
    Check(db->Flush(FlushOptions()));
  }
  return db;
}

// Every query's target; those that are stored are spread evenly.
std::string Target(uint64_t i) {
  const auto stored_before = [](uint64_t queries) {
    return static_cast<uint64_t>(
        std::ceil(FLAGS_present * static_cast<double>(queries)));
  };
  const bool is_stored = stored_before(i + 1) > stored_before(i);
  return Key(i * 7919 % FLAGS_num + (is_stored ? 0 : FLAGS_num));
}

std::string EndOf(const std::string& target) {
  std::string end = target;
  char& byte =
      end[FLAGS_key_bytes - std::min<size_t>(FLAGS_key_bytes - 8, 8) - 3];
  byte = static_cast<char>(byte + 1);
  return end;
}

uint64_t AskWhetherKeysMayExist(DB* db) {
  uint64_t found = 0;
  std::string value;
  for (uint64_t i = 0; i < FLAGS_queries; i++) {
    found += db->KeyMayExist(ReadOptions(), Target(i), &value) ? 1 : 0;
  }
  return found;
}

// Asks for kBatch keys or ranges at once.
uint64_t AskInBatches(DB* db) {
  constexpr uint64_t kBatch = 32;
  uint64_t found = 0;
  bool may_exist[kBatch];
  for (uint64_t begin = 0; begin < FLAGS_queries; begin += kBatch) {
    std::vector<std::string> targets;
    std::vector<std::string> ends;
    std::vector<Slice> keys;  // and, for ranges, where they end
    for (uint64_t i = begin; i < std::min(begin + kBatch, FLAGS_queries); i++) {
      targets.push_back(Target(i));
      ends.push_back(EndOf(targets.back()));
    }
    keys.assign(targets.begin(), targets.end());
    keys.insert(keys.end(), ends.begin(), ends.end());
    std::vector<RangePtr> ranges;
    for (size_t i = 0; i < targets.size(); i++) {
      ranges.emplace_back(&keys[i], &keys[targets.size() + i]);
    }
    Check(FLAGS_path == "keys_may_exist"
              ? KeysMayExist(db, ReadOptions(), db->DefaultColumnFamily(),
                             targets.size(), keys.data(), may_exist)
              : RangesMayExist(db, ReadOptions(), db->DefaultColumnFamily(),
                               ranges.size(), ranges.data(), may_exist));
    found += static_cast<uint64_t>(
        std::count(may_exist, may_exist + targets.size(), true));
  }
  return found;
}

// Makes and destroys iterators, and seeks them in between.
uint64_t MakeIterators(DB* db) {
  uint64_t found = 0;
  for (uint64_t i = 0; i < FLAGS_queries; i++) {
    const std::unique_ptr<Iterator> it(db->NewIterator(ReadOptions()));
    if (FLAGS_path == "iterator") it->Seek(Target(i));
    found += it->Valid() ? 1 : 0;
    Check(it->status());
  }
  return found;
}

// Points and closed ranges with absent targets hold nothing.
uint64_t AskQueries(DB* db) {
  if (FLAGS_path == "create" || FLAGS_path == "iterator") {
    return MakeIterators(db);
  }
  if (FLAGS_path == "key_may_exist") return AskWhetherKeysMayExist(db);
  if (FLAGS_path == "keys_may_exist" || FLAGS_path == "ranges_may_exist") {
    return AskInBatches(db);
  }
  uint64_t found = 0;
  PinnableSlice value;
  std::string upper;
  Slice upper_bound;
  ReadOptions read_options;
  if (FLAGS_path == "range") read_options.iterate_upper_bound = &upper_bound;
  const std::unique_ptr<Iterator> it(db->NewIterator(read_options));
  for (uint64_t i = 0; i < FLAGS_queries; i++) {
    const std::string target = Target(i);
    if (FLAGS_path == "point") {
      value.Reset();
      if (db->Get(ReadOptions(), db->DefaultColumnFamily(), target, &value)
              .ok()) {
        found++;
      }
      continue;
    }
    upper = EndOf(target);
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

// Brings all blocks into the cache, also those that filters mostly spare.
void ReadAll(DB* db) {
  const std::unique_ptr<Iterator> it(db->NewIterator(ReadOptions()));
  for (it->SeekToFirst(); it->Valid();) it->Next();
  Check(it->status());
}

[[gnu::noinline]] uint64_t CountedQueries(DB* db) { return AskQueries(db); }

void PrintLeastTime(DB* db) {
  double least = 1e30;
  for (uint64_t i = 0; i < FLAGS_rounds; i++) {
    const CpuStopwatch processor;
    const Stopwatch passed;
    AskQueries(db);
    least = std::min(least, FLAGS_read_latency_us > 0 ? passed.Seconds()
                                                      : processor.Seconds());
  }
  printf("%.2f us\n", 1e6 * least / static_cast<double>(FLAGS_queries));
}

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean

int main(int argc, char** argv) {
  using namespace ROCKSDB_NAMESPACE::protean;
  ParseOwnFlags("read_paths",
                "Builds a database and asks it the queries of one hot read "
                "path, for scripts/count_instructions.sh.",
                &argc, &argv);
  const std::set<std::string> paths = {
      "point",         "range",          "scan",
      "open_seek",     "create",         "iterator",
      "key_may_exist", "keys_may_exist", "ranges_may_exist"};
  if (paths.count(FLAGS_path) == 0) {
    fprintf(stderr, "read_paths: --path=%s; see --help\n", FLAGS_path.c_str());
    return 1;
  }
  if (FLAGS_key_bytes < 8) {
    fprintf(stderr, "read_paths: --key_bytes must be at least 8\n");
    return 1;
  }
  // False positives are the same each time.
  FilterSalt::Fix(FilterSalt{0x0123456789abcdef, 0xfedcba9876543210});
  DigestMemory::SwitchOn(FLAGS_share_digests);
  std::unique_ptr<ROCKSDB_NAMESPACE::Env> slow;
  if (FLAGS_read_latency_us > 0) {
    slow = NewSlowEnv(FLAGS_read_latency_us, Wait::kAwake);
  }
  const auto db =
      Build(slow != nullptr ? slow.get() : ROCKSDB_NAMESPACE::Env::Default());
  ReadAll(db.get());
  AskQueries(db.get());
  if (FLAGS_rounds > 0) {
    PrintLeastTime(db.get());
    return 0;
  }
  printf("%llu\n", static_cast<unsigned long long>(CountedQueries(db.get())));
  return 0;
}
