// SPDX-License-Identifier: Apache-2.0

//  Full disks and failing writes, at every point of flushes, compactions,
//  refreshes and saved samples. Errors are reported, everything stays readable,
//  the DB continues or opens again, and the next compaction makes filters. Then
//  scarce memory, and clocks that jump: block caches that are too small and may
//  not grow, memory that cannot be charged to a cache, and days that repeat.
//
//      build/write_faults_test     all of it, as in the tests
//      build/write_faults_test --gtest_filter=*Random* --seed=0 --seconds=3600

#include "env/composite_env_wrapper.h"
#include "filter_policy/protean_filter_policy.h"
#include "filter_policy/samples/sample_store.h"
#include "plugin/filter_properties.h"
#include "plugin/refresh_filters.h"
#include "rocksdb/system_clock.h"
#include "tests/table/faults/checked_reads.h"
#include "tests/table/faults/fault_file_system.h"
#include "tests/table/feature_fixture.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// A DB of difficult keys and random numbers; every `step`-th key is asked.
class AskedDBTest : public KnownDBTest {
 protected:
  AskedDBTest(uint64_t seed, size_t numbers, size_t step) {
    const Keys random = RandomNumbers(seed, numbers);
    keys_.insert(keys_.end(), random.begin(), random.end());
    SortUnique(&keys_);
    for (size_t i = 0; i < keys_.size(); i += step) asked_.push_back(keys_[i]);
  }

  Keys keys_ = HurtfulKeys(200);
  Keys asked_;
};

// ---- Full disks and failing writes ----

// Filters, and better ones of the same kind, to refresh to.
struct Filters {
  const char* before;
  const char* after;
};

constexpr Filters kFilters[] = {
    {"surf:0:0", "surf:0:8"},
    {"proteus:4", "proteus:16"},
    {"levels:bloomfilter:10,proteus:4", "levels:bloomfilter:10,proteus:16"}};

struct Trouble {
  const char* name;
  IOStatus error;
  bool stays;
};

Trouble FullDisk() { return {"disk full", IOStatus::NoSpace(), true}; }
Trouble FailedWrite() {
  return {"write error, once", IOStatus::IOError("injected"), false};
}
Trouble RetryableWrite() {
  IOStatus error = IOStatus::IOError("injected");
  error.SetRetryable(true);
  return {"retryable write error", error, true};
}

// RocksDB sleeps a second after each flush or compaction that fails.
class ShortSleeps : public SystemClockWrapper {
 public:
  ShortSleeps() : SystemClockWrapper(SystemClock::Default()) {}
  const char* Name() const override { return "ShortSleeps"; }
  void SleepForMicroseconds(int micros) override {
    SystemClockWrapper::SleepForMicroseconds(std::min(micros, 1000));
  }
};

// RocksDB may wait forever when a DB is closed while it recovers from a full
// disk by itself: ErrorHandler::ClearBGError wakes no thread (9.10.0).
class ResumedByHand : public EventListener {
 public:
  void OnErrorRecoveryBegin(BackgroundErrorReason /*reason*/, Status bg_error,
                            bool* auto_recovery) override {
    if (bg_error.subcode() == Status::kNoSpace) *auto_recovery = false;
  }
};

class WriteFaultsTest : public AskedDBTest {
 protected:
  WriteFaultsTest() : AskedDBTest(/*seed=*/7, /*numbers=*/500, /*step=*/3) {
    // Otherwise RocksDB itself would try to recover, again and again.
    options_.max_bgerror_resume_count = 0;
    options_.target_file_size_base = 4 * kFileSize;
    options_.listeners = {std::make_shared<ResumedByHand>()};
  }
  ~WriteFaultsTest() override {
    Forget();
    options_.env = Env::Default();
  }

  void Use(const Filters& filters) {
    Forget();
    filters_ = filters;
    file_system_ = std::make_shared<FaultFileSystem>();
    env_ = std::make_unique<CompositeEnvWrapper>(
        Env::Default(), file_system_, std::make_shared<ShortSleeps>());
    options_.env = env_.get();
    SetPolicy(filters.before, "block_size=512");
    ASSERT_OK(TryOpen());
  }
  void WriteSome(Random* rnd) {
    const std::string value =
        "a value of some length " + std::to_string(rnd->Next());
    for (const std::string& key : keys_) {
      if (rnd->OneIn(3)) Put(key, value);
      if (rnd->OneIn(12)) Delete(key);
    }
    const size_t from = rnd->Uniform(static_cast<int>(keys_.size()) - 9);
    DeleteRange(keys_[from], keys_[from + 8]);
  }
  void ExpectAllRight(uint32_t seed) {
    EXPECT_EQ(0u, ReadAll(asked_, seed).failed());
  }

  // Checks that there is no file that the DB does not know.
  void ExpectNothingLeft() const {
    Keys children;
    ASSERT_OK(Env::Default()->GetChildren(path_, &children));
    for (const std::string& child : children) {
      EXPECT_EQ(std::string::npos, child.find(".tmp")) << child;
    }
  }

  void ExpectFilters() {
    Compact();
    const TablePropertiesCollection properties = PropertiesOf(db_.get());
    EXPECT_FALSE(properties.empty());
    for (const auto& [file, of_file] : properties) {
      EXPECT_GT(of_file->filter_size, 0u) << file;
      EXPECT_EQ(1u, of_file->user_collected_properties.count(kKindProperty));
    }
  }

  Status Refresh() {
    return RefreshFilters(db_.get(), db_->DefaultColumnFamily(), {}, &result_);
  }

  // Has the n-th mutation of `act` fail, and counts those that have failed.
  uint64_t FailedIn(const Trouble& trouble, uint64_t n,
                    const std::function<void()>& act) {
    const uint64_t before = file_system_->failed_mutations();
    file_system_->FailMutations(n, trouble.error, trouble.stays);
    act();
    return file_system_->failed_mutations() - before;
  }

  // Prepares and does something repeatedly, each time with a fault from the
  // next mutation on, until it ends before the fault.
  void TroubleAtEachPoint(const Trouble& trouble, const std::string& where,
                          const std::function<void()>& prepare,
                          const std::function<Status()>& act) {
    constexpr uint64_t kMaxPoints = 2000;
    uint64_t reported = 0;
    uint64_t n = 1;
    for (; n < kMaxPoints; n++) {
      SCOPED_TRACE(filters_.before + std::string(", ") + where + ", " +
                   trouble.name + " at " + std::to_string(n));
      ASSERT_NO_FATAL_FAILURE(prepare());
      Status s;
      const uint64_t failed = FailedIn(trouble, n, [&] { s = act(); });
      if (failed > 0) {
        if (!s.ok()) reported++;
        EXPECT_TRUE(s.ok() || s.IsIOError()) << s.ToString();
        ExpectAllRight(n);
      }
      file_system_->HealMutations();
      if (failed == 0) {
        EXPECT_OK(s);
        break;
      }
      Status resumed = db_->Resume();
      if (resumed.ok()) {
        Put("after resuming", std::to_string(n));
        resumed = db_->Flush(FlushOptions());
      }
      // Every second time, opens the DB in the state that a crash would leave.
      if (!resumed.ok() || n % 2 == 0) Open();
      ExpectAllRight(n + 1);
      ExpectNothingLeft();
      if (HasFailure()) return;
    }
    EXPECT_LT(n, kMaxPoints);
    EXPECT_GT(n, 4u) << "points at which trouble began";
    EXPECT_GT(reported, 0u);
    ExpectFilters();
    ExpectAllRight(1);
  }

  Filters filters_ = kFilters[0];
  std::shared_ptr<FaultFileSystem> file_system_;
  std::unique_ptr<Env> env_;
  RefreshResult result_;
};

TEST_F(WriteFaultsTest, FlushAndCompaction) {
  for (const Filters& filters : kFilters) {
    Random rnd(1);
    for (const Trouble& trouble :
         {FullDisk(), FailedWrite(), RetryableWrite()}) {
      // Level 0 of that policy has filters of RocksDB.
      if (!Slice(filters.before).starts_with("levels")) {
        ASSERT_NO_FATAL_FAILURE(Use(filters));
        TroubleAtEachPoint(
            trouble, "flush", [&] { WriteSome(&rnd); },
            [&] { return db_->Flush(FlushOptions()); });
      }
      if (HasFailure()) return;
      if (!trouble.stays) continue;
      ASSERT_NO_FATAL_FAILURE(Use(filters));
      TroubleAtEachPoint(
          trouble, "compaction",
          [&] {
            for (int file = 0; file < 2; file++) {
              WriteSome(&rnd);
              Flush();
            }
          },
          [&] { return CompactAll(db_.get()); });
      if (HasFailure()) return;
    }
  }
}

TEST_F(WriteFaultsTest, Refresh) {
  for (const Filters& filters : kFilters) {
    for (const Trouble& trouble : {FullDisk(), FailedWrite()}) {
      ASSERT_NO_FATAL_FAILURE(Use(filters));
      Random rnd(1);
      for (int round = 0; round < 4; round++) WriteSome(&rnd);
      TroubleAtEachPoint(
          trouble, "refresh",
          [&] {
            SetPolicy(filters_.before, "block_size=512");
            Open();
            Compact();
            SetPolicy(filters_.after, "block_size=512");
            Open();
          },
          [&] {
            const Status s = Refresh();
            EXPECT_GT(result_.files.size(), 1u);
            EXPECT_TRUE(!s.ok() || result_.files_rewritten > 0);
            return s;
          });
      if (HasFailure()) return;
      // The refresh has been interrupted at every point by now; the next one
      // does the rest.
      ASSERT_OK(Refresh());
      ASSERT_OK(Refresh());
      EXPECT_EQ(0u, result_.files_rewritten);
    }
  }
}

// The samples file is the old one or the new one.
TEST_F(WriteFaultsTest, SavedSamples) {
  const std::string file = path_ + "/samples";
  const auto contents_of_file = [&file] {
    std::string contents;
    ReadFileToString(Env::Default(), file, &contents).PermitUncheckedError();
    return contents;
  };
  for (const Trouble& trouble : {FullDisk(), FailedWrite()}) {
    ASSERT_NO_FATAL_FAILURE(Use(kFilters[1]));
    SetPolicy("{id=protean.Proteus;sample_every=1;samples_file=" + file + "}");
    Open();
    Random rnd(1);
    WriteSome(&rnd);
    Flush();
    std::string before;
    uint64_t n = 1;
    for (bool over = false; !over; n++) {
      SCOPED_TRACE(trouble.name + std::string(" at ") + std::to_string(n));
      for (size_t i = n; i < keys_.size(); i += 50) {
        EXPECT_FALSE(Has(keys_[i] + '\x01' + std::to_string(n)));
      }
      const auto save = [&] {
        return ProteanPolicyOf(options_)->Samples()->Save(
            kDefaultColumnFamilyName, env_.get());
      };
      Status s;
      const uint64_t failed = FailedIn(trouble, n, [&] { s = save(); });
      over = failed == 0;
      EXPECT_EQ(over, s.ok());
      file_system_->HealMutations();
      EXPECT_EQ(!over, before == contents_of_file());
      // Unless the disk does not even allow to delete the temporary file.
      if (!over && !trouble.stays) ExpectNothingLeft();
      // The samples are saved once more when the DB is closed.
      log_->Clear();
      file_system_->FailMutations(1, trouble.error, /*stays=*/true);
      Close();
      file_system_->HealMutations();
      if (!over) {
        EXPECT_EQ(
            1u, log_->Lines({"samples of column family default are not saved"})
                    .size());
      }
      Open();
      ASSERT_OK(save());
      before = contents_of_file();
      if (HasFailure()) return;
    }
    // Create, append, sync, close, rename.
    EXPECT_GE(n, 5u);
    ExpectAllRight(1);
  }
}

// Random faults while RocksDB flushes and compacts by itself.
TEST_F(WriteFaultsTest, Random) {
  RandomRuns(2, [this](uint64_t seed) {
    Random rnd(static_cast<uint32_t>(seed));
    ASSERT_NO_FATAL_FAILURE(Use(kFilters[rnd.Uniform(std::size(kFilters))]));
    options_.disable_auto_compactions = false;
    options_.write_buffer_size = 64 << 10;
    options_.level0_file_num_compaction_trigger = 2;
    Open();
    const Trouble troubles[] = {FullDisk(), FailedWrite(), RetryableWrite()};
    for (int i = 0; i < 10; i++) {
      const Trouble& trouble = troubles[rnd.Uniform(std::size(troubles))];
      const uint64_t n = 1 + rnd.Skewed(11);
      SCOPED_TRACE(filters_.before + std::string(", ") + trouble.name + " at " +
                   std::to_string(n));
      // The failed write may be there later, or not.
      std::string failed_key;
      Status s;
      FailedIn(trouble, n, [&] {
        for (int w = 0; w < 2000 && s.ok(); w++) {
          const std::string& key = AnyOf(keys_, &rnd);
          const std::string value(rnd.Uniform(300), static_cast<char>('a' + i));
          s = db_->Put(WriteOptions(), key, value);
          if (s.ok()) contents_[key] = value;
          failed_key = key;
        }
      });
      file_system_->HealMutations();
      if (rnd.OneIn(2) || !db_->Resume().ok()) Open();
      if (!s.ok()) {
        std::string value;
        const Status got = db_->Get(ReadOptions(), failed_key, &value);
        if (got.ok()) {
          contents_[failed_key] = value;
        } else {
          EXPECT_TRUE(got.IsNotFound());
          EXPECT_EQ(0u, contents_.count(failed_key));
        }
      }
      ExpectAllRight(rnd.Next());
      if (HasFailure()) return;
    }
    ExpectFilters();
  });
}

// ---- Scarce memory, and clocks ----

constexpr char kStock[] = "filter_policy=bloomfilter:10";
constexpr char kLevels[] = "filter_policy=levels:bloomfilter:10,proteus:12";
constexpr const char* kTables[] = {kStock, "filter_policy=surf:0:4",
                                   "filter_policy=proteus:12", kLevels};

class ScarcityTest : public AskedDBTest {
 protected:
  ScarcityTest() : AskedDBTest(/*seed=*/11, /*numbers=*/9000, /*step=*/9) {
    asked_ = WithNeighbours(asked_);
    options_.target_file_size_base = 1 << 20;
  }

  // Sets the table, with a cache that never holds more than `capacity` bytes.
  void UseTable(const std::string& table, size_t capacity,
                bool charged = false) {
    const bool is_stock = Slice(table).starts_with(kStock);
    SetTable(table, is_stock ? "BlockBasedTable" : "ProteanTable");
    auto* const table_options = TableOf(options_);
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

  uint64_t filter_bytes_ = 0;
  uint64_t index_bytes_ = 0;
};

constexpr char kInCache[] = ";cache_index_and_filter_blocks=true";

// Cache sizes range from one that holds nothing to one that holds everything.
TEST_F(ScarcityTest, StrictCaches) {
  std::map<std::pair<std::string, size_t>, std::string> stock;
  for (const std::string filters : kTables) {
    for (const std::string keeping :
         {"", kInCache,
          ";cache_index_and_filter_blocks=true;metadata_cache_options={"
          "unpartitioned_pinning=kAll}",
          ";cache_index_and_filter_blocks=true;index_type=kTwoLevelIndexSearch;"
          "metadata_block_size=256"}) {
      const std::string table = filters + keeping;
      SCOPED_TRACE(table);
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
  for (const std::string filters : kTables) {
    SCOPED_TRACE(filters);
    const std::string table = filters + kInCache + ";metadata_block_size=1M";
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
    EXPECT_EQ(filters == kStock ? 0u : 1u,
              log_->Lines({"is read without a part of its filter"}).size());
  }
}

TEST_F(ScarcityTest, MemoryOfBuildersThatCannotBeCharged) {
  for (const std::string table : kTables) {
    SCOPED_TRACE(table);
    Forget();
    // RocksDB reserves 256 KB at a time.
    UseTable(table, 200 << 10, /*charged=*/true);
    log_->Clear();
    Open();
    for (int round = 0; round < 3; round++) WriteAll(round);
    ASSERT_OK(db_->CompactRange(CompactRangeOptions(), nullptr, nullptr));
    EXPECT_EQ(0u, ReadAll(asked_, 3).failed());
    for (const auto& [file, of_file] : PropertiesOf(db_.get())) {
      EXPECT_GT(of_file->filter_size, 0u) << file;
    }
    // One line for each of the four files with a filter of Protean.
    EXPECT_EQ(table == kStock    ? 0u
              : table == kLevels ? 1u
                                 : 4u,
              log_->Lines({"Protean: the block cache has no room"}).size());
  }
}

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
  for (const std::string table : kTables) {
    if (table == kStock) continue;
    SCOPED_TRACE(table);
    Forget();
    const auto clock = std::make_shared<JumpingClock>();
    CompositeEnvWrapper env(Env::Default(), clock);
    options_.env = &env;
    // RocksDB asserts that its histograms' times are short enough to print.
    options_.statistics->set_stats_level(StatsLevel::kExceptTimers);
    options_.stats_dump_period_sec = 10;
    UseTable(table, 8 << 20);
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
