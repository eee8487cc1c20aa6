// SPDX-License-Identifier: Apache-2.0

//  Readings of sensors in a RocksDB with Protean's range filters.
//
//      sensors DB
//
//  The program writes one day's readings of 2,000 sensors, each at random
//  times. Then it asks what an alarm asks all the time: has this sensor
//  reported in the last ten minutes? Most have not. When it is started again,
//  it opens the existing DB.

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>

#include "rocksdb/db.h"
#include "rocksdb/iterator.h"
#include "rocksdb/options.h"
#include "rocksdb/perf_context.h"
#include "rocksdb/plugin/protean/filter_statistics.h"
#include "rocksdb/plugin/protean/protean.h"

using rocksdb::Slice;
using rocksdb::Status;

namespace {

constexpr uint32_t kSensors = 2000;
constexpr uint32_t kReadingsPerSensor = 50;
constexpr uint64_t kDay = 24 * 60 * 60;
constexpr uint64_t kTenMinutes = 10 * 60;

// Big endian, so that keys are ordered by sensor, then by time.
std::string Key(uint32_t sensor, uint64_t time) {
  std::string key;
  for (int shift = 24; shift >= 0; shift -= 8) {
    key.push_back(static_cast<char>(sensor >> shift));
  }
  for (int shift = 56; shift >= 0; shift -= 8) {
    key.push_back(static_cast<char>(time >> shift));
  }
  return key;
}

void Require(const Status& s) {
  if (s.ok()) return;
  fprintf(stderr, "sensors: %s\n", s.ToString().c_str());
  exit(1);
}

void WriteReadings(rocksdb::DB* db, std::mt19937_64* random) {
  for (uint32_t i = 0; i < kReadingsPerSensor; i++) {
    for (uint32_t sensor = 0; sensor < kSensors; sensor++) {
      const std::string reading(100, 'r');
      Require(db->Put(rocksdb::WriteOptions(), Key(sensor, (*random)() % kDay),
                      reading));
    }
  }
  Require(db->Flush(rocksdb::FlushOptions()));
}

// Whether the sensor has reported in the ten minutes from `begin` on.
bool HasReported(rocksdb::DB* db, uint32_t sensor, uint64_t begin) {
  const std::string end = Key(sensor, begin + kTenMinutes);
  const Slice upper_bound(end);
  rocksdb::ReadOptions options;
  // Range filters can answer only if the seek has an end.
  options.iterate_upper_bound = &upper_bound;
  const std::unique_ptr<rocksdb::Iterator> it(db->NewIterator(options));
  it->Seek(Key(sensor, begin));
  Require(it->status());
  return it->Valid();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: sensors DB\n");
    return 2;
  }
  rocksdb::Options options;
  options.create_if_missing = true;
  options.write_buffer_size = 2 << 20;
  rocksdb::BlockBasedTableOptions table;
  table.filter_policy = rocksdb::protean::NewProteusFilterPolicy({14});
  options.table_factory = rocksdb::protean::NewProteanTableFactory(table);

  rocksdb::DB* opened = nullptr;
#if ROCKSDB_MAJOR >= 11
  std::unique_ptr<rocksdb::DB> db;
  Require(rocksdb::DB::Open(options, argv[1], &db));
  opened = db.get();
#else
  Require(rocksdb::DB::Open(options, argv[1], &opened));
  const std::unique_ptr<rocksdb::DB> db(opened);
#endif

  std::mt19937_64 random(1);
  if (opened->GetLatestSequenceNumber() == 0) WriteReadings(opened, &random);
  constexpr int kQuestions = 20000;
  int reported = 0;
  rocksdb::get_perf_context()->Reset();
  for (int i = 0; i < kQuestions; i++) {
    const auto sensor = static_cast<uint32_t>(random() % kSensors);
    if (HasReported(opened, sensor, random() % kDay)) reported++;
  }
  const auto* const perf = rocksdb::get_perf_context();
  printf("%d questions, %d sensors had reported, %" PRIu64
         " files spared, %.3f blocks read or found in the cache for each\n",
         kQuestions, reported, perf->bloom_sst_miss_count,
         static_cast<double>(perf->block_read_count +
                             perf->block_cache_hit_count) /
             kQuestions);
  rocksdb::protean::FilterStatistics statistics;
  Require(rocksdb::protean::GetFilterStatistics(
      opened, opened->DefaultColumnFamily(), &statistics));
  printf("%s", statistics.ToString().c_str());
  return 0;
}
