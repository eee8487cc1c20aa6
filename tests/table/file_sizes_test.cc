// SPDX-License-Identifier: Apache-2.0

//  Files of compactions where their target size is an upper bound, which
//  RocksDB has had since 10.9: they are not larger, and not much smaller, and
//  their filters are cut as they are without that option.

#include "table/rocksdb_internals/versions.h"

#if PROTEAN_HAS_TAIL_ESTIMATES

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/table/twin_db.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr uint64_t kTarget = 256 << 10;

// A filter policy, and other options of the table.
using Table = std::pair<const char*, const char*>;

class FileSizesTest : public ::testing::TestWithParam<Table> {
 protected:
  FileSizesTest() : path_(test::PerThreadDBPath("file_sizes")) {}
  ~FileSizesTest() override { EXPECT_OK(DestroyDB(path_, Options())); }

  // Writes keys, compacts them, and returns the files.
  std::vector<LiveFileMetaData> Compact(const Keys& keys) {
    Options options = UnthrottledFiles();
    options.create_if_missing = true;
    options.target_file_size_base = kTarget;
    options.target_file_size_is_upper_bound = true;
    options.table_factory = NewTable(
        "ProteanTable", std::string("filter_policy=") + GetParam().first + ";" +
                            GetParam().second);
    EXPECT_OK(DestroyDB(path_, options));
    log_ = std::make_shared<RecordingLogger>();
    options.info_log = log_;
    std::unique_ptr<DB> db;
    EXPECT_OK(OpenDB(&db, options, path_));
    for (const std::string& key : keys) {
      EXPECT_OK(db->Put(WriteOptions(), key, "a value of 20 bytes."));
    }
    EXPECT_OK(db->Flush(FlushOptions()));
    EXPECT_OK(CompactLevel0(db.get(), 2, kTarget));
    std::vector<LiveFileMetaData> files;
    db->GetLiveFilesMetaData(&files);
    return files;
  }

  const std::string path_;
  std::shared_ptr<RecordingLogger> log_;
};

TEST_P(FileSizesTest, TargetIsAnUpperBound) {
  for (const KeyFamily& family : KeyFamilies(40000, 301)) {
    if (family.keys.size() < 20000) continue;
    const std::vector<LiveFileMetaData> files = Compact(family.keys);
    ASSERT_LE(3u, files.size()) << family.name;
    uint64_t sum = 0;
    for (const LiveFileMetaData& file : files) {
      EXPECT_GE(kTarget + kTarget / 50, file.size) << family.name;
      sum += file.size;
    }
    // RocksDB's own assertion, of which it logs the sides.
    const Keys tails = log_->Lines({"Estimated tail size = "});
    EXPECT_EQ(files.size(), tails.size()) << family.name;
    for (const std::string& line : tails) {
      const auto number_behind = [&line](const char* words) {
        return std::stoull(line.substr(line.find(words) + strlen(words)));
      };
      EXPECT_GE(number_behind("Estimated tail size = "),
                number_behind("Actual tail size = "))
          << family.name << ": " << line;
    }
    // The last one is what is left.
    EXPECT_LE(kTarget * 85 / 100, sum / (files.size() - 1)) << family.name;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Tables, FileSizesTest,
    testing::Values(
        Table{"surf:0:8", ""}, Table{"proteus:12", ""},
        Table{"{id=protean.Proteus;filter_budget_bytes=1M}", ""},
        Table{"surf:0:8",
              "index_type=kTwoLevelIndexSearch;partition_filters=true"},
        Table{"proteus:12",
              "index_type=kTwoLevelIndexSearch;partition_filters=true"},
        Table{"surf:0:8",
              "index_type=kTwoLevelIndexSearch;partition_filters=true;"
              "decouple_partitioned_filters=false"}));

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean

#endif
