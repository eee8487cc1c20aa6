// SPDX-License-Identifier: Apache-2.0

//  protean apply: the OPTIONS file changes in one column family's filter policy
//  and in nothing else, and can be taken back.

#include <sstream>

#include "filter_policy/samples/query_file.h"
#include "plugin/filter_properties.h"
#include "rocksdb/file_system.h"
#include "rocksdb/utilities/backup_engine.h"
#include "tests/tools/tool_db.h"
#include "tools/opened_db.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

class ApplyTest : public ToolDBTest {
 protected:
  ApplyTest() : ToolDBTest("apply") {}

  ToolRun Apply(Keys more) {
    more.insert(more.begin(), {"apply", "--db=" + path_});
    return RunTool(more);
  }
};

// What GiveFilterPolicy is given is what it gives, whatever was there before.
TEST_F(ApplyTest, GivesThePolicy) {
  for (const char* table : {"ProteanTable", "BlockBasedTable"}) {
    for (ColumnFamilyDescriptor& family : families_) {
      GiveFilterPolicy(nullptr, table, &family.options);
      EXPECT_STREQ(table, family.options.table_factory->Name());
      EXPECT_EQ(nullptr, PolicyOf(family.options));
    }
  }
}

// Changes an OPTIONS file when RocksDB, which has checked it, gives it its
// name.
class ChangingFileSystem : public FileSystemWrapper {
 public:
  using FileSystemWrapper::FileSystemWrapper;

  const char* Name() const override { return "ChangingFileSystem"; }
  IOStatus RenameFile(const std::string& from, const std::string& to,
                      const IOOptions& options, IODebugContext* dbg) override {
    const std::string written = "filter_policy=bloomfilter:9:";
    if (to.find("/OPTIONS-") != std::string::npos) {
      std::string text = ContentsOf(from);
      const size_t at = text.find(written);
      EXPECT_NE(std::string::npos, at) << text;
      if (at != std::string::npos) text[at + written.size() - 2] = '8';
      EXPECT_OK(WriteStringToFile(Env::Default(), text, from));
    }
    return FileSystemWrapper::RenameFile(from, to, options, dbg);
  }
};

// What counts is the OPTIONS file, and not what was to be written.
TEST_F(ApplyTest, ReadsBackWhatIsWritten) {
  Fill();
  const std::unique_ptr<Env> env = NewCompositeEnv(
      std::make_shared<ChangingFileSystem>(FileSystem::Default()));
  std::ostringstream out;
  Output output(out, /*as_json=*/false);
  const Status s = OpenedDB::ChangeOptions(
      path_, env.get(),
      [](ColumnFamilyDescriptor* family) {
        if (family->name != "surf") return;
        GiveFilterPolicy(
            std::shared_ptr<const FilterPolicy>(NewBloomFilterPolicy(9)),
            "ProteanTable", &family->options);
      },
      /*row=*/{}, &output);
  EXPECT_TRUE(s.IsCorruption()) << s.ToString();
  ExpectHas(s.ToString(), {"has for column family surf ProteanTable;",
                           "bloomfilter:8:", " instead of ProteanTable;"});
}

// testdata/apply.txt has the call as it is printed.
TEST_F(ApplyTest, ThePrintedCallWorks) {
  Fill();
  Open();
  const std::string policy = "{id=protean.Proteus;bits_per_key=9}";
  const Json row = Apply({"--policy=" + policy, "--print", "--json"}).Rows()[0];
  EXPECT_OK(db_->SetOptions(
      row["set_options"].get<std::unordered_map<std::string, std::string>>()));
  EXPECT_EQ(9,
            std::stod(OptionOf(PolicyOf(db_->GetOptions()), "bits_per_key")));
  // RocksDB returns OK for nullptr, and changes nothing.
  EXPECT_OK(db_->SetOptions({{"table_factory.filter_policy", "nullptr"}}));
  EXPECT_NE(nullptr, PolicyOf(db_->GetOptions()));
  Close();
  EXPECT_EQ(0u, Disk().count("before_apply_0.options"));
}

// The queries that a policy starts with are in the OPTIONS file. A backup has a
// copy of that, and the file that they come from is needed no longer.
TEST_F(ApplyTest, SeedsAreInBackups) {
  Fill();
  Env* const env = Env::Default();
  const std::string seeds = path_ + ".seeds";
  const std::vector<SampleQuery> queries = QueriesAboveKeys();
  ASSERT_OK(WriteQueryFile(env, seeds, queries));
  const Keys policy = {
      "--policy={id=protean.Proteus;bits_per_key=10;seed_file=" + seeds + "}"};
  const ToolRun run = Apply(policy);
  EXPECT_EQ(kFine, run.code) << run.err;
  ExpectHas(run.out,
            {"seeds=(" + std::to_string(std::min(queries.size(), kMaxSeeds)) +
             " queries)"});
  ExpectHas(OptionsOnDisk(), {"seeds=0x"});
  EXPECT_EQ(std::string::npos, OptionsOnDisk().find(seeds));
  ExpectHas(Apply(policy).out, {"Nothing to do"});
  ExpectHas(RunTool({"inspect", "--db=" + path_}).out, {" queries)"});
  ASSERT_OK(env->DeleteFile(seeds));

  const std::string backup = path_ + "_backup";
  const std::string restored = path_ + "_restored";
  ASSERT_OK(env->CreateDirIfMissing(restored));
  const auto open = [this](const std::string& folder) {
    Close();
    ASSERT_OK(
        LoadLatestOptions(ConfigOptions(), folder, &options_, &families_));
    ASSERT_OK(OpenDB(&db_, options_, folder, families_, &handles_));
  };
  open(path_);
  {
    std::unique_ptr<BackupEngine> engine;
    BackupEngineOptions backups(backup);
    backups.destroy_old_data = true;
    ASSERT_OK(OpenAs<BackupEngine>(&engine, backups, env));
    ASSERT_OK(engine->CreateNewBackup(db_.get()));
    ASSERT_OK(engine->RestoreDBFromLatestBackup(restored, restored));
  }
  open(restored);
  // A handful of keys would not be worth a look at samples.
  for (uint64_t i = 1; i < 2000; i += 100) {
    ASSERT_OK(db_->Put(WriteOptions(), KeyOf(i), "another value"));
  }
  ASSERT_OK(db_->Flush(FlushOptions()));
  std::map<std::string, FilterProperties> files;
  ASSERT_OK(GetFilterProperties(db_.get(), handles_[0], &files));
  uint64_t samples = 0;
  for (const auto& [name, properties] : files) samples += properties.samples;
  EXPECT_GT(samples, 0u);
  Close();
  EXPECT_EQ(kFine, RunTool({"rollback", "--db=" + path_}).code);
}

TEST(OptionsDiffTest, Lines) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(Lines(), DifferentLines("a\nb\n", "a\nb\n"));
  EXPECT_EQ(Lines({"- b", "+ x"}), DifferentLines("a\nb\nc\n", "a\nx\nc\n"));
  EXPECT_EQ(Lines({"+ a"}), DifferentLines("", "a\n"));
  EXPECT_EQ(Lines({"- a"}), DifferentLines("a\na\n", "a\n"));
  EXPECT_EQ(Lines({"- 1", "- 3", "+ 4", "+ 5"}),
            DifferentLines("1\n2\n3\n", "4\n2\n5\n"));
}

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean
