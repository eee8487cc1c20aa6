// SPDX-License-Identifier: Apache-2.0

//  A program without any reference to Protean: it opens a DB with an OPTIONS
//  file, or without, and is compiled with RocksDB's public headers only.
//
//      options_program DB [OPTIONS_FILE]
//
//  It writes some keys into several files, seeks between them, and prints how
//  many seeks a filter answered, and whether all answers were right.

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "rocksdb/db.h"
#include "rocksdb/options.h"
#include "rocksdb/perf_context.h"
#include "rocksdb/utilities/options_util.h"

using namespace rocksdb;

namespace {

void Require(const Status& s) {
  if (s.ok()) return;
  printf("%s\n", s.ToString().c_str());
  exit(1);
}

std::string Key(int number) {
  char key[16];
  snprintf(key, sizeof(key), "%08d", number);
  return key;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  DBOptions db_options;
  std::vector<ColumnFamilyDescriptor> families = {
      {kDefaultColumnFamilyName, ColumnFamilyOptions()}};
  if (argc > 2) {
    ConfigOptions config;
    config.ignore_unknown_options = false;
    Require(LoadOptionsFromFile(config, argv[2], &db_options, &families));
  }
  db_options.create_if_missing = true;
  std::vector<ColumnFamilyHandle*> handles;
  DB* opened = nullptr;
#if ROCKSDB_MAJOR >= 11
  std::unique_ptr<DB> db;
  Require(DB::Open(db_options, argv[1], families, &handles, &db));
  opened = db.get();
#else
  Require(DB::Open(db_options, argv[1], families, &handles, &opened));
  const std::unique_ptr<DB> db(opened);
#endif
  constexpr int kKeys = 30000;
  for (int run = 0; run < 3; run++) {
    for (int i = run; i < kKeys; i += 3) {
      Require(opened->Put(WriteOptions(), Key(100 * i), "value"));
    }
    Require(opened->Flush(FlushOptions()));
  }
  get_perf_context()->Reset();
  int wrong = 0;
  for (int i = 0; i < kKeys; i++) {
    const std::string upper = Key(100 * i + 20);
    const Slice bound(upper);
    ReadOptions read;
    read.iterate_upper_bound = &bound;
    const std::unique_ptr<Iterator> it(opened->NewIterator(read));
    it->Seek(Key(100 * i + 10));  // nothing
    if (it->Valid() || !it->status().ok()) wrong++;
    it->Seek(Key(100 * i));
    if (!it->Valid() || it->key() != Key(100 * i)) wrong++;
  }
  printf("filtered %s, wrong %d\n",
         get_perf_context()->bloom_sst_miss_count > kKeys ? "yes" : "no",
         wrong);
  for (ColumnFamilyHandle* handle : handles) {
    Require(opened->DestroyColumnFamilyHandle(handle));
  }
  return wrong > 0;
}
