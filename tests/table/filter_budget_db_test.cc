// SPDX-License-Identifier: Apache-2.0

//  What filter_budget_bytes and level_bits=kAuto do in real trees, above all in
//  trees of unusual shapes, which RocksDB compacts by itself while they grow.
//  All filters together take what the budget says, or what bits_per_key
//  promises, whatever the tree does.

#include <cmath>
#include <cstdio>

#include "filter_policy/filter_budget.h"
#include "filter_policy/proteus/proteus_policy.h"
#include "plugin/refresh_filters.h"
#include "tests/protean_db.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Keys, and the filters that they have.
struct FilterSize {
  double keys = 0;
  double bytes = 0;
  double files = 0;
  double without = 0;       // files without a filter
  double least_bits = 1e9;  // for each key of a file
  double passed = 0;        // absent keys of as many, by the filters' sizes
  double PerKey() const { return 8 * bytes / keys; }
  FilterSize& operator+=(const FilterSize& other) {
    keys += other.keys;
    bytes += other.bytes;
    files += other.files;
    without += other.without;
    least_bits = std::min(least_bits, other.least_bits);
    passed += other.passed;
    return *this;
  }
};

// A bit per key divides the false positives of a Bloom filter by this.
constexpr double kRatePerBit = 0.6185;

class GrowingTreeTest : public OwnDBTest {
 protected:
  // A filter is cut into cache lines, or says in 32 bytes that there is none.
  static constexpr double kRoundedBytes = 64;

  GrowingTreeTest() : OwnDBTest(Options()) {
    options_.compression = kNoCompression;
    options_.max_bytes_for_level_base = 256 << 10;
    options_.target_file_size_base = 128 << 10;
    options_.level_compaction_dynamic_level_bytes = false;
    options_.max_bytes_for_level_multiplier = 4;
  }

  // A random one, or one above all keys so far.
  std::string NextKey(bool ascending = false) {
    return Digits(ascending ? (next_ += 1 + random_.Uniform(80000))
                            : random_.Next() % 10000000000);
  }
  // Writes a file of new keys, and perhaps of deletions of one in ten.
  void WriteNewFile(bool ascending = false,
                    ColumnFamilyHandle* family = nullptr) {
    if (family == nullptr) family = db_->DefaultColumnFamily();
    WriteBatch batch;
    for (int i = 0; i < keys_per_flush_; i++) {
      const std::string key = NextKey(ascending);
      ASSERT_OK(deletes_ && i % 10 == 0 ? batch.Delete(family, last_)
                                        : batch.Put(family, key, value_));
      last_ = key;
    }
    ASSERT_OK(db_->Write(WriteOptions(), &batch));
    ASSERT_OK(db_->Flush(FlushOptions(), family));
  }
  void CompactAndWait(int times = 1) {
    for (int i = 0; i < times; i++) {
      Compact();
      WaitForCompactions();
    }
  }
  RefreshResult Refresh() {
    RefreshResult result;
    EXPECT_OK(
        RefreshFilters(db_.get(), db_->DefaultColumnFamily(), {}, &result));
    return result;
  }

  static FilterSize SizeOf(const TableProperties& properties) {
    FilterSize size;
    size.keys = static_cast<double>(properties.num_entries);
    size.bytes = static_cast<double>(properties.filter_size);
    size.files = 1;
    size.least_bits = size.PerKey();
    size.passed = size.keys * std::pow(kRatePerBit, size.PerKey());
    const auto& user = properties.user_collected_properties;
    const auto kind = user.find("protean.kind");
    if (kind != user.end() && kind->second == "none") {
      EXPECT_EQ("filter_budget_bytes is used up", user.at("protean.design"));
      size.without = 1;
    }
    return size;
  }
  // The sizes of the filters of the live files of a column family, by level, or
  // by sorted run.
  std::map<int, FilterSize> Levels(ColumnFamilyHandle* family = nullptr,
                                   bool runs = false) {
    const TablePropertiesCollection properties =
        PropertiesOf(db_.get(), family);
    std::map<int, FilterSize> levels;
    for (const LiveFileMetaData& file : Files()) {
      const auto found = properties.find(file.db_path + file.name);
      if (found == properties.end()) continue;  // compacted meanwhile
      levels[runs && file.level == 0 ? -static_cast<int>(file.file_number)
                                     : file.level] += SizeOf(*found->second);
    }
    return levels;
  }
  FilterSize Total(ColumnFamilyHandle* family = nullptr) {
    FilterSize total;
    for (const auto& [level, size] : Levels(family)) total += size;
    return total;
  }
  void Print() {
    for (const auto& [level, size] : Levels()) {
      printf("L%d: %.0f keys, %.3f bits; ", level, size.keys, size.PerKey());
    }
    printf("total %.0f bytes, %.3f bits\n", Total().bytes, Total().PerKey());
  }

  int keys_per_flush_ = 2000;
  bool deletes_ = false;
  std::string value_ = std::string(40, 'v');
  std::string last_ = "0";  // key
  Random64 random_{31};
  uint64_t next_ = 0;
};

// ---- filter_budget_bytes ----

// Share by which filters may exceed the budget while the tree grows.
constexpr double kGrowth = 0.2;

class FilterBudgetDBTest : public GrowingTreeTest {
 protected:
  static constexpr uint64_t kBudget = 360000;

  FilterBudgetDBTest() { SetPolicy(Budget(kBudget)); }

  static std::string Budget(double bytes, const std::string& more = "") {
    return "{id=protean.Proteus;prefix_filter_type=kRibbon;" + more +
           "filter_budget_bytes=" +
           std::to_string(static_cast<uint64_t>(bytes)) + "}";
  }
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
      const double bound = ascending ? (1 + kGrowth / 2) * budget_ +
                                           kMinBudgetedBits / 8 * total.keys
                                     : (1 + kGrowth) * budget_;
      ASSERT_LE(total.bytes, bound + total.files * kRoundedBytes);
    }
  }
  // The filters take the budget, but for 2 %.
  void ExpectUsed() {
    const FilterSize total = Total();
    EXPECT_LE(total.bytes, 1.02 * budget_);
    EXPECT_GE(total.bytes, 0.98 * budget_ - total.files * kRoundedBytes);
    if (HasFailure()) Print();
  }

  double budget_ = kBudget;
};

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
  ASSERT_GE(Levels().size(), 2u);
  EXPECT_EQ(0, Total().without);
  CompactAndWait();
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
    options_.num_levels = levels;
    OpenNew();
    Write(80);
    // The first compaction leaves room for the runs that it empties.
    CompactAndWait(2);
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

// Ascending keys are written once, and never rewritten: the oldest files hold
// what later ones lack, until a compaction or a refresh evens that out.
TEST_F(FilterBudgetDBTest, FilesThatMove) {
  Open();
  Write(120, /*ascending=*/true);
  EXPECT_GT(Total().bytes, 1.2 * budget_);
  ASSERT_EQ(1u, BudgetLines().size());
  EXPECT_NE(std::string::npos, BudgetLines()[0].find("evens that out"));
  const std::string copy = path_ + "_copy";
  ASSERT_OK(MakeCheckpoint(db_.get(), copy));
  CompactAndWait();
  EXPECT_LE(Total().bytes, 1.02 * budget_);

  Destroy();
  ASSERT_OK(Env::Default()->RenameFile(copy, path_));
  Open();
  EXPECT_GT(Total().bytes, 1.2 * budget_);
  Refresh();
  EXPECT_LE(Total().bytes, 1.02 * budget_);
  for (const auto& [level, size] : Levels()) EXPECT_GT(size.PerKey(), 10);
  // There is nothing left to even out.
  EXPECT_EQ(0u, Refresh().files_rewritten);
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
    EXPECT_LE(total.bytes, 1.03 * budget_);
    EXPECT_GE(total.bytes, 0.95 * budget_);
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

// Files that had other filters shrink to the budget as they are compacted.
TEST_F(FilterBudgetDBTest, AnotherPolicy) {
  SetPolicy("proteus:24:ribbon");
  Open();
  for (int i = 0; i < 60; i++) WriteNewFile();
  WaitForCompactions();
  for (const double budget : {180000, 120000, 240000}) {
    SCOPED_TRACE(budget);
    budget_ = budget;
    ChangePolicy(Budget(budget));
    CompactAndWait(2);
    ExpectUsed();
  }
}

// The files that queries ask get more bits than those that they do not.
TEST_F(FilterBudgetDBTest, Heat) {
  budget_ = kBudget / 2;
  SetPolicy(Budget(budget_, "sample_every=1;"));
  Open();
  for (int i = 0; i < 60; i++) WriteNewFile();
  CompactAndWait();
  // In the first tenth of the key space.
  GetAbsentKeys(1000000000);
  CompactAndWait(2);
  ExpectUsed();
  const TablePropertiesCollection properties = PropertiesOf(db_.get());
  double hot = 0;
  double cold = 100;
  for (const LiveFileMetaData& file : Files()) {
    const double bits = SizeOf(*properties.at(PathOf(file))).PerKey();
    if (file.largestkey < Digits(1000000000)) hot = std::max(hot, bits);
    if (file.smallestkey > Digits(2000000000)) cold = std::min(cold, bits);
  }
  EXPECT_GT(hot, cold + 3);
  Refresh();
  EXPECT_LE(Total().bytes, 1.02 * budget_);
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
  const double bytes = Total().bytes + Total(other).bytes;
  EXPECT_LE(bytes, 1.02 * budget_);
  EXPECT_GE(bytes, 0.97 * budget_);
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
    keys_per_flush_ = GetParam().flush;
    deletes_ = GetParam().deletes;
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

  struct Trees {
    FilterSize size;
    double blocks = 0;  // that an absent Get reads
    double runs = 0;
  };
  Trees Look() {
    Trees trees;
    for (ColumnFamilyHandle* family : trees_) {
      for (const auto& [run, size] : Levels(family, /*runs=*/true)) {
        trees.size += size;
        trees.blocks += size.passed / size.keys;
        trees.runs++;
      }
    }
    return trees;
  }

  static constexpr uint64_t kMemory = 100000;
  static constexpr int kKeys = 160000;  // 5 bits for each in the end

  std::vector<ColumnFamilyHandle*> trees_;
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
      WriteNewFile(/*ascending=*/false, family);
      WaitForCompactions();
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
    EXPECT_GE(trees.size.least_bits, kMinBudgetedBits / 2);
    most_bytes = std::max(most_bytes,
                          trees.size.bytes - trees.size.files * kRoundedBytes);
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

// ---- level_bits=kAuto ----

constexpr double kBits = 12;

class LevelBitsDBTest : public GrowingTreeTest {
 protected:
  LevelBitsDBTest() {
    SetPolicy("{id=protean.Proteus;bits_per_key=12;level_bits=kAuto}");
    options_.max_bytes_for_level_base = 512 << 10;
    value_ = "a value";
  }

  // The tree takes what bits_per_key promises, and no level much less.
  void Check() {
    EXPECT_LE(Total().PerKey(), (1 + kTolerance) * kBits);
    for (const auto& [level, size] : Levels()) {
      const double rounded = 8 * kRoundedBytes * size.files / size.keys;
      EXPECT_GE(size.PerKey(), kBits - kMaxGiven - rounded) << level;
    }
    if (HasFailure()) Print();
  }
  void Write(int files, bool ascending = false) {
    for (int i = 0; i < files; i++) {
      WriteNewFile(ascending);
      if (i % 4 == 3) WaitForCompactions();
      Check();
      if (HasFailure()) return;
    }
  }
};

TEST_F(LevelBitsDBTest, Leveled) {
  for (const auto& [ratio, base, dynamic] :
       {std::tuple{4, 512 << 10, false}, {10, 256 << 10, true}}) {
    SCOPED_TRACE(ratio);
    options_.max_bytes_for_level_base = base;
    options_.max_bytes_for_level_multiplier = ratio;
    options_.level_compaction_dynamic_level_bytes = dynamic;
    OpenNew();
    Write(120);
    const std::map<int, FilterSize> levels = Levels();
    // The other levels have the bits that the last level has given.
    ASSERT_GE(levels.size(), 2u);
    EXPECT_LT(levels.rbegin()->second.PerKey(), kBits);
    EXPECT_GT(levels.begin()->second.PerKey(), kBits + 0.5);
    // A full compaction leaves one run, which still has about that many bits.
    ASSERT_OK(db_->CompactRange(CompactRangeOptions(), nullptr, nullptr));
    Check();
    // The tree is known as soon as the DB is opened again.
    Open();
    WriteNewFile();
    EXPECT_GT(Levels()[0].PerKey(), kBits + 2);
    Write(20);
  }
}

// With few open files, the rule sees only a part of the tree.
TEST_F(LevelBitsDBTest, FewOpenFiles) {
  options_.max_open_files = 20;
  options_.table_cache_numshardbits = 0;
  Open();
  Write(60);
}

TEST_F(LevelBitsDBTest, Universal) {
  options_.compaction_style = kCompactionStyleUniversal;
  for (int levels : {1, 7}) {
    options_.num_levels = levels;
    OpenNew();
    Write(70);
  }
}

TEST_F(LevelBitsDBTest, FilesThatMove) {
  // A trie of ascending numbers would take less than its share.
  SetPolicy("{id=protean.PrefixBloom;bits_per_key=12;level_bits=kAuto}");
  Open();
  Write(60, /*ascending=*/true);
  Open();
  Check();
  Write(60, /*ascending=*/true);
  Write(60, /*ascending=*/false);
}

// A file that is written outside of the DB has exactly bits_per_key.
TEST_F(LevelBitsDBTest, FilesFromOutside) {
  for (const std::string rule :
       {"filter_budget_bytes=2G", "level_bits=kAuto"}) {
    SCOPED_TRACE(rule);
    // A trie of ascending numbers would take less than its share.
    SetPolicy("{id=protean.PrefixBloom;bits_per_key=12;" + rule + "}");
    OpenNew();
    for (int i = 0; i < 5; i++) {
      Ingest(MakeKeys(100000,
                      [this](size_t) { return NextKey(/*ascending=*/true); }));
    }
    ASSERT_EQ(1u, Levels().size());
    EXPECT_NEAR(kBits, Total().PerKey(), 0.01);
  }
  Write(60);
}

TEST_F(LevelBitsDBTest, Equal) {
  SetPolicy("{id=protean.Proteus;bits_per_key=12;level_bits=kEqual}");
  Open();
  for (int i = 0; i < 60; i++) WriteNewFile();
  WaitForCompactions();
  ASSERT_GE(Levels().size(), 2u);
  for (const auto& [level, size] : Levels()) {
    EXPECT_NEAR(kBits, size.PerKey(), 0.02 * kBits) << level;
  }
}

// Each column family is a tree of its own.
TEST_F(LevelBitsDBTest, ColumnFamilies) {
  Open();
  Write(40);
  ColumnFamilyHandle* const other = NewFamily("other");
  for (int file = 0; file < 3; file++) WriteNewFile(false, other);
  const std::map<int, FilterSize> runs = Levels(other, /*runs=*/true);
  ASSERT_EQ(3u, runs.size());
  for (const auto& [run, size] : runs) {
    EXPECT_NEAR(kBits, size.PerKey(), 0.02 * kBits);
  }
}

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean
