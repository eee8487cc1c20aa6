// SPDX-License-Identifier: Apache-2.0

//  protean refresh: what ends it, and how far it is. testdata/refresh.txt has
//  what it rewrites, and what it refuses.

#include <sys/wait.h>

#include <set>
#include <sstream>

#include "filter_policy/samples/query_file.h"
#include "tests/sst_damage.h"
#include "tests/table/twin_db.h"
#include "tests/tools/signal_when_caught.h"
#include "tests/tools/tool_db.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

class RefreshCommandTest : public ToolDBTest {
 protected:
  RefreshCommandTest() : ToolDBTest("refresh_command") {}

  // The files have filters of SuRF-Base; new files get filters of Proteus.
  void FillForOthers() {
    FillWithSurfBase();
    Open();
    Close();
    ASSERT_OK(WriteQueryFile(Env::Default(), today_, queries_));
  }

  ToolRun RefreshDefault(std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"refresh", "--db=" + path_, "--json",
                               "--column_family=default"});
    return RunTool(more);
  }
  static void ExpectOutcomes(const ToolRun& run, size_t files,
                             const std::string& outcome) {
    size_t rows = 0;
    for (const Json& row : run.Rows()) {
      if (!row.contains("file")) continue;
      rows++;
      EXPECT_EQ(outcome, row["outcome"]) << row;
    }
    EXPECT_EQ(files, rows) << run.out << run.err;
  }

  // Ends a refresh of all files by a signal. The same command then does the
  // rest, and no more.
  void AllFilesGoOnAfter(int signal) {
    Family(0).target_file_size_base = 4 << 10;
    FillForOthers();
    const auto proteus = Family(0).table_factory;
    Family(0).table_factory =
        NewTable("ProteanTable", "filter_policy=surf:0:0");
    Open();
    CompactRangeOptions anew;
    anew.bottommost_level_compaction = BottommostLevelCompaction::kForce;
    ASSERT_OK(db_->CompactRange(anew, handles_[0], nullptr, nullptr));
    Close();
    Family(0).table_factory = proteus;
    Open();
    Close();
    ASSERT_OK(WriteQueryFile(Env::Default(), samples_file_, queries_));
    const std::set<std::string> old = FilesOf({"default"});
    ASSERT_GT(old.size(), 6u);
    int ended = 0;
    const std::set<std::string> done =
        EndOnceRewritten({"refresh", "--db=" + path_, "--column_family=default",
                          "--all", "--bytes_per_second=100K"},
                         {"default"}, old, /*count=*/2, signal, &ended);
    EXPECT_EQ(signal == SIGKILL, WIFSIGNALED(ended));
    ASSERT_GE(done.size(), 2u);
    ASSERT_LT(done.size(), old.size());
    uint64_t bytes_left = 0;
    for (const std::string& file : FilesOf({"default"})) {
      uint64_t bytes = 0;
      ASSERT_OK(Env::Default()->GetFileSize(file, &bytes));
      if (done.count(file) == 0) bytes_left += bytes;
    }

    const ToolRun run = RefreshDefault({"--all"});
    EXPECT_EQ(kFine, run.code) << run.err;
    const Json totals = run.Rows().back();
    EXPECT_EQ(bytes_left, totals["bytes_rewritten"]) << run.out;
    EXPECT_NEAR(static_cast<double>(bytes_left),
                totals["bytes_read"].get<double>(), 100)
        << run.out;
    const std::set<std::string> all = FilesOf({"default"});
    EXPECT_EQ(old.size(), all.size());
    for (const std::string& file : all) EXPECT_EQ(0u, old.count(file)) << file;
    for (const std::string& file : done) EXPECT_EQ(1u, all.count(file)) << file;
    ExpectAllKeys(0);
  }

  const std::string today_ = path_ + ".today";
  const std::string samples_file_ = path_ + ".samples";
  const std::vector<SampleQuery> queries_ = QueriesAboveKeys();
};

}  // namespace

TEST_F(RefreshCommandTest, InterruptEndsIt) {
  for (const int signal : {SIGINT, SIGTERM}) {
    SCOPED_TRACE(signal);
    EXPECT_OK(DestroyDB(path_, Options(), families_));
    FillForOthers();
    SignalWhenCaught interrupter(signal);
    // The limited rate alone makes this take ten seconds.
    const ToolRun run =
        RefreshDefault({"--samples=" + today_, "--bytes_per_second=10K"});
    interrupter.Join();
    run.ExpectRefused({"interrupted"});
    EXPECT_EQ(3u, run.Rows().size()) << run.out;
    EXPECT_EQ("not reached", run.Rows()[0]["outcome"]) << run.out;
    ExpectAllKeys(0);
    ExpectOutcomes(RefreshDefault(), 2, "rewritten");
  }
}

TEST_F(RefreshCommandTest, AllFilesGoOn) {
  for (const int signal : {SIGINT, SIGTERM, SIGKILL}) {
    SCOPED_TRACE(signal);
    EXPECT_OK(DestroyDB(path_, Options(), families_));
    Env::Default()->DeleteFile(samples_file_).PermitUncheckedError();
    ASSERT_NO_FATAL_FAILURE(AllFilesGoOnAfter(signal));
  }
}

// A terminal shows how far it is, and how long it will take.
TEST_F(RefreshCommandTest, ShowsProgress) {
  FillForOthers();
  const ToolRun run =
      RunToolOnTerminal({"refresh", "--db=" + path_, "--column_family=default",
                         "--all", "--bytes_per_second=50K"});
  EXPECT_EQ(kFine, run.code) << run.err;
  for (const char* words : {"default: ", " %, about ", " left; ", " read, "}) {
    EXPECT_NE(std::string::npos, run.err.find(words)) << words << run.err;
  }
  EXPECT_EQ(std::string::npos, run.err.find("of 0 B")) << run.err;
  // So does verify.
  const ToolRun verify = RunToolOnTerminal({"verify", "--db=" + path_});
  EXPECT_EQ(kFine, verify.code) << verify.err;
  uint64_t bytes = 0;
  for (const char* family : {"default", "surf", "bloom"}) {
    for (const std::string& path : Files(family)) {
      uint64_t size = 0;
      ASSERT_OK(Env::Default()->GetFileSize(path, &size));
      bytes += size;
    }
  }
  for (const std::string& words :
       {" of " + PrintedBytes(bytes) + ", ", std::string(" %, about "),
        std::string(" left; "), std::string(" M/s")}) {
    EXPECT_NE(std::string::npos, verify.err.find(words)) << words << verify.err;
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
