// SPDX-License-Identifier: Apache-2.0

//  What filter_budget_bytes does in real trees: all filters together take what
//  it says, whatever the tree does.

#include <gtest/gtest.h>

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <map>

#include "filter_policy/filter_budget.h"
#include "filter_policy/proteus/proteus_policy.h"
#include "plugin/protean.h"
#include "plugin/refresh_filters.h"
#include "rocksdb/convenience.h"
#include "rocksdb/db.h"
#include "rocksdb/perf_context.h"
#include "rocksdb/sst_file_writer.h"
#include "rocksdb/table.h"
#include "table/rocksdb_internals/versions.h"
#include "test_util/testharness.h"
#include "tests/table/twin_db.h"
#include "util/random.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr int kKeysPerFlush = 2000;
// A filter consists of whole cache lines, and says in 32 bytes that there is
// none.
constexpr double kRoundedBytes = 64;
// Share by which filters may exceed the budget while the tree grows.
constexpr double kGrowth = 0.2;

class FilterBudgetDBTest : public testing::Test {
 protected:
  FilterBudgetDBTest() {
    options_.create_if_missing = true;
    options_.compression = kNoCompression;
    options_.max_bytes_for_level_base = 256 << 10;
    options_.target_file_size_base = 128 << 10;
    options_.level_compaction_dynamic_level_bytes = false;
    options_.max_bytes_for_level_multiplier = 4;
    options_.info_log = log_;
    SetPolicy(Budget(kBudget));
    EXPECT_OK(DestroyDB(path_, Options()));
  }
  ~FilterBudgetDBTest() override {
    db_.reset();
    EXPECT_OK(DestroyDB(path_, Options()));
  }

  static std::string Budget(uint64_t bytes) {
    return "{id=protean.Proteus;prefix_filter_type=kRibbon;filter_budget_"
           "bytes=" +
           std::to_string(bytes) + "}";
  }
  void SetPolicy(const std::string& policy, const std::string& table = "") {
    ColumnFamilyOptions parsed;
    ASSERT_OK(GetColumnFamilyOptionsFromString(
        ConfigOptions(), options_,
        "table_factory={id=ProteanTable;filter_policy=" + policy + ";" + table +
            "}",
        &parsed));
    options_.table_factory = parsed.table_factory;
  }
  // The lines of the log about budgets.
  Keys BudgetLines() const {
    return log_->Lines({"Protean: filter_budget_bytes="});
  }
  void Open() {
    db_.reset();
    ASSERT_OK(OpenDB(&db_, options_, path_));
  }

  static std::string Key(uint64_t number) {
    char text[24];
    snprintf(text, sizeof(text), "%016llu",
             static_cast<unsigned long long>(number));
    return text;
  }

  // Writes a file of new keys.
  void Flush(bool ascending = false) {
    WriteBatch batch;
    for (int i = 0; i < kKeysPerFlush; i++) {
      const uint64_t number = ascending ? (next_ += 1 + random_.Uniform(80000))
                                        : random_.Next() % 10000000000;
      ASSERT_OK(batch.Put(Key(number), std::string(40, 'v')));
    }
    ASSERT_OK(db_->Write(WriteOptions(), &batch));
    ASSERT_OK(db_->Flush(FlushOptions()));
  }

  struct Size {
    double keys = 0;
    double bytes = 0;
    double files = 0;
    double without = 0;  // files without a filter
    double PerKey() const { return 8 * bytes / keys; }
    double Rounded() const { return files * kRoundedBytes; }
  };
  // The sizes of the filters of the live files, by level.
  std::map<int, Size> Levels() {
    std::vector<LiveFileMetaData> files;
    db_->GetLiveFilesMetaData(&files);
    TablePropertiesCollection properties;
    EXPECT_OK(db_->GetPropertiesOfAllTables(&properties));
    std::map<int, Size> levels;
    for (const LiveFileMetaData& file : files) {
      const auto found = properties.find(file.db_path + file.name);
      if (found == properties.end()) continue;  // compacted meanwhile
      Size& size = levels[file.level];
      size.keys += static_cast<double>(found->second->num_entries);
      size.bytes += static_cast<double>(found->second->filter_size);
      size.files++;
      const auto& user = found->second->user_collected_properties;
      const auto kind = user.find("protean.kind");
      if (kind != user.end() && kind->second == "none") {
        EXPECT_EQ("filter_budget_bytes is used up", user.at("protean.design"));
        size.without++;
      }
    }
    return levels;
  }
  static Size Total(const std::map<int, Size>& levels) {
    Size total;
    for (const auto& [level, size] : levels) {
      total.keys += size.keys;
      total.bytes += size.bytes;
      total.files += size.files;
      total.without += size.without;
    }
    return total;
  }
  Size Total() { return Total(Levels()); }
  void Print() {
    for (const auto& [level, size] : Levels()) {
      printf("L%d: %.0f keys, %.2f bits; ", level, size.keys, size.PerKey());
    }
    printf("total %.0f of %" PRIu64 "\n", Total().bytes, budget_);
  }

  void Write(int files, bool ascending = false) {
    for (int i = 0; i < files; i++) {
      Flush(ascending);
      ASSERT_OK(db_->WaitForCompact(WaitForCompactOptions()));
      const Size total = Total();
      // If older files are never rewritten, later ones get the minimum.
      const double bound =
          ascending ? (1 + kGrowth / 2) * static_cast<double>(budget_) +
                          kMinBudgetedBits / 8 * total.keys
                    : (1 + kGrowth) * static_cast<double>(budget_);
      ASSERT_LE(total.bytes, bound + total.Rounded());
    }
  }
  void Compact() {
    CompactRangeOptions options;
    options.bottommost_level_compaction = BottommostLevelCompaction::kForce;
    ASSERT_OK(db_->CompactRange(options, nullptr, nullptr));
    ASSERT_OK(db_->WaitForCompact(WaitForCompactOptions()));
  }
  // The filters take the budget, but for 2 %.
  void ExpectUsed() {
    const Size total = Total();
    EXPECT_LE(total.bytes, 1.02 * static_cast<double>(budget_));
    EXPECT_GE(total.bytes,
              0.98 * static_cast<double>(budget_) - total.Rounded());
    if (HasFailure()) Print();
  }

  static constexpr uint64_t kBudget = 360000;

  const std::string path_ = test::PerThreadDBPath("filter_budget");
  const std::shared_ptr<RecordingLogger> log_ =
      std::make_shared<RecordingLogger>();
  Options options_;
  uint64_t budget_ = kBudget;
  std::unique_ptr<DB> db_;
  Random64 random_{31};
  uint64_t next_ = 0;
};

}  // namespace

// The tree grows to ten times its size, from 24 to 12 bits per key and less.
TEST_F(FilterBudgetDBTest, GrowingTree) {
  Open();
  Write(12);
  Compact();
  // Some designs have no use for 64 bits per key.
  EXPECT_GT(Total().PerKey(), 40);
  for (int i = 0; i < 9; i++) {
    SCOPED_TRACE(i);
    Write(12);
    if (HasFailure()) return Print();
  }
  const std::map<int, Size> levels = Levels();
  ASSERT_GE(levels.size(), 2u);
  Print();
  EXPECT_EQ(0, Total().without);
  Compact();
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
    db_.reset();
    ASSERT_OK(DestroyDB(path_, Options()));
    options_.num_levels = levels;
    Open();
    Write(80);
    // The first compaction leaves room for the runs that it empties.
    for (int i = 0; i < 2; i++) Compact();
    ExpectUsed();
  }
}

// The last level goes without filters, and the log says so once.
TEST_F(FilterBudgetDBTest, TheTreeOutgrowsTheBudget) {
  budget_ = 60000;  // 2 bits per key in the end
  SetPolicy(Budget(budget_));
  Open();
  Write(120);
  Compact();
  const Size total = Total();
  EXPECT_GT(total.without, 0);
  EXPECT_LT(total.without, total.files);
  ExpectUsed();
  EXPECT_EQ(
      1u, log_->Lines({"Protean: filter_budget_bytes=", "is used up"}).size());
  // The DB answers as ever.
  std::string value;
  EXPECT_TRUE(db_->Get(ReadOptions(), "absent", &value).IsNotFound());
}

// Ascending keys are written once, and older files keep their filters.
TEST_F(FilterBudgetDBTest, FilesThatMove) {
  Open();
  Write(120, /*ascending=*/true);
  Compact();
  EXPECT_LE(Total().bytes, 1.02 * static_cast<double>(budget_));
}

TEST_F(FilterBudgetDBTest, Partitioned) {
  SetPolicy(
      "{id=protean.Proteus;prefix_filter_type=kRibbon;sample_every=1;filter_"
      "budget_bytes=" +
          std::to_string(budget_) + "}",
      "partition_filters=true;index_type=kTwoLevelIndexSearch;"
      "cache_index_and_filter_blocks=true;metadata_block_size=4096");
  Open();
  Write(80);
  std::string value;
  for (int i = 0; i < 20000; i++) {
    const std::string key = Key(random_.Next() % 10000000000) + "x";
    ASSERT_TRUE(db_->Get(ReadOptions(), key, &value).IsNotFound());
  }
  // The first parts of a file are not taken for files that few queries ask.
  for (int i = 0; i < 2; i++) {
    Compact();
    const Size total = Total();
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
  Compact();
  ExpectUsed();
  db_.reset();
  SetPolicy("{id=protean.Levels;policies={" + Budget(9999) + "," +
            Budget(budget_) + "}}");
  const Status s = OpenDB(&db_, options_, path_);
  EXPECT_TRUE(s.IsInvalidArgument());
  EXPECT_NE(std::string::npos, s.ToString().find("only one of the policies"));
}

// Files that had other filters shrink to the budget as they are compacted, and
// a change of the budget of an open DB takes effect.
TEST_F(FilterBudgetDBTest, AnotherPolicy) {
  SetPolicy("proteus:24:ribbon");
  Open();
  for (int i = 0; i < 60; i++) Flush();
  ASSERT_OK(db_->WaitForCompact(WaitForCompactOptions()));
  for (const uint64_t budget : {180000, 120000, 240000}) {
    SCOPED_TRACE(budget);
    budget_ = budget;
    ASSERT_OK(
        db_->SetOptions({{"table_factory.filter_policy", Budget(budget)}}));
    for (int i = 0; i < 2; i++) Compact();
    ExpectUsed();
  }
}

// The files that queries ask get more bits than those that they do not.
TEST_F(FilterBudgetDBTest, Heat) {
  SetPolicy(
      "{id=protean.Proteus;prefix_filter_type=kRibbon;sample_every=1;filter_"
      "budget_bytes=" +
      std::to_string(budget_) + "}");
  Open();
  for (int i = 0; i < 120; i++) Flush();
  Compact();
  std::string value;
  for (int i = 0; i < 20000; i++) {
    // Absent keys in the first tenth of the key space.
    const std::string key = Key(random_.Next() % 1000000000) + "x";
    ASSERT_TRUE(db_->Get(ReadOptions(), key, &value).IsNotFound());
  }
  for (int i = 0; i < 2; i++) Compact();
  ExpectUsed();
  std::vector<LiveFileMetaData> files;
  db_->GetLiveFilesMetaData(&files);
  TablePropertiesCollection properties;
  ASSERT_OK(db_->GetPropertiesOfAllTables(&properties));
  double hot = 0;
  double cold = 100;
  for (const LiveFileMetaData& file : files) {
    const auto& found = properties.at(file.db_path + file.name);
    const double bits = 8 * static_cast<double>(found->filter_size) /
                        static_cast<double>(found->num_entries);
    if (file.largestkey < Key(1000000000)) hot = std::max(hot, bits);
    if (file.smallestkey > Key(2000000000)) cold = std::min(cold, bits);
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
  SstFileWriter writer(EnvOptions(), options_);
  const std::string file = path_ + "_outside.sst";
  ASSERT_OK(writer.Open(file));
  constexpr int kKeys = 100000;
  for (int k = 0; k < kKeys; k++) ASSERT_OK(writer.Put(Key(k), "value"));
  ASSERT_OK(writer.Finish());
  Open();
  IngestExternalFileOptions ingest;
  ingest.move_files = true;
  ASSERT_OK(db_->IngestExternalFile({file}, ingest));
  EXPECT_NEAR(10, Total().PerKey(), 0.1);
}

TEST_F(FilterBudgetDBTest, MoreThanMemory) {
  SetPolicy("{id=protean.Proteus;filter_budget_bytes=1024T}");
  Open();
  for (int i = 0; i < 3; i++) Flush();
  ASSERT_EQ(1u, BudgetLines().size());
  EXPECT_NE(std::string::npos, BudgetLines()[0].find("memory that this"));
}

// Column families that share the policy object share the budget.
TEST_F(FilterBudgetDBTest, SharedByColumnFamilies) {
  Open();
  Write(40);
  ColumnFamilyHandle* other = nullptr;
  ASSERT_OK(db_->CreateColumnFamily(options_, "other", &other));
  for (int file = 0; file < 30; file++) {
    for (int i = 0; i < kKeysPerFlush; i++) {
      ASSERT_OK(db_->Put(WriteOptions(), other,
                         Key(random_.Next() % 10000000000), "value"));
    }
    ASSERT_OK(db_->Flush(FlushOptions(), other));
  }
  ASSERT_OK(db_->WaitForCompact(WaitForCompactOptions()));
  CompactRangeOptions options;
  options.bottommost_level_compaction = BottommostLevelCompaction::kForce;
  for (int i = 0; i < 3; i++) {
    Compact();
    ASSERT_OK(db_->CompactRange(options, other, nullptr, nullptr));
  }
  TablePropertiesCollection properties;
  ASSERT_OK(db_->GetPropertiesOfAllTables(other, &properties));
  double bytes = Total().bytes;
  for (const auto& [name, file] : properties) {
    bytes += static_cast<double>(file->filter_size);
  }
  EXPECT_LE(bytes, 1.02 * static_cast<double>(budget_));
  EXPECT_GE(bytes, 0.97 * static_cast<double>(budget_));
  ASSERT_OK(db_->DestroyColumnFamilyHandle(other));
}

// How a tree grows to four times its size.
struct Growth {
  CompactionStyle style;
  int flush;     // keys
  bool deletes;  // of a tenth of the keys
  int families;  // which share the budget
  bool full;     // compactions of the whole tree
};

class GrowthTest : public testing::TestWithParam<Growth> {
 protected:
  GrowthTest() {
    options_.create_if_missing = true;
    options_.create_missing_column_families = true;
    options_.compression = kNoCompression;
    options_.compaction_style = GetParam().style;
    options_.level_compaction_dynamic_level_bytes = false;
    options_.max_bytes_for_level_base = 256 << 10;
    options_.target_file_size_base = 128 << 10;
    options_.max_bytes_for_level_multiplier = 4;
    EXPECT_OK(GetColumnFamilyOptionsFromString(
        ConfigOptions(), options_,
        "table_factory={id=ProteanTable;filter_policy={id=protean.Proteus;"
        "prefix_filter_type=kBloom;filter_budget_bytes=" +
            std::to_string(kMemory) + "};no_block_cache=true}",
        &options_));
    EXPECT_OK(DestroyDB(path_, Options()));
    std::vector<ColumnFamilyDescriptor> families;
    for (int i = 0; i < GetParam().families; i++) {
      families.emplace_back(
          i == 0 ? kDefaultColumnFamilyName : "family" + std::to_string(i),
          options_);
    }
    EXPECT_OK(OpenDB(&db_, options_, path_, families, &families_));
  }
  ~GrowthTest() override {
    for (ColumnFamilyHandle* family : families_) {
      EXPECT_OK(db_->DestroyColumnFamilyHandle(family));
    }
    db_.reset();
    EXPECT_OK(DestroyDB(path_, Options()));
  }

  static std::string Key(uint64_t number) {
    char text[24];
    snprintf(text, sizeof(text), "%016llu",
             static_cast<unsigned long long>(number));
    return text;
  }

  void Flush(ColumnFamilyHandle* family) {
    WriteBatch batch;
    for (int i = 0; i < GetParam().flush; i++) {
      const std::string key = Key(random_.Next() % 10000000000);
      if (GetParam().deletes && i % 10 == 0) {
        ASSERT_OK(batch.Delete(family, last_));
      } else {
        ASSERT_OK(batch.Put(family, key, std::string(40, 'v')));
      }
      last_ = key;
    }
    ASSERT_OK(db_->Write(WriteOptions(), &batch));
    ASSERT_OK(db_->Flush(FlushOptions(), family));
    ASSERT_OK(db_->WaitForCompact(WaitForCompactOptions()));
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
    for (ColumnFamilyHandle* family : families_) {
      std::vector<LiveFileMetaData> files;
      db_->GetLiveFilesMetaData(&files);
      TablePropertiesCollection properties;
      EXPECT_OK(db_->GetPropertiesOfAllTables(family, &properties));
      std::map<int, double> levels;
      std::map<int, double> blocks;
      for (const LiveFileMetaData& file : files) {
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

  const std::string path_ = test::PerThreadDBPath("filter_growth");
  Options options_;
  std::unique_ptr<DB> db_;
  std::vector<ColumnFamilyHandle*> families_;
  Random64 random_{31};
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
    for (ColumnFamilyHandle* family : families_) {
      Flush(family);
      keys += GetParam().flush;
    }
    if (GetParam().full && keys >= next_full) {
      next_full += kKeys / 4;
      for (ColumnFamilyHandle* family : families_) {
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
  EXPECT_LE(most_blocks, 1.8);
  // What filters let through is what their sizes say.
  constexpr int kGets = 3000;
  const double expected = Look().blocks / GetParam().families;
  SetPerfLevel(PerfLevel::kEnableCount);
  const uint64_t before = get_perf_context()->block_read_count;
  std::string value;
  for (int i = 0; i < kGets; i++) {
    ASSERT_TRUE(db_->Get(ReadOptions(), families_[0],
                         Key(random_.Next() % 10000000000) + "x", &value)
                    .IsNotFound());
  }
  const auto read =
      static_cast<double>(get_perf_context()->block_read_count - before);
  SetPerfLevel(PerfLevel::kDisable);
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
