// SPDX-License-Identifier: Apache-2.0

//  protean refresh: RefreshFilters on a DB that the command opens.

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

  ToolRun Refresh(std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"refresh", "--db=" + path_, "--json"});
    return RunTool(more);
  }
  ToolRun RefreshDefault(std::vector<std::string> more = {}) {
    more.push_back("--column_family=default");
    return Refresh(more);
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
    const auto files = [this] {
      const std::vector<std::string> now = Files("default");
      return std::set<std::string>(now.begin(), now.end());
    };
    const std::set<std::string> old = files();
    ASSERT_GT(old.size(), 6u);
    const auto rewritten = [&] {
      std::set<std::string> now = files();
      for (const std::string& file : old) now.erase(file);
      return now;
    };
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      RefreshDefault({"--all", "--bytes_per_second=100K"});
      _exit(0);
    }
    int ended = 0;
    while (rewritten().size() < 2) {
      ASSERT_EQ(0, waitpid(child, &ended, WNOHANG));
      usleep(10 * 1000);
    }
    kill(child, signal);
    waitpid(child, &ended, 0);
    EXPECT_EQ(signal == SIGKILL, WIFSIGNALED(ended));
    const std::set<std::string> done = rewritten();
    ASSERT_LT(done.size(), old.size());
    uint64_t bytes_left = 0;
    for (const std::string& file : files()) {
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
    const std::set<std::string> all = files();
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

TEST_F(RefreshCommandTest, DryRunWritesNothing) {
  FillForOthers();
  const auto before = Disk();
  const ToolRun run = RefreshDefault({"--dry_run", "--samples=" + today_});
  EXPECT_EQ(kFine, run.code) << run.err;
  ExpectOutcomes(run, 2, "would be rewritten");
  const Json totals = run.Rows().back();
  EXPECT_EQ(2u, totals["files_rewritten"]);
  EXPECT_EQ(queries_.size(), totals["samples"]);
  EXPECT_EQ(before, Disk());
  EXPECT_TRUE(Env::Default()->FileExists(samples_file_).IsNotFound());
  // Also while the DB is open.
  Open();
  EXPECT_EQ(kFine, RefreshDefault({"--dry_run", "--samples=" + today_}).code);
  Close();
}

// Also files whose filters do well, and whatever the queries are.
TEST_F(RefreshCommandTest, AllFiles) {
  FillForOthers();
  ExpectOutcomes(RefreshDefault({"--all", "--dry_run"}), 2,
                 "would be rewritten");
  const auto old = Files("default");
  const ToolRun run = RefreshDefault({"--all"});
  EXPECT_EQ(kFine, run.code) << run.err;
  ExpectOutcomes(run, 2, "rewritten");
  EXPECT_NE(old, Files("default"));
  // Files that have the filter they would get are left alone.
  for (const std::string dry_run : {"--dry_run", "--json"}) {
    const ToolRun again = RefreshDefault({"--all", dry_run});
    EXPECT_EQ(kFine, again.code) << again.err;
    ExpectOutcomes(again, 2, "too little gain");
    EXPECT_EQ(0u, again.Rows().back()["bytes_read"]);
  }
  ExpectAllKeys(0);
  // With other samples, they would get others, which gain too little.
  const ToolRun sampled = RefreshDefault({"--all", "--samples=" + today_});
  ExpectOutcomes(sampled, 2, "too little gain");
  // Reading all keys has left some of its own.
  EXPECT_LE(queries_.size(), sampled.Rows().back()["samples"]);
}

// A damaged file stays as it is, and the others are rewritten.
TEST_F(RefreshCommandTest, AllFilesButDamagedOnes) {
  FillForOthers();
  FlipByte(Files("default")[0], 20);
  const ToolRun run = RefreshDefault({"--all"});
  EXPECT_EQ(kFoundSomething, run.code) << run.err;
  EXPECT_EQ(1u, run.Rows().back()["files_rewritten"]) << run.out;
}

TEST_F(RefreshCommandTest, SomeFiles) {
  FillForOthers();
  const auto rewritten_of = [&](const std::vector<std::string>& flags) {
    const ToolRun run = RefreshDefault(flags);
    EXPECT_EQ(kFine, run.code) << run.err;
    std::set<int> levels;
    for (const Json& row : run.Rows()) {
      if (!row.contains("file")) continue;
      if (row["outcome"] == "would be rewritten") {
        levels.insert(row["level"].get<int>());
      } else {
        EXPECT_EQ("not selected", row["outcome"]) << row;
      }
    }
    return levels;
  };
  using Levels = std::set<int>;
  EXPECT_EQ(Levels({0, 3}), rewritten_of({"--all", "--dry_run"}));
  EXPECT_EQ(Levels({0}), rewritten_of({"--all", "--dry_run", "--levels=0"}));
  EXPECT_EQ(Levels({3}), rewritten_of({"--all", "--dry_run", "--levels=2,3"}));
  // Key 0 is in level 0, key 1 in level 3.
  const std::string key_1 = "0x" + Slice(KeyOf(1)).ToString(/*hex=*/true);
  EXPECT_EQ(Levels({0}),
            rewritten_of({"--all", "--dry_run", "--limit=" + key_1}));
  EXPECT_EQ(Levels({0, 3}), rewritten_of({"--all", "--dry_run", "--start=0x00",
                                          "--limit=" + key_1 + "00"}));
  EXPECT_EQ(Levels(), rewritten_of({"--all", "--dry_run", "--start=~"}));

  const auto before = Files("default");
  const ToolRun run = RefreshDefault({"--all", "--levels=3", "--parallel=2"});
  EXPECT_EQ(kFine, run.code) << run.err;
  EXPECT_EQ(1u, run.Rows().back()["files_rewritten"]) << run.out;
  const auto after = Files("default");
  ASSERT_EQ(2u, after.size());
  EXPECT_EQ(1, std::count(before.begin(), before.end(), after[0]) +
                   std::count(before.begin(), before.end(), after[1]));
  ExpectAllKeys(0);
}

TEST_F(RefreshCommandTest, RewritesWhatPays) {
  FillForOthers();
  const std::string options_before = OptionsOnDisk();
  const auto surf = Files("surf");
  const auto bloom = Files("bloom");
  const auto old = Files("default");
  const ToolRun run = RefreshDefault({"--samples=" + today_});
  EXPECT_EQ(kFine, run.code) << run.err;
  ExpectOutcomes(run, 2, "rewritten");
  for (const Json& row : run.Rows()) {
    if (!row.contains("file")) continue;
    EXPECT_GT(row["old_fpr"], 0.3) << row;
    EXPECT_LT(row["new_fpr"], 0.01) << row;
    EXPECT_NE("", row["new_design"]) << row;
  }
  EXPECT_EQ(options_before, OptionsOnDisk());
  EXPECT_EQ(surf, Files("surf"));
  EXPECT_EQ(bloom, Files("bloom"));
  const auto fresh = Files("default");
  ASSERT_EQ(2u, fresh.size());
  EXPECT_NE(old, fresh);
  for (const Json& row :
       RunTool({"verify", "--db=" + path_, "--json"}).Rows()) {
    EXPECT_EQ("ok", row["status"]) << row;
    EXPECT_TRUE(row["level"] == 0 || row["level"] == 3) << row;
  }
  // The samples are kept, and the filters suit them.
  std::vector<SampleQuery> saved;
  std::vector<std::string> refused;
  ASSERT_OK(ReadQueryFile(Env::Default(), samples_file_, &saved, &refused));
  EXPECT_EQ(queries_, saved);
  const ToolRun again = RefreshDefault();
  EXPECT_EQ(kFine, again.code) << again.err;
  ExpectOutcomes(again, 2, "too little gain");
  EXPECT_EQ(queries_.size(), again.Rows().back()["samples"]);
  ExpectAllKeys(0);
}

TEST_F(RefreshCommandTest, GoesByImportedSamples) {
  FillForOthers();
  ASSERT_EQ(kFine, RunTool({"samples", "import", "--db=" + path_,
                            "--column_family=default", today_})
                       .code);
  const ToolRun run = RefreshDefault({"--max_bytes=1"});
  EXPECT_EQ(kFine, run.code) << run.err;
  ExpectOutcomes(run, 2, "limit reached");
  EXPECT_EQ(queries_.size(), run.Rows().back()["samples"]);
  const ToolRun picky = RefreshDefault({"--min_gain=1"});
  ExpectOutcomes(picky, 2, "too little gain");
  const ToolRun text = RunTool(
      {"refresh", "--db", path_, "--column_family=default", "--dry_run"});
  EXPECT_NE(std::string::npos, text.out.find("2 of 2 files would be rewritten"))
      << text.out;
}

TEST_F(RefreshCommandTest, AllColumnFamiliesThatCanBe) {
  Fill();
  const ToolRun run = Refresh({"--without_samples"});
  EXPECT_EQ(kFine, run.code) << run.err;
  EXPECT_NE(std::string::npos,
            run.err.find("left out: column family bloom has the table factory "
                         "BlockBasedTable"))
      << run.err;
  std::set<std::string> families;
  for (const Json& row : run.Rows()) families.insert(row["column_family"]);
  EXPECT_EQ((std::set<std::string>{"default", "surf"}), families);
}

TEST_F(RefreshCommandTest, DamagedFiles) {
  FillForOthers();
  const std::string damaged = Files("default")[1];
  FlipByte(damaged, 5000);
  const ToolRun run = RefreshDefault({"--samples=" + today_});
  EXPECT_EQ(kFoundSomething, run.code) << run.err;
  for (const Json& row : run.Rows()) {
    if (!row.contains("file")) continue;
    EXPECT_EQ(row["file"] == NameOf(damaged) ? "damaged" : "rewritten",
              row["outcome"])
        << row;
  }
}

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

TEST_F(RefreshCommandTest, AllFilesGoOnAfterCtrlC) {
  AllFilesGoOnAfter(SIGINT);
}

TEST_F(RefreshCommandTest, AllFilesGoOnAfterSigterm) {
  AllFilesGoOnAfter(SIGTERM);
}

TEST_F(RefreshCommandTest, AllFilesGoOnAfterKill) {
  AllFilesGoOnAfter(SIGKILL);
}

TEST_F(RefreshCommandTest, Refusals) {
  RunTool({"refresh"}).ExpectRefused({"--db=DIR"});
  Refresh().ExpectRefused({"does not exist"});
  EXPECT_TRUE(Env::Default()->FileExists(path_ + "/CURRENT").IsNotFound());
  FillForOthers();
  // None of these commands changes anything.
  auto before = Disk();
  RunTool({"refresh", "--db=" + path_, "000001.sst"})
      .ExpectRefused({"000001.sst is not a flag"});
  Refresh({"--column_family=no"}).ExpectRefused({"no column family no"});
  Refresh({"--column_family=bloom"})
      .ExpectRefused({"bloom has the table factory BlockBasedTable",
                      "table_factory={id=ProteanTable;",
                      "it must be [TableOptions/ProteanTable \"bloom\"], but "
                      "is [TableOptions/BlockBasedTable \"bloom\"]"});
  Refresh({"--column_family=surf", "--samples=" + today_})
      .ExpectRefused({"takes no samples"});
  RefreshDefault({"--samples=/no/such/file"}).ExpectRefused({"/no/such/file"});
  Refresh({"--max_bytes=lots"}).ExpectRefused({"--max_bytes=lots"});
  for (const char* levels : {"--levels=one", "--levels=0,-1", "--levels=9999"})
    Refresh({levels}).ExpectRefused({"--levels=", "numbers of levels"});
  for (const char* parallel : {"--parallel=0", "--parallel=1025"})
    Refresh({parallel}).ExpectRefused({parallel, "from 1 to 1024"});
  for (const char* none : {"--max_bytes=0", "--bytes_per_second=0"})
    Refresh({none}).ExpectRefused({none, "whole numbers from 1 on, such as"});
  for (const char* gain : {"--min_gain=2", "--min_gain=-1", "--min_gain=nan"})
    Refresh({gain}).ExpectRefused({gain, "numbers from 0 to 1"});
  Refresh({"--start=0x0"}).ExpectRefused({"--start=0x0", "hexadecimal"});
  Refresh({"--limit=0xzz"}).ExpectRefused({"--limit=0xzz", "hexadecimal"});
  Refresh({"--live", "--parallel=2"})
      .ExpectRefused({"--live", "FilterRefresher"});
  Refresh({"--live", "--levels=one"}).ExpectRefused({"numbers of levels"});
  Refresh({"--live", "--limit=" + std::string(30000, '\xff')})
      .ExpectRefused({"shorter keys"});
  EXPECT_EQ(before, Disk());

  Open();
  before = Disk();
  RefreshDefault({"--samples=" + today_})
      .ExpectRefused({"has it open", "RefreshFilters", "--dry_run"});
  EXPECT_EQ(before, Disk());
  Close();
  for (const auto& [name, contents] : Disk()) {
    if (name.compare(0, 8, "OPTIONS-") == 0) {
      ASSERT_OK(Env::Default()->DeleteFile(path_ + "/" + name));
    }
  }
  before = Disk();
  RefreshDefault({"--without_samples"})
      .ExpectRefused({"the table factory of column family default is not known",
                      "the OPTIONS file cannot be used", "NotFound"});
  EXPECT_EQ(before, Disk());
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
}

// Queries that the application has not asked are no reason to rewrite a DB,
// unless the operator says so.
TEST_F(RefreshCommandTest, WithoutSamples) {
  FillForOthers();
  const auto before = Disk();
  RefreshDefault().ExpectRefused({"column family default has no samples",
                                  "its 2 files", "--samples=FILE",
                                  "--without_samples", "--dry_run"});
  Refresh({"--column_family=surf"})
      .ExpectRefused({"column family surf has no samples"});
  EXPECT_EQ(before, Disk());
  EXPECT_EQ(kFine, RefreshDefault({"--dry_run"}).code);
  const ToolRun run = RefreshDefault({"--without_samples"});
  EXPECT_EQ(kFine, run.code) << run.err;
  EXPECT_EQ(0u, run.Rows().back()["samples"]);
  ExpectAllKeys(0);
  // A column family that has samples is refreshed, and the others are left out.
  ASSERT_EQ(kFine, RunTool({"samples", "import", "--db=" + path_,
                            "--column_family=default", today_})
                       .code);
  const auto surf = Files("surf");
  const ToolRun all = Refresh();
  EXPECT_EQ(kFine, all.code) << all.err;
  EXPECT_NE(std::string::npos,
            all.err.find("left out: column family surf has no samples"))
      << all.err;
  EXPECT_EQ("default", all.Rows().back()["column_family"]);
  EXPECT_EQ(surf, Files("surf"));
}

// A terminal shows the rows without breaking them.
TEST_F(RefreshCommandTest, RowsThatFit) {
  FillForOthers();
  const ToolRun run =
      RunTool({"refresh", "--db", path_, "--dry_run", "--column_family=default",
               "--samples=" + today_});
  EXPECT_EQ(kFine, run.code) << run.err;
  EXPECT_NE(std::string::npos, run.out.find("\n    -> ")) << run.out;
  std::istringstream lines(run.out);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 100u) << line;
  }
}

// ProteanTable with a policy that RefreshFilters cannot use.
TEST_F(RefreshCommandTest, PolicyOfRocksDB) {
  AddFamily("plain",
            "table_factory={id=ProteanTable;filter_policy=bloomfilter:10}");
  Fill();
  ASSERT_OK(WriteQueryFile(Env::Default(), today_, queries_));
  const std::string plain = "--column_family=plain";
  Refresh({plain}).ExpectRefused(
      {"plain has the table factory ProteanTable with filter_policy="
       "bloomfilter:10",
       "which is no filter policy of Protean", "protean rollback"});
  Refresh({plain, "--samples=" + today_}).ExpectRefused({"bloomfilter:10"});
  const ToolRun all = Refresh({"--dry_run"});
  EXPECT_EQ(kFine, all.code) << all.err;
  EXPECT_NE(std::string::npos, all.err.find("left out: column family plain"));
}

// Only the application knows which data is committed.
TEST_F(RefreshCommandTest, TransactionDB) {
  options_.allow_2pc = true;
  Fill();
  const auto before = Disk();
  RefreshDefault({"--without_samples"})
      .ExpectRefused({"TransactionDB", "RefreshFilters"});
  EXPECT_EQ(before, Disk());
  EXPECT_EQ(kFine, RefreshDefault({"--dry_run"}).code);
  const ToolRun help = RunTool({"refresh", "--help"});
  EXPECT_NE(std::string::npos,
            help.out.find("A TransactionDB (allow_2pc=true"));
  EXPECT_NE(std::string::npos, help.out.find("whatever its write policy"));
}

TEST_F(RefreshCommandTest, OtherComparator) {
  AddFamily("reverse",
            "comparator=rocksdb.ReverseBytewiseComparator;"
            "table_factory={id=ProteanTable;filter_policy=surf:4:4}");
  Fill();
  const auto before = Files("reverse");
  Refresh({"--column_family=reverse", "--without_samples"})
      .ExpectRefused({"range filters are off in column family reverse"});
  EXPECT_EQ(before, Files("reverse"));
}

}  // namespace ROCKSDB_NAMESPACE::protean
