// SPDX-License-Identifier: Apache-2.0

//  Commands that take long: refresh and rollback that are ended go on where
//  they were, and tell how far they are; and --live, what commands ask of a
//  process that has the DB open, which is the test's own. testdata/refresh.txt,
//  rollback.txt and live.txt have what they answer.

#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>

#include "filter_policy/samples/query_file.h"
#include "plugin/refresh_filters.h"
#include "rocksdb/utilities/backup_engine.h"
#include "tests/tools/tool_db.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

const Keys kRefresh = {"refresh", "--column_family=default"};
const Keys kRollback = {"rollback", "--to=bloomfilter:10"};

// ---- Commands that are ended ----

class StoppedCommandsTest : public ToolDBTest {
 protected:
  // Makes the DB anew.
  void Anew(const std::function<void()>& fill) {
    EXPECT_OK(DestroyDB(path_, Options(), families_));
    Env::Default()->DeleteFile(samples_file_).PermitUncheckedError();
    ASSERT_NO_FATAL_FAILURE(fill());
    Open();  // the OPTIONS file names the policy of new files
    Close();
  }
  static size_t Count(const ToolRun& run, const std::string& outcome) {
    size_t files = 0;
    for (const Json& row : run.Rows()) {
      files += row.contains("file") && row["outcome"] == outcome;
    }
    return files;
  }
  // The paths of these column families' files.
  std::set<std::string> FilesOf(const Keys& families) const {
    std::set<std::string> all;
    for (const std::string& family : families) {
      for (const std::string& file : Files(family)) all.insert(file);
    }
    return all;
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
    const auto rewritten = [&] {
      std::set<std::string> now = FilesOf(families);
      for (const std::string& file : old) now.erase(file);
      return now;
    };
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      const ToolRun run = Run(command, {slowly});
      std::ofstream(told_ + ".out") << run.out;
      std::ofstream(told_ + ".err") << run.err;
      _exit(run.code);
    }
    int ended = 0;
    bool runs = true;
    while (runs && rewritten().size() < count) {
      usleep(10 * 1000);
      runs = waitpid(child, &ended, WNOHANG) == 0;
    }
    if (runs) {
      kill(child, signal);
      waitpid(child, &ended, 0);
    }
    const std::set<std::string> done = rewritten();
    EXPECT_EQ(signal == SIGKILL, WIFSIGNALED(ended));
    EXPECT_GE(done.size(), count);
    EXPECT_LT(done.size(), old.size());
    if (signal != SIGKILL) {
      // What has been done is told.
      EXPECT_EQ(kCouldNot, WEXITSTATUS(ended));
      ExpectHas(ContentsOf(told_ + ".err"), {"interrupted"});
      ToolRun told;
      told.out = ContentsOf(told_ + ".out");
      EXPECT_EQ(done.size(), Count(told, "rewritten")) << told.out;
      EXPECT_GT(Count(told, "not reached"), 0u) << told.out;
    }
    bytes_left_ = 0;
    for (const std::string& file : FilesOf(families)) {
      if (done.count(file) > 0) continue;
      bytes_left_ += std::filesystem::file_size(file);
    }
    options_between_ = OptionsOnDisk();
    const ToolRun run = Run(command).ExpectFine();
    EXPECT_EQ(old.size() - done.size(), Count(run, "rewritten")) << run.out;
    const std::set<std::string> all = FilesOf(families);
    EXPECT_EQ(old.size(), all.size());
    for (const std::string& file : old) EXPECT_EQ(0u, all.count(file)) << file;
    for (const std::string& file : done) EXPECT_EQ(1u, all.count(file)) << file;
    return {done, run};
  }

  const std::string samples_file_ = path_ + ".samples";
  const std::vector<SampleQuery> queries_ = QueriesAboveKeys();
  const std::string told_ = path_ + ".told";  // by a command that was ended
  uint64_t bytes_left_ = 0;      // to rewrite, when the command was ended
  std::string options_between_;  // at that time
};

TEST_F(StoppedCommandsTest, RefreshOfAllFilesGoesOn) {
  Family(0).target_file_size_base = 4 << 10;
  Keys all_files = kRefresh;
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

TEST_F(StoppedCommandsTest, RollbackGoesOn) {
  for (const int signal : {SIGINT, SIGTERM, SIGKILL}) {
    SCOPED_TRACE(signal);
    Anew([this] { Fill(); });
    const auto [done, run] =
        GoOnAfter(signal, kRollback, "--bytes_per_second=60K",
                  {"default", "surf"}, /*count=*/1);
    // Until the end, filters of either kind are in use.
    ExpectHas(options_between_, {"[TableOptions/ProteanTable \"surf\"]"});
    EXPECT_EQ(done.size(), Count(run, "has RocksDB's filter")) << run.out;
    // How far it is.
    ExpectHas(run.err, {" left\n"});
    ExpectRolledBack();
  }
}

// A terminal shows how far commands are, and how long they will take.
TEST_F(StoppedCommandsTest, ShowProgress) {
  Anew([this] { FillWithSurfBase(); });
  const ToolRun run =
      RunToolOnTerminal({"refresh", "--db=" + path_, "--column_family=default",
                         "--all", "--bytes_per_second=50K"})
          .ExpectFine();
  ExpectHas(run.err, {"default: ", " %, about ", " left; ", " read, "});
  EXPECT_EQ(std::string::npos, run.err.find("of 0 B")) << run.err;
  // So does verify.
  const ToolRun verify =
      RunToolOnTerminal({"verify", "--db=" + path_}).ExpectFine();
  uint64_t bytes = 0;
  for (const std::string& path : FilesOf({"default", "surf", "bloom"})) {
    bytes += std::filesystem::file_size(path);
  }
  ExpectHas(verify.err, {" of " + PrintedBytes(bytes) + ", ", " %, about ",
                         " left; ", " M/s"});
}

TEST(EtaTest, Progress) {
  const std::map<double, std::string> printed = {{0.2, "0 s"},
                                                 {99, "99 s"},
                                                 {100, "2 min"},
                                                 {99 * 60, "99 min"},
                                                 {100 * 60, "1 h 40 min"}};
  for (const auto& [seconds, text] : printed) {
    EXPECT_EQ(text, PrintedSeconds(seconds));
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

// ---- --live ----

class LiveTest : public ToolDBTest {
 protected:
  ~LiveTest() override { refresher_.reset(); }

  // Files have filters of SuRF-Base, which queries right above keys pass. New
  // files of the first column family are designed for such queries.
  void FillForOthers() {
    FillWithSurfBase();
    ASSERT_OK(
        WriteQueryFile(options_.env, path_ + ".samples", QueriesAboveKeys()));
  }
  // Opens the DB, and lets operators ask about its first column family.
  void Serve(const RefreshOptions& options = {}) {
    Open();
    refresher_ = std::make_unique<FilterRefresher>(
        db_.get(), handles_[0], options, /*period_micros=*/~uint64_t{0},
        [this](const Status& s, const RefreshResult& result) {
          const std::lock_guard<std::mutex> lock(mutex_);
          reports_.emplace_back(s, result);
        },
        socket_);
    EXPECT_OK(refresher_->socket_status());
  }
  // Serves, calls `act` once a slow refresh has begun, and returns its end.
  ToolRun RefreshUntil(const std::function<void()>& act) {
    FillForOthers();
    std::atomic<bool> began{false};
    RefreshOptions slow;
    slow.bytes_per_second = 1000;
    slow.progress = [&began](const RefreshProgress& progress) {
      began = progress.files_decided < progress.files;
      return true;
    };
    Serve(slow);
    std::thread acting([&] {
      while (!began) Env::Default()->SleepForMicroseconds(1000);
      act();
    });
    ToolRun run = Ask(kRefresh);
    acting.join();
    EXPECT_EQ(kCouldNot, run.code);
    ExpectHas(run.out, {"not reached"});
    return run;
  }
  void EndServing() {
    refresher_.reset();
    Close();
    EXPECT_TRUE(Env::Default()->FileExists(socket_).IsNotFound());
  }

  ToolRun Ask(Keys arguments) const {
    arguments.insert(arguments.end(), {"--live", "--db=" + path_});
    return RunTool(arguments);
  }
  // The test itself listens at the socket.
  int Listen() const {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    memcpy(address.sun_path, socket_.data(), socket_.size());
    const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    EXPECT_EQ(0, bind(listener, reinterpret_cast<const sockaddr*>(&address),
                      sizeof(address)));
    EXPECT_EQ(0, listen(listener, 1));
    return listener;
  }
  const std::string socket_ = path_ + "/protean.sock";
  std::mutex mutex_;
  std::vector<std::pair<Status, RefreshResult>> reports_;
  std::unique_ptr<FilterRefresher> refresher_;
};

// What listens there may be anything, end at any time, or say nothing.
TEST_F(LiveTest, OtherAnswers) {
  Fill();
  const int listener = Listen();
  const std::string head = "HTTP/1.1 200 OK\r\n";
  const Keys answers = {"",
                        "x",
                        head + "\r\n",
                        head + "Content-Length: 9\r\n\r\nshort",
                        head + "\r\n{\"progress\":{}",
                        "HTTP/1.1 500 Failed\r\n\r\n"};
  std::thread answering([&] {
    for (const std::string& answer : answers) {
      for (int i = 0; i < 2; i++) {
        const int fd = accept(listener, nullptr, nullptr);
        char request[4096];
        recv(fd, request, sizeof(request), 0);
        send(fd, answer.data(), answer.size(), MSG_NOSIGNAL);
        close(fd);
      }
    }
  });
  for (const std::string& answer : answers) {
    for (const Keys& command : {Keys{"samples", "save"}, kRefresh}) {
      EXPECT_EQ(kCouldNot, Ask(command).code) << answer;
    }
  }
  answering.join();
  // A process that says nothing: the command can be ended.
  SignalWhenCaught signal(SIGTERM);
  Ask({"statistics"}).ExpectRefused({"interrupted"});
  signal.Join();
  close(listener);
  unlink(socket_.c_str());
}

// live.txt has a trial, a refresh and what the statistics say of it.
TEST_F(LiveTest, RefreshIsReported) {
  FillForOthers();
  Serve();
  const Json totals = Ask({"refresh", "--json", "--column_family=default"})
                          .ExpectFine()
                          .Rows()
                          .back();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ASSERT_EQ(1u, reports_.size());
    EXPECT_OK(reports_[0].first);
    EXPECT_EQ(2u, reports_[0].second.files_rewritten);
  }
  const Json refresh = Ask({"statistics", "--json"}).Rows().at(0)["refresh"];
  for (const char* bytes : {"bytes_rewritten", "bytes_read"}) {
    EXPECT_EQ(totals[bytes], refresh[bytes]);
  }
  Ask({"refresh", "--limit=" + std::string(30000, '\xff')})
      .ExpectRefused({"shorter keys"});
  EndServing();
}

// The operator can end a refresh, and gets its result.
TEST_F(LiveTest, RefreshThatIsInterrupted) {
  const ToolRun run = RefreshUntil([] { kill(getpid(), SIGTERM); });
  ExpectHas(run.err, {"interrupted"});
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ASSERT_EQ(1u, reports_.size());
    EXPECT_TRUE(reports_[0].first.IsIncomplete());
  }
  // Being told to end is no failure.
  const Json refresh = Ask({"statistics", "--json"}).Rows().at(0)["refresh"];
  EXPECT_EQ(1u, refresh["runs"]);
  EXPECT_EQ(0u, refresh["failures"]);
  EndServing();
}

// The DB is closed while a refresh runs: the operator gets its result.
TEST_F(LiveTest, RefresherThatEnds) {
  const ToolRun run = RefreshUntil([this] { refresher_.reset(); });
  ExpectHas(run.err, {"the process that has the DB open has ended the "
                      "refresh, most likely since it closes the DB"});
  EndServing();
}

// Copies of the DB, and instances that follow it, leave the socket alone, too.
TEST_F(LiveTest, RocksDBLeavesTheSocketAlone) {
  Fill();
  Env* const env = options_.env;
  Serve();
  for (ColumnFamilyHandle* handle : handles_) {
    ASSERT_OK(db_->Put(WriteOptions(), handle, "key", "value"));
    ASSERT_OK(db_->Flush(FlushOptions(), handle));
    ASSERT_OK(CompactAll(db_.get(), handle));
  }
  {
    Options options(options_, Family(0));
    options.max_open_files = -1;
    std::unique_ptr<DB> follower;
    ASSERT_OK(OpenSecondary(&follower, options, path_, path_ + ".follower"));
    ASSERT_OK(follower->TryCatchUpWithPrimary());
    EXPECT_TRUE(Has(follower.get(), "key"));
  }
  const std::string copy = path_ + ".copy";
  const std::string restored = path_ + ".restored";
  ASSERT_OK(MakeCheckpoint(db_.get(), copy));
  std::unique_ptr<BackupEngine> engine;
  ASSERT_OK(OpenAs<BackupEngine>(&engine,
                                 BackupEngineOptions(path_ + ".backup"), env));
  ASSERT_OK(engine->CreateNewBackup(db_.get()));
  ASSERT_OK(engine->RestoreDBFromLatestBackup(restored, restored));
  engine.reset();
  for (const std::string& folder : {copy, restored}) {
    EXPECT_TRUE(env->FileExists(folder + "/protean.sock").IsNotFound());
  }
  EXPECT_EQ(kFine, Ask({"statistics"}).code);
  EndServing();
}

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean
