// SPDX-License-Identifier: Apache-2.0

//  protean apply: the OPTIONS file changes in one column family's filter policy
//  and in nothing else, and can be taken back.

#include "filter_policy/samples/query_file.h"
#include "plugin/filter_properties.h"
#include "rocksdb/file_system.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/table.h"
#include "rocksdb/utilities/backup_engine.h"
#include "rocksdb/utilities/options_util.h"
#include "tests/table/twin_db.h"
#include "tests/tools/tool_db.h"
#include "tools/opened_db.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

class ApplyTest : public ToolDBTest {
 protected:
  ApplyTest() : ToolDBTest("apply") {}

  ToolRun Apply(std::vector<std::string> more) {
    more.insert(more.begin(), {"apply", "--db=" + path_});
    return RunTool(more);
  }
  ToolRun Back(std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"rollback", "--db=" + path_});
    return RunTool(more);
  }
  static void ExpectHas(const std::string& text, const std::string& part) {
    EXPECT_NE(std::string::npos, text.find(part)) << part << " in:\n" << text;
  }
  static const BlockBasedTableOptions& TableOf(
      const ColumnFamilyOptions& options) {
    return *options.table_factory->GetOptions<BlockBasedTableOptions>();
  }
  // The name of the kept OPTIONS file of the column family with this number.
  std::string Kept(int id) const {
    return "before_apply_" + std::to_string(id) + ".options";
  }
};

// What GiveFilterPolicy is given is what it gives, whatever was there before.
TEST_F(ApplyTest, GivesThePolicy) {
  for (const char* table : {"ProteanTable", "BlockBasedTable"}) {
    for (ColumnFamilyDescriptor& family : families_) {
      GiveFilterPolicy(nullptr, table, &family.options);
      EXPECT_STREQ(table, family.options.table_factory->Name());
      EXPECT_EQ(nullptr, TableOf(family.options).filter_policy);
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
    Env* const env = Env::Default();
    const std::string written = "filter_policy=bloomfilter:9:";
    std::string text;
    if (to.find("/OPTIONS-") != std::string::npos) {
      EXPECT_OK(ReadFileToString(env, from, &text));
      const size_t at = text.find(written);
      EXPECT_NE(std::string::npos, at) << text;
      if (at != std::string::npos) text[at + written.size() - 2] = '8';
      EXPECT_OK(WriteStringToFile(env, text, from));
    }
    return FileSystemWrapper::RenameFile(from, to, options, dbg);
  }
};

// What counts is the OPTIONS file, and not what was to be written.
TEST_F(ApplyTest, ReadsBackWhatIsWritten) {
  Fill();
  const std::unique_ptr<Env> env = NewCompositeEnv(
      std::make_shared<ChangingFileSystem>(FileSystem::Default()));
  std::vector<std::string> lines;
  const Status s = OpenedDB::ChangeOptions(
      path_, env.get(),
      [](ColumnFamilyDescriptor* family) {
        if (family->name != "surf") return;
        GiveFilterPolicy(
            std::shared_ptr<const FilterPolicy>(NewBloomFilterPolicy(9)),
            "ProteanTable", &family->options);
      },
      &lines);
  EXPECT_TRUE(s.IsCorruption()) << s.ToString();
  ExpectHas(s.ToString(), "has for column family surf ProteanTable;");
  ExpectHas(s.ToString(), "bloomfilter:8:");
  ExpectHas(s.ToString(), " instead of ProteanTable;");
}

TEST_F(ApplyTest, PrintsTheCall) {
  Fill();
  const auto before = Disk();
  Open();
  const std::string policy = "{id=protean.Proteus;bits_per_key=9}";
  const ToolRun run = Apply({"--policy=" + policy, "--print"});
  const Json row = Apply({"--policy=" + policy, "--print", "--json"}).Rows()[0];
  EXPECT_EQ(kFine, run.code) << run.err;
  ExpectHas(run.out, "{{\"table_factory.filter_policy\", \"{id=protean.Pro");
  ExpectHas(run.out, "bits_per_key=9");
  // All options are named, so that none of the old policy stays.
  ExpectHas(run.out, "level_bits=kAuto");
  // The printed call works.
  EXPECT_OK(db_->SetOptions(
      row["set_options"].get<std::unordered_map<std::string, std::string>>()));
  Apply({"--policy=surf:0:4", "--print", "--column_family=bloom"})
      .ExpectRefused({"BlockBasedTable", "SetOptions cannot change that"});
  // RocksDB returns OK for nullptr, and changes nothing.
  EXPECT_OK(db_->SetOptions({{"table_factory.filter_policy", "nullptr"}}));
  EXPECT_NE(nullptr, TableOf(db_->GetOptions()).filter_policy);
  for (const char* none : {"--policy=none", "--policy=nullptr"}) {
    Apply({none, "--print"})
        .ExpectRefused({"SetOptions cannot take a filter policy away"});
  }
  // Nothing else works while the DB is open.
  Apply({"--policy=surf:0:4"})
      .ExpectRefused({"probably because a process has it open", "--print"});
  Back().ExpectRefused({"probably because a process has it open"});
  Close();
  EXPECT_EQ(0u, Disk().count(Kept(0)));
}

// The queries that a policy starts with are in the OPTIONS file. A backup has a
// copy of that, and the file that they come from is needed no longer.
TEST_F(ApplyTest, SeedsAreInBackups) {
  Fill();
  Env* const env = Env::Default();
  const std::string seeds = path_ + ".seeds";
  const std::vector<SampleQuery> queries = QueriesAboveKeys();
  ASSERT_OK(WriteQueryFile(env, seeds, queries));
  const std::string policy =
      "--policy={id=protean.Proteus;bits_per_key=10;seed_file=" + seeds + "}";
  const ToolRun run = Apply({policy});
  EXPECT_EQ(kFine, run.code) << run.err;
  ExpectHas(run.out, "seeds=(" +
                         std::to_string(std::min(queries.size(), kMaxSeeds)) +
                         " queries)");
  ExpectHas(OptionsOnDisk(), "seeds=0x");
  EXPECT_EQ(std::string::npos, OptionsOnDisk().find(seeds));
  ExpectHas(Apply({policy}).out, "Nothing to do");
  ExpectHas(RunTool({"inspect", "--db=" + path_}).out, " queries)");
  ASSERT_OK(env->DeleteFile(seeds));

  const std::string backup = path_ + "_backup";
  const std::string restored = path_ + "_restored";
  ASSERT_OK(DestroyDB(restored, Options()));
  ASSERT_OK(env->CreateDirIfMissing(restored));
  DBOptions db_options;
  std::vector<ColumnFamilyDescriptor> families;
  std::vector<ColumnFamilyHandle*> handles;
  std::unique_ptr<DB> db;
  const auto open = [&](const std::string& folder) {
    ASSERT_OK(
        LoadLatestOptions(ConfigOptions(), folder, &db_options, &families));
    ASSERT_OK(OpenDB(&db, db_options, folder, families, &handles));
  };
  const auto close = [&] {
    for (ColumnFamilyHandle* handle : handles) {
      ASSERT_OK(db->DestroyColumnFamilyHandle(handle));
    }
    db.reset();
  };
  open(path_);
  {
    BackupEngine* opened = nullptr;
    BackupEngineOptions backups(backup);
    backups.destroy_old_data = true;
    ASSERT_OK(BackupEngine::Open(backups, env, &opened));
    const std::unique_ptr<BackupEngine> engine(opened);
    ASSERT_OK(engine->CreateNewBackup(db.get()));
    ASSERT_OK(engine->RestoreDBFromLatestBackup(restored, restored));
  }
  close();
  open(restored);
  // A handful of keys would not be worth a look at samples.
  for (uint64_t i = 1; i < 2000; i += 100) {
    ASSERT_OK(db->Put(WriteOptions(), KeyOf(i), "another value"));
  }
  ASSERT_OK(db->Flush(FlushOptions()));
  std::map<std::string, FilterProperties> files;
  ASSERT_OK(GetFilterProperties(db.get(), handles[0], &files));
  uint64_t samples = 0;
  for (const auto& [name, properties] : files) samples += properties.samples;
  EXPECT_GT(samples, 0u);
  close();
  EXPECT_OK(DestroyDB(restored, Options(), families));
  EXPECT_EQ(kFine, Back().code);
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
