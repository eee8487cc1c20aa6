// SPDX-License-Identifier: Apache-2.0

//  A service that keeps the events of users in a RocksDB: the example of
//  docs/tutorial.md. It knows RocksDB alone.
//
//      events write DB          writes a month of events
//      events ask DB [TRACE]    asks for an hour of a user, 20,000 times, and
//                               traces the reads
//
//  A key is a user and a time, such as user:000042|2026-01-05T10:31:07Z.

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "rocksdb/convenience.h"
#include "rocksdb/db.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/iterator.h"
#include "rocksdb/options.h"
#include "rocksdb/statistics.h"
#include "rocksdb/table.h"
#include "rocksdb/trace_reader_writer.h"
#include "rocksdb/utilities/options_util.h"
#include "rocksdb/version.h"

namespace {

constexpr unsigned kUsers = 20000;
constexpr int kEvents = 400000;
constexpr int kWindows = 20000;
constexpr unsigned kSecondsOfMonth = 28 * 24 * 3600;

std::string Key(unsigned user, unsigned second) {
  char key[64];
  snprintf(key, sizeof(key), "user:%06u|2026-01-%02uT%02u:%02u:%02uZ", user,
           1 + second / 86400, second / 3600 % 24, second / 60 % 60,
           second % 60);
  return key;
}

void Require(const rocksdb::Status& s) {
  if (s.ok()) return;
  fprintf(stderr, "events: %s\n", s.ToString().c_str());
  exit(1);
}

// DB::Open with any of its lists of arguments.
template <typename... Arguments>
std::unique_ptr<rocksdb::DB> Open(const Arguments&... arguments) {
#if ROCKSDB_MAJOR >= 11
  std::unique_ptr<rocksdb::DB> db;
  Require(rocksdb::DB::Open(arguments..., &db));
  return db;
#else
  rocksdb::DB* db = nullptr;
  Require(rocksdb::DB::Open(arguments..., &db));
  return std::unique_ptr<rocksdb::DB>(db);
#endif
}

void Write(const std::string& path) {
  rocksdb::Options options;
  options.create_if_missing = true;
  options.compression = rocksdb::kNoCompression;
  options.write_buffer_size = 4 << 20;
  options.target_file_size_base = 4 << 20;
  options.max_bytes_for_level_base = 16 << 20;
  rocksdb::BlockBasedTableOptions table;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  const std::unique_ptr<rocksdb::DB> db = Open(options, path);
  std::mt19937 random(1);
  const std::string value(100, 'e');
  for (int i = 0; i < kEvents; i++) {
    const unsigned user = random() % kUsers;
    Require(db->Put(rocksdb::WriteOptions(),
                    Key(user, random() % kSecondsOfMonth), value));
  }
  Require(db->Flush(rocksdb::FlushOptions()));
  Require(db->WaitForCompact(rocksdb::WaitForCompactOptions()));
  Require(db->Close());
  printf("%d events written\n", kEvents);
}

void Ask(const std::string& path, const char* trace) {
  rocksdb::DBOptions options;
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  Require(rocksdb::LoadLatestOptions(rocksdb::ConfigOptions(), path, &options,
                                     &families));
  options.statistics = rocksdb::CreateDBStatistics();
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  const std::unique_ptr<rocksdb::DB> db =
      Open(options, path, families, &handles);
  if (trace != nullptr) {
    std::unique_ptr<rocksdb::TraceWriter> writer;
    Require(rocksdb::NewFileTraceWriter(rocksdb::Env::Default(),
                                        rocksdb::EnvOptions(), trace, &writer));
    Require(db->StartTrace(rocksdb::TraceOptions(), std::move(writer)));
  }
  std::mt19937 random(trace != nullptr ? 2 : 3);
  int found = 0;
  for (int i = 0; i < kWindows; i++) {
    const unsigned user = random() % kUsers;
    const unsigned begin = random() % (kSecondsOfMonth - 3600);
    const std::string end = Key(user, begin + 3600);
    const rocksdb::Slice bound(end);
    rocksdb::ReadOptions read;
    // Only a seek with a bound can be filtered.
    read.iterate_upper_bound = &bound;
    const std::unique_ptr<rocksdb::Iterator> it(db->NewIterator(read));
    it->Seek(Key(user, begin));
    Require(it->status());
    found += it->Valid() ? 1 : 0;
  }
  if (trace != nullptr) Require(db->EndTrace());
  const auto ticks = [&](rocksdb::Tickers ticker) {
    return static_cast<double>(options.statistics->getTickerCount(ticker));
  };
  printf("%d windows, %d with events: %.2f data blocks for each\n", kWindows,
         found,
         (ticks(rocksdb::BLOCK_CACHE_DATA_HIT) +
          ticks(rocksdb::BLOCK_CACHE_DATA_MISS)) /
             kWindows);
  for (rocksdb::ColumnFamilyHandle* handle : handles) {
    Require(db->DestroyColumnFamilyHandle(handle));
  }
  Require(db->Close());
}

}  // namespace

int main(int argc, char** argv) {
  const std::string command = argc > 1 ? argv[1] : "";
  if (command == "write" && argc == 3) {
    Write(argv[2]);
  } else if (command == "ask" && (argc == 3 || argc == 4)) {
    Ask(argv[2], argc == 4 ? argv[3] : nullptr);
  } else {
    fprintf(stderr, "usage: events write DB | events ask DB [TRACE]\n");
    return 2;
  }
  return 0;
}
