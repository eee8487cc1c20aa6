// SPDX-License-Identifier: Apache-2.0

//  ReadOptions over partitioned filters: deadlines, rate limits, async_io, and
//  what may be read from files or put into the block cache. Gets end as with
//  RocksDB's partitioned Bloom filter.

#include "env/composite_env_wrapper.h"
#include "rocksdb/rate_limiter.h"
#include "tests/table/faults/fault_file_system.h"
#include "tests/table/twin_db.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// A clock that a test can put forward.
class ForwardClock : public SystemClockWrapper {
 public:
  ForwardClock() : SystemClockWrapper(SystemClock::Default()) {}
  const char* Name() const override { return "ForwardClock"; }
  uint64_t NowMicros() override { return target_->NowMicros() + ahead_; }
  void PutForward(uint64_t micros) { ahead_ += micros; }

 private:
  std::atomic<uint64_t> ahead_{0};
};

constexpr char kStock[] = "filter_policy=bloomfilter:14";
constexpr const char* kProteanTables[] = {
    "miss_cache_size=0;filter_policy=proteus:14",
    "miss_cache_size=0;filter_policy=surf:0:16"};
constexpr const char* kTables[] = {kStock, kProteanTables[0],
                                   kProteanTables[1]};
constexpr char kNoRoom[] = "block_cache={capacity=1;num_shard_bits=0};";

class PartitionReadOptionsTest : public NumberedDBTest {
 protected:
  static constexpr uint64_t kKeys = 9000;

  // How the reads ended.
  struct Ends {
    std::vector<Status::Code> gets;
    std::vector<Status::Code> multi_gets;
    std::vector<Status::Code> seeks;

    static size_t CountOf(const std::vector<Status::Code>& ends,
                          Status::Code code) {
      return static_cast<size_t>(std::count(ends.begin(), ends.end(), code));
    }
  };

  PartitionReadOptionsTest() {
    options_.env = &env_;
    options_.target_file_size_base = 1 << 20;
  }
  ~PartitionReadOptionsTest() override {
    file_system_->on_read = nullptr;
    Destroy();
    options_.env = Env::Default();
  }

  // A DB of three sorted runs with this table, opened with empty caches.
  void Make(const std::string& table, const std::string& cache) {
    file_system_->on_read = nullptr;
    Destroy();
    SetTable(table +
                 ";cache_index_and_filter_blocks=true;partition_filters=true;"
                 "index_type=kTwoLevelIndexSearch;metadata_block_size=512;"
                 "decouple_partitioned_filters=true;block_size=1024;"
                 "pin_top_level_index_and_filter=false;" +
                 cache,
             table == kStock ? "BlockBasedTable" : "ProteanTable");
    Open();
    for (const auto& [level, first] : {std::pair{3, 1}, {2, 2}, {0, 3}}) {
      for (uint64_t i = first; i <= kKeys; i += 3) Put(Key(i), ValueOf(i));
      Flush();
      if (level > 0) CompactLevel0Into(level, 1 << 20);
    }
    log_->Clear();
    Open();
    block_cache().EraseUnRefEntries();
    ASSERT_OK(options_.statistics->Reset());
    get_perf_context()->Reset();
  }
  Cache& block_cache() { return *TableOf(options_)->block_cache; }
  static std::string ValueOf(uint64_t i) {
    return "value " + std::to_string(i);
  }

  // Reads keys that exist and keys that do not. Each answer is right, or an
  // error. `before` may change the options of each read.
  Ends ReadAll(const ReadOptions& options,
               const std::function<void(ReadOptions*)>& before = {}) {
    Ends ends;
    const auto fresh = [&] {
      ReadOptions changed = options;
      if (before) before(&changed);
      return changed;
    };
    const auto check = [](uint64_t i, bool exists, const Status& s,
                          const Slice& value) {
      if (s.ok()) {
        EXPECT_TRUE(exists) << i;
        EXPECT_EQ(ValueOf(i), value.ToString());
      } else if (s.IsNotFound()) {
        EXPECT_FALSE(exists) << "overlooked: " << i;
      }
    };
    for (uint64_t n = 1; n <= 60; n++) {
      const uint64_t i = 2 + n * 7919 % (kKeys - 4);
      for (const bool exists : {true, false}) {
        std::string value;
        const Status s =
            db_->Get(fresh(), exists ? Key(i) : Gap(i, kGap / 2), &value);
        check(i, exists, s, value);
        ends.gets.push_back(s.code());
      }
      Keys keys;
      for (uint64_t k = 0; k < 8; k++) {
        keys.push_back(BigEndian(kGap * (i / 2 + k * 300) + k % 2 * kGap / 2));
      }
      std::vector<PinnableSlice> values;
      const std::vector<Status> statuses =
          MultiGet(db_.get(), keys, &values, fresh(), /*sorted=*/true);
      for (uint64_t k = 0; k < 8; k++) {
        const uint64_t number = i / 2 + k * 300;
        const bool exists = k % 2 == 0 && number > 0 && number <= kKeys;
        check(number, exists, statuses[k], values[k]);
        ends.multi_gets.push_back(statuses[k].code());
      }
      // Expects the key, or none if it is empty.
      const auto seek = [&](bool back, const std::string& target,
                            const std::string& end, const std::string& key) {
        ReadOptions bounded = fresh();
        const Slice upper = end;
        if (!end.empty()) bounded.iterate_upper_bound = &upper;
        const std::unique_ptr<Iterator> it(db_->NewIterator(bounded));
        back ? it->SeekForPrev(target) : it->Seek(target);
        ends.seeks.push_back(it->status().code());
        if (!it->status().ok() || key.empty()) {
          EXPECT_FALSE(it->Valid()) << i;
        } else {
          ASSERT_TRUE(it->Valid()) << "overlooked: " << i;
          EXPECT_EQ(key, it->key().ToString());
        }
      };
      // Ranges with and without a key, and without an end.
      seek(false, Gap(i, 450), Gap(i, 550), "");
      seek(false, BigEndian(kGap * i - 1), Gap(i), Key(i));
      seek(false, Gap(i), "", Key(i + 1));
      seek(true, Gap(i), "", Key(i));
    }
    return ends;
  }

  void ExpectAllAnswered(const Ends& ends) {
    for (const auto* points : {&ends.gets, &ends.multi_gets}) {
      EXPECT_EQ(points->size(), Ends::CountOf(*points, Status::kOk) +
                                    Ends::CountOf(*points, Status::kNotFound));
    }
    EXPECT_EQ(ends.seeks.size(), Ends::CountOf(ends.seeks, Status::kOk));
  }
  // A read that ends early is no fault of the file's.
  void ExpectNothingSaid() {
    EXPECT_EQ(Keys(), log_->Lines({"is read without"}));
  }

  const std::shared_ptr<ForwardClock> clock_ = std::make_shared<ForwardClock>();
  const std::shared_ptr<FaultFileSystem> file_system_ =
      std::make_shared<FaultFileSystem>();
  CompositeEnvWrapper env_{Env::Default(), file_system_, clock_};
};

}  // namespace

// ---- Time, and rate limits ----

// The file system notices that, or returns the part all the same.
TEST_F(PartitionReadOptionsTest, ADeadlineThatPassesInAPart) {
  constexpr std::chrono::hours hour(1);
  for (const bool noticed : {false, true}) {
    const auto read = [&] {
      // Reads begin with an hour left, and the read of a part takes ten.
      file_system_->on_read = [&](const FaultFileSystem::Reading& one) {
        if (one.kind != BlockKind::kFilter ||
            one.options.timeout.count() == 0) {
          return IOStatus::OK();
        }
        EXPECT_LE(one.options.timeout, hour);
        clock_->PutForward(10 * std::chrono::microseconds(hour).count());
        return noticed ? IOStatus::TimedOut() : IOStatus::OK();
      };
      return ReadAll(ReadOptions(), [&](ReadOptions* options) {
        options->deadline =
            std::chrono::microseconds(clock_->NowMicros()) + hour;
      });
    };
    ASSERT_NO_FATAL_FAILURE(Make(kStock, kNoRoom));
    const Ends stock = read();
    EXPECT_GT(Ends::CountOf(stock.gets, Status::kTimedOut), 60u);
    for (const char* table : kProteanTables) {
      SCOPED_TRACE(std::string(table) + (noticed ? " noticed" : ""));
      ASSERT_NO_FATAL_FAILURE(Make(table, kNoRoom));
      const Ends ends = read();
      EXPECT_EQ(stock.gets, ends.gets);
      EXPECT_EQ(stock.multi_gets, ends.multi_gets);
      EXPECT_GT(Ends::CountOf(ends.seeks, Status::kTimedOut), 60u);
      EXPECT_EQ(ends.seeks.size(),
                Ends::CountOf(ends.seeks, Status::kOk) +
                    Ends::CountOf(ends.seeks, Status::kTimedOut));
      ExpectNothingSaid();
      file_system_->on_read = nullptr;
      ExpectAllAnswered(ReadAll(ReadOptions()));
    }
  }
}

// A part that is not read within io_timeout may hold any key. The reads go on,
// since each read of a file has a time of its own.
TEST_F(PartitionReadOptionsTest, PartsThatTakeLongerThanTheirTimeout) {
  ReadOptions options;
  options.io_timeout = std::chrono::milliseconds(200);
  Ends stock;
  for (const char* table : kTables) {
    SCOPED_TRACE(table);
    ASSERT_NO_FATAL_FAILURE(Make(table, kNoRoom));
    uint64_t late = 0;
    file_system_->on_read = [&](const FaultFileSystem::Reading& one) {
      EXPECT_EQ(options.io_timeout, one.options.timeout);
      if (one.kind != BlockKind::kFilter) return IOStatus::OK();
      late++;
      return IOStatus::TimedOut();
    };
    const Ends ends = ReadAll(options);
    EXPECT_GT(late, 100u);
    ExpectAllAnswered(ends);
    ExpectNothingSaid();
    if (table == kTables[0]) stock = ends;
    EXPECT_EQ(stock.gets, ends.gets);
    EXPECT_EQ(stock.multi_gets, ends.multi_gets);
    // An iterator asks again once the part can be read.
    std::unique_ptr<Iterator> it(db_->NewIterator(options));
    it->Seek(Gap(50));
    ASSERT_TRUE(it->Valid());
    file_system_->on_read = nullptr;
    it->Seek(Gap(70));
    ASSERT_TRUE(it->Valid());
    EXPECT_EQ(Key(71), it->key().ToString());
    it.reset();
    if (table == kTables[0]) continue;
    ASSERT_NO_FATAL_FAILURE(Make(table, kNoRoom));
    // Any block of any read may be late.
    for (const int every : {3, 10, 30}) {
      Random random(static_cast<uint32_t>(every));
      file_system_->on_read = [&](const FaultFileSystem::Reading&) {
        return random.OneIn(every) ? IOStatus::TimedOut() : IOStatus::OK();
      };
      const Ends some = ReadAll(options);
      EXPECT_GT(Ends::CountOf(some.seeks, Status::kTimedOut), 20u);
      if (every > 3) {
        EXPECT_GT(Ends::CountOf(some.seeks, Status::kOk), 20u);
      }
    }
    ExpectNothingSaid();
    file_system_->on_read = nullptr;
    ExpectAllAnswered(ReadAll(options));
  }
}

TEST_F(PartitionReadOptionsTest, PartsAreChargedToTheRateLimiter) {
  for (const char* table : kTables) {
    SCOPED_TRACE(table);
    options_.rate_limiter.reset(
        NewGenericRateLimiter(int64_t{1} << 40, /*refill_period_us=*/100 * 1000,
                              /*fairness=*/10, RateLimiter::Mode::kReadsOnly));
    ASSERT_NO_FATAL_FAILURE(Make(table, kNoRoom));
    for (const Env::IOPriority priority : {Env::IO_USER, Env::IO_MID}) {
      ReadOptions options;
      options.rate_limiter_priority = priority;
      uint64_t bytes = 0;
      uint64_t bytes_of_parts = 0;
      file_system_->on_read = [&](const FaultFileSystem::Reading& one) {
        EXPECT_EQ(priority, one.options.rate_limiter_priority)
            << ToString(one.kind);
        bytes += one.bytes;
        if (one.kind == BlockKind::kFilter) bytes_of_parts += one.bytes;
        return IOStatus::OK();
      };
      const auto charged = [&] {
        return static_cast<uint64_t>(
            options_.rate_limiter->GetTotalBytesThrough(priority));
      };
      const uint64_t before = charged();
      ExpectAllAnswered(ReadAll(options));
      EXPECT_GT(bytes_of_parts, 60u * 400);
      EXPECT_EQ(bytes, charged() - before);
    }
    file_system_->on_read = nullptr;
    const int64_t before = options_.rate_limiter->GetTotalBytesThrough();
    ExpectAllAnswered(ReadAll(ReadOptions()));
    EXPECT_EQ(before, options_.rate_limiter->GetTotalBytesThrough());
  }
}

// ---- Where reads come from ----

TEST_F(PartitionReadOptionsTest, AsyncIO) {
  // ReadAll seeks 240 times in three files. Where RocksDB takes a sample of a
  // seek, the file is read, and a part more or less with it.
  const uint64_t sampled = MostSampledSeeks(2 * 240 * 3);
  for (const char* table : kTables) {
    SCOPED_TRACE(table);
    uint64_t filters_read[2];
    for (const bool async_io : {false, true}) {
      ASSERT_NO_FATAL_FAILURE(Make(table, kNoRoom));
      ReadOptions options;
      options.async_io = async_io;
      ExpectAllAnswered(ReadAll(options));
      filters_read[async_io] = get_perf_context()->filter_block_read_count;
      EXPECT_GT(filters_read[async_io], 60u);
      options.adaptive_readahead = true;
      options.readahead_size = 4096;
      ExpectAllAnswered(ReadAll(options));
    }
    EXPECT_LE(filters_read[false], filters_read[true] + sampled);
    EXPECT_LE(filters_read[true], filters_read[false] + sampled);
  }
}

// With fill_cache=false, the cache has no part more than before.
TEST_F(PartitionReadOptionsTest, PartsAreNotPutIntoTheCache) {
  for (const char* table : kTables) {
    SCOPED_TRACE(table);
    ASSERT_NO_FATAL_FAILURE(Make(table, "block_cache=8M;"));
    ReadOptions options;
    options.fill_cache = false;
    const size_t before = block_cache().GetUsage();
    ExpectAllAnswered(ReadAll(options));
    EXPECT_GT(get_perf_context()->filter_block_read_count, 60u);
    EXPECT_EQ(0u, Ticks(BLOCK_CACHE_FILTER_ADD));
    EXPECT_EQ(before, block_cache().GetUsage());
    ExpectAllAnswered(ReadAll(ReadOptions()));
    EXPECT_GT(Ticks(BLOCK_CACHE_FILTER_ADD), 20u);
    EXPECT_LT(before, block_cache().GetUsage());
    // Then no part is read.
    get_perf_context()->Reset();
    ExpectAllAnswered(ReadAll(options));
    EXPECT_EQ(0u, get_perf_context()->filter_block_read_count);
  }
}

// With kBlockCacheTier, what is not in the cache makes a read incomplete. Parts
// that are there answer alone. A MultiGet of RocksDB may read data all the same
// (docs/rocksdb_defects.md), but no parts.
TEST_F(PartitionReadOptionsTest, OnlyTheBlockCache) {
  ReadOptions cached;
  cached.read_tier = kBlockCacheTier;
  for (const char* table : kTables) {
    SCOPED_TRACE(table);
    uint64_t parts_read = 0;
    const auto count = [&](const FaultFileSystem::Reading& one) {
      parts_read += one.kind == BlockKind::kFilter;
      return IOStatus::OK();
    };
    // No part is in memory; nor is their index, unless it is pinned.
    for (const char* pinned : {"true", "false"}) {
      ASSERT_NO_FATAL_FAILURE(Make(
          table, std::string("block_cache=8M;pin_top_level_index_and_filter=") +
                     pinned + ";"));
      file_system_->on_read = count;
      const Ends empty = ReadAll(cached);
      for (const auto* ends : {&empty.gets, &empty.multi_gets, &empty.seeks}) {
        EXPECT_EQ(ends->size(), Ends::CountOf(*ends, Status::kIncomplete));
      }
      EXPECT_EQ(0u, get_perf_context()->block_read_count);
    }

    // Gets of absent keys bring the parts, and hardly any data.
    for (uint64_t i = 1; i < kKeys; i += 10) ASSERT_FALSE(Has(Gap(i, 500)));
    EXPECT_GT(parts_read, 20u);
    parts_read = 0;
    const Ends parts = ReadAll(cached);
    EXPECT_EQ(0u, parts_read);
    // Keys that exist, and then keys that do not, 60 of each.
    EXPECT_GT(Ends::CountOf(parts.gets, Status::kIncomplete), 40u);
    EXPECT_GT(Ends::CountOf(parts.gets, Status::kNotFound), 55u);
    EXPECT_GT(Ends::CountOf(parts.multi_gets, Status::kNotFound), 200u);
    // SuRF denies the ranges without a key.
    if (table == kProteanTables[1]) {
      EXPECT_GT(Ends::CountOf(parts.seeks, Status::kOk), 50u);
    }

    ExpectAllAnswered(ReadAll(ReadOptions()));
    get_perf_context()->Reset();
    ExpectAllAnswered(ReadAll(cached));
    EXPECT_EQ(0u, get_perf_context()->block_read_count);
    ExpectNothingSaid();
  }
}

// The parts of a file are read at once when it is opened, or one by one where
// the file is mapped into memory.
TEST_F(PartitionReadOptionsTest, PartsAreReadAheadUnlessTheyAreMapped) {
  for (const bool mapped : {false, true}) {
    SCOPED_TRACE(mapped);
    options_.allow_mmap_reads = mapped;
    ASSERT_NO_FATAL_FAILURE(Make(kProteanTables[1], "block_cache=8M;"));
    Close();
    TableOf(options_)->metadata_cache_options.partition_pinning =
        PinningTier::kAll;
    // Reads of a footer, an index or a directory are smaller than the parts.
    constexpr size_t kOthers = 8192;
    size_t read_ahead = 0;
    file_system_->on_read = [&](const FaultFileSystem::Reading& one) {
      read_ahead += one.bytes > kOthers;
      return IOStatus::OK();
    };
    Open();
    EXPECT_EQ(mapped ? 0u : 3u, read_ahead);
    get_perf_context()->Reset();
    ExpectAllAnswered(ReadAll(ReadOptions()));
    EXPECT_EQ(0u, get_perf_context()->filter_block_read_count);
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
