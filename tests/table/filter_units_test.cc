// SPDX-License-Identifier: Apache-2.0

//  Parts of filters in two units: which units reads load, what they cost, and
//  what becomes of a unit that is damaged.

#include "filter_policy/open_db/unit_heat.h"
#include "filter_policy/parted_filter.h"
#include "tests/protean_db.h"
#include "tests/sst_damage.h"

namespace ROCKSDB_NAMESPACE::protean {

using Action = UnitHeat::Action;

namespace {

// The number of queries, this one included, until the unit is loaded; `most` if
// it is not.
int PassesUntilLoaded(UnitHeat* heat, double share, int most = 1 << 20) {
  for (int passes = 1; passes < most; passes++) {
    const Action action =
        heat->OnPass(AskedFor::kGet, [share] { return share; });
    if (action == Action::kLoad) return passes;
    EXPECT_EQ(Action::kSkip, action);
  }
  return most;
}

}  // namespace

TEST(UnitHeatTest, StopsWhatWouldReadInVain) {
  UnitHeat heat;
  for (int i = 0; i < 10; i++) {
    EXPECT_EQ(1, PassesUntilLoaded(&heat, 1));
    EXPECT_EQ(Action::kLook, heat.OnPass(AskedFor::kGet, [] { return 1.0; }));
    heat.OnGone();
  }
}

TEST(UnitHeatTest, LeavesAloneWhatFindsKeys) {
  UnitHeat heat;
  EXPECT_EQ(1 << 20, PassesUntilLoaded(&heat, 0));
  EXPECT_EQ(Action::kLoad,
            heat.OnPass(AskedFor::kOpenSeek, [] { return 0.0; }));
}

// A unit that the cache drops before it is asked again takes more than twice as
// many queries the next time, and fewer if it has been asked.
TEST(UnitHeatTest, WaitsForEnoughQueries) {
  constexpr double kShare = 0.125;
  UnitHeat heat;
  EXPECT_EQ(1, PassesUntilLoaded(&heat, kShare));
  heat.OnGone();
  // One of eight queries reads in vain, which costs as much as two loads.
  EXPECT_EQ(4, PassesUntilLoaded(&heat, kShare));
  heat.OnGone();
  EXPECT_EQ(16, PassesUntilLoaded(&heat, kShare));
  for (int i = 0; i < 2; i++) {
    EXPECT_EQ(Action::kLook,
              heat.OnPass(AskedFor::kGet, [] { return kShare; }));
    heat.OnFound();
  }
  heat.OnGone();
  EXPECT_EQ(4, PassesUntilLoaded(&heat, kShare));
  for (int i = 0; i < 50; i++) {
    heat.OnGone();
    EXPECT_LE(PassesUntilLoaded(&heat, kShare), 512);
  }
}

namespace {

class FilterUnitsTest : public NumberedDBTest {
 protected:
  static constexpr uint64_t kKeys = 20000;

  FilterUnitsTest() { options_.target_file_size_base = 64 << 20; }

  // One file, of which the filter has learned from Gets of absent keys. Stores
  // what its filter block has.
  void Fill(const std::string& table) {
    table_ =
        "cache_index_and_filter_blocks=true;"
        "filter_policy={id=protean.Proteus;bits_per_key=12;"
        "sample_every=1};" +
        table;
    SetTable(table_);
    Open();
    WriteNumbers(1, kKeys);
    for (uint64_t i = 0; i < 2000; i++) GetAbsent(7 * i);
    Compact();
    ASSERT_NO_FATAL_FAILURE(ReadDirectory());
    for (const FilterPart& part : parts()) ASSERT_TRUE(part.HasSecond());
    ASSERT_GT(parts().size(), 5u);
    EXPECT_LE(8 * block_.size(), 12 * kKeys);
  }
  void ReadDirectory() {
    file_ = OneFile();
    FilterLocation location;
    ASSERT_NO_FATAL_FAILURE(FindFilter(file_, &location));
    std::string bytes;
    ASSERT_OK(ReadFileToString(Env::Default(), file_, &bytes));
    block_ = bytes.substr(location.handle.offset(), location.handle.size());
    ASSERT_OK(directory_.Read(block_, block_.size()));
  }
  // Opens the DB again, with an empty cache.
  void Reopen(const std::string& more = "") {
    SetTable(table_ + more);
    Open();
    ASSERT_OK(options_.statistics->Reset());
    get_perf_context()->Reset();
  }

  const std::vector<FilterPart>& parts() const { return directory_.parts(); }
  void GetAbsent(uint64_t i) { ASSERT_FALSE(Has(Gap(i % kKeys, 500))); }
  void GetPresent(uint64_t i) { ASSERT_TRUE(Has(Key(1 + i % kKeys))); }
  uint64_t UnitsLoaded() const { return Ticks(BLOCK_CACHE_FILTER_ADD); }
  uint64_t FalsePositives() const {
    return Ticks(BLOOM_FILTER_FULL_POSITIVE) -
           Ticks(BLOOM_FILTER_FULL_TRUE_POSITIVE);
  }

  std::string table_;
  std::string file_;
  std::string block_;
  FilterDirectory directory_;
};

}  // namespace

// Gets of absent keys come to have both units in a cache that has room, and
// those of present keys only the first ones.
TEST_F(FilterUnitsTest, AbsentKeysLoadSecondUnits) {
  ASSERT_NO_FATAL_FAILURE(Fill("block_cache=8M;"));
  ASSERT_NO_FATAL_FAILURE(Reopen());
  for (uint64_t i = 0; i < kKeys; i++) GetPresent(i);
  EXPECT_LE(UnitsLoaded(), parts().size() + 2);
  ASSERT_NO_FATAL_FAILURE(Reopen());
  for (uint64_t i = 0; i < kKeys; i++) GetAbsent(i);
  EXPECT_EQ(2 * parts().size(), UnitsLoaded());
  const uint64_t before = FalsePositives();
  for (uint64_t i = 0; i < kKeys; i++) GetAbsent(i + 3);
  EXPECT_EQ(2 * parts().size(), UnitsLoaded());
  EXPECT_LT(FalsePositives() - before, kKeys / 100);
}

// In a cache that holds a fraction of the filters, absent keys are denied by
// first units, of about half of the bytes, and read hardly anything else.
TEST_F(FilterUnitsTest, FirstUnitsFilterASmallCache) {
  ASSERT_NO_FATAL_FAILURE(
      Fill("block_cache={capacity=8K;num_shard_bits=0};block_size=1024;"));
  ASSERT_NO_FATAL_FAILURE(Reopen());
  constexpr uint64_t kReads = 5000;
  Random64 random(1);
  for (uint64_t n = 0; n < kReads; n++) GetAbsent(random.Uniform(kKeys));
  const PerfContext& perf = *get_perf_context();
  EXPECT_LE(perf.filter_block_read_count, kReads + kReads / 10);
  EXPECT_LE(perf.block_read_count, kReads + kReads / 10);
  EXPECT_LE(perf.block_read_byte, kReads * 4096 * 6 / 10);
  for (uint64_t i = 0; i < kKeys; i += 7) GetPresent(i);
}

// A filter that RocksDB's table pins is not cut into parts.
TEST_F(FilterUnitsTest, PinnedFiltersStayWhole) {
  ASSERT_NO_FATAL_FAILURE(Fill("block_cache=8M;"));
  const auto parts_with = [&](const std::string& options) {
    Reopen(options);
    WriteNumbers(1, kKeys);
    Compact();
    ReadDirectory();
    Reopen(options);
    for (uint64_t i = 0; i < 1000; i++) GetAbsent(i);
    return parts().size();
  };
  EXPECT_EQ(1u,
            parts_with("metadata_cache_options={unpartitioned_pinning=kAll};"));
  EXPECT_EQ(0u, get_perf_context()->filter_block_read_count);
  EXPECT_LT(5u, parts_with("partition_filters=true;metadata_cache_options={"
                           "partition_pinning=kAll;};"));
  EXPECT_LT(5u, parts_with("metadata_cache_options={unpartitioned_pinning="
                           "kFlushedAndSimilar};"));
}

TEST_F(FilterUnitsTest, PinsBothUnits) {
  ASSERT_NO_FATAL_FAILURE(Fill("block_cache=8M;"));
  ASSERT_NO_FATAL_FAILURE(
      Reopen("metadata_cache_options={unpartitioned_pinning=kAll};"));
  for (uint64_t i = 0; i < 5000; i++) GetAbsent(i);
  EXPECT_EQ(0u, UnitsLoaded());
  EXPECT_EQ(0u, get_perf_context()->filter_block_read_count);
  EXPECT_LT(FalsePositives(), 50u);
}

// A second unit that is damaged costs false positives of its part alone.
TEST_F(FilterUnitsTest, DamageOfASecondUnit) {
  ASSERT_NO_FATAL_FAILURE(Fill("block_cache=8M;"));
  db_.reset();
  const FilterUnit& unit = parts()[2].second;
  ASSERT_NO_FATAL_FAILURE(DamageFilter(
      file_, unit.offset + unit.payload_size / 2, /*right_checksum=*/true));
  ASSERT_NO_FATAL_FAILURE(Reopen());
  for (uint64_t i = 0; i < kKeys; i++) GetAbsent(i);
  for (uint64_t i = 0; i < kKeys; i++) GetPresent(i);
  EXPECT_GT(FalsePositives(), 0u);
  EXPECT_LT(FalsePositives(), kKeys / 20);
  EXPECT_EQ(1u, Ticks(BLOCK_CHECKSUM_MISMATCH_COUNT));
  EXPECT_GT(FilterStats().total.filter_loads_failed, 0u);
}

}  // namespace ROCKSDB_NAMESPACE::protean
