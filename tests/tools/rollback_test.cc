// SPDX-License-Identifier: Apache-2.0

//  protean rollback: afterwards, RocksDB without Protean opens the DB and asks
//  the filters of its files.

#include <sys/wait.h>

#include <cstdio>
#include <set>
#include <sstream>

#include "tests/sst_damage.h"
#include "tests/tools/signal_when_caught.h"
#include "tests/tools/tool_db.h"
#include "tools/output.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Runs a program and returns what it prints, and how it ended.
std::string Output(const std::string& command, int* ended) {
  std::string text;
  FILE* const pipe = popen((command + " 2>&1").c_str(), "r");
  EXPECT_NE(nullptr, pipe);
  char buffer[4096];
  for (size_t n; (n = fread(buffer, 1, sizeof(buffer), pipe)) > 0;) {
    text.append(buffer, n);
  }
  *ended = pclose(pipe);
  return text;
}

class RollbackTest : public ToolDBTest {
 protected:
  RollbackTest() : ToolDBTest("rollback") {}

  ToolRun Rollback(std::vector<std::string> more = {}) {
    more.insert(more.begin(),
                {"rollback", "--db=" + path_, "--json", "--to=bloomfilter:10"});
    return RunTool(more);
  }
  static size_t Count(const ToolRun& run, const std::string& outcome) {
    size_t files = 0;
    for (const Json& row : run.Rows()) {
      files += row.contains("file") && row["outcome"] == outcome;
    }
    return files;
  }

  // Checks that programs of RocksDB alone open the DB, and that filters deny
  // nearly all absent keys in all files of these column families.
  void ExpectStockFilters(const std::set<std::string>& families) {
    int ended = 0;
    std::istringstream lines(
        Output(std::string(STOCK_GETS) + " " + path_, &ended));
    ASSERT_EQ(0, ended) << lines.str();
    std::set<std::string> seen;
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string family;
      uint64_t gets = 0;
      uint64_t useful = 0;
      uint64_t misses = 0;
      uint64_t data_blocks = 0;
      words >> family >> gets >> useful >> misses >> data_blocks;
      if (families.count(family) == 0) continue;
      seen.insert(family);
      EXPECT_EQ(kKeys, gets) << line;
      // Two sorted runs; the range of the upper one is as large.
      EXPECT_GT(useful, gets * 19 / 10) << line;
      EXPECT_EQ(useful, misses) << line;
      EXPECT_LT(data_blocks, gets / 10) << line;
    }
    EXPECT_EQ(families, seen);
    const std::string ldb = std::string(STOCK_LDB) + " --db=" + path_ +
                            " --try_load_options --column_family=default ";
    EXPECT_NE(
        std::string::npos,
        Output(ldb + "get --hex 0x" + Slice(KeyOf(1)).ToString(true), &ended)
            .find(Slice("a value").ToString(true)));
    EXPECT_EQ(0, ended);
  }
};

TEST_F(RollbackTest, GivesTheDBBack) {
  Fill();
  // RocksDB alone does not know the table.
  int ended = 0;
  Output(std::string(STOCK_GETS) + " " + path_, &ended);
  EXPECT_NE(0, ended);
  const auto bloom = Files("bloom");
  const ToolRun run = Rollback();
  EXPECT_EQ(kFine, run.code) << run.err;
  EXPECT_EQ(4u, Count(run, "rewritten")) << run.out;
  // What it costs is said before the work, and then how far it is.
  EXPECT_NE(std::string::npos, run.err.find("4 of 4 files to rewrite, "))
      << run.err;
  EXPECT_NE(std::string::npos, run.err.find(" left\n")) << run.err;
  EXPECT_EQ(bloom, Files("bloom"));
  const std::string options = OptionsOnDisk();
  EXPECT_EQ(std::string::npos, options.find("rotean")) << options;
  size_t policies = 0;
  for (size_t at = 0; (at = options.find("filter_policy=bloomfilter:10", at)) !=
                      std::string::npos;
       at++) {
    policies++;
  }
  EXPECT_EQ(3u, policies) << options;
  ExpectStockFilters({"default", "surf", "bloom"});
  for (size_t family = 0; family < 3; family++) ExpectAllKeys(family);

  // There is nothing left to do, in the options of the DB and of the tests.
  for (ColumnFamilyDescriptor& family : families_) {
    family.options.table_factory = families_[2].options.table_factory;
  }
  Open();
  Close();
  const auto before = Disk();
  const ToolRun again =
      RunTool({"rollback", "--db=" + path_, "--to=bloomfilter:10"});
  EXPECT_EQ(kFine, again.code) << again.err;
  EXPECT_EQ(0u, again.out.find("Nothing to do")) << again.out;
  EXPECT_EQ(before, Disk());
}

// What ldb does to the OPTIONS file, as docs/upgrading.md says.
TEST_F(RollbackTest, OptionsOfLdb) {
  const std::string put =
      std::string(STOCK_LDB) + " --db=" + path_ + " put a b";
  for (const char* flag : {"--create_if_missing", "--try_load_options=false"}) {
    Fill();
    int ended = 0;
    Output(put, &ended);
    EXPECT_NE(0, ended);
    EXPECT_NE(std::string::npos, OptionsOnDisk().find("ProteanTable"));
    const std::string printed = Output(put + " " + flag, &ended);
    EXPECT_EQ(0, ended) << printed;
    EXPECT_EQ("OK\n", printed);
    EXPECT_EQ(std::string::npos, OptionsOnDisk().find("ProteanTable"));
    const ToolRun run = RunTool({"inspect", "--db=" + path_});
    EXPECT_EQ(kFoundSomething, run.code);
    EXPECT_NE(std::string::npos, run.err.find("which no read asks"));
    ASSERT_OK(DestroyDB(path_, Options(), families_));
  }
}

// Without --to, files get the filters of RocksDB's that were there before.
TEST_F(RollbackTest, ToWhatWasThereBeforeApply) {
  Fill();
  const std::string before = OptionsOnDisk();
  const std::string bloom = "--column_family=bloom";
  const std::string db = "--db=" + path_;
  EXPECT_EQ(kFine, RunTool({"apply", db, "--policy=surf:0:8", bloom}).code);
  EXPECT_EQ(kFine, RunTool({"refresh", db, "--all", bloom}).code);
  const ToolRun dry = RunTool({"rollback", db, "--json", "--dry_run"});
  EXPECT_EQ(kFine, dry.code) << dry.err;
  EXPECT_EQ(2u, Count(dry, "would be rewritten")) << dry.out;
  const ToolRun run = RunTool({"rollback", db, "--json"});
  EXPECT_EQ(kFine, run.code) << run.err;
  EXPECT_EQ(2u, Count(run, "rewritten")) << run.out;
  EXPECT_EQ(before, OptionsOnDisk());
  EXPECT_EQ(kFine, Rollback().code);
  ExpectStockFilters({"default", "surf", "bloom"});
}

// The options have been changed before the files.
TEST_F(RollbackTest, FilesLeftUnderRocksDBsTable) {
  Fill();
  for (ColumnFamilyDescriptor& family : families_) {
    family.options.table_factory = families_[2].options.table_factory;
  }
  Open();
  Close();
  const ToolRun run = Rollback();
  EXPECT_EQ(kFine, run.code) << run.err;
  EXPECT_EQ(4u, Count(run, "rewritten")) << run.out;
  ExpectStockFilters({"default", "surf", "bloom"});
}

TEST_F(RollbackTest, InterruptEndsIt) {
  for (const int signal : {SIGINT, SIGTERM}) {
    SCOPED_TRACE(signal);
    EXPECT_OK(DestroyDB(path_, Options(), families_));
    Fill();
    SignalWhenCaught interrupter(signal);
    // The limited rate alone makes this take ten seconds.
    const ToolRun run = Rollback({"--bytes_per_second=10K"});
    interrupter.Join();
    EXPECT_EQ(kCouldNot, run.code);
    EXPECT_NE(std::string::npos, run.err.find("interrupted")) << run.err;
    // What has been done is told.
    EXPECT_GT(Count(run, "not reached"), 0u) << run.out;
    EXPECT_LT(Count(run, "rewritten"), 4u);
    ExpectAllKeys(0);
    EXPECT_EQ(kFine, Rollback().code);
    ExpectStockFilters({"default", "surf", "bloom"});
  }
}

// Killed at any time, it goes on where it was.
TEST_F(RollbackTest, GoesOnAfterKill) {
  Fill();
  const std::vector<std::string> families = {"default", "surf"};
  const std::set<std::string> old = FilesOf(families);
  int ended = 0;
  const std::set<std::string> done =
      EndOnceRewritten({"rollback", "--db=" + path_, "--to=bloomfilter:10",
                        "--bytes_per_second=60K"},
                       families, old, /*count=*/1, SIGKILL, &ended);
  EXPECT_TRUE(WIFSIGNALED(ended));
  ASSERT_GT(done.size(), 0u);
  ASSERT_LT(done.size(), 4u);
  // Until the end, filters of either kind are in use.
  EXPECT_NE(std::string::npos,
            OptionsOnDisk().find("[TableOptions/ProteanTable \"surf\"]"));

  const ToolRun run = Rollback();
  EXPECT_EQ(kFine, run.code) << run.err;
  EXPECT_EQ(done.size(), Count(run, "has RocksDB's filter")) << run.out;
  EXPECT_EQ(4 - done.size(), Count(run, "rewritten")) << run.out;
  const std::set<std::string> all = FilesOf(families);
  EXPECT_EQ(4u, all.size());
  for (const std::string& file : old) EXPECT_EQ(0u, all.count(file)) << file;
  for (const std::string& file : done) EXPECT_EQ(1u, all.count(file)) << file;
  ExpectStockFilters({"default", "surf", "bloom"});
}

}  // namespace

TEST(EtaTest, Seconds) {
  EXPECT_EQ("0 s", PrintedSeconds(0.2));
  EXPECT_EQ("99 s", PrintedSeconds(99));
  EXPECT_EQ("2 min", PrintedSeconds(100));
  EXPECT_EQ("99 min", PrintedSeconds(99 * 60));
  EXPECT_EQ("1 h 40 min", PrintedSeconds(100 * 60));
}

TEST(EtaTest, Progress) {
  EXPECT_LT(SecondsLeft(0, 100, 5), 0);
  EXPECT_EQ(15, SecondsLeft(25, 100, 5));
  EXPECT_EQ(0, SecondsLeft(120, 100, 5));
  EXPECT_EQ("1.0 MB of 4.0 MB, 25 %, about 30 s left",
            PrintedProgress(1 << 20, 4 << 20, 10));
  EXPECT_EQ("0 B of 4.0 MB, 0 %", PrintedProgress(0, 4 << 20, 10));
  // Nothing is known yet.
  EXPECT_EQ("beginning", PrintedProgress(0, 0, 1));
}

}  // namespace ROCKSDB_NAMESPACE::protean
