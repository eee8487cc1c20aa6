// SPDX-License-Identifier: Apache-2.0

#include "table/rewrite_file.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "rocksdb/utilities/stackable_db.h"
#include "tests/table/refresh_fixture.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Runs `before` once, between the look at the tree and the first compaction.
class RacingDB : public StackableDB {
 public:
  RacingDB(DB* db, std::function<void()> before)
      : StackableDB(std::shared_ptr<DB>(db, [](DB*) {})),
        before_(std::move(before)) {}

  using StackableDB::CompactFiles;
  Status CompactFiles(const CompactionOptions& options,
                      ColumnFamilyHandle* column_family,
                      const std::vector<std::string>& names, int level,
                      int path, std::vector<std::string>* output,
                      CompactionJobInfo* info) override {
    if (before_) std::exchange(before_, nullptr)();
    return StackableDB::CompactFiles(options, column_family, names, level, path,
                                     output, info);
  }

 private:
  std::function<void()> before_;
};

class RewriteFileTest : public RefreshTest {
 protected:
  Status Rewrite(const std::string& name, std::function<void()> before) {
    RacingDB racing(db_.get(), std::move(before));
    return RewriteFile(&racing, db_->DefaultColumnFamily(), name);
  }

  LiveFileMetaData FirstFile() {
    std::vector<LiveFileMetaData> files;
    db_->GetLiveFilesMetaData(&files);
    return files.at(0);
  }

  bool IsLive(const std::string& name) {
    std::vector<LiveFileMetaData> files;
    db_->GetLiveFilesMetaData(&files);
    return std::any_of(files.begin(), files.end(), [&](const auto& file) {
      return file.relative_filename == name;
    });
  }
};

}  // namespace

TEST_F(RewriteFileTest, StaysInItsLevel) {
  Fill();
  const LiveFileMetaData file = FirstFile();
  ASSERT_EQ(file.level, 3);
  EXPECT_OK(Rewrite(file.relative_filename, nullptr));
  EXPECT_FALSE(IsLive(file.relative_filename));
  const LiveFileMetaData rewritten = FirstFile();
  EXPECT_EQ(rewritten.level, 3);
  EXPECT_EQ(rewritten.smallestkey, file.smallestkey);
  EXPECT_EQ(rewritten.largestkey, file.largestkey);
}

// A trivial move gives the same file another level.
TEST_F(RewriteFileTest, FollowsAFileThatIsMoved) {
  options_.num_levels = 5;
  Open();
  ASSERT_OK(db_->Put(WriteOptions(), "key", "value"));
  ASSERT_OK(db_->Flush(FlushOptions()));
  const std::string name = FirstFile().relative_filename;
  const auto move = [&] {
    CompactRangeOptions compact;
    compact.change_level = true;
    compact.target_level = 4;
    compact.bottommost_level_compaction = BottommostLevelCompaction::kSkip;
    ASSERT_OK(db_->CompactRange(compact, nullptr, nullptr));
    ASSERT_EQ(FirstFile().relative_filename, name);
    ASSERT_EQ(FirstFile().level, 4);
  };
  EXPECT_OK(Rewrite(name, move));
  EXPECT_FALSE(IsLive(name));
  EXPECT_EQ(FirstFile().level, 4);
  std::string value;
  EXPECT_OK(db_->Get(ReadOptions(), "key", &value));
  EXPECT_EQ(value, "value");
}

TEST_F(RewriteFileTest, FindsNoFileThatIsGone) {
  Fill();
  const std::string name = FirstFile().relative_filename;
  EXPECT_TRUE(Rewrite("000000.sst", nullptr).IsNotFound());
  EXPECT_TRUE(Rewrite(name, [&] {
                EXPECT_OK(
                    RewriteFile(db_.get(), db_->DefaultColumnFamily(), name));
              }).IsNotFound());
}

}  // namespace ROCKSDB_NAMESPACE::protean
