// SPDX-License-Identifier: Apache-2.0

//  What level_bits=kAuto does in real trees, above all in trees of unusual
//  shapes: the filters of a tree take what bits_per_key promises, and the
//  filters of the last level lose next to nothing.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "filter_policy/filter_budget.h"
#include "plugin/protean.h"
#include "rocksdb/convenience.h"
#include "rocksdb/db.h"
#include "rocksdb/sst_file_writer.h"
#include "rocksdb/table.h"
#include "rocksdb/utilities/table_properties_collectors.h"
#include "table/rocksdb_internals/versions.h"
#include "test_util/testharness.h"
#include "util/random.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr double kBits = 12;
constexpr int kKeysPerFlush = 2000;
// A filter consists of whole cache lines, so rounding costs up to one line.
constexpr double kRoundedBits = 512;

class LevelBitsDBTest : public testing::Test {
 protected:
  LevelBitsDBTest() {
    SetPolicy("{id=protean.Proteus;bits_per_key=12;level_bits=kAuto}");
    options_.create_if_missing = true;
    options_.compression = kNoCompression;
    options_.max_bytes_for_level_base = 512 << 10;
    options_.target_file_size_base = 128 << 10;
    options_.level_compaction_dynamic_level_bytes = false;
    options_.max_bytes_for_level_multiplier = 4;
    EXPECT_OK(DestroyDB(path_, options_));
  }
  ~LevelBitsDBTest() override {
    db_.reset();
    EXPECT_OK(DestroyDB(path_, options_));
  }

  void SetPolicy(const std::string& policy) {
    EXPECT_OK(GetColumnFamilyOptionsFromString(
        ConfigOptions(), options_,
        "table_factory={id=ProteanTable;filter_policy=" + policy + "}",
        &options_));
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
  std::string NextKey(bool ascending) {
    return Key(ascending ? next_++ : rnd_.Next() % 10000000000);
  }

  // Writes a file of new keys.
  void Flush(bool ascending = false) {
    WriteBatch batch;
    for (int i = 0; i < kKeysPerFlush; i++) {
      ASSERT_OK(batch.Put(NextKey(ascending), "a value"));
    }
    ASSERT_OK(db_->Write(WriteOptions(), &batch));
    ASSERT_OK(db_->Flush(FlushOptions()));
  }

  struct Size {
    double keys = 0;
    double bits = 0;
    double files = 0;
    double PerKey() const { return bits / keys; }
    // The bits per key that rounding may have cost.
    double Rounded() const { return files * kRoundedBits / keys; }
  };
  // The sizes of the filters, by level.
  std::map<int, Size> Levels() {
    std::vector<LiveFileMetaData> files;
    db_->GetLiveFilesMetaData(&files);
    TablePropertiesCollection properties;
    EXPECT_OK(db_->GetPropertiesOfAllTables(&properties));
    std::map<int, Size> levels;
    for (const LiveFileMetaData& file : files) {
      const auto found = properties.find(file.db_path + file.name);
      if (found == properties.end()) continue;  // compacted meanwhile
      levels[file.level].keys +=
          static_cast<double>(found->second->num_filter_entries);
      levels[file.level].bits +=
          8 * static_cast<double>(found->second->filter_size);
      levels[file.level].files++;
    }
    return levels;
  }
  static Size Total(const std::map<int, Size>& levels) {
    Size total;
    for (const auto& [level, size] : levels) {
      total.keys += size.keys;
      total.bits += size.bits;
      total.files += size.files;
    }
    return total;
  }

  // Checks that the tree takes no more bits than it may, and no level fewer
  // than it should.
  void Check() {
    const std::map<int, Size> levels = Levels();
    const double average = Total(levels).PerKey();
    EXPECT_LE(average, (1 + kTolerance) * kBits);
    for (const auto& [level, size] : levels) {
      EXPECT_GE(size.PerKey(), kBits - kMaxGiven - size.Rounded()) << level;
    }
    most_ = std::max(most_, average);
    if (testing::Test::HasFailure()) Print();
  }
  void Print() {
    for (const auto& [level, size] : Levels()) {
      printf("L%d: %.0f keys, %.3f bits; ", level, size.keys, size.PerKey());
    }
    printf("total %.3f, most %.3f\n", Total(Levels()).PerKey(), most_);
  }

  void Write(int files, bool ascending = false) {
    for (int i = 0; i < files; i++) {
      Flush(ascending);
      if (i % 4 == 3) {
        ASSERT_OK(db_->WaitForCompact(WaitForCompactOptions()));
      }
      Check();
      if (HasFailure()) return;
    }
  }

  const std::string path_ = test::PerThreadDBPath("level_bits");
  Options options_;
  std::unique_ptr<DB> db_;
  Random64 rnd_{31};
  uint64_t next_ = 0;
  double most_ = 0;
};

}  // namespace

TEST_F(LevelBitsDBTest, Leveled) {
  struct Tree {
    int ratio;
    uint64_t base;
    bool dynamic;
  };
  for (const Tree& tree : {Tree{4, 512 << 10, false}, {10, 256 << 10, true}}) {
    SCOPED_TRACE(tree.ratio);
    ASSERT_OK(DestroyDB(path_, options_));
    options_.max_bytes_for_level_base = tree.base;
    options_.max_bytes_for_level_multiplier = tree.ratio;
    options_.level_compaction_dynamic_level_bytes = tree.dynamic;
    Open();
    Write(120);
    const std::map<int, Size> levels = Levels();
    // The other levels have the bits that the last level has given.
    ASSERT_GE(levels.size(), 2u);
    EXPECT_LT(levels.rbegin()->second.PerKey(), kBits);
    EXPECT_GT(levels.begin()->second.PerKey(), kBits + 0.5);
    // A full compaction leaves one run, which still has about that many bits.
    ASSERT_OK(db_->CompactRange(CompactRangeOptions(), nullptr, nullptr));
    Check();
    // The tree is known as soon as the DB is opened again.
    Open();
    Flush();
    const double flushed = Levels()[0].PerKey();
    EXPECT_GT(flushed, kBits + 2);
    Write(20);
    db_.reset();
  }
}

// With few open files, the rule sees only a part of the tree.
TEST_F(LevelBitsDBTest, FewOpenFiles) {
  options_.max_open_files = 20;
  options_.table_cache_numshardbits = 0;
  Open();
  Write(100);
}

TEST_F(LevelBitsDBTest, Universal) {
  options_.compaction_style = kCompactionStyleUniversal;
  for (int levels : {1, 7}) {
    ASSERT_OK(DestroyDB(path_, options_));
    options_.num_levels = levels;
    Open();
    Write(120);
    db_.reset();
  }
}

// Ascending keys are written once: their files move down unchanged.
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

TEST_F(LevelBitsDBTest, CompactionIsBehind) {
  options_.disable_auto_compactions = true;
  options_.level0_slowdown_writes_trigger = 1000;
  options_.level0_stop_writes_trigger = 1000;
  Open();
  Write(60);
  // Runs of one size have equal bits.
  EXPECT_NEAR(kBits, Levels()[0].PerKey(), Levels()[0].Rounded());
  // The single run into which they are merged has as many bits.
  ASSERT_OK(db_->CompactRange(CompactRangeOptions(), nullptr, nullptr));
  ASSERT_EQ(1u, Levels().size());
  EXPECT_NEAR(kBits, Total(Levels()).PerKey(), Total(Levels()).Rounded());
  Write(100);
  EXPECT_GT(Levels()[0].PerKey(), kBits);
}

// A file that is written outside of the DB has exactly bits_per_key.
TEST_F(LevelBitsDBTest, FilesFromOutside) {
  // A trie of ascending numbers would take less than its share.
  SetPolicy("{id=protean.PrefixBloom;bits_per_key=12;level_bits=kAuto}");
  Open();
  SstFileWriter writer(EnvOptions(), options_);
  const std::string file = path_ + "_outside.sst";
  for (int i = 0; i < 5; i++) {
    ASSERT_OK(writer.Open(file));
    for (int k = 0; k < 100000; k++) {
      ASSERT_OK(writer.Put(NextKey(/*ascending=*/true), "value"));
    }
    ExternalSstFileInfo info;
    ASSERT_OK(writer.Finish(&info));
    IngestExternalFileOptions ingest;
    ingest.move_files = true;
    ASSERT_OK(db_->IngestExternalFile({file}, ingest));
  }
  ASSERT_EQ(1u, Levels().size());
  EXPECT_NEAR(kBits, Total(Levels()).PerKey(), 0.01);
  Write(60);
}

TEST_F(LevelBitsDBTest, Equal) {
  SetPolicy("{id=protean.Proteus;bits_per_key=12;level_bits=kEqual}");
  Open();
  for (int i = 0; i < 60; i++) Flush();
  ASSERT_OK(db_->WaitForCompact(WaitForCompactOptions()));
  ASSERT_GE(Levels().size(), 2u);
  for (const auto& [level, size] : Levels()) {
    EXPECT_NEAR(kBits, size.PerKey(), 0.02 * kBits) << level;
  }
}

// Each column family is a tree of its own.
TEST_F(LevelBitsDBTest, ColumnFamilies) {
  Open();
  Write(40);
  ColumnFamilyHandle* other = nullptr;
  ASSERT_OK(db_->CreateColumnFamily(options_, "other", &other));
  for (int file = 0; file < 4; file++) {
    for (int i = 0; i < kKeysPerFlush; i++) {
      ASSERT_OK(db_->Put(WriteOptions(), other, NextKey(false), "value"));
    }
    if (file == 3) break;
    ASSERT_OK(db_->Flush(FlushOptions(), other));
  }
  TablePropertiesCollection properties;
  ASSERT_OK(db_->GetPropertiesOfAllTables(other, &properties));
  ASSERT_EQ(3u, properties.size());
  for (const auto& [name, file] : properties) {
    EXPECT_NEAR(kBits,
                8 * static_cast<double>(file->filter_size) /
                    static_cast<double>(file->num_filter_entries),
                0.02 * kBits);
  }
  ASSERT_OK(db_->DestroyColumnFamilyHandle(other));
}

}  // namespace ROCKSDB_NAMESPACE::protean
