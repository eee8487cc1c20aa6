// SPDX-License-Identifier: Apache-2.0

//  --live: what commands ask of a process that has the DB open, which is the
//  test's own. testdata/live.txt has what they answer.

#include <sys/socket.h>
#include <sys/un.h>

#include <atomic>
#include <cstring>
#include <functional>

#include "filter_policy/protean_filter_policy.h"
#include "filter_policy/samples/query_file.h"
#include "filter_policy/samples/sample_store.h"
#include "plugin/refresh_filters.h"
#include "rocksdb/utilities/backup_engine.h"
#include "tests/tools/tool_db.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

class LiveTest : public ToolDBTest {
 protected:
  LiveTest() : ToolDBTest("live") {}
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
  // Serves, calls `act` as soon as a refresh that takes long has begun, and
  // returns how the refresh ends.
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
    ToolRun run = Ask({"refresh", "--column_family=default"});
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

}  // namespace

// What listens there may be anything, or end at any time.
TEST_F(LiveTest, OtherAnswers) {
  Fill();
  const int listener = Listen();
  const std::string head = "HTTP/1.1 200 OK\r\n";
  const std::vector<std::string> answers = {
      "",
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
    EXPECT_EQ(kCouldNot, Ask({"samples", "save"}).code) << answer;
    EXPECT_EQ(kCouldNot, Ask({"refresh", "--column_family=default"}).code)
        << answer;
  }
  answering.join();
  close(listener);
  unlink(socket_.c_str());
}

// A process that says nothing: the command can be ended.
TEST_F(LiveTest, SilentProcess) {
  Fill();
  const int listener = Listen();
  SignalWhenCaught signal(SIGTERM);
  Ask({"statistics"}).ExpectRefused({"interrupted"});
  signal.Join();
  close(listener);
  unlink(socket_.c_str());
}

TEST_F(LiveTest, RefreshIsReported) {
  FillForOthers();
  Serve();
  const Json trial =
      Ask({"refresh", "--json", "--column_family=default", "--dry_run"})
          .Rows()
          .back();
  EXPECT_EQ(2u, trial["files_rewritten"]);
  const auto before = Files("default");
  const ToolRun run = Ask({"refresh", "--json", "--column_family=default"});
  EXPECT_EQ(kFine, run.code) << run.err;
  EXPECT_NE(before, Files("default"));
  // The application learns of it, and the statistics have it, but not the
  // trial.
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ASSERT_EQ(2u, reports_.size());
    EXPECT_OK(reports_[1].first);
    EXPECT_EQ(2u, reports_[1].second.files_rewritten);
  }
  const Json totals = run.Rows().back();
  const Json refresh = Ask({"statistics", "--json"}).Rows().at(0)["refresh"];
  EXPECT_EQ(1u, refresh["runs"]);
  EXPECT_EQ(totals["bytes_rewritten"], refresh["bytes_rewritten"]);
  EXPECT_EQ(totals["bytes_read"], refresh["bytes_read"]);
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

// What the DB has sampled by itself is added to samples that are imported while
// it is open.
TEST_F(LiveTest, AnOpenDBAddsItsSamplesToAnImport) {
  const std::string saved = path_ + ".samples";
  const std::string imported = path_ + ".imported";
  const std::vector<SampleQuery> queries = {{"a", "a", true}, {"b", "b", true}};
  ASSERT_OK(WriteQueryFile(options_.env, imported, queries));
  Fill();
  Open();
  ASSERT_EQ(kFine, RunTool({"samples", "import", "--db=" + path_,
                            "--column_family=default", imported})
                       .code);
  const Options options = db_->GetOptions(handles_[0]);
  ProteanPolicyOf(options)
      ->Samples()
      ->Queue(kDefaultColumnFamilyName, Env::Default(), /*logger=*/nullptr)
      ->Add({"new", "new", true});
  Close();
  std::vector<SampleQuery> expected = queries;
  expected.push_back({"new", "new", true});
  std::vector<SampleQuery> read;
  std::vector<std::string> refused;
  ASSERT_OK(ReadQueryFile(options_.env, saved, &read, &refused));
  EXPECT_EQ(expected, read);
}

// RocksDB, its copies of a DB, and instances that follow it leave the socket
// alone.
TEST_F(LiveTest, RocksDBLeavesTheSocketAlone) {
  Fill();
  Env* const env = options_.env;
  Serve();
  for (ColumnFamilyHandle* handle : handles_) {
    ASSERT_OK(db_->Put(WriteOptions(), handle, "key", "value"));
    ASSERT_OK(db_->Flush(FlushOptions(), handle));
    ASSERT_OK(
        db_->CompactRange(CompactRangeOptions(), handle, nullptr, nullptr));
  }
  const std::string follower_path = path_ + ".follower";
  const std::string copy = path_ + ".copy";
  const std::string backup = path_ + ".backup";
  const std::string restored = path_ + ".restored";
  {
    DBOptions options = options_;
    options.max_open_files = -1;
    std::unique_ptr<DB> follower;
    std::vector<ColumnFamilyHandle*> handles;
    ASSERT_OK(OpenSecondary(&follower, options, path_, follower_path, families_,
                            &handles));
    ASSERT_OK(follower->TryCatchUpWithPrimary());
    std::string value;
    EXPECT_OK(follower->Get(ReadOptions(), handles[0], "key", &value));
    for (ColumnFamilyHandle* handle : handles) {
      EXPECT_OK(follower->DestroyColumnFamilyHandle(handle));
    }
  }
  ASSERT_OK(MakeCheckpoint(db_.get(), copy));
  std::unique_ptr<BackupEngine> engine;
  ASSERT_OK(OpenAs<BackupEngine>(&engine, BackupEngineOptions(backup), env));
  ASSERT_OK(engine->CreateNewBackup(db_.get()));
  ASSERT_OK(engine->RestoreDBFromLatestBackup(restored, restored));
  engine.reset();
  for (const std::string& folder : {copy, restored}) {
    EXPECT_TRUE(env->FileExists(folder + "/protean.sock").IsNotFound());
  }
  EXPECT_EQ(kFine, Ask({"statistics"}).code);
  EndServing();
}

}  // namespace ROCKSDB_NAMESPACE::protean
