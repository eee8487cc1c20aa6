// SPDX-License-Identifier: Apache-2.0

//  What filter_budget_bytes does in real trees: all filters together take what
//  it says, whatever the tree does.

#include <cinttypes>
#include <cmath>

#include "filter_policy/proteus/proteus_policy.h"
#include "plugin/refresh_filters.h"
#include "tests/table/growing_tree.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Share by which filters may exceed the budget while the tree grows.
constexpr double kGrowth = 0.2;

class FilterBudgetDBTest : public GrowingTreeTest {
 protected:
  static constexpr uint64_t kBudget = 360000;

  FilterBudgetDBTest() { SetPolicy(Budget(kBudget)); }

  static std::string Budget(uint64_t bytes, const std::string& more = "") {
    return "{id=protean.Proteus;prefix_filter_type=kRibbon;" + more +
           "filter_budget_bytes=" + std::to_string(bytes) + "}";
  }
  // The lines of the log about budgets.
  Keys BudgetLines() const {
    return log_->Lines({"Protean: filter_budget_bytes="});
  }
  // Absent keys in a part of the key space.
  void GetAbsentKeys(uint64_t below) {
    for (int i = 0; i < 20000; i++) {
      ASSERT_FALSE(Has(Digits(random_.Next() % below) + "x"));
    }
  }

  void Write(int files, bool ascending = false) {
    for (int i = 0; i < files; i++) {
      WriteNewFile(ascending);
      WaitForCompactions();
      const FilterSize total = Total();
      // If older files are never rewritten, later ones get the minimum.
      const double bound =
          ascending ? (1 + kGrowth / 2) * static_cast<double>(budget_) +
                          kMinBudgetedBits / 8 * total.keys
                    : (1 + kGrowth) * static_cast<double>(budget_);
      ASSERT_LE(total.bytes, bound + total.files * kRoundedBytes);
    }
  }
  // The filters take the budget, but for 2 %.
  void ExpectUsed() {
    const FilterSize total = Total();
    EXPECT_LE(total.bytes, 1.02 * static_cast<double>(budget_));
    EXPECT_GE(total.bytes, 0.98 * static_cast<double>(budget_) -
                               total.files * kRoundedBytes);
    if (HasFailure()) Print();
  }

  uint64_t budget_ = kBudget;
};

}  // namespace

// The tree grows to ten times its size, from 24 to 12 bits per key and less.
TEST_F(FilterBudgetDBTest, GrowingTree) {
  Open();
  Write(12);
  CompactAndWait();
  // Some designs have no use for 64 bits per key.
  EXPECT_GT(Total().PerKey(), 40);
  for (int i = 0; i < 9; i++) {
    SCOPED_TRACE(i);
    Write(12);
    if (HasFailure()) return Print();
  }
  const std::map<int, FilterSize> levels = Levels();
  ASSERT_GE(levels.size(), 2u);
  Print();
  EXPECT_EQ(0, Total().without);
  CompactAndWait();
  Print();
  ExpectUsed();
  // The tree is known as soon as the DB is opened again.
  Open();
  Write(10);
  EXPECT_TRUE(BudgetLines().empty());
}

TEST_F(FilterBudgetDBTest, Universal) {
  options_.compaction_style = kCompactionStyleUniversal;
  for (const int levels : {1, 7}) {
    SCOPED_TRACE(levels);
    Destroy();
    options_.num_levels = levels;
    Open();
    Write(80);
    // The first compaction leaves room for the runs that it empties.
    for (int i = 0; i < 2; i++) CompactAndWait();
    ExpectUsed();
  }
}

// The last level goes without filters, and the log says so once.
TEST_F(FilterBudgetDBTest, TheTreeOutgrowsTheBudget) {
  budget_ = 60000;  // 2 bits per key in the end
  SetPolicy(Budget(budget_));
  Open();
  Write(120);
  CompactAndWait();
  const FilterSize total = Total();
  EXPECT_GT(total.without, 0);
  EXPECT_LT(total.without, total.files);
  ExpectUsed();
  EXPECT_EQ(
      1u, log_->Lines({"Protean: filter_budget_bytes=", "is used up"}).size());
  // The DB answers as ever.
  EXPECT_FALSE(Has("absent"));
}

// Ascending keys are written once, and older files keep their filters.
TEST_F(FilterBudgetDBTest, FilesThatMove) {
  Open();
  Write(120, /*ascending=*/true);
  CompactAndWait();
  EXPECT_LE(Total().bytes, 1.02 * static_cast<double>(budget_));
}

TEST_F(FilterBudgetDBTest, Partitioned) {
  SetPolicy(Budget(budget_, "sample_every=1;"),
            "partition_filters=true;index_type=kTwoLevelIndexSearch;"
            "cache_index_and_filter_blocks=true;metadata_block_size=4096");
  Open();
  Write(80);
  GetAbsentKeys(10000000000);
  // The first parts of a file are not taken for files that few queries ask.
  for (int i = 0; i < 2; i++) {
    CompactAndWait();
    const FilterSize total = Total();
    // The index of the parts counts with the filters.
    EXPECT_LE(total.bytes, 1.03 * static_cast<double>(budget_));
    EXPECT_GE(total.bytes, 0.95 * static_cast<double>(budget_));
  }
  if (HasFailure()) Print();
}

// In a list of policies, the budget is for the filters of all levels.
TEST_F(FilterBudgetDBTest, Levels) {
  SetPolicy("{id=protean.Levels;policies={surf:0:4," + Budget(budget_) + "}}");
  Open();
  Write(100);
  CompactAndWait();
  ExpectUsed();
  SetPolicy("{id=protean.Levels;policies={" + Budget(9999) + "," +
            Budget(budget_) + "}}");
  ExpectRefused(TryOpen(), {"only one of the policies"});
}

// Files that had other filters shrink to the budget as they are compacted, and
// a change of the budget of an open DB takes effect.
TEST_F(FilterBudgetDBTest, AnotherPolicy) {
  SetPolicy("proteus:24:ribbon");
  Open();
  for (int i = 0; i < 60; i++) WriteNewFile();
  WaitForCompactions();
  for (const uint64_t budget : {180000, 120000, 240000}) {
    SCOPED_TRACE(budget);
    budget_ = budget;
    ASSERT_OK(
        db_->SetOptions({{"table_factory.filter_policy", Budget(budget)}}));
    for (int i = 0; i < 2; i++) CompactAndWait();
    ExpectUsed();
  }
}

// The files that queries ask get more bits than those that they do not.
TEST_F(FilterBudgetDBTest, Heat) {
  SetPolicy(Budget(budget_, "sample_every=1;"));
  Open();
  for (int i = 0; i < 120; i++) WriteNewFile();
  CompactAndWait();
  // In the first tenth of the key space.
  GetAbsentKeys(1000000000);
  for (int i = 0; i < 2; i++) CompactAndWait();
  ExpectUsed();
  const TablePropertiesCollection properties = PropertiesOf(db_.get());
  double hot = 0;
  double cold = 100;
  for (const LiveFileMetaData& file : Files()) {
    const auto& found = properties.at(file.db_path + file.name);
    const double bits = 8 * static_cast<double>(found->filter_size) /
                        static_cast<double>(found->num_entries);
    if (file.largestkey < Digits(1000000000)) hot = std::max(hot, bits);
    if (file.smallestkey > Digits(2000000000)) cold = std::min(cold, bits);
  }
  EXPECT_GT(hot, cold + 3);
  RefreshResult result;
  RefreshOptions refresh;
  ASSERT_OK(
      RefreshFilters(db_.get(), db_->DefaultColumnFamily(), refresh, &result));
  EXPECT_LE(Total().bytes, 1.02 * static_cast<double>(budget_));
}

// Files from outside of a DB have bits_per_key.
TEST_F(FilterBudgetDBTest, FilesFromOutside) {
  SetPolicy("{id=protean.PrefixBloom;bits_per_key=10;filter_budget_bytes=2G}");
  Keys keys;
  for (int k = 0; k < 100000; k++) keys.push_back(Digits(k));
  Open();
  Ingest(keys);
  EXPECT_NEAR(10, Total().PerKey(), 0.1);
}

TEST_F(FilterBudgetDBTest, MoreThanMemory) {
  SetPolicy("{id=protean.Proteus;filter_budget_bytes=1024T}");
  Open();
  for (int i = 0; i < 3; i++) WriteNewFile();
  ASSERT_EQ(1u, BudgetLines().size());
  EXPECT_NE(std::string::npos, BudgetLines()[0].find("memory that this"));
}

// Column families that share the policy object share the budget.
TEST_F(FilterBudgetDBTest, SharedByColumnFamilies) {
  Open();
  Write(40);
  ColumnFamilyHandle* const other = NewFamily("other");
  for (int file = 0; file < 30; file++) WriteNewFile(false, other);
  WaitForCompactions();
  for (int i = 0; i < 3; i++) {
    CompactAndWait();
    ASSERT_OK(CompactAll(db_.get(), other));
  }
  double bytes = Total().bytes;
  for (const auto& [name, file] : PropertiesOf(db_.get(), other)) {
    bytes += static_cast<double>(file->filter_size);
  }
  EXPECT_LE(bytes, 1.02 * static_cast<double>(budget_));
  EXPECT_GE(bytes, 0.97 * static_cast<double>(budget_));
}

// How a tree grows to four times its size.
struct Growth {
  CompactionStyle style;
  int flush;     // keys
  bool deletes;  // of a tenth of the keys
  int families;  // which share the budget
  bool full;     // compactions of the whole tree
};

class GrowthTest : public GrowingTreeTest,
                   public testing::WithParamInterface<Growth> {
 protected:
  GrowthTest() {
    options_.compaction_style = GetParam().style;
    SetPolicy(
        "{id=protean.Proteus;prefix_filter_type=kBloom;filter_budget_bytes=" +
            std::to_string(kMemory) + "}",
        "no_block_cache=true");
    Open();
    trees_ = {db_->DefaultColumnFamily()};
    for (int i = 1; i < GetParam().families; i++) {
      trees_.push_back(NewFamily("family" + std::to_string(i)));
    }
  }

  void WriteSome(ColumnFamilyHandle* family) {
    WriteBatch batch;
    for (int i = 0; i < GetParam().flush; i++) {
      const std::string key = NextKey();
      if (GetParam().deletes && i % 10 == 0) {
        ASSERT_OK(batch.Delete(family, last_));
      } else {
        ASSERT_OK(batch.Put(family, key, std::string(40, 'v')));
      }
      last_ = key;
    }
    ASSERT_OK(db_->Write(WriteOptions(), &batch));
    ASSERT_OK(db_->Flush(FlushOptions(), family));
    WaitForCompactions();
  }

  struct Trees {
    double keys = 0;
    double bytes = 0;
    double files = 0;
    int without = 0;    // files that have no filter
    double blocks = 0;  // that an absent Get reads, by the sizes of filters
    double runs = 0;
  };
  Trees Look() {
    Trees trees;
    for (ColumnFamilyHandle* family : trees_) {
      const TablePropertiesCollection properties =
          PropertiesOf(db_.get(), family);
      std::map<int, double> levels;
      std::map<int, double> blocks;
      for (const LiveFileMetaData& file : Files()) {
        const auto found = properties.find(file.db_path + file.name);
        if (found == properties.end()) continue;
        const auto keys = static_cast<double>(found->second->num_entries);
        const auto bytes = static_cast<double>(found->second->filter_size);
        const double bits = 8 * bytes / keys;
        const int run =
            file.level > 0 ? file.level : -static_cast<int>(file.file_number);
        trees.keys += keys;
        trees.bytes += bytes;
        trees.files++;
        trees.without += bits < kMinBudgetedBits / 2;
        levels[run] += keys;
        blocks[run] += keys * std::pow(kRatePerBit, bits);
      }
      for (const auto& [run, keys] : levels) trees.blocks += blocks[run] / keys;
      trees.runs += static_cast<double>(levels.size());
    }
    return trees;
  }

  // A bit per key divides the false positives of a Bloom filter by this.
  static constexpr double kRatePerBit = 0.6185;
  static constexpr uint64_t kMemory = 100000;
  static constexpr int kKeys = 160000;  // 5 bits for each in the end

  std::vector<ColumnFamilyHandle*> trees_;
  std::string last_ = "0";
};

// While the tree grows, no file goes without a filter, the budget holds about,
// and an absent Get reads not much more than with as many bits for each key as
// the tree has room for in the end.
TEST_P(GrowthTest, NoFileStarves) {
  const double rate_in_the_end = std::pow(kRatePerBit, 8.0 * kMemory / kKeys);
  double most_bytes = 0;
  double most_blocks = 0;  // of those with as many bits for each key
  int keys = 0;
  int next_full = kKeys / 4;
  while (keys < kKeys) {
    for (ColumnFamilyHandle* family : trees_) {
      WriteSome(family);
      keys += GetParam().flush;
    }
    if (GetParam().full && keys >= next_full) {
      next_full += kKeys / 4;
      for (ColumnFamilyHandle* family : trees_) {
        ASSERT_OK(
            db_->CompactRange(CompactRangeOptions(), family, nullptr, nullptr));
      }
    }
    const Trees trees = Look();
    SCOPED_TRACE(testing::Message() << keys << " keys");
    EXPECT_EQ(0, trees.without);
    most_bytes =
        std::max(most_bytes, trees.bytes - trees.files * kRoundedBytes);
    most_blocks =
        std::max(most_blocks, trees.blocks / trees.runs / rate_in_the_end);
  }
  printf("at most %.3f of the budget, %.2f of the blocks\n",
         most_bytes / kMemory, most_blocks);
  EXPECT_LE(most_bytes, (1 + kGrowth) * kMemory);
  EXPECT_LE(most_blocks, 1.81);
  // What filters let through is what their sizes say.
  constexpr int kGets = 3000;
  const double expected = Look().blocks / GetParam().families;
  const uint64_t before = BlocksRead();
  std::string value;
  for (int i = 0; i < kGets; i++) {
    ASSERT_TRUE(db_->Get(ReadOptions(), trees_[0], NextKey() + "x", &value)
                    .IsNotFound());
  }
  const auto read = static_cast<double>(BlocksRead() - before);
  EXPECT_LE(read / kGets, 1.3 * expected + 0.02);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, GrowthTest,
    testing::Values(Growth{kCompactionStyleLevel, 1000, false, 1, false},
                    Growth{kCompactionStyleLevel, 5000, false, 1, true},
                    Growth{kCompactionStyleLevel, 2000, true, 3, false},
                    Growth{kCompactionStyleUniversal, 1000, false, 1, false},
                    Growth{kCompactionStyleUniversal, 5000, false, 1, true},
                    Growth{kCompactionStyleUniversal, 2000, true, 3, true}));

// Ascending keys are never rewritten: the oldest files hold what later ones
// lack, until a refresh evens that out.
TEST_F(FilterBudgetDBTest, RefreshEvensOut) {
  Open();
  Write(120, /*ascending=*/true);
  EXPECT_GT(Total().bytes, 1.2 * static_cast<double>(budget_));
  ASSERT_EQ(1u, BudgetLines().size());
  EXPECT_NE(std::string::npos, BudgetLines()[0].find("evens that out"));
  RefreshResult result;
  ASSERT_OK(RefreshFilters(db_.get(), db_->DefaultColumnFamily(),
                           RefreshOptions(), &result));
  EXPECT_LE(Total().bytes, 1.02 * static_cast<double>(budget_));
  for (const auto& [level, size] : Levels()) EXPECT_GT(size.PerKey(), 10);
  // There is nothing left to even out.
  ASSERT_OK(RefreshFilters(db_.get(), db_->DefaultColumnFamily(),
                           RefreshOptions(), &result));
  for (const RefreshedFile& file : result.files) {
    EXPECT_NE(RefreshOutcome::kRewritten, file.outcome) << file.name;
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
