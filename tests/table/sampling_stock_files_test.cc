// SPDX-License-Identifier: Apache-2.0

//  Learning starts before the first filter: reads of files that have RocksDB's
//  Bloom filters, or no filters, are sampled as reads of files with Protean's.

#include <functional>

#include "rocksdb/slice_transform.h"
#include "tests/table/refresh_fixture.h"
#include "tests/table/sampling_fixture.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

std::shared_ptr<TableFactory> StockTable(bool bloom) {
  BlockBasedTableOptions table;
  if (bloom) table.filter_policy.reset(NewBloomFilterPolicy(12));
  return std::shared_ptr<TableFactory>(NewBlockBasedTableFactory(table));
}

std::string NameOf(const ::testing::TestParamInfo<bool>& info) {
  return info.param ? "Bloom" : "NoFilter";
}

}  // namespace

// The parameter tells whether the stock files have Bloom filters.
class StockFilesSamplingTest : public SamplingTest,
                               public ::testing::WithParamInterface<bool> {
 protected:
  // Opens a DB whose files RocksDB has written without Protean.
  void FillWithStock() {
    SetPolicy(1);
    const std::shared_ptr<TableFactory> own = options_.table_factory;
    options_.table_factory = StockTable(GetParam());
    FillRuns();
    options_.table_factory = own;
    Open();
    for (const auto& [name, properties] : PropertiesOf(db_.get())) {
      EXPECT_EQ(GetParam() ? "bloomfilter" : "", properties->filter_policy_name)
          << name;
    }
  }

  // One sorted run of many files, with a third of the keys, and two runs with
  // the other keys.
  void FillRuns() {
    Open();
    for (uint64_t run = 0; run < 3; run++) {
      WriteNumbers(1 + run, kKeys, 3);
      if (run == 0) CompactLevel0Into(2, 2 << 10);
    }
    ASSERT_GE(NumFiles(), 5u);
  }

  // Random reads of each kind; the same ones each time.
  void Gets() {
    for (uint64_t i = 1; i < kKeys; i += 3) {
      EXPECT_FALSE(Has(Gap(i, 500)));
      EXPECT_TRUE(Has(Key(i)));
    }
  }
  void MultiGets() {
    for (uint64_t i = 1; i + 10 < kKeys; i += 10) {
      Keys batch;
      for (uint64_t j = 0; j < 10; j++) {
        batch.push_back(BigEndian(kGap * (i + j) + j % 2));
      }
      EXPECT_EQ(5u, MultiGet(batch));
    }
  }
  void ClosedSeeks() {
    Random64 random(3);
    for (int i = 0; i < 500; i++) {
      const uint64_t lo = random.Uniform(kGap * kKeys);
      Seek(BigEndian(lo), BigEndian(lo + 1 + random.Uniform(2 * kGap)));
    }
  }
  void ClosedBackwardSeeks() {
    Random64 random(4);
    for (int i = 0; i < 500; i++) {
      const uint64_t hi = kGap + random.Uniform(kGap * (kKeys - 1));
      LastIn(BigEndian(hi - random.Uniform(kGap)), BigEndian(hi));
    }
  }
  void OpenSeeksAndScans() {
    Random64 random(5);
    for (int i = 0; i < 500; i++) {
      const std::unique_ptr<Iterator> it(db_->NewIterator(ReadOptions()));
      it->Seek(BigEndian(1 + random.Uniform(kGap * (kKeys - 1))));
      for (uint64_t n = random.Uniform(3); n > 0 && it->Valid(); n--) {
        it->Next();
      }
      EXPECT_OK(it->status());
    }
  }
  void Scans() {
    EXPECT_EQ(kKeys, AllRecords(db_.get()).size());
    const std::unique_ptr<Iterator> it(db_->NewIterator(ReadOptions()));
    uint64_t found = 0;
    for (it->SeekToLast(); it->Valid(); it->Prev()) found++;
    EXPECT_OK(it->status());
    EXPECT_EQ(kKeys, found);
  }
};

INSTANTIATE_TEST_SUITE_P(Filters, StockFilesSamplingTest, ::testing::Bool(),
                         NameOf);

TEST_P(StockFilesSamplingTest, SamplesOfOwnFiles) {
  const std::vector<std::pair<const char*, std::function<void()>>> kinds = {
      {"Get", [this] { Gets(); }},
      {"MultiGet", [this] { MultiGets(); }},
      {"closed seek", [this] { ClosedSeeks(); }},
      {"closed backward seek", [this] { ClosedBackwardSeeks(); }},
      {"open seek", [this] { OpenSeeksAndScans(); }},
      {"scan", [this] { Scans(); }}};
  SetPolicy(1);
  FillRuns();
  std::vector<Keys> own;
  for (const auto& [name, reads] : kinds) {
    own.push_back(SampledBy(reads));
    if (name == std::string("scan")) {
      EXPECT_EQ(Keys(), own.back());
    } else {
      EXPECT_GT(own.back().size(), 100u) << name;
    }
  }
  Destroy();
  FillWithStock();
  for (size_t i = 0; i < kinds.size(); i++) {
    SCOPED_TRACE(kinds[i].first);
    EXPECT_EQ(own[i], SampledBy(kinds[i].second));
  }
}

// A Bloom filter denies the prefix, for which there are no keys. Without a
// filter, the search ends at the next key.
TEST_P(StockFilesSamplingTest, PrefixSeeks) {
  options_.prefix_extractor.reset(NewFixedPrefixTransform(7));
  FillWithStock();
  const std::string target = BigEndian(kGap * 5 + 300);
  EXPECT_EQ(GetParam(), FirstFrom(target).empty());
  ASSERT_GE(queue()->recorded(), 1u);
  for (const SampleQuery& sample : queue()->Snapshot()) {
    EXPECT_EQ(GetParam() ? target.substr(0, 7) : target, sample.lo);
    EXPECT_EQ(!GetParam(), sample.hi_inclusive);
  }
}

// What no filter of Protean's would be asked is not sampled.
TEST_P(StockFilesSamplingTest, NotWhereFiltersAreOff) {
  FillWithStock();
  const auto expect_none = [this](const char* what) {
    SCOPED_TRACE(what);
    Close();
    Open();
    Gets();
    ClosedSeeks();
    EXPECT_EQ(0u, queue()->recorded());
  };
  table_.whole_key_filtering = false;
  SetPolicy(1);
  expect_none("partial keys");
  table_.whole_key_filtering = true;
  UsePolicy(std::shared_ptr<const FilterPolicy>(NewBloomFilterPolicy(12)));
  expect_none("a policy of RocksDB");
}

class StockFilesRefreshTest : public RefreshTest,
                              public ::testing::WithParamInterface<bool> {
 protected:
  // Opens a DB under ProteanTable whose files RocksDB has written without it.
  void FillWithStock() {
    options_.table_factory = StockTable(GetParam());
    Fill();
    BlockBasedTableOptions table;
    table.no_block_cache = true;
    UsePolicy(policy_, table);
    Open();
  }
  // Blocks of files read by the queries, of which none finds a key.
  uint64_t BlocksReadBy(const std::vector<Query>& queries) {
    const uint64_t before = BlocksRead();
    Run(queries);
    return BlocksRead() - before;
  }
};

INSTANTIATE_TEST_SUITE_P(Filters, StockFilesRefreshTest, ::testing::Bool(),
                         NameOf);

// A DB is switched to ProteanTable, runs as before, and is refreshed: filters
// are designed by what was asked.
TEST_P(StockFilesRefreshTest, DesignedByWhatWasAsked) {
  FillWithStock();
  const std::vector<Query> asked = Queries(/*close=*/true, 2);
  const uint64_t before = BlocksReadBy(asked);
  EXPECT_GE(before, asked.size());
  EXPECT_EQ(2000u, queue()->size());  // all that it may hold
  EXPECT_EQ(asked.size(), queue()->sampled());

  RefreshOptions options;
  options.payback_seconds = 1e9;
  ASSERT_OK(Refresh(options));
  EXPECT_EQ(2000u, result_.samples);
  EXPECT_TRUE(result_.rate_known);
  EXPECT_GT(result_.files_rewritten, 2u);
  EXPECT_LE(result_.bytes_rewritten, Bytes() / 2);
  // Other queries of the same kind.
  const std::vector<Query> others = Queries(/*close=*/true, 4);
  EXPECT_LT(BlocksReadBy(others), before / 5);
  ExpectAllKeys();
}

}  // namespace ROCKSDB_NAMESPACE::protean
