// SPDX-License-Identifier: Apache-2.0

//  What an operator's DB reads before and after the advice of `protean advise`
//  has been followed, for scripts/operator_table.sh. One step a run: the DB is
//  written under stock Bloom filters, with RocksDB's own flushes and
//  compactions; a trace of its reads is recorded; fresh reads of the same mix
//  are counted. The options of the DB are always those of its OPTIONS file.

#include <gflags/gflags.h>

#include <array>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "db_bench_ext/own_flags.h"
#include "plugin/protean.h"
#include "rocksdb/cache.h"
#include "rocksdb/convenience.h"
#include "rocksdb/db.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/options.h"
#include "rocksdb/statistics.h"
#include "rocksdb/table.h"
#include "rocksdb/trace_reader_writer.h"
#include "rocksdb/utilities/options_util.h"
#include "table/rocksdb_internals/versions.h"
#include "util/hash.h"
#include "util/random.h"

DEFINE_string(step, "load",
              "load: write a new DB; trace: read it and record the reads; "
              "read: read it and count the blocks");
DEFINE_string(db, "/tmp/protean_operator", "Folder of the DB");
DEFINE_string(trace, "", "trace: the file to write");
DEFINE_string(compaction, "leveled", "load: leveled or universal");
DEFINE_uint64(num, 2'000'000, "Writes, a tenth of which are updates");
DEFINE_uint64(value_bytes, 100, "load: size of a value");
DEFINE_bool(partition_filters, false,
            "load: filters and indexes in parts, which are read through the "
            "block cache");
DEFINE_uint64(cache_bytes, 8 << 20, "Size of the block cache");
DEFINE_uint64(reads, 20'000, "Reads of each kind");
DEFINE_uint64(scan_keys, 20, "Keys that a scan reads at most");
DEFINE_uint64(seed, 1, "Seed of the reads");

namespace ROCKSDB_NAMESPACE::protean {

namespace {

uint64_t HashOf(uint64_t number, uint64_t seed) {
  return Hash64(reinterpret_cast<const char*>(&number), sizeof(number), seed);
}

// Keys of a user's session and a time. A few users have most of the events, and
// all events of a session lie within an hour. Times of stored keys are even
// numbers of milliseconds.
struct Event {
  uint32_t user = 0;
  uint32_t session = 0;
  uint64_t start = 0;   // of the session, in milliseconds of the year
  uint64_t millis = 0;  // since then

  std::string Session() const {
    char text[32];
    snprintf(text, sizeof(text), "user:%06u/session:%02u/", user, session);
    return text;
  }
  std::string Key() const {
    const uint64_t at = start + millis;
    const uint64_t day = at / 86'400'000;
    char text[32];
    snprintf(text, sizeof(text), "2026-%02u-%02uT%02u:%02u:%02u.%03uZ",
             static_cast<unsigned>(1 + day / 28 % 12),
             static_cast<unsigned>(1 + day % 28),
             static_cast<unsigned>(at / 3'600'000 % 24),
             static_cast<unsigned>(at / 60'000 % 60),
             static_cast<unsigned>(at / 1000 % 60),
             static_cast<unsigned>(at % 1000));
    return Session() + text;
  }
};

Event EventOf(uint64_t number) {
  constexpr double kUsers = 200'000;
  Event event;
  const double draw = static_cast<double>(HashOf(number, 1) >> 11) * 0x1p-53;
  event.user = static_cast<uint32_t>(kUsers * draw * draw * draw);
  event.session = static_cast<uint32_t>(HashOf(number, 2) % 20);
  event.start =
      HashOf(event.user * 100 + event.session, 3) % (330ull * 86'400'000);
  event.start -= event.start % 2;
  event.millis = HashOf(number, 4) % 1'800'000 * 2;
  return event;
}

// The number of the event that a write puts: a tenth of all writes are updates.
uint64_t NumberOfWrite(uint64_t write) {
  return write % 10 == 9 ? HashOf(write, 5) % write : write;
}
uint64_t AnyNumber(Random64* random) {
  const uint64_t number = random->Uniform(FLAGS_num);
  return number % 10 == 9 ? number - 1 : number;
}

enum Kind { kAbsentGet, kPresentGet, kClosedSeek, kOpenSeek, kScan, kKinds };
constexpr std::array<const char*, kKinds> kNames = {
    "absent Get", "present Get", "closed seek", "open seek", "scan"};

// The blocks of the reads of one kind.
struct Sums {
  uint64_t reads = 0;
  uint64_t found = 0;
  uint64_t blocks = 0;          // of data, that the read or its seek asks for
  uint64_t blocks_of_next = 0;  // of data, after the seek
  uint64_t filter_misses = 0;   // blocks of filters that were not in the cache
};

class Reader {
 public:
  Reader(DB* db, std::shared_ptr<Statistics> statistics)
      : db_(db), statistics_(std::move(statistics)) {}

  // Makes all reads, the kinds one after the other in turn.
  void ReadAll() {
    Random64 random(FLAGS_seed);
    for (uint64_t i = 0; i < FLAGS_reads; i++) {
      for (int kind = 0; kind < kKinds; kind++) {
        Read(static_cast<Kind>(kind), &random);
      }
    }
  }
  void Print() const {
    for (int kind = 0; kind < kKinds; kind++) {
      const Sums& sums = sums_[static_cast<size_t>(kind)];
      const auto reads = static_cast<double>(sums.reads);
      printf(
          "{\"kind\": \"%s\", \"reads\": %llu, \"found\": %llu, \"blocks\": "
          "%.5f, \"blocks_of_next\": %.5f, \"filter_misses\": %.5f}\n",
          kNames[static_cast<size_t>(kind)],
          static_cast<unsigned long long>(sums.reads),
          static_cast<unsigned long long>(sums.found),
          static_cast<double>(sums.blocks) / reads,
          static_cast<double>(sums.blocks_of_next) / reads,
          static_cast<double>(sums.filter_misses) / reads);
    }
  }

 private:
  uint64_t Blocks() const {
    return statistics_->getTickerCount(BLOCK_CACHE_DATA_HIT) +
           statistics_->getTickerCount(BLOCK_CACHE_DATA_MISS);
  }
  uint64_t FilterMisses() const {
    return statistics_->getTickerCount(BLOCK_CACHE_FILTER_MISS);
  }

  void Read(Kind kind, Random64* random) {
    Event event = EventOf(AnyNumber(random));
    Sums* const sums = &sums_[kind];
    const uint64_t before = Blocks();
    const uint64_t misses_before = FilterMisses();
    sums->reads++;
    if (kind == kAbsentGet || kind == kPresentGet) {
      if (kind == kAbsentGet) event.millis = random->Uniform(1'800'000) * 2 + 1;
      std::string value;
      const Status s = db_->Get(ReadOptions(), event.Key(), &value);
      if (!s.IsNotFound()) Check(s);
      sums->found += s.ok() ? 1 : 0;
      sums->blocks += Blocks() - before;
    } else {
      Seek(kind, event, random, sums);
    }
    sums->filter_misses += FilterMisses() - misses_before;
  }

  void Seek(Kind kind, Event event, Random64* random, Sums* sums) {
    event.millis = random->Uniform(1'800'000) * 2 + 1;
    const std::string from = kind == kScan ? event.Session() : event.Key();
    std::string upper = from.substr(0, event.Session().size()) + "~";
    if (kind == kClosedSeek) {
      event.millis += 2 + random->Uniform(60'000);
      upper = event.Key();
    }
    const Slice bound(upper);
    ReadOptions read;
    if (kind != kOpenSeek) read.iterate_upper_bound = &bound;
    const uint64_t before = Blocks();
    const std::unique_ptr<Iterator> it(db_->NewIterator(read));
    it->Seek(from);
    const uint64_t after_seek = Blocks();
    sums->blocks += after_seek - before;
    sums->found += it->Valid() ? 1 : 0;
    for (uint64_t n = 1; kind == kScan && n < FLAGS_scan_keys && it->Valid();
         n++) {
      it->Next();
    }
    Check(it->status());
    sums->blocks_of_next += Blocks() - after_seek;
  }

  DB* const db_;
  const std::shared_ptr<Statistics> statistics_;
  std::array<Sums, kKinds> sums_{};
};

// Sizes of files and levels such that the DB has as many levels as a large one.
Options NewOptions() {
  Options options;
  options.create_if_missing = true;
  const uint64_t bytes = FLAGS_num * (FLAGS_value_bytes + 60);
  options.write_buffer_size = std::max<uint64_t>(bytes / 64, 64 << 10);
  options.target_file_size_base = options.write_buffer_size;
  options.max_bytes_for_level_base = 2 * options.write_buffer_size;
  options.compression = kNoCompression;
  if (FLAGS_compaction == "universal") {
    options.compaction_style = kCompactionStyleUniversal;
  }
  BlockBasedTableOptions table;
  table.filter_policy.reset(NewBloomFilterPolicy(10));
  if (FLAGS_partition_filters) {
    table.partition_filters = true;
    table.index_type = BlockBasedTableOptions::kTwoLevelIndexSearch;
    table.cache_index_and_filter_blocks = true;
  }
  options.table_factory.reset(NewBlockBasedTableFactory(table));
  return options;
}

void Load() {
  const Options options = NewOptions();
  Check(DestroyDB(FLAGS_db, options));
  std::unique_ptr<DB> db;
  Check(OpenDB(&db, options, FLAGS_db));
  Random64 random(7);
  std::string value(FLAGS_value_bytes, 'v');
  WriteOptions write;
  write.disableWAL = true;
  for (uint64_t i = 0; i < FLAGS_num; i++) {
    for (char& c : value) c = static_cast<char>('a' + random.Next() % 26);
    Check(db->Put(write, EventOf(NumberOfWrite(i)).Key(), value));
  }
  Check(db->Flush(FlushOptions()));
  Check(db->WaitForCompact(WaitForCompactOptions()));
  // All later steps are to see the same tree.
  Check(db->SetOptions({{"disable_auto_compactions", "true"}}));
  std::string shape;
  db->GetProperty(DB::Properties::kLevelStats, &shape);
  fprintf(stderr, "%s", shape.c_str());
  Check(db->Close());
}

void ReadDB() {
  std::vector<ColumnFamilyDescriptor> families;
  DBOptions db_options;
  Check(LoadLatestOptions(ConfigOptions(), FLAGS_db, &db_options, &families));
  Options options(db_options, families[0].options);
  options.statistics = CreateDBStatistics();
  options.table_factory->GetOptions<BlockBasedTableOptions>()->block_cache =
      NewLRUCache(FLAGS_cache_bytes, /*num_shard_bits=*/0);
  std::unique_ptr<DB> db;
  Check(OpenDB(&db, options, FLAGS_db));
  Reader reader(db.get(), options.statistics);
  if (FLAGS_step == "trace") {
    std::unique_ptr<TraceWriter> writer;
    Check(
        NewFileTraceWriter(Env::Default(), EnvOptions(), FLAGS_trace, &writer));
    Check(db->StartTrace(TraceOptions(), std::move(writer)));
    reader.ReadAll();
    Check(db->EndTrace());
  } else {
    reader.ReadAll();
  }
  reader.Print();
  Check(db->Close());
}

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean

int main(int argc, char** argv) {
  using namespace ROCKSDB_NAMESPACE::protean;
  ParseOwnFlags("operator_bench",
                "Writes a DB of text keys under stock Bloom filters, records a "
                "trace of reads, and counts the blocks of fresh reads, for "
                "scripts/operator_table.sh.",
                &argc, &argv);
  const bool is_wrong_step =
      FLAGS_step != "load" && FLAGS_step != "trace" && FLAGS_step != "read";
  const bool is_wrong_style =
      FLAGS_compaction != "leveled" && FLAGS_compaction != "universal";
  if (is_wrong_step || is_wrong_style || FLAGS_num < 10 ||
      (FLAGS_step == "trace") == FLAGS_trace.empty()) {
    fprintf(stderr,
            "operator_bench: --step=%s --compaction=%s --num=%llu --trace=%s "
            "do not go together; see --help\n",
            FLAGS_step.c_str(), FLAGS_compaction.c_str(),
            static_cast<unsigned long long>(FLAGS_num), FLAGS_trace.c_str());
    return 1;
  }
  if (FLAGS_step == "load") {
    Load();
  } else {
    ReadDB();
  }
  return 0;
}
