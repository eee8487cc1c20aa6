// SPDX-License-Identifier: Apache-2.0

//  The socket of FilterRefreshers: who is answered, and what; and that nothing
//  is there unless it was asked for. And processes that exit with a DB open.

#include "plugin/request_server.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "plugin/refresh_filters.h"
#include "tests/protean_db.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// ---- Exit ----

// Holds up the end of the process, once told to, when all else has been
// destroyed: what is constructed first is destroyed last.
struct LastAtExit {
  ~LastAtExit() {
    if (waits) std::this_thread::sleep_for(std::chrono::milliseconds(300));
  }
  bool waits = false;
};
[[gnu::init_priority(101)]] LastAtExit last_at_exit;

// Ends the process while tables are being built, with code 0 if the DB works.
[[noreturn]] void ExitInTheMiddle(const std::string& policy) {
  Options options;
  options.create_if_missing = true;
  options.write_buffer_size = 32 << 10;
  options.target_file_size_base = 32 << 10;
  options.max_bytes_for_level_base = 128 << 10;
  options.level0_file_num_compaction_trigger = 2;
  options.max_background_jobs = 4;
  if (!AddOptions(ProteanTableText(policy), &options).ok()) exit(1);
  std::unique_ptr<DB> opened;
  if (!OpenDB(&opened, options, test::PerThreadDBPath("exit")).ok()) exit(2);
  DB* const db = opened.release();
  std::atomic<bool> failed{false};
  std::atomic<uint64_t> written{0};
  std::thread([db, &failed, &written] {
    Random random(301);
    for (;;) {
      const std::string key = random.HumanReadableString(20);
      const Status s = db->Put(WriteOptions(), key, std::string(50, 'v'));
      if (!s.ok()) failed = true;
      written++;
      std::string value;
      db->Get(ReadOptions(), key + "x", &value).PermitUncheckedError();
    }
  }).detach();
  while (written < 20000 && !failed) std::this_thread::yield();
  if (failed) exit(3);
  last_at_exit.waits = true;
  exit(0);
}

// googletest runs tests of this name first: a process that is forked from one
// that has had a DB open lacks the threads of RocksDB.
class ExitDeathTest : public testing::TestWithParam<const char*> {};

TEST_P(ExitDeathTest, InTheMiddleOfCompactions) {
  EXPECT_EXIT(ExitInTheMiddle(GetParam()), testing::ExitedWithCode(0), "");
}

INSTANTIATE_TEST_SUITE_P(
    Policies, ExitDeathTest,
    testing::Values("proteus:12", "surf:4:4",
                    "{id=protean.Proteus;filter_budget_bytes=64K}",
                    "levels:surf:0:8,proteus:12", "bloomfilter:10"));

// ---- The socket ----

constexpr uint64_t kNoDeadline = ~uint64_t{0};

// A socket that is bound to a path, or connected to it. -1 if that fails.
int SocketAt(const std::string& path, decltype(&connect) join) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  memcpy(address.sun_path, path.data(), path.size());
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  if (join(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) ==
      0) {
    return fd;
  }
  close(fd);
  return -1;
}

// A client that has sent some bytes. -1 if it cannot connect.
int Send(const std::string& path, const std::string& bytes) {
  const int fd = SocketAt(path, connect);
  if (fd >= 0) send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  return fd;
}

std::string ReadAll(int fd) {
  std::string text;
  char bytes[4096];
  for (ssize_t size; (size = recv(fd, bytes, sizeof(bytes), 0)) > 0;) {
    text.append(bytes, static_cast<size_t>(size));
  }
  close(fd);
  return text;
}

std::string Ask(const std::string& path, const std::string& bytes) {
  const int fd = Send(path, bytes);
  EXPECT_GE(fd, 0) << path;
  return ReadAll(fd);
}
std::string Get(const std::string& path, const std::string& request) {
  return Ask(path, request + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
}

// Checks that an answer has this code of HTTP, and these words.
void ExpectAnswer(const std::string& answer, int code, const Keys& words = {}) {
  EXPECT_EQ("HTTP/1.1 " + std::to_string(code) + " ", answer.substr(0, 13));
  ExpectHas(answer, words);
}

// The number of threads of this process.
size_t Threads() {
  std::vector<std::string> names;
  EXPECT_OK(Env::Default()->GetChildren("/proc/self/task", &names));
  return names.size();
}

// A DB with two column families of a few files.
class ServedDB : public OwnDB {
 public:
  explicit ServedDB(const std::string& name = "db")
      : OwnDB(UnthrottledFiles(), name) {
    SetPolicy("surf:0:0");
    Open();
    other_ = NewFamily("two words");
    for (ColumnFamilyHandle* family : {db_->DefaultColumnFamily(), other_}) {
      for (int file = 0; file < 3; file++) {
        for (int i = 0; i < 1000; i++) {
          EXPECT_OK(db_->Put(WriteOptions(), family, std::to_string(i), ""));
        }
        EXPECT_OK(db_->Flush(FlushOptions(), family));
      }
    }
  }
  ~ServedDB() {
    refreshers_.clear();
    Destroy();
    EXPECT_TRUE(Env::Default()->FileExists(path_).IsNotFound());
  }

  // Returns the status of the socket.
  Status Serve(const std::string& socket, const RefreshOptions& options = {},
               ColumnFamilyHandle* family = nullptr) {
    refreshers_.push_back(std::make_unique<FilterRefresher>(
        db_.get(), family == nullptr ? db_->DefaultColumnFamily() : family,
        options, kNoDeadline,
        [this](const Status& s, const RefreshResult&) {
          if (s.IsIncomplete()) ended_.Set();
        },
        socket));
    return refreshers_.back()->socket_status();
  }
  void EndServing() { refreshers_.clear(); }

  // Asks at the DB's own socket.
  void ExpectAnswer(const std::string& request, int code,
                    const Keys& words = {}) {
    SCOPED_TRACE(request);
    protean::ExpectAnswer(Get(socket_, request), code, words);
  }

  const std::string socket_ = path_ + "/protean.sock";
  ColumnFamilyHandle* other_ = nullptr;
  Event ended_;  // a refresh, which was told to
  std::vector<std::unique_ptr<FilterRefresher>> refreshers_;
};

// A refresh that goes on until it is ended, and says when it begins.
RefreshOptions Slow(Event* began) {
  RefreshOptions slow;
  slow.bytes_per_second = 10;
  slow.progress = [began](const RefreshProgress&) {
    began->Set();
    return true;
  };
  return slow;
}

}  // namespace

TEST(RequestServerTest, NothingUnlessAskedFor) {
  ServedDB db;
  const size_t before = Threads();
  EXPECT_OK(db.Serve(""));
  EXPECT_EQ(before + 1, Threads());  // the one that refreshes
  EXPECT_TRUE(Env::Default()->FileExists(db.socket_).IsNotFound());
  EXPECT_EQ(-1, Send(db.socket_, ""));
  db.EndServing();
  // With a socket, one more, for all column families.
  EXPECT_OK(db.Serve(db.socket_));
  EXPECT_OK(db.Serve(db.socket_, {}, db.other_));
  EXPECT_EQ(before + 3, Threads());
  db.EndServing();
  // The kernel lists a thread for a moment after it has been joined.
  for (int i = 0; i < 1000 && Threads() > before; i++) {
    Env::Default()->SleepForMicroseconds(10000);
  }
  EXPECT_EQ(before, Threads());
  EXPECT_TRUE(Env::Default()->FileExists(db.socket_).IsNotFound());
}

TEST(RequestServerTest, AnswersTheOwnerAlone) {
  ServedDB db;
  const mode_t mask = umask(0);
  EXPECT_OK(db.Serve(db.socket_));
  umask(mask);
  struct stat file;
  ASSERT_EQ(0, stat(db.socket_.c_str(), &file));
  EXPECT_EQ(S_IFSOCK | S_IRUSR | S_IWUSR, file.st_mode);
  EXPECT_EQ(geteuid(), file.st_uid);
  db.ExpectAnswer("GET /metrics", 200,
                  {"version=0.0.4", "# TYPE protean_build_info gauge",
                   "column_family=\"default\""});
  db.ExpectAnswer("GET /statistics", 200, {"\"live_files\": 3"});
  db.ExpectAnswer("GET /statistics?format=text", 200,
                  {"column family default of "});
  db.ExpectAnswer("POST /samples", 409, {"no samples_file"});
  // HTTP/1.0, other ends of lines, and a body.
  ExpectAnswer(Ask(db.socket_, "GET /metrics HTTP/1.0\n\n"), 200);
  ExpectAnswer(Ask(db.socket_,
                   "POST /refresh?dry_run=1 HTTP/1.1\r\nContent-Length: "
                   "4\r\n\r\nbody"),
               200, {"{\"error\": \"\", \"result\": {"});
  EXPECT_EQ(1u, db.log_->Lines({"are answered at " + db.socket_}).size());
}

TEST(RequestServerTest, ColumnFamilies) {
  ServedDB db;
  EXPECT_OK(db.Serve(db.socket_));
  const std::string of_other = "column_family=two%20words";
  db.ExpectAnswer("GET /statistics?" + of_other, 404,
                  {"column family two words is not allowed", ": default"});
  EXPECT_OK(db.Serve(db.socket_, {}, db.other_));
  db.ExpectAnswer("GET /metrics", 200,
                  {"column_family=\"default\"", "column_family=\"two words\""});
  const std::string one = Get(db.socket_, "GET /statistics?" + of_other);
  ExpectAnswer(one, 200, {"\"two words\""});
  EXPECT_EQ(std::string::npos, one.find("\"default\"")) << one;
  db.ExpectAnswer("POST /refresh?dry_run=true", 400,
                  {"column_family", "default, two words"});
  db.ExpectAnswer("POST /refresh?dry_run=true&" + of_other, 200,
                  {"\"outcome\""});
}

TEST(RequestServerTest, EachDBHasItsSocket) {
  ServedDB first("first");
  ServedDB second("second");
  EXPECT_OK(first.Serve(first.socket_));
  const Status s = second.Serve(first.socket_);
  EXPECT_TRUE(s.IsBusy()) << s.ToString();
  ExpectHas(s.ToString(), {"a path of its own"});
  EXPECT_EQ(1u, second.log_->Lines({"not answered", first.socket_}).size());
  EXPECT_OK(second.Serve(second.socket_));
  first.ExpectAnswer("GET /metrics", 200, {"first"});
  second.ExpectAnswer("GET /metrics", 200, {"second"});
  first.EndServing();
  second.ExpectAnswer("GET /metrics", 200);
}

TEST(RequestServerTest, WhatStandsInItsPlace) {
  ServedDB db;
  // A socket that a process has left behind.
  EXPECT_EQ(0, close(SocketAt(db.socket_, bind)));
  EXPECT_EQ(0, access(db.socket_.c_str(), F_OK));
  EXPECT_OK(db.Serve(db.socket_));
  db.ExpectAnswer("GET /metrics", 200);
  // One that is not this server's is left alone.
  ASSERT_EQ(0, unlink(db.socket_.c_str()));
  ASSERT_OK(WriteStringToFile(Env::Default(), "data", db.socket_));
  db.EndServing();
  const Status s = db.Serve(db.socket_);
  EXPECT_TRUE(s.IsIOError());
  ExpectHas(s.ToString(), {"no socket"});
  EXPECT_EQ("data", ContentsOf(db.socket_));
  EXPECT_OK(Env::Default()->DeleteFile(db.socket_));
  // A process that accepts nothing is not waited for.
  const int hangs = SocketAt(db.socket_, bind);
  ASSERT_EQ(0, listen(hangs, /*backlog=*/0));
  const int waits = SocketAt(db.socket_, connect);
  EXPECT_GE(waits, 0);
  EXPECT_TRUE(db.Serve(db.socket_).IsBusy());
  close(waits);
  close(hangs);
  ASSERT_EQ(0, unlink(db.socket_.c_str()));
  // A link is not followed.
  const std::string target = db.socket_ + ".target";
  ASSERT_EQ(0, symlink(target.c_str(), db.socket_.c_str()));
  EXPECT_TRUE(db.Serve(db.socket_).IsIOError());
  EXPECT_TRUE(Env::Default()->FileExists(target).IsNotFound());
  ASSERT_EQ(0, unlink(db.socket_.c_str()));
  EXPECT_TRUE(db.Serve(db.socket_ + "/none/protean.sock").IsIOError());
}

TEST(RequestServerTest, LongPaths) {
  ServedDB db;
  std::string path = db.socket_;
  path.resize(107, 'x');
  EXPECT_OK(db.Serve(path));
  ExpectAnswer(Get(path, "GET /metrics"), 200);
  db.EndServing();
  ExpectRefused(
      db.Serve(path + "x"),
      {"108 bytes is not allowed; allowed: paths of up to 107 bytes"});
  EXPECT_EQ(1u, db.log_->Lines({"not answered", "107 bytes"}).size());
}

TEST(RequestServerTest, OtherRequestsAreRefused) {
  ServedDB db;
  EXPECT_OK(db.Serve(db.socket_));
  db.ExpectAnswer("GET /", 404,
                  {"GET / is not allowed; allowed: GET /metrics"});
  db.ExpectAnswer("POST /shutdown", 404, {"POST /samples"});
  db.ExpectAnswer("GET /refresh", 405, {"POST /refresh"});
  db.ExpectAnswer("GET /metrics?format=text", 400,
                  {"format is not allowed", "allowed: column_family"});
  db.ExpectAnswer("GET /statistics?format=xml", 400,
                  {"format=xml is not allowed; allowed: json, text"});
  for (const std::string parameter :
       {"dry_run=maybe", "dry_run", "levels=-1", "levels=1000", "max_bytes=x",
        "max_bytes=-1", "max_bytes=1T5", "max_bytes=1KM",
        "max_bytes=99999999999999999G", "min_gain=-1", "min_gain=x", "start=%2",
        "start=%2G", "start=%", "column_family="}) {
    db.ExpectAnswer("POST /refresh?" + parameter, 400,
                    {parameter + " is not allowed; allowed: "});
  }
  db.ExpectAnswer("POST /refresh?threads=2", 400,
                  {"threads is not allowed; allowed: dry_run, ",
                   "payback_seconds, column_family, without_samples"});
  db.ExpectAnswer("POST /refresh?all_files=0", 409,
                  {"no samples", "allowed: without_samples"});
  db.ExpectAnswer(
      "POST /refresh?dry_run=true&all_files=true&levels=0,1&start=%00&"
      "limit=5%2c&max_bytes=20G&bytes_per_second=50M&min_gain=0.5&"
      "without_samples=1",
      200, {"{\"error\": \"\", \"result\": {\"samples\": "});
}

TEST(RequestServerTest, Garbage) {
  ServedDB db;
  EXPECT_OK(db.Serve(db.socket_));
  for (const std::string& bytes :
       {std::string("\r\n\r\n"), std::string("GET\n\n"),
        std::string("GET /metrics\n\n"), std::string("GET /metrics FTP/1\n\n"),
        std::string(100, '\0') + "\n\n", std::string("\xff \xff \xff\n\n")}) {
    ExpectAnswer(Ask(db.socket_, bytes), 400, {"is not allowed"});
  }
  ExpectAnswer(Ask(db.socket_, std::string(100'000, 'x')), 431, {"8 KiB"});
  ExpectAnswer(Ask(db.socket_, "GET /metrics HTTP/1.1\r\nX: " +
                                   std::string(7000, 'x') + "\r\n\r\n"),
               200);
  // Each part of a request, of a client that goes, perhaps before the answer.
  const std::string whole = "GET /statistics HTTP/1.1\r\nHost: x\r\n\r\n";
  for (size_t size = 0; size <= whole.size(); size++) {
    EXPECT_EQ(0, close(Send(db.socket_, whole.substr(0, size))));
  }
  // Clients that say nothing are given up; the others wait for that.
  const int silent = Send(db.socket_, "");
  const int slow = Send(db.socket_, "GET");
  db.ExpectAnswer("GET /metrics", 200);
  ExpectAnswer(ReadAll(silent), 408, {"5 seconds"});
  ExpectAnswer(ReadAll(slow), 408, {"too slowly"});
}

// The one who asked goes: the refresh ends. Others are answered meanwhile. The
// command, which ends its sending only, gets the result (long_commands_test).
TEST(RequestServerTest, RefreshEndsWithItsConnection) {
  Event began;
  ServedDB db;
  EXPECT_OK(db.Serve(db.socket_, Slow(&began)));
  const std::string request =
      "POST /refresh?without_samples=1&all_files=1 HTTP/1.1\r\n\r\n";
  const int fd = Send(db.socket_, request);
  began.Wait();
  char bytes[512];
  const ssize_t size = recv(fd, bytes, sizeof(bytes), 0);
  ASSERT_GT(size, 0);
  ExpectAnswer(std::string(bytes, static_cast<size_t>(size)), 200,
               {"application/x-ndjson", "{\"progress\": {\"files\": 3"});
  ExpectAnswer(Ask(db.socket_, request), 409, {"is running"});
  db.ExpectAnswer("GET /statistics", 200, {"\"running\": true"});
  EXPECT_FALSE(db.ended_.IsSet());
  close(fd);
  db.ended_.Wait();
}

// Clients come and go while column families join and leave.
TEST(RequestServerTest, Concurrency) {
  ServedDB db;
  std::atomic<bool> over{false};
  std::vector<std::thread> clients;
  for (int i = 0; i < 3; i++) {
    clients.emplace_back([&] {
      const std::string request = "GET /metrics HTTP/1.1\r\n\r\n";
      while (!over) {
        const int fd = Send(db.socket_, request);
        if (fd >= 0) ReadAll(fd);
      }
    });
  }
  for (int i = 0; i < 50; i++) {
    EXPECT_OK(db.Serve(db.socket_));
    EXPECT_OK(db.Serve(db.socket_, {}, db.other_));
    db.EndServing();
  }
  over = true;
  for (std::thread& client : clients) client.join();
}

// ---- Limits ----

static RefreshOptions Parsed(const std::string& text) {
  RefreshOptions options;
  EXPECT_OK(options.Parse(text)) << text;
  return options;
}

// A refresh gets the stricter one of two limits, and the files in both sets.
TEST(RequestLimitsTest, TheStricterLimitCounts) {
  struct Case {
    const char* own;    // options that the application has set
    const char* asked;  // and those of the request
    const char* limited;
    const Comparator* order = BytewiseComparator();
  };
  constexpr char kAsked[] =
      "max_parallel_rewrites=7;payback_seconds=6;max_bytes=10;"
      "bytes_per_second=100;min_gain=0.01;dry_run=true;all_files=true";
  for (const Case& c : std::initializer_list<Case>{
           {"", "", ""},
           {"max_parallel_rewrites=3;payback_seconds=5", kAsked,
            "max_parallel_rewrites=3;payback_seconds=5;max_bytes=10;"
            "bytes_per_second=100;min_gain=0.02;dry_run=true;all_files=true"},
           {"max_bytes=9;bytes_per_second=99", kAsked,
            "max_parallel_rewrites=1;payback_seconds=6;max_bytes=9;"
            "bytes_per_second=99;min_gain=0.02;dry_run=true;all_files=true"},
           {"bytes_per_second=99", "", "bytes_per_second=99"},
           // Levels.
           {"", "levels=5,6", "levels=5,6"},
           {"levels=0,6", "levels=5,6", "levels=6"},
           {"levels=0,6", "", "levels=0,6"},
           // Keys.
           {"start=b;limit=y", "", "start=b;limit=y"},
           {"start=b;limit=y", "start=0x;limit=z", "start=b;limit=y"},
           {"start=b;limit=y", "start=c;limit=d", "start=c;limit=d"},
           {"", "start=c;limit=d", "start=c;limit=d"},
           // "c" comes before "b" in this order.
           {"start=c;limit=b", "start=d", "start=c;limit=b",
            ReverseBytewiseComparator()}}) {
    SCOPED_TRACE(std::string(c.own) + " and " + c.asked);
    RefreshOptions own = Parsed(c.own);
    RefreshOptions limited;
    own.progress = [](const RefreshProgress&) { return true; };
    EXPECT_OK(LimitRefresh(own, Parsed(c.asked), *c.order, &limited));
    EXPECT_EQ(Parsed(c.limited).ToString(), limited.ToString());
    EXPECT_FALSE(limited.progress);
  }
}

TEST(RequestLimitsTest, NothingInBoth) {
  for (const auto& [own, asked, words] :
       {std::tuple("levels=0,6", "levels=1,2",
                   "the application allows levels 0,6"),
        std::tuple("limit=b", "start=b", "none that the application allows"),
        std::tuple("limit=b", "start=a;limit=a", "the range has no keys")}) {
    RefreshOptions limited;
    ExpectRefused(LimitRefresh(Parsed(own), Parsed(asked),
                               *BytewiseComparator(), &limited),
                  {words});
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
