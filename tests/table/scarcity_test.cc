// SPDX-License-Identifier: Apache-2.0

//  Scarce memory, and clocks that jump: block caches that are too small and may
//  not grow, memory that cannot be charged to a cache, and days that repeat.

#include "env/composite_env_wrapper.h"
#include "plugin/filter_properties.h"
#include "plugin/refresh_filters.h"
#include "rocksdb/system_clock.h"
#include "tests/table/faults/checked_reads.h"
#include "tests/table/feature_fixture.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

struct Filters {
  std::string name;
  std::string table;
};

constexpr char kStock[] = "filter_policy=bloomfilter:10";

const Filters kFilters[] = {
    {"stock", kStock},
    {"SuRF", "filter_policy=surf:0:4"},
    {"Proteus", "filter_policy=proteus:12"},
    {"levels", "filter_policy=levels:bloomfilter:10,proteus:12"}};

class ScarcityTest : public KnownDBTest {
 protected:
  ScarcityTest() {
    Random64 random(11);
    keys_ = HurtfulKeys(200);
    for (int i = 0; i < 9000; i++) keys_.push_back(BigEndian(random.Next()));
    SortUnique(&keys_);
    for (size_t i = 0; i < keys_.size(); i += 9) asked_.push_back(keys_[i]);
    asked_ = WithNeighbours(asked_);
    options_.target_file_size_base = 1 << 20;
  }

  // Sets the table, with a cache that never holds more than `capacity` bytes.
  void UseTable(const std::string& table, size_t capacity,
                bool charged = false) {
    const bool is_stock = Slice(table).starts_with(kStock);
    SetTable(table, is_stock ? "BlockBasedTable" : "ProteanTable");
    auto* const table_options =
        options_.table_factory->GetOptions<BlockBasedTableOptions>();
    table_options->block_cache = NewLRUCache(capacity, /*num_shard_bits=*/0,
                                             /*strict_capacity_limit=*/true);
    if (charged) {
      table_options->cache_usage_options
          .options_overrides[CacheEntryRole::kFilterConstruction]
          .charged = CacheEntryRoleOptions::Decision::kEnabled;
    }
  }
  void WriteAll(int round) {
    for (const std::string& key : keys_) {
      Put(key, "a value of round " + std::to_string(round));
    }
    Flush();
  }
  // Opens a DB of one file with all keys.
  void Make(const std::string& table) {
    Forget();
    UseTable(table, 8 << 20);
    Open();
    WriteAll(0);
    Compact();
    const TablePropertiesCollection properties = PropertiesOf(db_.get());
    ASSERT_EQ(1u, properties.size());
    filter_bytes_ = properties.begin()->second->filter_size;
    index_bytes_ = properties.begin()->second->index_size;
  }

  Keys keys_;
  Keys asked_;
  uint64_t filter_bytes_ = 0;
  uint64_t index_bytes_ = 0;
};

constexpr char kInCache[] = ";cache_index_and_filter_blocks=true";

// ---- Caches that may not grow ----

// Cache sizes range from one that holds nothing to one that holds everything.
TEST_F(ScarcityTest, StrictCaches) {
  std::map<std::pair<std::string, size_t>, std::string> stock;
  for (const Filters& filters : kFilters) {
    for (const std::string keeping :
         {"", kInCache,
          ";cache_index_and_filter_blocks=true;metadata_cache_options={"
          "unpartitioned_pinning=kAll}",
          ";cache_index_and_filter_blocks=true;index_type=kTwoLevelIndexSearch;"
          "metadata_block_size=256"}) {
      SCOPED_TRACE(filters.name + keeping);
      const std::string table = filters.table + keeping;
      ASSERT_NO_FATAL_FAILURE(Make(table));
      bool failed = false;
      for (size_t capacity = 0; capacity <= 1 << 20;
           capacity = capacity == 0 ? 512 : 2 * capacity) {
        SCOPED_TRACE(capacity);
        UseTable(table, capacity);
        const Status s = TryOpen();
        // The first table is stock RocksDB's: the others fail to open where it
        // does.
        EXPECT_EQ(stock.emplace(std::pair(keeping, capacity), CodeOf(s))
                      .first->second,
                  CodeOf(s))
            << s.ToString();
        if (!s.ok()) {
          EXPECT_TRUE(s.IsMemoryLimit()) << s.ToString();
          failed = true;
          continue;
        }
        const Answers answers = ReadAll(asked_, 3);
        for (const auto& [code, count] : answers.errors) {
          EXPECT_NE(std::string::npos, code.find("aborted")) << code;
          failed = true;
        }
        if (capacity == 1 << 20) {
          EXPECT_EQ(0u, answers.failed());
        }
      }
      EXPECT_TRUE(failed) << "no cache was too small";
      if (HasFailure()) return;
    }
  }
}

// If only the filter, of one part, does not fit, the file is read without it.
TEST_F(ScarcityTest, FiltersThatDoNotFit) {
  for (const Filters& filters : kFilters) {
    SCOPED_TRACE(filters.name);
    const std::string table =
        filters.table + kInCache + ";metadata_block_size=1M";
    ASSERT_NO_FATAL_FAILURE(Make(table));
    // Room for the index, the data block that is read, the one after it, and
    // the cache's own bytes for each.
    const size_t capacity = index_bytes_ + 2 * 4096 + 3 * 300;
    ASSERT_GT(filter_bytes_ + index_bytes_, capacity);
    UseTable(table, capacity);
    log_->Clear();
    Open();
    CheckedReads reads(db_.get(), contents_);
    reads.Gets(asked_);
    reads.Seeks(asked_, 3, 300);
    EXPECT_EQ(0u, reads.answers().failed());
    EXPECT_GT(reads.answers().right, asked_.size());
    EXPECT_EQ(filters.name == "stock" ? 0u : 1u,
              log_->Lines({"is read without a part of its filter"}).size());
  }
}

// ---- Memory that cannot be charged ----

TEST_F(ScarcityTest, MemoryOfBuildersThatCannotBeCharged) {
  for (const Filters& filters : kFilters) {
    SCOPED_TRACE(filters.name);
    Forget();
    // RocksDB reserves 256 KB at a time.
    UseTable(filters.table, 200 << 10, /*charged=*/true);
    log_->Clear();
    Open();
    for (int round = 0; round < 3; round++) WriteAll(round);
    ASSERT_OK(db_->CompactRange(CompactRangeOptions(), nullptr, nullptr));
    EXPECT_EQ(0u, ReadAll(asked_, 3).failed());
    for (const auto& [file, of_file] : PropertiesOf(db_.get())) {
      EXPECT_GT(of_file->filter_size, 0u) << file;
    }
    // One line for each of the four files with a filter of Protean.
    EXPECT_EQ(filters.name == "stock"    ? 0u
              : filters.name == "levels" ? 1u
                                         : 4u,
              log_->Lines({"Protean: the block cache has no room"}).size());
  }
}

// ---- Clocks ----

// A clock that tells another day at each call, over a range of 40 years.
class JumpingClock : public SystemClockWrapper {
 public:
  JumpingClock() : SystemClockWrapper(SystemClock::Default()), random_(5) {}
  const char* Name() const override { return "JumpingClock"; }
  uint64_t NowMicros() override {
    const std::lock_guard<std::mutex> lock(mutex_);
    jumps++;
    constexpr uint64_t kYear = 365ull * 24 * 60 * 60 * 1000 * 1000;
    return 10 * kYear + random_.Uniform(40 * kYear);
  }
  uint64_t NowNanos() override { return 1000 * NowMicros(); }
  Status GetCurrentTime(int64_t* seconds) override {
    *seconds = static_cast<int64_t>(NowMicros() / (1000 * 1000));
    return Status::OK();
  }

  std::atomic<uint64_t> jumps{0};

 private:
  std::mutex mutex_;
  Random64 random_;
};

TEST_F(ScarcityTest, JumpingClocks) {
  for (const Filters& filters : kFilters) {
    if (filters.name == "stock") continue;
    SCOPED_TRACE(filters.name);
    Forget();
    const auto clock = std::make_shared<JumpingClock>();
    CompositeEnvWrapper env(Env::Default(), clock);
    options_.env = &env;
    // RocksDB asserts that its histograms' times are short enough to print.
    options_.statistics->set_stats_level(StatsLevel::kExceptTimers);
    options_.stats_dump_period_sec = 10;
    UseTable(filters.table, 8 << 20);
    log_->Clear();
    Open();
    for (int round = 0; round < 3; round++) {
      WriteAll(round);
      EXPECT_EQ(0u, ReadAll(asked_, round).failed());
      RefreshOptions refresh;
      refresh.bytes_per_second = 100 << 20;
      RefreshResult result;
      ASSERT_OK(RefreshFilters(db_.get(), db_->DefaultColumnFamily(), refresh,
                               &result));
      for (const RefreshedFile& file : result.files) {
        EXPECT_LE(file.asked_per_second, 1e9);
      }
    }
    ASSERT_OK(db_->CompactRange(CompactRangeOptions(), nullptr, nullptr));
    // A refresher does not wait for years when the clock jumps.
    {
      Event refreshed;
      FilterRefresher refresher(db_.get(), db_->DefaultColumnFamily(), {},
                                /*period_seconds=*/1,
                                [&](const Status& s, const RefreshResult&) {
                                  EXPECT_OK(s);
                                  refreshed.Set();
                                });
      refreshed.Wait();
    }
    EXPECT_FALSE(log_->Lines({"Protean: column family default: "}).empty());
    Open();
    EXPECT_EQ(0u, ReadAll(asked_, 9).failed());
    Close();
    EXPECT_GT(clock->jumps, 0u);
    options_.env = Env::Default();
  }
}

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean

int main(int argc, char** argv) {
  return ROCKSDB_NAMESPACE::protean::RunFaultTests(argc, argv);
}
