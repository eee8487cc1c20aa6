// SPDX-License-Identifier: Apache-2.0

//  protean refresh and rollback that are ended go on where they were; and how
//  far they are. testdata/refresh.txt and rollback.txt have what they do.

#include <sys/wait.h>

#include <functional>

#include "filter_policy/samples/query_file.h"
#include "tests/tools/tool_db.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

class StoppedCommandsTest : public ToolDBTest {
 protected:
  StoppedCommandsTest() : ToolDBTest("stopped_commands") {}

  // Makes the DB anew.
  void Anew(const std::function<void()>& fill) {
    EXPECT_OK(DestroyDB(path_, Options(), families_));
    Env::Default()->DeleteFile(samples_file_).PermitUncheckedError();
    ASSERT_NO_FATAL_FAILURE(fill());
    Open();  // the OPTIONS file names the policy of new files
    Close();
  }
  ToolRun Run(const Keys& command, const Keys& more = {}) const {
    Keys all = command;
    all.insert(all.end(), {"--db=" + path_, "--json"});
    all.insert(all.end(), more.begin(), more.end());
    return RunTool(all);
  }
  static size_t Count(const ToolRun& run, const std::string& outcome) {
    size_t files = 0;
    for (const Json& row : run.Rows()) {
      files += row.contains("file") && row["outcome"] == outcome;
    }
    return files;
  }
  // Checks that the DB is as after a rollback that nothing has ended, which
  // rollback.txt shows to be a DB of RocksDB's own.
  void ExpectRolledBack() {
    EXPECT_EQ(std::string::npos, OptionsOnDisk().find("rotean"));
    const ToolRun run = Run({"inspect"});
    EXPECT_EQ(6u, run.Rows().size());
    for (const Json& row : run.Rows()) {
      EXPECT_EQ("bloomfilter", row["kind"]);
      EXPECT_GT(8 * row["filter_bytes"].get<double>(),
                9 * row["keys"].get<double>());
    }
    EXPECT_EQ(kFine, Run({"verify"}).code);
    for (size_t family = 0; family < 3; family++) ExpectAllKeys(family);
  }
  // Runs the command in a process of its own until `count` files are new, ends
  // it with the signal, and runs it again, which must do the rest and no more.
  // Returns the files that were new in between, and the second run.
  std::pair<std::set<std::string>, ToolRun> GoOnAfter(
      int signal, const Keys& command, const std::string& slowly,
      const std::vector<std::string>& families, size_t count) {
    const std::set<std::string> old = FilesOf(families);
    Keys slow = command;
    slow.insert(slow.end(), {"--db=" + path_, slowly});
    int ended = 0;
    const std::set<std::string> done =
        EndOnceRewritten(slow, families, old, count, signal, &ended);
    EXPECT_EQ(signal == SIGKILL, WIFSIGNALED(ended));
    EXPECT_GE(done.size(), count);
    EXPECT_LT(done.size(), old.size());
    bytes_left_ = 0;
    for (const std::string& file : FilesOf(families)) {
      uint64_t bytes = 0;
      EXPECT_OK(Env::Default()->GetFileSize(file, &bytes));
      if (done.count(file) == 0) bytes_left_ += bytes;
    }
    options_between_ = OptionsOnDisk();
    const ToolRun run = Run(command);
    EXPECT_EQ(kFine, run.code) << run.err;
    EXPECT_EQ(old.size() - done.size(), Count(run, "rewritten")) << run.out;
    const std::set<std::string> all = FilesOf(families);
    EXPECT_EQ(old.size(), all.size());
    for (const std::string& file : old) EXPECT_EQ(0u, all.count(file)) << file;
    for (const std::string& file : done) EXPECT_EQ(1u, all.count(file)) << file;
    return {done, run};
  }

  const Keys refresh_ = {"refresh", "--column_family=default"};
  const Keys rollback_ = {"rollback", "--to=bloomfilter:10"};
  const std::string samples_file_ = path_ + ".samples";
  const std::vector<SampleQuery> queries_ = QueriesAboveKeys();
  uint64_t bytes_left_ = 0;      // to rewrite, when the command was ended
  std::string options_between_;  // at that time
};

}  // namespace

TEST_F(StoppedCommandsTest, InterruptEndsThem) {
  const std::string today = path_ + ".today";
  ASSERT_OK(WriteQueryFile(Env::Default(), today, queries_));
  for (const int signal : {SIGINT, SIGTERM}) {
    for (const bool refreshes : {true, false}) {
      SCOPED_TRACE(signal);
      Anew([&] { refreshes ? FillWithSurfBase() : Fill(); });
      const Keys& command = refreshes ? refresh_ : rollback_;
      Keys more = {"--bytes_per_second=10K"};  // which takes ten seconds
      if (refreshes) more.push_back("--samples=" + today);
      SignalWhenCaught interrupter(signal);
      const ToolRun run = Run(command, more);
      interrupter.Join();
      EXPECT_EQ(kCouldNot, run.code);
      ExpectHas(run.err, {"interrupted"});
      // What has been done is told.
      EXPECT_GT(Count(run, "not reached"), 0u) << run.out;
      const size_t files = refreshes ? 2 : 4;
      EXPECT_LT(Count(run, "rewritten"), files) << run.out;
      ExpectAllKeys(0);
      const ToolRun again = Run(command);
      EXPECT_EQ(kFine, again.code) << again.err;
      EXPECT_EQ(files, Count(again, "rewritten") + Count(run, "rewritten"));
      if (refreshes) {
        EXPECT_EQ(0u, Count(run, "rewritten"));
        run.ExpectRefused({"interrupted"});
        EXPECT_EQ(3u, run.Rows().size()) << run.out;
      } else {
        ExpectRolledBack();
      }
    }
  }
}

TEST_F(StoppedCommandsTest, RefreshOfAllFilesGoesOn) {
  Family(0).target_file_size_base = 4 << 10;
  Keys all_files = refresh_;
  all_files.push_back("--all");
  for (const int signal : {SIGINT, SIGTERM, SIGKILL}) {
    SCOPED_TRACE(signal);
    const auto proteus = Family(0).table_factory;
    Anew([&] {
      FillWithSurfBase();
      Family(0).table_factory =
          NewTable("ProteanTable", "filter_policy=surf:0:0");
      Open();
      ASSERT_OK(CompactAll(db_.get(), handles_[0]));
      Close();
      Family(0).table_factory = proteus;
    });
    ASSERT_OK(WriteQueryFile(Env::Default(), samples_file_, queries_));
    ASSERT_GT(FilesOf({"default"}).size(), 6u);
    const auto [done, run] = GoOnAfter(
        signal, all_files, "--bytes_per_second=100K", {"default"}, /*count=*/2);
    const Json totals = run.Rows().back();
    EXPECT_EQ(bytes_left_, totals["bytes_rewritten"]) << run.out;
    EXPECT_NEAR(static_cast<double>(bytes_left_),
                totals["bytes_read"].get<double>(), 100)
        << run.out;
    ExpectAllKeys(0);
  }
}

TEST_F(StoppedCommandsTest, RollbackGoesOnAfterKill) {
  Fill();
  const auto [done, run] =
      GoOnAfter(SIGKILL, rollback_, "--bytes_per_second=60K",
                {"default", "surf"}, /*count=*/1);
  // Until the end, filters of either kind are in use.
  ExpectHas(options_between_, {"[TableOptions/ProteanTable \"surf\"]"});
  EXPECT_EQ(done.size(), Count(run, "has RocksDB's filter")) << run.out;
  // How far it is.
  ExpectHas(run.err, {" left\n"});
  ExpectRolledBack();
}

// A terminal shows how far commands are, and how long they will take.
TEST_F(StoppedCommandsTest, ShowProgress) {
  Anew([this] { FillWithSurfBase(); });
  const ToolRun run =
      RunToolOnTerminal({"refresh", "--db=" + path_, "--column_family=default",
                         "--all", "--bytes_per_second=50K"});
  EXPECT_EQ(kFine, run.code) << run.err;
  ExpectHas(run.err, {"default: ", " %, about ", " left; ", " read, "});
  EXPECT_EQ(std::string::npos, run.err.find("of 0 B")) << run.err;
  // So does verify.
  const ToolRun verify = RunToolOnTerminal({"verify", "--db=" + path_});
  EXPECT_EQ(kFine, verify.code) << verify.err;
  uint64_t bytes = 0;
  for (const std::string& path : FilesOf({"default", "surf", "bloom"})) {
    uint64_t size = 0;
    ASSERT_OK(Env::Default()->GetFileSize(path, &size));
    bytes += size;
  }
  ExpectHas(verify.err, {" of " + PrintedBytes(bytes) + ", ", " %, about ",
                         " left; ", " M/s"});
}

TEST(EtaTest, Progress) {
  for (const auto& [seconds, printed] :
       std::map<double, std::string>{{0.2, "0 s"},
                                     {99, "99 s"},
                                     {100, "2 min"},
                                     {99 * 60, "99 min"},
                                     {100 * 60, "1 h 40 min"}}) {
    EXPECT_EQ(printed, PrintedSeconds(seconds));
  }
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
