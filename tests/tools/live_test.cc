// SPDX-License-Identifier: Apache-2.0

//  --live: what commands ask of a process that has the DB open. That process is
//  the test's own.

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

#include "file/file_util.h"
#include "filter_policy/samples/query_file.h"
#include "plugin/live_protocol.h"
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
          }));
    }
  }
  void EndServing() {
    refreshers_.clear();
    Close();
  }

  // A process has ten minutes to take the request, for busy machines, unless
  // the arguments say otherwise.
  ToolRun Ask(std::vector<std::string> arguments) {
    if (std::none_of(arguments.begin(), arguments.end(),
                     [](const std::string& argument) {
                       return argument.rfind("--timeout=", 0) == 0;
                     })) {
      arguments.push_back("--timeout=600");
    }
    arguments.insert(arguments.end(), {"--live", "--db=" + path_});
    return RunTool(arguments);
  }
  // The files of requests and answers in the DB's folder.
  std::vector<std::string> LiveFiles(const std::string& folder) const {
    std::vector<std::string> names;
    std::vector<std::string> found;
    EXPECT_OK(options_.env->GetChildren(folder, &names));
    for (const std::string& name : names) {
      if (name.compare(0, 8, "PROTEAN_") == 0) found.push_back(name);
    }
    return found;
  }
  void ExpectNoLiveFiles() const {
    EXPECT_EQ(std::vector<std::string>(), LiveFiles(path_));
  }
  // Waits until a file is there, or no longer there: ten minutes at most, for
  // busy machines.
  void WaitFor(const std::string& file, bool there) const {
    constexpr int kLooks = 60'000;
    for (int i = 0; i < kLooks; i++) {
      if (options_.env->FileExists(file).ok() == there) return;
      options_.env->SleepForMicroseconds(10 * 1000);
    }
    ADD_FAILURE() << file;
  }
  // The answer to a request that is written by hand.
  LiveAnswer AnswerTo(const std::string& id, const std::string& request) {
    EXPECT_OK(WriteStringToFile(options_.env, request, request_file_));
    const std::string file = LiveAnswerFile(path_, id);
    WaitFor(file, true);
    std::string text;
    LiveAnswer answer;
    EXPECT_OK(ReadFileToString(options_.env, file, &text));
    EXPECT_OK(LiveAnswer::Parse(text, &answer)) << text;
    struct stat found;
    EXPECT_EQ(0, stat(file.c_str(), &found));
    EXPECT_EQ(S_IRUSR | S_IWUSR, found.st_mode & 0777);
    EXPECT_OK(options_.env->DeleteFile(file));
    return answer;
  }
  static LiveRequest Request(const std::string& id, int64_t age_seconds = 0) {
    LiveRequest request;
    request.id = id;
    EXPECT_OK(Env::Default()->GetCurrentTime(&request.written_seconds));
    request.written_seconds -= age_seconds;
    return request;
  }

  const std::string request_file_ = LiveRequestFile(path_);
  std::mutex mutex_;
  std::vector<std::pair<Status, RefreshResult>> reports_;
  std::vector<std::unique_ptr<FilterRefresher>> refreshers_;
};

bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_F(LiveTest, Statistics) {
  Fill();
  Serve(/*families=*/2);
  const ToolRun text = Ask({"statistics"});
  EXPECT_EQ(kFine, text.code) << text.err;
  EXPECT_TRUE(Has(text.out, "column family default of " + path_)) << text.out;
  EXPECT_TRUE(Has(text.out, "column family surf of " + path_)) << text.out;
  const ToolRun json = Ask({"statistics", "--json", "--column_family=surf"});
  EXPECT_EQ(kFine, json.code) << json.err;
  ASSERT_EQ(1u, json.Rows().size());
  EXPECT_EQ("surf", json.Rows()[0]["column_family"]);
  EXPECT_EQ(2u, json.Rows()[0]["files"].size());
  const ToolRun metrics = Ask({"statistics", "--prometheus"});
  EXPECT_TRUE(Has(metrics.out, "# TYPE protean_build_info gauge"))
      << metrics.out;
  Ask({"statistics", "--column_family=bloom"})
      .ExpectRefused({"bloom has no FilterRefresher", "default, surf"});
  Ask({"statistics", "--json", "--prometheus"}).ExpectRefused({"not both"});
  // --live says nothing more here.
  EXPECT_EQ(kFine, RunTool({"statistics", "--db=" + path_}).code);
  EndServing();
  ExpectNoLiveFiles();
}

TEST_F(LiveTest, NobodyAnswers) {
  Fill();
  // No process; then one that is told not to answer.
  for (const bool open : {false, true}) {
    if (open) Open();
    std::unique_ptr<FilterRefresher> deaf;
    if (open) {
      deaf = std::make_unique<FilterRefresher>(
          db_.get(), handles_[0], RefreshOptions(), kNever, nullptr,
          /*answers_requests=*/false);
    }
    Ask({"refresh", "--timeout=2", "--without_samples"})
        .ExpectRefused({"no process with a FilterRefresher has", "2 s",
                        "withdrawn",
                        "without --live, protean refresh works on a DB"});
    ExpectNoLiveFiles();
  }
  Close();
}

// A request can be read by its owner alone.
TEST_F(LiveTest, ModeOfRequests) {
  Fill();
  std::thread asking([this] {
    Ask({"statistics"}).ExpectRefused({"interrupted", "withdrawn"});
  });
  WaitFor(request_file_, true);
  struct stat found;
  EXPECT_EQ(0, stat(request_file_.c_str(), &found));
  EXPECT_EQ(S_IRUSR | S_IWUSR, found.st_mode & 0777);
  EXPECT_EQ(geteuid(), found.st_uid);
  kill(getpid(), SIGTERM);
  asking.join();
  ExpectNoLiveFiles();
  // A request waits for its turn, but not for one that is forgotten.
  ASSERT_OK(WriteStringToFile(options_.env, "", request_file_));
  Ask({"statistics", "--timeout=0"}).ExpectRefused({"another request"});
  const struct timespec long_ago[2] = {};
  ASSERT_EQ(0, utimensat(AT_FDCWD, request_file_.c_str(), long_ago, 0));
  const ToolRun statistics = Ask({"statistics", "--timeout=0"});
  statistics.ExpectRefused({"withdrawn", "protean inspect"});
  EXPECT_FALSE(Has(statistics.err, "protean refresh")) << statistics.err;
  ExpectNoLiveFiles();
}

// Root gives a request to the user whose files the DB has.
TEST_F(LiveTest, RequestOfRoot) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  Fill();
  constexpr uid_t kUser = 65534;
  ASSERT_EQ(0, chown(CurrentFileName(path_).c_str(), kUser, kUser));
  std::thread asking([this] {
    Ask({"statistics"}).ExpectRefused({"interrupted", "withdrawn"});
  });
  WaitFor(request_file_, true);
  struct stat found = {};
  // The file is there before it is given away.
  constexpr int kLooks = 60'000;
  for (int i = 0; i < kLooks && found.st_uid != kUser; i++) {
    options_.env->SleepForMicroseconds(10 * 1000);
    EXPECT_EQ(0, stat(request_file_.c_str(), &found));
  }
  EXPECT_EQ(kUser, found.st_uid);
  EXPECT_EQ(S_IRUSR | S_IWUSR, found.st_mode & 0777);
  kill(getpid(), SIGTERM);
  asking.join();
  ExpectNoLiveFiles();
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
  EXPECT_GT(refresh["last_end_seconds"], 0u);
  EXPECT_EQ(false, refresh["running"]);
  // All column families: those without a FilterRefresher are left out.
  const ToolRun all = Ask({"refresh"});
  EXPECT_EQ(kFine, all.code) << all.err;
  EXPECT_TRUE(Has(all.out, "0 of 2 files rewritten")) << all.out;
  EXPECT_TRUE(Has(all.err, "left out: column family surf")) << all.err;
  Ask({"refresh", "--samples=" + path_ + ".samples"})
      .ExpectRefused({"--samples", "its own samples"});
  EndServing();
  ExpectNoLiveFiles();
  ExpectAllKeys(0);
}

TEST_F(LiveTest, RefreshWithoutSamplesIsRefused) {
  Fill();
  Serve(/*families=*/2);
  for (const char* family : {"default", "surf"}) {
    const std::string flag = std::string("--column_family=") + family;
    Ask({"refresh", flag})
        .ExpectRefused({"no samples", "--without_samples", "--dry_run"});
    EXPECT_EQ(kFine, Ask({"refresh", flag, "--dry_run"}).code);
    EXPECT_EQ(kFine, Ask({"refresh", flag, "--without_samples"}).code);
  }
  EndServing();
}

// The application's limits hold for an operator, and an operator's are added.
TEST_F(LiveTest, Limits) {
  FillForOthers();
  const auto outcomes = [&] {
    std::set<std::string> found;
    const ToolRun run = Ask({"refresh", "--json", "--column_family=default",
                             "--max_bytes=1G", "--min_gain=0"});
    for (const Json& row : run.Rows()) {
      if (row.contains("file")) found.insert(row["outcome"]);
    }
    return found;
  };
  RefreshOptions limited;
  limited.max_bytes = 1;
  Serve(1, limited);
  EXPECT_EQ(std::set<std::string>{"limit reached"}, outcomes());
  EndServing();
  limited = RefreshOptions();
  limited.min_gain = 1.5;
  Serve(1, limited);
  EXPECT_EQ(std::set<std::string>{"too little gain"}, outcomes());
  EndServing();
  Serve();
  const ToolRun run =
      Ask({"refresh", "--json", "--column_family=default", "--max_bytes=1"});
  EXPECT_EQ("limit reached", run.Rows().at(0)["outcome"]);
  EndServing();
}

// The operator chooses among the files that the application allows.
TEST_F(LiveTest, ChosenFiles) {
  FillForOthers();
  const auto outcomes = [&](std::vector<std::string> flags) {
    flags.insert(flags.begin(),
                 {"refresh", "--json", "--dry_run", "--column_family=default"});
    std::map<std::string, int> found;
    for (const Json& row : Ask(flags).Rows()) {
      if (row.contains("file")) found[row["outcome"]]++;
    }
    return found;
  };
  const std::map<std::string, int> both = {{"would be rewritten", 2}};
  const std::map<std::string, int> one = {{"not selected", 1},
                                          {"would be rewritten", 1}};
  Serve();
  EXPECT_EQ(both, outcomes({"--all"}));
  EXPECT_EQ(one, outcomes({"--levels=3"}));
  // Only level 0 has a key below that.
  EXPECT_EQ(one, outcomes({"--limit=0x" + Slice(KeyOf(1)).ToString(true)}));
  EndServing();
  RefreshOptions own;
  own.levels = {0};
  Serve(1, own);
  EXPECT_EQ(one, outcomes({"--levels=0,3"}));
  Ask({"refresh", "--column_family=default", "--levels=3"})
      .ExpectRefused({"levels 3", "the application allows levels 0"});
  EndServing();
}

// While a refresh runs, the process answers, and the operator can end it.
TEST_F(LiveTest, RefreshThatIsInterrupted) {
  FillForOthers();
  RefreshOptions slow;
  slow.bytes_per_second = 1000;
  std::atomic<bool> began{false};
  slow.progress = [&began](const RefreshProgress& progress) {
    began = progress.files_decided < progress.files;
    return true;
  };
  Serve(1, slow);
  std::thread asking([this, &began] {
    while (!began) Env::Default()->SleepForMicroseconds(1000);
    // Requests by hand, since one command at a time catches signals.
    LiveRequest statistics = Request("statistics");
    statistics.format = LiveRequest::Format::kJson;
    const Json refresh = Json::parse(
        AnswerTo("statistics", statistics.ToText()).body)["refresh"];
    EXPECT_EQ(true, refresh["running"]);
    EXPECT_GT(refresh["bytes"], 0u);
    EXPECT_GT(refresh["running_seconds"], 0.0);
    LiveRequest second = Request("second");
    second.kind = LiveRequest::Kind::kRefresh;
    second.column_family = "default";
    const LiveAnswer refused = AnswerTo("second", second.ToText());
    EXPECT_EQ(LiveAnswer::State::kRefused, refused.state);
    EXPECT_TRUE(Has(refused.message, "is running")) << refused.message;
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
  ExpectNoLiveFiles();
}

// The DB is closed while a refresh runs: the operator gets its result.
TEST_F(LiveTest, RefresherThatEnds) {
  FillForOthers();
  RefreshOptions slow;
  slow.bytes_per_second = 1000;
  std::atomic<bool> began{false};
  slow.progress = [&began](const RefreshProgress&) {
    began = true;
    return true;
  };
  Serve(1, slow);
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
  ExpectNoLiveFiles();
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

TEST_F(LiveTest, BadRequestsAreRefused) {
  Fill();
  Serve();
  Env* const env = options_.env;
  // Nothing can be answered, but the files are taken away.
  const std::string large(LiveRequest::kMaxBytes + 1, '\n');
  for (const std::string& request : {std::string(), std::string("nonsense"),
                                     std::string(100, '\0'), large}) {
    ASSERT_OK(WriteStringToFile(env, request, request_file_));
    WaitFor(request_file_, false);
  }
  ExpectNoLiveFiles();
  // An id says where the refusal goes.
  for (const char* addition :
       {"shutdown=1\n", "max_bytes=1\n", "x", "\nbody"}) {
    const std::string request = Request("good").ToText() + addition;
    const LiveAnswer answer = AnswerTo("good", request);
    EXPECT_EQ(LiveAnswer::State::kRefused, answer.state) << request;
    EXPECT_TRUE(Has(answer.message, "malformed")) << answer.message;
  }
  for (const int64_t age : {3600, -3600}) {
    const LiveAnswer answer = AnswerTo("old", Request("old", age).ToText());
    EXPECT_EQ(LiveAnswer::State::kRefused, answer.state);
    EXPECT_TRUE(Has(answer.message, "not written now")) << answer.message;
  }
  LiveRequest stop = Request("stop");
  stop.kind = LiveRequest::Kind::kStop;
  stop.stopped_id = "nothing";
  EXPECT_EQ(LiveAnswer::State::kRefused, AnswerTo("stop", stop.ToText()).state);
  // What is no file blocks no thread, and is left alone.
  ASSERT_EQ(0, mkfifo(request_file_.c_str(), 0600));
  WaitFor(request_file_, false);
  ASSERT_OK(env->CreateDir(request_file_));
  env->SleepForMicroseconds(2500 * 1000);
  ASSERT_OK(env->DeleteDir(request_file_));
  EXPECT_EQ(LiveAnswer::State::kDone,
            AnswerTo("good", Request("good").ToText()).state);
  EndServing();
  ExpectNoLiveFiles();
}

// Others may write to the folder of the DB. What stands in the place of an
// answer is neither followed nor waited for, and a request of root does not
// follow either.
TEST_F(LiveTest, NothingButPlainFilesIsWritten) {
  const auto log = std::make_shared<RecordingLogger>();
  options_.info_log = log;
  Fill();
  Serve();
  Env* const env = options_.env;
  const std::string other = path_ + ".other";
  ASSERT_OK(WriteStringToFile(env, "untouched", other));
  ASSERT_EQ(0, chmod(other.c_str(), 0640));
  const std::string link = LiveAnswerFile(path_, "link");
  ASSERT_EQ(0, symlink(other.c_str(), link.c_str()));
  const std::string pipe = LiveAnswerFile(path_, "pipe");
  ASSERT_EQ(0, mkfifo(pipe.c_str(), 0600));
  for (const std::string id : {"link", "pipe"}) {
    ASSERT_OK(WriteStringToFile(env, Request(id).ToText(), request_file_));
    WaitFor(request_file_, false);
  }
  // Others are answered, with a new file.
  const std::string open_to_all = LiveAnswerFile(path_, "open");
  ASSERT_OK(WriteStringToFile(env, "", open_to_all));
  ASSERT_EQ(0, chmod(open_to_all.c_str(), 0666));
  ASSERT_OK(WriteStringToFile(env, Request("open").ToText(), request_file_));
  WaitFor(request_file_, false);
  EXPECT_EQ(LiveAnswer::State::kDone,
            AnswerTo("good", Request("good").ToText()).state);
  EndServing();
  struct stat found = {};
  ASSERT_EQ(0, stat(open_to_all.c_str(), &found));
  EXPECT_EQ(S_IFREG | S_IRUSR | S_IWUSR, found.st_mode);
  EXPECT_GT(found.st_size, 0);
  for (const std::string& file : {link, pipe}) {
    EXPECT_EQ(1u, log->Lines({"an answer cannot be written", file}).size());
  }

  ASSERT_EQ(0, symlink((path_ + ".none").c_str(), request_file_.c_str()));
  Ask({"statistics", "--timeout=0"}).ExpectRefused({"PROTEAN_REQUEST"});
  EXPECT_FALSE(env->FileExists(path_ + ".none").ok());
  std::string contents;
  ASSERT_OK(ReadFileToString(env, other, &contents));
  EXPECT_EQ("untouched", contents);
  ASSERT_EQ(0, stat(other.c_str(), &found));
  EXPECT_EQ(S_IFREG | mode_t{0640}, found.st_mode);
  for (const std::string& file :
       {link, pipe, open_to_all, request_file_, other}) {
    EXPECT_OK(env->DeleteFile(file));
  }
}

// RocksDB, its copies of a DB, and instances that follow it leave the files
// alone.
TEST_F(LiveTest, RocksDBLeavesTheFilesAlone) {
  Fill();
  Env* const env = options_.env;
  const std::map<std::string, std::string> files = {
      {request_file_, "a request"}, {LiveAnswerFile(path_, "id"), "an answer"}};
  for (const auto& [file, text] : files) {
    ASSERT_OK(WriteStringToFile(env, text, file));
  }
  Open();
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
  Close();
  EXPECT_EQ(std::vector<std::string>(), LiveFiles(copy));
  EXPECT_EQ(std::vector<std::string>(), LiveFiles(restored));
  for (const auto& [file, text] : files) {
    std::string now;
    EXPECT_OK(ReadFileToString(env, file, &now));
    EXPECT_EQ(text, now);
    EXPECT_OK(env->DeleteFile(file));
  }
  for (const std::string& folder : {copy, restored, follower_path}) {
    EXPECT_OK(
        DestroyDB(folder, Options(options_, families_[0].options), families_));
  }
  EXPECT_OK(DestroyDir(env, backup));
}

// The request is written with the Env that the process uses.
TEST_F(LiveTest, EncryptedFiles) {
  Encrypt();
  Fill();
  Serve();
  Ask({"statistics"}).ExpectRefused({"encrypted", "--env_uri"});
  const ToolRun run =
      Ask({"statistics", std::string("--env_uri=") + kEncryptingEnv, "--json"});
  EXPECT_EQ(kFine, run.code) << run.err;
  EXPECT_EQ(1u, run.Rows().size());
  // A request that was not encrypted.
  ASSERT_OK(WriteStringToFile(Env::Default(), Request("plain").ToText(),
                              request_file_));
  env_->SleepForMicroseconds(1500 * 1000);
  Env::Default()->DeleteFile(request_file_).PermitUncheckedError();
  EndServing();
  ExpectNoLiveFiles();
  options_.env = Env::Default();
}

}  // namespace ROCKSDB_NAMESPACE::protean
