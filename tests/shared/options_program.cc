// SPDX-License-Identifier: Apache-2.0

//  A program without Protean, compiled with RocksDB's public headers only.
//
//      options_program DB [OPTIONS_FILE]
//      options_program DB gets
//
//  The first form opens a DB with an OPTIONS file, or without, writes some keys
//  into several files, seeks between them, and prints how many seeks a filter
//  answered, and whether all answers were right. The second one opens the DB as
//  its latest OPTIONS file says, and gets absent keys of each column family,
//  which are stored ones with something behind them. It prints the names of the
//  column families in which filters deny nearly all of these keys in both of
//  two sorted runs, according to the statistics and the perf context, and
//  nearly no block of data is read.

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "rocksdb/db.h"
#include "rocksdb/options.h"
#include "rocksdb/perf_context.h"
#include "rocksdb/statistics.h"
#include "rocksdb/utilities/options_util.h"

namespace ROCKSDB_NAMESPACE {

namespace {

void Require(const Status& s) {
  if (s.ok()) return;
  fprintf(stderr, "%s\n", s.ToString().c_str());
  exit(1);
}

std::string Key(int number) {
  char key[16];
  snprintf(key, sizeof(key), "%08d", number);
  return key;
}

// Returns the number of wrong answers.
int SeekBetweenKeys(DB* db) {
  constexpr int kKeys = 30000;
  for (int run = 0; run < 3; run++) {
    for (int i = run; i < kKeys; i += 3) {
      Require(db->Put(WriteOptions(), Key(100 * i), "value"));
    }
    Require(db->Flush(FlushOptions()));
  }
  get_perf_context()->Reset();
  int wrong = 0;
  for (int i = 0; i < kKeys; i++) {
    const std::string upper = Key(100 * i + 20);
    const Slice bound(upper);
    ReadOptions read;
    read.iterate_upper_bound = &bound;
    const std::unique_ptr<Iterator> it(db->NewIterator(read));
    it->Seek(Key(100 * i + 10));  // nothing
    if (it->Valid() || !it->status().ok()) wrong++;
    it->Seek(Key(100 * i));
    if (!it->Valid() || it->key() != Key(100 * i)) wrong++;
  }
  printf("filtered %s, wrong %d\n",
         get_perf_context()->bloom_sst_miss_count > kKeys ? "yes" : "no",
         wrong);
  return wrong;
}

void GetAbsentKeys(DB* db, ColumnFamilyHandle* family, Statistics* statistics) {
  std::vector<std::string> keys;
  {
    const std::unique_ptr<Iterator> it(db->NewIterator(ReadOptions(), family));
    for (it->SeekToFirst(); it->Valid(); it->Next()) {
      keys.push_back(it->key().ToString());
    }
    Require(it->status());
  }
  Require(statistics->Reset());
  get_perf_context()->Reset();
  for (const std::string& key : keys) {
    std::string value;
    const Status s = db->Get(ReadOptions(), family, key + "absent", &value);
    if (!s.IsNotFound()) exit(1);
  }
  const uint64_t denied = statistics->getTickerCount(BLOOM_FILTER_USEFUL);
  const uint64_t data_blocks =
      statistics->getTickerCount(BLOCK_CACHE_DATA_HIT) +
      statistics->getTickerCount(BLOCK_CACHE_DATA_MISS);
  if (denied > keys.size() * 19 / 10 && data_blocks < keys.size() / 10 &&
      denied == get_perf_context()->bloom_sst_miss_count) {
    printf("%s: %zu keys\n", family->GetName().c_str(), keys.size());
  }
}

}  // namespace

}  // namespace ROCKSDB_NAMESPACE

int main(int argc, char** argv) {
  using namespace ROCKSDB_NAMESPACE;
  if (argc < 2) return 2;
  const bool gets = argc > 2 && argv[2] == std::string("gets");
  ConfigOptions config;
  config.ignore_unknown_options = false;
  config.ignore_unsupported_options = !gets;
  DBOptions options;
  std::vector<ColumnFamilyDescriptor> families = {
      {kDefaultColumnFamilyName, ColumnFamilyOptions()}};
  if (gets) {
    Require(LoadLatestOptions(config, argv[1], &options, &families));
    options.statistics = CreateDBStatistics();
    SetPerfLevel(PerfLevel::kEnableCount);
  } else if (argc > 2) {
    Require(LoadOptionsFromFile(config, argv[2], &options, &families));
  }
  options.create_if_missing = !gets;
  std::vector<ColumnFamilyHandle*> handles;
#if ROCKSDB_MAJOR >= 11
  std::unique_ptr<DB> db;
  Require(DB::Open(options, argv[1], families, &handles, &db));
#else
  DB* opened = nullptr;
  Require(DB::Open(options, argv[1], families, &handles, &opened));
  const std::unique_ptr<DB> db(opened);
#endif
  const int wrong = gets ? 0 : SeekBetweenKeys(db.get());
  for (ColumnFamilyHandle* handle : handles) {
    if (gets) GetAbsentKeys(db.get(), handle, options.statistics.get());
    Require(db->DestroyColumnFamilyHandle(handle));
  }
  Require(db->Close());
  return wrong > 0;
}
