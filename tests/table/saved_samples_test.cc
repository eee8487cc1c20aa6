// SPDX-License-Identifier: Apache-2.0

//  The samples of a DB's column families survive the DB, in memory or in a
//  file.

#include "filter_policy/open_db/open_families.h"
#include "filter_policy/proteus/proteus_policy.h"
#include "plugin/filter_properties.h"
#include "tests/table/sampling_fixture.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Writes a file of a column family with the keys "a" and "c".
void WriteFamily(DB* db, ColumnFamilyHandle* family) {
  for (const char* key : {"a", "c"}) {
    ASSERT_OK(db->Put(WriteOptions(), family, key, "value"));
  }
  ASSERT_OK(db->Flush(FlushOptions(), family));
}
void GetInVain(DB* db, ColumnFamilyHandle* family) {
  std::string value;
  EXPECT_TRUE(db->Get(ReadOptions(), family, "b", &value).IsNotFound());
}

}  // namespace

// The Options, and the policy with them, outlive the DB.
TEST_F(SamplingTest, SavedAtCloseAndRestored) {
  Fill(1, file_);
  EXPECT_FALSE(Has(Gap(1, 500)));
  EXPECT_FALSE(Seek(Gap(1), Gap(1, 9)));
  Queries expected = {Point(Gap(1, 500)), {Gap(1), Gap(1, 9), false}};
  EXPECT_TRUE(env_->FileExists(file_).IsNotFound());
  Close();
  ExpectSaved(expected, file_);

  for (bool same_policy : {true, false}) {
    if (!same_policy) SetPolicy(1, file_);
    Open();
    ExpectSampled(expected);
    EXPECT_FALSE(Has(BigEndian(kGap + 501 + same_policy)));
    expected.push_back(Point(BigEndian(kGap + 501 + same_policy)));
    ExpectSampled(expected);
    Close();
  }
  ExpectSaved(expected, file_);
}

TEST_F(SamplingTest, ColumnFamilies) {
  Fill(1, file_);
  ColumnFamilyHandle* const other = NewFamily("other");
  WriteFamily(db_.get(), other);
  GetInVain(db_.get(), other);
  EXPECT_FALSE(Has(Gap(1)));
  ExpectSampled({Point(Gap(1))});
  EXPECT_EQ(Lines({Point("b")}), Lines(queue("other")->Snapshot()));
  Close();
  ExpectSaved({Point("b")}, file_ + ".other");
}

// A policy that takes another one's place, with the same samples file: what
// both have sampled stays.
TEST_F(SamplingTest, ChangedPolicies) {
  Fill(1, file_);
  EXPECT_FALSE(Has(Gap(1)));
  ASSERT_OK(db_->SetOptions({{"table_factory.filter_policy",
                              "{id=protean.Proteus;sample_every=1;"
                              "samples_file=" +
                                  file_ + "}"}}));
  Put(BigEndian(1));
  Put(BigEndian(9));
  Flush();
  // The new file's reader samples for the new policy, the others for the old.
  EXPECT_FALSE(Has(BigEndian(5)));
  EXPECT_FALSE(Has(Gap(1, 2)));
  Close();
  ExpectSaved(Queries{Point(Gap(1)), Point(Gap(1, 2)), Point(BigEndian(5))},
              file_);
}

// More files than may be open: their readers come and go, but the DB stays.
TEST_F(SamplingTest, SmallTableCache) {
  constexpr int kFiles = 40;
  options_.max_open_files = 20;
  options_.table_cache_numshardbits = 0;
  options_.level0_slowdown_writes_trigger = 1000;
  options_.level0_stop_writes_trigger = 1000;
  SetPolicy(1, file_);
  Open();
  ColumnFamilyHandle* const other = NewFamily("other");
  WriteFamily(db_.get(), other);
  for (int i = 0; i < kFiles; i++) {
    WriteFile({BigEndian(10 * i), BigEndian(10 * i + 5)});
  }
  for (int round = 0; round < 3; round++) {
    GetInVain(db_.get(), other);
    for (int i = 0; i < kFiles; i++) EXPECT_FALSE(Has(BigEndian(10 * i + 1)));
  }
  // Nothing has been written, or lost, by a reader.
  EXPECT_TRUE(env_->FileExists(file_).IsNotFound());
  EXPECT_TRUE(env_->FileExists(file_ + ".other").IsNotFound());
  EXPECT_EQ(3u, queue("other")->recorded());
  EXPECT_EQ(3u * kFiles, queue()->recorded());
  Close();
  EXPECT_OK(env_->FileExists(file_));
  EXPECT_OK(env_->FileExists(file_ + ".other"));
}

// An Env that says when it is used although its DB is closed.
class MortalEnv : public EnvWrapper {
 public:
  using EnvWrapper::EnvWrapper;
  const char* Name() const override { return "MortalEnv"; }
  Status FileExists(const std::string& name) override {
    EXPECT_FALSE(is_dead) << name;
    return EnvWrapper::FileExists(name);
  }

  bool is_dead = false;
};

TEST_F(SamplingTest, ThePolicyOutlivesTheEnv) {
  MortalEnv env(env_);
  ProteusPolicyOptions proteus;
  proteus.samples_file = file_;
  UsePolicy(
      std::make_shared<ProteusFilterPolicy>(DesignSpace::kProteus, proteus));
  for (const bool flushed : {false, true}) {
    env.is_dead = false;
    options_.env = &env;
    Open();
    if (flushed) WriteFile({"a"});
    Close();
    env.is_dead = true;
    options_.env = env_;
    const std::string file = path_ + ".sst";
    WriteSstFile(options_, file, {"b"});
    ASSERT_OK(env_->DeleteFile(file));
  }
}

// The first file that a DB writes is designed from samples of the DB's Env.
TEST_F(SamplingTest, SamplesAreInTheEnvOfTheDB) {
  const std::unique_ptr<Env> env(NewMemEnv(env_));
  ASSERT_OK(WriteQueryFile(env.get(), "/samples", {{"b", "c", true}}));
  ProteusPolicyOptions proteus;
  proteus.samples_file = "/samples";
  UsePolicy(
      std::make_shared<ProteusFilterPolicy>(DesignSpace::kProteus, proteus));
  options_.env = env.get();
  ASSERT_OK(OpenDB(&db_, options_, "/db"));
  // A handful of keys is not worth a look at samples.
  for (int i = 0; i < 20; i++) Put("a" + std::to_string(i));
  WriteFile({"d"});
  std::map<std::string, FilterProperties> files;
  ASSERT_OK(GetFilterProperties(db_.get(), db_->DefaultColumnFamily(), &files));
  ASSERT_EQ(1u, files.size());
  EXPECT_EQ(1u, files.begin()->second.samples);
  Close();
  options_.env = env_;
}

// What column families have left behind, when they are dropped, is saved long
// before the DB is closed.
TEST_F(SamplingTest, ColumnFamiliesThatGo) {
  constexpr int kFamilies = DBSession::kMaxIdleQueues + 8;
  SetPolicy(1, file_);
  Open();
  WriteFile({"a"});  // in a family that stays
  const auto name = [](int i) { return "family" + std::to_string(i); };
  for (int i = 0; i < kFamilies; i++) {
    ColumnFamilyHandle* family;
    ASSERT_OK(db_->CreateColumnFamily(options_, name(i), &family));
    WriteFamily(db_.get(), family);
    GetInVain(db_.get(), family);
    ASSERT_OK(db_->DropColumnFamily(family));
    ASSERT_OK(db_->DestroyColumnFamilyHandle(family));
  }
  EXPECT_OK(env_->FileExists(file_ + "." + name(0)));
  EXPECT_TRUE(env_->FileExists(file_ + "." + name(kFamilies - 2)).IsNotFound());
  Close();
  for (int i = 0; i < kFamilies; i++) {
    EXPECT_OK(env_->DeleteFile(file_ + "." + name(i))) << i;
  }
}

TEST_F(SamplingTest, FilesFromOutside) {
  SetPolicy(1);
  Open();
  Ingest({"a", "c"});
  EXPECT_FALSE(Has("b"));
  ExpectSampled({Point("b")});
}

// The DB opens, and the file stays for its owner to repair.
TEST_F(SamplingTest, BadFilesAreLoggedAndLeftAlone) {
  Fill(1);
  Close();
  for (const std::string contents : {"a\tb\tc\n", "0x1\n"}) {
    ASSERT_OK(WriteStringToFile(env_, contents, file_));
    SetPolicy(1, file_);
    Open();
    EXPECT_FALSE(Has(Gap(1)));
    EXPECT_EQ(1u, queue()->size());
    Close();
    EXPECT_EQ(contents, ContentsOf(file_));
  }
  EXPECT_EQ(
      2u,
      log_->Lines({"samples are not restored", file_ + ", line 1 "}).size());
}

// A seed file that is gone is missed once, and the DB learns from its queries.
TEST_F(SamplingTest, SeedFiles) {
  samples_.seed_file = file_;
  Fill(1);
  EXPECT_FALSE(Has(Gap(1)));
  ExpectSampled({Point(Gap(1))});
  EXPECT_EQ(1u,
            log_->Lines({"the DB does without its seed_file", file_}).size());
  Destroy();
  ASSERT_OK(WriteStringToFile(env_, "a\tb\nz\ty\n", file_));
  Fill(1);
  ExpectSampled({{"a", "b", true}});
  EXPECT_EQ(1u, log_->Lines({file_ + ", line 2 "}).size());
}

TEST_F(SamplingTest, FailingSaveIsLogged) {
  Fill(1);
  Close();
  // The folder goes while the DB is open.
  const std::string folder = path_ + "/missing";
  ASSERT_OK(env_->CreateDir(folder));
  SetPolicy(1, folder + "/samples");
  Open();
  ASSERT_OK(env_->DeleteDir(folder));
  EXPECT_FALSE(Has(Gap(1)));
  Close();
  const Keys lines =
      log_->Lines({"samples of column family default are not saved",
                   samples_.samples_file});
  EXPECT_EQ(1u, lines.size());
}

}  // namespace ROCKSDB_NAMESPACE::protean
