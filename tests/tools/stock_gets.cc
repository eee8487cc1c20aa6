// SPDX-License-Identifier: Apache-2.0

//  A program of RocksDB alone, without Protean: it opens the DB whose folder is
//  its first argument as its latest OPTIONS file says, and gets absent keys of
//  each column family, which are stored ones with something behind them. Prints
//  the names of the column families in which filters deny nearly all of these
//  keys in both of two sorted runs, according to the statistics and the perf
//  context, and nearly no block of data is read.

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "rocksdb/cache.h"
#include "rocksdb/db.h"
#include "rocksdb/perf_context.h"
#include "rocksdb/statistics.h"
#include "rocksdb/utilities/options_util.h"
#include "rocksdb/version.h"

namespace {

using ROCKSDB_NAMESPACE::Status;

void Require(const Status& s) {
  if (s.ok()) return;
  fprintf(stderr, "%s\n", s.ToString().c_str());
  exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace ROCKSDB_NAMESPACE;
  if (argc != 2) return 2;
  ConfigOptions config;
  config.ignore_unknown_options = false;
  config.ignore_unsupported_options = false;
  DBOptions options;
  std::vector<ColumnFamilyDescriptor> families;
  Require(LoadLatestOptions(config, argv[1], &options, &families));
  options.statistics = CreateDBStatistics();
  std::vector<ColumnFamilyHandle*> handles;
#if ROCKSDB_MAJOR >= 11
  std::unique_ptr<DB> db;
  Require(DB::Open(options, argv[1], families, &handles, &db));
#else
  DB* opened = nullptr;
  Require(DB::Open(options, argv[1], families, &handles, &opened));
  const std::unique_ptr<DB> db(opened);
#endif
  SetPerfLevel(PerfLevel::kEnableCount);
  for (ColumnFamilyHandle* handle : handles) {
    std::vector<std::string> keys;
    {
      const std::unique_ptr<Iterator> it(
          db->NewIterator(ReadOptions(), handle));
      for (it->SeekToFirst(); it->Valid(); it->Next()) {
        keys.push_back(it->key().ToString());
      }
      Require(it->status());
    }
    Require(options.statistics->Reset());
    get_perf_context()->Reset();
    for (const std::string& key : keys) {
      std::string value;
      const Status s = db->Get(ReadOptions(), handle, key + "absent", &value);
      if (!s.IsNotFound()) return 1;
    }
    const uint64_t denied =
        options.statistics->getTickerCount(BLOOM_FILTER_USEFUL);
    const uint64_t data_blocks =
        options.statistics->getTickerCount(BLOCK_CACHE_DATA_HIT) +
        options.statistics->getTickerCount(BLOCK_CACHE_DATA_MISS);
    if (denied > keys.size() * 19 / 10 && data_blocks < keys.size() / 10 &&
        denied == get_perf_context()->bloom_sst_miss_count) {
      printf("%s: %zu keys\n", handle->GetName().c_str(), keys.size());
    }
    Require(db->DestroyColumnFamilyHandle(handle));
  }
  Require(db->Close());
  return 0;
}
