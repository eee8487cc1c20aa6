// SPDX-License-Identifier: Apache-2.0

//  --live: what commands ask of a process that has the DB open. That process is
//  the test's own.

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <mutex>
#include <thread>

#include "file/file_util.h"
#include "filter_policy/protean_filter_policy.h"
#include "filter_policy/samples/query_file.h"
#include "filter_policy/samples/sample_store.h"
#include "plugin/refresh_filters.h"
#include "rocksdb/utilities/backup_engine.h"
#include "rocksdb/utilities/checkpoint.h"
#include "tests/open_secondary.h"
#include "tests/table/twin_db.h"
#include "tests/tools/signal_when_caught.h"
#include "tests/tools/tool_db.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr uint64_t kNever = ~uint64_t{0};

class LiveTest : public ToolDBTest {
 protected:
  LiveTest() : ToolDBTest("live") {}
  ~LiveTest() override { refreshers_.clear(); }

  // Files have filters of SuRF-Base, which queries right above keys pass. New
  // files of the first column family are designed for such queries.
  void FillForOthers() {
    FillWithSurfBase();
    ASSERT_OK(
        WriteQueryFile(options_.env, path_ + ".samples", QueriesAboveKeys()));
  }
  // Opens the DB, and lets operators ask about its first `families` column
  // families.
  void Serve(size_t families = 1, const RefreshOptions& options = {}) {
    Open();
    for (size_t i = 0; i < families; i++) {
      refreshers_.push_back(std::make_unique<FilterRefresher>(
          db_.get(), handles_[i], options, kNever,
          [this](const Status& s, const RefreshResult& result) {
            const std::lock_guard<std::mutex> lock(mutex_);
            reports_.emplace_back(s, result);
          },
          socket_));
      EXPECT_OK(refreshers_.back()->socket_status());
    }
  }
  void EndServing() {
    refreshers_.clear();
    Close();
  }

  ToolRun Ask(std::vector<std::string> arguments) {
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
  void ExpectNoSocket() const {
    EXPECT_TRUE(Env::Default()->FileExists(socket_).IsNotFound());
  }

  const std::string socket_ = path_ + "/protean.sock";
  std::mutex mutex_;
  std::vector<std::pair<Status, RefreshResult>> reports_;
  std::vector<std::unique_ptr<FilterRefresher>> refreshers_;
};

// A refresh that takes long, and says when it has begun.
RefreshOptions Slow(std::atomic<bool>* began) {
  RefreshOptions slow;
  slow.bytes_per_second = 1000;
  slow.progress = [began](const RefreshProgress& progress) {
    *began = progress.files_decided < progress.files;
    return true;
  };
  return slow;
}

bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

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

TEST_F(LiveTest, Refresh) {
  FillForOthers();
  Serve();
  const ToolRun trial =
      Ask({"refresh", "--json", "--column_family=default", "--dry_run"});
  EXPECT_EQ(kFine, trial.code) << trial.err;
  EXPECT_EQ(2u, trial.Rows().back()["files_rewritten"]);
  const auto before = Files("default");
  const ToolRun run = Ask({"refresh", "--json", "--column_family=default"});
  EXPECT_EQ(kFine, run.code) << run.err;
  ASSERT_EQ(3u, run.Rows().size()) << run.out;
  for (const Json& row : run.Rows()) {
    if (!row.contains("file")) continue;
    EXPECT_EQ("rewritten", row["outcome"]) << row;
    EXPECT_GT(row["old_fpr"], 0.3) << row;
    EXPECT_LT(row["new_fpr"], 0.01) << row;
  }
  const Json totals = run.Rows().back();
  EXPECT_EQ(2u, totals["files_rewritten"]);
  EXPECT_EQ(kKeys - 1, totals["samples"]);
  EXPECT_NE(before, Files("default"));
  // The application learns of it, and the statistics have it, but not the
  // trial.
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ASSERT_EQ(2u, reports_.size());
    EXPECT_OK(reports_[1].first);
    EXPECT_EQ(2u, reports_[1].second.files_rewritten);
  }
  const Json refresh = Ask({"statistics", "--json"}).Rows().at(0)["refresh"];
  EXPECT_EQ(1u, refresh["runs"]);
  EXPECT_EQ(0u, refresh["failures"]);
  EXPECT_EQ(2u, refresh["files_rewritten"]);
  EXPECT_EQ(totals["bytes_rewritten"], refresh["bytes_rewritten"]);
  EXPECT_EQ(totals["bytes_read"], refresh["bytes_read"]);
  EXPECT_GT(refresh["last_end_unix_time"], 0u);
  EXPECT_EQ(false, refresh["running"]);
  // All column families: those without a FilterRefresher are left out.
  const ToolRun all = Ask({"refresh"});
  EXPECT_EQ(kFine, all.code) << all.err;
  EXPECT_TRUE(Has(all.out, "0 of 2 files rewritten")) << all.out;
  EXPECT_TRUE(Has(all.err, "left out: column family surf")) << all.err;
  Ask({"refresh", "--limit=" + std::string(30000, '\xff')})
      .ExpectRefused({"shorter keys"});
  Ask({"refresh", "--samples=" + path_ + ".samples"})
      .ExpectRefused({"--samples", "its own samples"});
  EndServing();
  ExpectNoSocket();
  ExpectAllKeys(0);
}

// The operator can end a refresh, and gets its result.
TEST_F(LiveTest, RefreshThatIsInterrupted) {
  FillForOthers();
  std::atomic<bool> began{false};
  Serve(1, Slow(&began));
  std::thread asking([&began] {
    while (!began) Env::Default()->SleepForMicroseconds(1000);
    kill(getpid(), SIGTERM);
  });
  const ToolRun run = Ask({"refresh", "--column_family=default"});
  asking.join();
  EXPECT_EQ(kCouldNot, run.code);
  EXPECT_TRUE(Has(run.out, "not reached")) << run.out;
  EXPECT_TRUE(Has(run.err, "interrupted")) << run.err;
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
  ExpectNoSocket();
}

// The DB is closed while a refresh runs: the operator gets its result.
TEST_F(LiveTest, RefresherThatEnds) {
  FillForOthers();
  std::atomic<bool> began{false};
  Serve(1, Slow(&began));
  std::thread ending([this, &began] {
    while (!began) Env::Default()->SleepForMicroseconds(1000);
    refreshers_.clear();
  });
  const ToolRun run = Ask({"refresh", "--column_family=default"});
  ending.join();
  EXPECT_EQ(kCouldNot, run.code);
  EXPECT_TRUE(Has(run.out, "not reached")) << run.out;
  EXPECT_TRUE(Has(run.err,
                  "the process that has the DB open has ended the "
                  "refresh, most likely since it closes the DB"))
      << run.err;
  Close();
  ExpectNoSocket();
}

TEST_F(LiveTest, SavesSamples) {
  Fill();
  Serve(/*families=*/2);
  // Empty seeks, of which one in a hundred is a sample.
  for (int i = 0; i < 1000; i++) {
    const std::string lo = KeyOf(i, 0x41);
    const std::string hi = KeyOf(i, 0x4e);
    const Slice bound = hi;
    ReadOptions read;
    read.iterate_upper_bound = &bound;
    const std::unique_ptr<Iterator> it(db_->NewIterator(read, handles_[0]));
    it->Seek(lo);
    EXPECT_FALSE(it->Valid());
  }
  const std::string file = path_ + ".samples";
  EXPECT_TRUE(options_.env->FileExists(file).IsNotFound());
  const ToolRun run = Ask({"samples", "save"});
  EXPECT_EQ(kFine, run.code) << run.err;
  EXPECT_TRUE(Has(run.out, file)) << run.out;
  EXPECT_FALSE(Has(run.out, "surf")) << run.out;
  EXPECT_OK(options_.env->FileExists(file));
  Ask({"samples", "save", "--column_family=surf"})
      .ExpectRefused({"surf", "no samples_file"});
  RunTool({"samples", "save"}).ExpectRefused({"--db=DIR"});
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
  AsProteanFilterPolicy(
      options.table_factory->GetOptions<BlockBasedTableOptions>()
          ->filter_policy.get())
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
  EXPECT_TRUE(Has(RunTool({"samples", "--help"}).out, "adds its new samples"));
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
  class Checkpoint* made = nullptr;
  ASSERT_OK(Checkpoint::Create(db_.get(), &made));
  const std::unique_ptr<class Checkpoint> checkpoint(made);
  ASSERT_OK(checkpoint->CreateCheckpoint(copy));
  BackupEngine* opened = nullptr;
  ASSERT_OK(BackupEngine::Open(BackupEngineOptions(backup), env, &opened));
  std::unique_ptr<BackupEngine> engine(opened);
  ASSERT_OK(engine->CreateNewBackup(db_.get()));
  ASSERT_OK(engine->RestoreDBFromLatestBackup(restored, restored));
  engine.reset();
  for (const std::string& folder : {copy, restored}) {
    EXPECT_TRUE(env->FileExists(folder + "/protean.sock").IsNotFound());
  }
  EXPECT_EQ(kFine, Ask({"statistics"}).code);
  EndServing();
  for (const std::string& folder : {copy, restored, follower_path}) {
    EXPECT_OK(
        DestroyDB(folder, Options(options_, families_[0].options), families_));
  }
  EXPECT_OK(DestroyDir(env, backup));
}

}  // namespace ROCKSDB_NAMESPACE::protean
