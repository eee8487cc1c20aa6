// SPDX-License-Identifier: Apache-2.0

//  The socket of FilterRefreshers: who is answered, and what; and that nothing
//  is there unless it was asked for.

#include "plugin/request_server.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "plugin/protean.h"
#include "table/rocksdb_internals/versions.h"
#include "test_util/testharness.h"
#include "tests/table/twin_db.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr uint64_t kNever = ~uint64_t{0};

// A client of a socket. -1 if it cannot connect.
int ConnectTo(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  memcpy(address.sun_path, path.data(), path.size());
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address),
              sizeof(address)) == 0) {
    return fd;
  }
  close(fd);
  return -1;
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

// The answer to some bytes.
std::string Ask(const std::string& path, const std::string& bytes) {
  const int fd = ConnectTo(path);
  EXPECT_GE(fd, 0) << path;
  send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  return ReadAll(fd);
}
std::string Get(const std::string& path, const std::string& request) {
  return Ask(path, request + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
}

bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Whether an answer has this code of HTTP, and these words.
void ExpectAnswer(const std::string& answer, int code,
                  const std::vector<std::string>& words) {
  EXPECT_EQ(0u, answer.rfind("HTTP/1.1 " + std::to_string(code) + " ", 0))
      << answer;
  for (const std::string& word : words) {
    EXPECT_TRUE(Has(answer, word)) << word << " in " << answer;
  }
}

// The number of threads of this process.
size_t Threads() {
  std::vector<std::string> names;
  EXPECT_OK(Env::Default()->GetChildren("/proc/self/task", &names));
  return names.size();
}

// A DB with two column families of a few files.
class ServedDB {
 public:
  explicit ServedDB(const std::string& name)
      : path_(test::PerThreadDBPath(name)),
        log_(std::make_shared<RecordingLogger>()) {
    options_.create_if_missing = true;
    options_.disable_auto_compactions = true;
    options_.info_log = log_;
    ConfigOptions config;
    EXPECT_OK(TableFactory::CreateFromString(
        config, "id=ProteanTable;filter_policy=surf:0:0",
        &options_.table_factory));
    DestroyDB(path_, options_).PermitUncheckedError();
    EXPECT_OK(OpenDB(&db_, options_, path_));
    EXPECT_OK(db_->CreateColumnFamily(options_, "two words", &other_));
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
    EXPECT_OK(db_->DestroyColumnFamilyHandle(other_));
    db_.reset();
    EXPECT_OK(DestroyDB(path_, options_));
    EXPECT_TRUE(Env::Default()->FileExists(path_).IsNotFound());
  }

  // Returns the status of the socket.
  Status Serve(const std::string& socket, const RefreshOptions& options = {},
               ColumnFamilyHandle* family = nullptr) {
    refreshers_.push_back(std::make_unique<FilterRefresher>(
        db_.get(), family == nullptr ? db_->DefaultColumnFamily() : family,
        options, kNever,
        [this](const Status& s, const RefreshResult&) {
          ended_ = s.IsIncomplete();
        },
        socket));
    return refreshers_.back()->socket_status();
  }
  void EndServing() { refreshers_.clear(); }

  ColumnFamilyHandle* other() const { return other_; }
  const RecordingLogger& log() const { return *log_; }
  std::string socket() const { return path_ + "/protean.sock"; }
  // Whether a refresh was told to end.
  bool ended() const { return ended_; }

 private:
  const std::string path_;
  const std::shared_ptr<RecordingLogger> log_;
  Options options_;
  std::unique_ptr<DB> db_;
  ColumnFamilyHandle* other_ = nullptr;
  std::atomic<bool> ended_{false};
  std::vector<std::unique_ptr<FilterRefresher>> refreshers_;
};

// A refresh that goes on until it is ended, and says when it begins.
RefreshOptions Slow(std::atomic<bool>* began) {
  RefreshOptions slow;
  slow.bytes_per_second = 10;
  slow.progress = [began](const RefreshProgress&) {
    *began = true;
    return true;
  };
  return slow;
}

void WaitFor(const std::function<bool()>& condition) {
  // Ten minutes at most, for busy machines.
  for (int i = 0; i < 60'000 && !condition(); i++) {
    Env::Default()->SleepForMicroseconds(10 * 1000);
  }
  EXPECT_TRUE(condition());
}

}  // namespace

TEST(RequestServerTest, NothingUnlessAskedFor) {
  ServedDB db("unasked");
  size_t before = Threads();
  EXPECT_OK(db.Serve(""));
  EXPECT_EQ(before + 1, Threads());  // the one that refreshes
  EXPECT_TRUE(Env::Default()->FileExists(db.socket()).IsNotFound());
  EXPECT_EQ(-1, ConnectTo(db.socket()));
  db.EndServing();
  // With a socket, one more, for all column families.
  before = Threads();
  EXPECT_OK(db.Serve(db.socket()));
  EXPECT_OK(db.Serve(db.socket(), {}, db.other()));
  EXPECT_EQ(before + 3, Threads());
  db.EndServing();
  EXPECT_EQ(before, Threads());
  EXPECT_TRUE(Env::Default()->FileExists(db.socket()).IsNotFound());
}

TEST(RequestServerTest, AnswersTheOwnerAlone) {
  ServedDB db("answers");
  const mode_t mask = umask(0);
  EXPECT_OK(db.Serve(db.socket()));
  umask(mask);
  struct stat file;
  ASSERT_EQ(0, stat(db.socket().c_str(), &file));
  EXPECT_EQ(S_IFSOCK | S_IRUSR | S_IWUSR, file.st_mode);
  EXPECT_EQ(geteuid(), file.st_uid);
  ExpectAnswer(Get(db.socket(), "GET /metrics"), 200,
               {"version=0.0.4", "# TYPE protean_build_info gauge",
                "column_family=\"default\""});
  ExpectAnswer(Get(db.socket(), "GET /statistics"), 200, {"\"live_files\": 3"});
  ExpectAnswer(Get(db.socket(), "GET /statistics?format=text"), 200,
               {"column family default of "});
  ExpectAnswer(Get(db.socket(), "POST /samples"), 409, {"no samples_file"});
  // HTTP/1.0, other ends of lines, and a body.
  ExpectAnswer(Ask(db.socket(), "GET /metrics HTTP/1.0\n\n"), 200, {});
  ExpectAnswer(Ask(db.socket(),
                   "POST /refresh?dry_run=1 HTTP/1.1\r\nContent-Length: "
                   "4\r\n\r\nbody"),
               200, {"{\"error\": \"\", \"result\": {"});
  EXPECT_EQ(1u, db.log().Lines({"are answered at " + db.socket()}).size());
}

TEST(RequestServerTest, ColumnFamilies) {
  ServedDB db("families");
  EXPECT_OK(db.Serve(db.socket()));
  ExpectAnswer(Get(db.socket(), "GET /statistics?column_family=two%20words"),
               404, {"column family two words is not allowed", ": default"});
  EXPECT_OK(db.Serve(db.socket(), {}, db.other()));
  ExpectAnswer(Get(db.socket(), "GET /metrics"), 200,
               {"column_family=\"default\"", "column_family=\"two words\""});
  const std::string one =
      Get(db.socket(), "GET /statistics?column_family=two%20words");
  ExpectAnswer(one, 200, {"\"two words\""});
  EXPECT_FALSE(Has(one, "\"default\"")) << one;
  ExpectAnswer(Get(db.socket(), "POST /refresh?dry_run=true"), 400,
               {"column_family", "default, two words"});
  ExpectAnswer(
      Get(db.socket(), "POST /refresh?dry_run=true&column_family=two%20words"),
      200, {"\"outcome\""});
}

TEST(RequestServerTest, EachDBHasItsSocket) {
  ServedDB first("first");
  ServedDB second("second");
  EXPECT_OK(first.Serve(first.socket()));
  const Status s = second.Serve(first.socket());
  EXPECT_TRUE(s.IsBusy()) << s.ToString();
  EXPECT_TRUE(Has(s.ToString(), "a path of its own")) << s.ToString();
  EXPECT_EQ(1u, second.log().Lines({"not answered", first.socket()}).size());
  EXPECT_OK(second.Serve(second.socket()));
  ExpectAnswer(Get(first.socket(), "GET /metrics"), 200, {"first"});
  ExpectAnswer(Get(second.socket(), "GET /metrics"), 200, {"second"});
  first.EndServing();
  ExpectAnswer(Get(second.socket(), "GET /metrics"), 200, {});
}

TEST(RequestServerTest, WhatStandsInItsPlace) {
  ServedDB db("place");
  // A socket that a process has left behind.
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  memcpy(address.sun_path, db.socket().data(), db.socket().size());
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(0, bind(fd, reinterpret_cast<const sockaddr*>(&address),
                    sizeof(address)));
  close(fd);
  EXPECT_EQ(0, access(db.socket().c_str(), F_OK));
  EXPECT_OK(db.Serve(db.socket()));
  ExpectAnswer(Get(db.socket(), "GET /metrics"), 200, {});
  // One that is not this server's is left alone.
  ASSERT_EQ(0, unlink(db.socket().c_str()));
  ASSERT_OK(WriteStringToFile(Env::Default(), "data", db.socket()));
  db.EndServing();
  const Status s = db.Serve(db.socket());
  EXPECT_TRUE(s.IsIOError() && Has(s.ToString(), "no socket")) << s.ToString();
  std::string contents;
  EXPECT_OK(ReadFileToString(Env::Default(), db.socket(), &contents));
  EXPECT_EQ("data", contents);
  EXPECT_OK(Env::Default()->DeleteFile(db.socket()));
  // A link is not followed.
  const std::string target = db.socket() + ".target";
  ASSERT_EQ(0, symlink(target.c_str(), db.socket().c_str()));
  EXPECT_TRUE(db.Serve(db.socket()).IsIOError());
  EXPECT_TRUE(Env::Default()->FileExists(target).IsNotFound());
  ASSERT_EQ(0, unlink(db.socket().c_str()));
  EXPECT_TRUE(db.Serve(db.socket() + "/none/protean.sock").IsIOError());
}

TEST(RequestServerTest, LongPaths) {
  ServedDB db("long");
  std::string path = db.socket();
  path.resize(107, 'x');
  EXPECT_OK(db.Serve(path));
  ExpectAnswer(Get(path, "GET /metrics"), 200, {});
  db.EndServing();
  const Status s = db.Serve(path + "x");
  EXPECT_TRUE(s.IsInvalidArgument());
  EXPECT_TRUE(Has(s.ToString(),
                  "108 bytes is not allowed; allowed: paths of "
                  "up to 107 bytes"))
      << s.ToString();
  EXPECT_EQ(1u, db.log().Lines({"not answered", "107 bytes"}).size());
}

TEST(RequestServerTest, OtherRequestsAreRefused) {
  ServedDB db("refused");
  EXPECT_OK(db.Serve(db.socket()));
  const std::string socket = db.socket();
  ExpectAnswer(Get(socket, "GET /"), 404,
               {"GET / is not allowed; allowed: GET /metrics"});
  ExpectAnswer(Get(socket, "POST /shutdown"), 404, {"POST /samples"});
  ExpectAnswer(Get(socket, "GET /refresh"), 405, {"POST /refresh"});
  ExpectAnswer(Get(socket, "GET /metrics?format=text"), 400,
               {"format is not allowed", "allowed: column_family"});
  ExpectAnswer(Get(socket, "GET /statistics?format=xml"), 400,
               {"format=xml is not allowed; allowed: json, text"});
  for (const std::string parameter :
       {"dry_run=maybe", "dry_run", "levels=-1", "levels=1000", "max_bytes=x",
        "max_bytes=-1", "max_bytes=1T5", "max_bytes=1KM",
        "max_bytes=99999999999999999G", "min_gain=-1", "min_gain=x", "start=%2",
        "start=%2G", "start=%", "column_family="}) {
    ExpectAnswer(Get(socket, "POST /refresh?" + parameter), 400,
                 {parameter + " is not allowed; allowed: "});
  }
  ExpectAnswer(Get(socket, "POST /refresh?threads=2"), 400,
               {"threads is not allowed; allowed: dry_run, ",
                "payback_seconds, column_family, without_samples"});
  ExpectAnswer(Get(socket, "POST /refresh?all_files=0"), 409,
               {"no samples", "allowed: without_samples"});
  ExpectAnswer(Get(socket,
                   "POST /refresh?dry_run=true&all_files=true&levels=0,1&"
                   "start=%00&limit=5%2c&max_bytes=20G&bytes_per_second=50M&"
                   "min_gain=0.5&without_samples=1"),
               200, {"{\"error\": \"\", \"result\": {\"samples\": "});
}

TEST(RequestServerTest, Garbage) {
  ServedDB db("garbage");
  EXPECT_OK(db.Serve(db.socket()));
  for (const std::string& bytes :
       {std::string("\r\n\r\n"), std::string("GET\n\n"),
        std::string("GET /metrics\n\n"), std::string("GET /metrics FTP/1\n\n"),
        std::string(100, '\0') + "\n\n", std::string("\xff \xff \xff\n\n")}) {
    ExpectAnswer(Ask(db.socket(), bytes), 400, {"is not allowed"});
  }
  ExpectAnswer(Ask(db.socket(), std::string(100'000, 'x')), 431, {"8 KiB"});
  ExpectAnswer(Ask(db.socket(), "GET /metrics HTTP/1.1\r\nX: " +
                                    std::string(7000, 'x') + "\r\n\r\n"),
               200, {});
  // Each part of a request, of a client that goes, perhaps before the answer.
  const std::string whole = "GET /statistics HTTP/1.1\r\nHost: x\r\n\r\n";
  for (size_t size = 0; size <= whole.size(); size++) {
    const int fd = ConnectTo(db.socket());
    ASSERT_GE(fd, 0);
    EXPECT_EQ(static_cast<ssize_t>(size),
              send(fd, whole.data(), size, MSG_NOSIGNAL));
    close(fd);
  }
  // Clients that say nothing are given up; the others wait for that.
  const int silent = ConnectTo(db.socket());
  const int slow = ConnectTo(db.socket());
  send(slow, "GET", 3, MSG_NOSIGNAL);
  ExpectAnswer(Get(db.socket(), "GET /metrics"), 200, {});
  ExpectAnswer(ReadAll(silent), 408, {"5 seconds"});
  ExpectAnswer(ReadAll(slow), 408, {"too slowly"});
}

// The one who asked goes: the refresh ends. Others are answered meanwhile.
TEST(RequestServerTest, RefreshEndsWithItsConnection) {
  ServedDB db("cancel");
  std::atomic<bool> began{false};
  EXPECT_OK(db.Serve(db.socket(), Slow(&began)));
  const std::string request =
      "POST /refresh?without_samples=1&all_files=1 HTTP/1.1\r\n\r\n";
  const int fd = ConnectTo(db.socket());
  send(fd, request.data(), request.size(), MSG_NOSIGNAL);
  WaitFor([&] { return began.load(); });
  char bytes[512];
  const ssize_t size = recv(fd, bytes, sizeof(bytes), 0);
  ASSERT_GT(size, 0);
  ExpectAnswer(std::string(bytes, static_cast<size_t>(size)), 200,
               {"application/x-ndjson", "{\"progress\": {\"files\": 3"});
  ExpectAnswer(Ask(db.socket(), request), 409, {"is running"});
  ExpectAnswer(Get(db.socket(), "GET /statistics"), 200, {"\"running\": true"});
  EXPECT_FALSE(db.ended());
  close(fd);
  WaitFor([&] { return db.ended(); });
  // A client that ends its sending gets the result.
  const int half = ConnectTo(db.socket());
  began = false;
  send(half, request.data(), request.size(), MSG_NOSIGNAL);
  WaitFor([&] { return began.load(); });
  shutdown(half, SHUT_WR);
  ExpectAnswer(ReadAll(half), 200, {"{\"error\": \"", "\"not reached\""});
}

TEST(RequestServerTest, ProcessEndsTheRefresh) {
  ServedDB db("closes");
  std::atomic<bool> began{false};
  EXPECT_OK(db.Serve(db.socket(), Slow(&began)));
  std::thread closing([&] {
    WaitFor([&] { return began.load(); });
    db.EndServing();
  });
  ExpectAnswer(Get(db.socket(), "POST /refresh?all_files=true"), 200,
               {"the process that has the DB open has ended the refresh",
                "\"not reached\""});
  closing.join();
  EXPECT_EQ(-1, ConnectTo(db.socket()));
}

// Clients come and go while column families join and leave.
TEST(RequestServerTest, Concurrency) {
  ServedDB db("concurrency");
  std::atomic<bool> over{false};
  std::vector<std::thread> clients;
  for (int i = 0; i < 3; i++) {
    clients.emplace_back([&] {
      const std::string request = "GET /metrics HTTP/1.1\r\n\r\n";
      while (!over) {
        const int fd = ConnectTo(db.socket());
        if (fd < 0) continue;
        send(fd, request.data(), request.size(), MSG_NOSIGNAL);
        ReadAll(fd);
      }
    });
  }
  for (int i = 0; i < 50; i++) {
    EXPECT_OK(db.Serve(db.socket()));
    EXPECT_OK(db.Serve(db.socket(), {}, db.other()));
    db.EndServing();
  }
  over = true;
  for (std::thread& client : clients) client.join();
}

// ---- Limits ----
//
// What a refresh that is asked for may do: of two limits, the stricter one, and
// of two sets of files, those in both.

namespace {

RefreshOptions Limited(const RefreshOptions& own, const RefreshOptions& asked,
                       const Comparator* order = BytewiseComparator()) {
  RefreshOptions limited;
  EXPECT_OK(LimitRefresh(own, asked, *order, &limited));
  return limited;
}

void ExpectNotAllowed(const RefreshOptions& own, const RefreshOptions& asked,
                      const std::string& part) {
  RefreshOptions limited;
  const Status s = LimitRefresh(own, asked, *BytewiseComparator(), &limited);
  EXPECT_TRUE(s.IsInvalidArgument());
  EXPECT_NE(std::string::npos, s.ToString().find(part)) << s.ToString();
}

}  // namespace

TEST(RequestLimitsTest, TheStricterLimitCounts) {
  RefreshOptions own;
  RefreshOptions asked;
  EXPECT_EQ(0u, Limited(own, asked).bytes_per_second);
  own.progress = [](const RefreshProgress&) { return true; };
  own.max_parallel_rewrites = 3;
  asked.max_parallel_rewrites = 7;
  own.payback_seconds = 5;
  asked.payback_seconds = 6;
  asked.max_bytes = 10;
  asked.bytes_per_second = 100;
  asked.min_gain = 0.01;
  asked.dry_run = true;
  asked.all_files = true;
  RefreshOptions limited = Limited(own, asked);
  EXPECT_FALSE(limited.progress);
  EXPECT_EQ(3u, limited.max_parallel_rewrites);
  EXPECT_EQ(5, limited.payback_seconds);
  EXPECT_EQ(10u, limited.max_bytes);
  EXPECT_EQ(100u, limited.bytes_per_second);
  EXPECT_EQ(own.min_gain, limited.min_gain);
  EXPECT_TRUE(limited.dry_run);
  EXPECT_TRUE(limited.all_files);
  own.max_bytes = 9;
  own.bytes_per_second = 99;
  limited = Limited(own, asked);
  EXPECT_EQ(9u, limited.max_bytes);
  EXPECT_EQ(99u, limited.bytes_per_second);
  asked.bytes_per_second = 0;
  EXPECT_EQ(99u, Limited(own, asked).bytes_per_second);
}

TEST(RequestLimitsTest, LevelsInBoth) {
  using Levels = std::vector<int>;
  RefreshOptions own;
  RefreshOptions asked;
  EXPECT_EQ(Levels(), Limited(own, asked).levels);
  asked.levels = {5, 6};
  EXPECT_EQ(Levels({5, 6}), Limited(own, asked).levels);
  own.levels = {0, 6};
  EXPECT_EQ(Levels({6}), Limited(own, asked).levels);
  asked.levels = {};
  EXPECT_EQ(Levels({0, 6}), Limited(own, asked).levels);
  asked.levels = {1, 2};
  ExpectNotAllowed(own, asked, "the application allows levels 0,6");
}

TEST(RequestLimitsTest, KeysInBoth) {
  RefreshOptions own;
  RefreshOptions asked;
  own.start = "b";
  own.limit = "y";
  RefreshOptions limited = Limited(own, asked);
  EXPECT_EQ("b", limited.start);
  EXPECT_EQ("y", limited.limit);
  asked.start = "";
  asked.limit = "z";
  limited = Limited(own, asked);
  EXPECT_EQ("b", limited.start);
  EXPECT_EQ("y", limited.limit);
  asked.start = "c";
  asked.limit = "d";
  limited = Limited(own, asked);
  EXPECT_EQ("c", limited.start);
  EXPECT_EQ("d", limited.limit);
  EXPECT_EQ("c", Limited(RefreshOptions(), asked).start);
  // A range in another order: "c" comes before "b" there.
  own.start = "c";
  own.limit = "b";
  asked.start = "d";
  asked.limit = std::nullopt;
  limited = Limited(own, asked, ReverseBytewiseComparator());
  EXPECT_EQ("c", limited.start);
  EXPECT_EQ("b", limited.limit);
}

TEST(RequestLimitsTest, NoKeyInBoth) {
  RefreshOptions own;
  RefreshOptions asked;
  own.limit = "b";
  asked.start = "b";
  ExpectNotAllowed(own, asked, "none that the application allows");
  asked.start = "a";
  asked.limit = "a";
  ExpectNotAllowed(own, asked, "the range has no keys");
}

}  // namespace ROCKSDB_NAMESPACE::protean
