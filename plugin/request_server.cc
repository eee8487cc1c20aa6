// SPDX-License-Identifier: Apache-2.0

#include "plugin/request_server.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "filter_policy/option_types.h"
#include "filter_policy/protean_filter_policy.h"
#include "plugin/facts.h"
#include "plugin/filter_statistics.h"
#include "table/protean_table_factory.h"
#include "util/string_util.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

using Clock = std::chrono::steady_clock;

// ---- Requests ----

// A request that has been parsed. It can do no more than its members say.
struct Request {
  // What is not asked for is limited by the application alone.
  Request() {
    refresh.max_parallel_rewrites = RefreshOptions::kMaxParallelRewrites;
    refresh.min_gain = 0;
    refresh.payback_seconds = RefreshOptions::kMaxPaybackSeconds;
  }

  std::string what;  // such as "POST /refresh"
  std::string column_family;
  std::string format = "json";
  bool without_samples = false;
  RefreshOptions refresh;
};

struct Answer {
  int code = 200;
  std::string body;
  const char* type = "text/plain; charset=utf-8";
};

// Replaces each %XX by the byte that it stands for. Returns false if it stands
// for none.
bool Unescape(const std::string& text, std::string* value) {
  for (size_t i = 0; i < text.size(); i++) {
    std::string byte(1, text[i]);
    if (text[i] == '%') {
      const std::string digits = text.substr(i + 1, 2);
      if (digits.size() < 2 || !Slice(digits).DecodeHex(&byte)) return false;
      i += 2;
    }
    *value += byte;
  }
  return true;
}

// Sets one parameter. Returns what is allowed if this is not.
std::string SetParameter(const std::string& name, const std::string& value,
                         Request* request) {
  const bool is_refresh = request->what == "POST /refresh";
  const std::string refused = name + "=" + value + " is not allowed; allowed: ";
  if (name == "column_family") {
    request->column_family = value;
    return value.empty() ? refused + "a name" : "";
  }
  if (name == "format" && request->what == "GET /statistics") {
    request->format = value;
    return value == "json" || value == "text" ? "" : refused + "json, text";
  }
  if (name == "without_samples" && is_refresh) {
    return ParseBoolean(value, &request->without_samples)
               ? ""
               : refused + "true or false";
  }
  if (is_refresh) {
    const Status s = request->refresh.Set(name, value);
    if (s.ok()) return "";
    const std::string why = s.getState();
    const bool is_known = why.find(name + "=") != std::string::npos;
    return why + (is_known ? "" : ", column_family, without_samples");
  }
  return name + " is not allowed in " + request->what +
         "; allowed: column_family" +
         (request->what == "GET /statistics" ? ", format" : "");
}

// Parses the first line of an HTTP request. The answer has the code 200, or
// says what is allowed.
Answer Parse(const std::string& line, Request* request) {
  const std::vector<std::string> words = StringSplit(line, ' ');
  if (words.size() != 3 || words[2].rfind("HTTP/1.", 0) != 0) {
    return {400, "this is not allowed; allowed: requests of HTTP/1.0 and 1.1"};
  }
  const size_t question = std::min(words[1].find('?'), words[1].size());
  const std::string path = words[1].substr(0, question);
  request->what = words[0] + " " + path;
  std::string allowed;
  bool is_known = false;
  bool is_path_known = false;
  for (const char* known :
       {"GET /metrics", "GET /statistics", "POST /refresh", "POST /samples"}) {
    allowed += (allowed.empty() ? "" : ", ") + std::string(known);
    is_known = is_known || known == request->what;
    is_path_known = is_path_known || Slice(known).ends_with(" " + path);
  }
  if (!is_known) {
    return {is_path_known ? 405 : 404,
            request->what + " is not allowed; allowed: " + allowed};
  }
  const std::string settings =
      words[1].substr(std::min(question + 1, words[1].size()));
  for (const std::string& setting : StringSplit(settings, '&')) {
    const size_t equals = std::min(setting.find('='), setting.size());
    std::string value;
    if (equals == setting.size() ||
        !Unescape(setting.substr(equals + 1), &value)) {
      return {400, setting +
                       " is not allowed; allowed: NAME=VALUE, with special "
                       "characters of the value as %XX"};
    }
    const std::string refused =
        SetParameter(setting.substr(0, equals), value, request);
    if (!refused.empty()) return {400, refused};
  }
  return {};
}

// ---- Connections ----

// One client. A client that does nothing for some seconds is given up.
class Connection {
 public:
  static constexpr std::chrono::seconds kTimeout{5};
  static constexpr size_t kMaxHead = 8 << 10;

  explicit Connection(int fd) : fd_(fd) {
    const timeval timeout = {kTimeout.count(), 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
    setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
  }
  ~Connection() {
    // What is unread, such as the body of a POST, would end the client's
    // reading with an error.
    char rest[kMaxHead];
    recv(fd_, rest, sizeof(rest), MSG_DONTWAIT);
    close(fd_);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Reads up to the empty line that ends the head of a request. The answer has
  // the code 200; 0 if the client has gone; or says what is wrong.
  Answer ReadHead(std::string* head) const {
    const auto end = Clock::now() + kTimeout;
    while (head->find("\r\n\r\n") == std::string::npos &&
           head->find("\n\n") == std::string::npos) {
      if (head->size() >= kMaxHead) {
        return {431, "a request of this size is not allowed; allowed: 8 KiB"};
      }
      char bytes[1024];
      const ssize_t size =
          recv(fd_, bytes, std::min(sizeof(bytes), kMaxHead - head->size()), 0);
      if (size == 0) return {0, ""};
      if (size > 0) head->append(bytes, static_cast<size_t>(size));
      if ((size < 0 && errno != EINTR) || Clock::now() > end) {
        return {408, "the request came too slowly; allowed: 5 seconds"};
      }
    }
    return {};
  }
  // Sends all; or nothing, if that would have to wait and `flags` say not to.
  void Send(const std::string& bytes, int flags = 0) const {
    for (size_t sent = 0; sent < bytes.size();) {
      const ssize_t size = send(fd_, bytes.data() + sent, bytes.size() - sent,
                                MSG_NOSIGNAL | flags);
      if (size < 0 && errno != EINTR) return;
      if (size > 0) sent += static_cast<size_t>(size);
      if (sent > 0) flags = 0;
    }
  }
  // Returns true if the client has closed the connection, or its sending side.
  bool IsClosed() const {
    pollfd fd = {fd_, POLLRDHUP, 0};
    return poll(&fd, 1, 0) > 0;
  }

 private:
  const int fd_;
};

std::string Head(int code, const char* type) {
  return "HTTP/1.1 " + std::to_string(code) +
         (code == 200  ? " OK"
          : code < 500 ? " Refused"
                       : " Failed") +
         "\r\nContent-Type: " + type + "\r\nConnection: close\r\n";
}

// Answers a refresh with lines of JSON: {"progress":...} about every second,
// and at last {"error":..., "result":...}. Used by the thread that refreshes.
class RefreshAnswer {
 public:
  explicit RefreshAnswer(std::shared_ptr<Connection> connection)
      : connection_(std::move(connection)) {}

  // Returns false if the client has gone.
  bool Progress(const RefreshProgress& progress) {
    left_ = left_ || connection_->IsClosed();
    if (left_ || Clock::now() < due_) return !left_;
    due_ = Clock::now() + std::chrono::seconds(1);
    const std::chrono::duration<double> elapsed = Clock::now() - began_;
    Record record = RecordOf(progress);
    record.Add("seconds", elapsed.count());
    const std::string line = "{\"progress\": " + record.ToJson() + "}\n";
    connection_->Send(TakeHead() + line, MSG_DONTWAIT);
    return true;
  }
  void End(const Status& status, const RefreshResult& result) {
    std::string error = status.ok() ? "" : status.ToString();
    if (status.IsIncomplete() && !left_) {
      error =
          "the process that has the DB open has ended the refresh, most likely "
          "since it closes the DB; files that have been rewritten stay so, and "
          "the same request continues with the others";
    }
    connection_->Send(TakeHead() + "{\"error\": " + JsonOf(error) +
                      ", \"result\": " + result.ToJson() + "}\n");
  }

 private:
  // The head of the answer, the first time.
  std::string TakeHead() { return std::exchange(head_, ""); }

  const std::shared_ptr<Connection> connection_;
  const Clock::time_point began_ = Clock::now();
  Clock::time_point due_ = began_;
  std::string head_ = Head(200, "application/x-ndjson") + "\r\n";
  bool left_ = false;
};

// ---- What is asked for ----

Answer StatisticsOf(DB* db, const Request& request,
                    const std::vector<const ServedFamily*>& families) {
  std::vector<FilterStatistics> all(families.size());
  std::string body;
  for (size_t i = 0; i < families.size(); i++) {
    const Status s =
        GetFilterStatistics(db, families[i]->column_family, &all[i]);
    if (!s.ok()) return {500, s.ToString()};
    body +=
        request.format == "text" ? all[i].ToString() : all[i].ToJson() + "\n";
  }
  if (request.what == "GET /metrics") {
    return {200, ToPrometheus(all), "text/plain; version=0.0.4; charset=utf-8"};
  }
  if (request.format == "text") return {200, body};
  return {200, body, "application/x-ndjson"};
}

Answer SaveSamples(DB* db, const std::vector<const ServedFamily*>& families) {
  std::string body;
  std::string names;
  for (const ServedFamily* family : families) {
    const std::string name = family->column_family->GetName();
    names += " " + name;
    const Options options = db->GetOptions(family->column_family);
    const ProteanFilterPolicy* const policy = OwnPolicyOf(options);
    const auto store = policy == nullptr ? nullptr : policy->Samples();
    if (store == nullptr || store->options().samples_file.empty()) continue;
    const Status s = store->Save(name, db->GetEnv());
    if (!s.ok()) return {500, s.ToString()};
    body += (body.empty() ? "{\"" : ",\"") + JsonText(name) + "\":\"" +
            JsonText(store->SamplesFile(name)) + "\"";
  }
  if (!body.empty()) return {200, body + "}\n", "application/json"};
  return {409,
          "this is not allowed for column families whose filter policy has no "
          "samples_file:" +
              names};
}

// The code is 0 if the refresh has begun, and answers.
Answer BeginRefresh(DB* db, const Request& request, const ServedFamily* family,
                    const std::shared_ptr<Connection>& connection) {
  ColumnFamilyHandle* const handle = family->column_family;
  const std::string name = "column family " + handle->GetName();
  RefreshOptions options;
  const Status s = LimitRefresh(family->options, request.refresh,
                                *handle->GetComparator(), &options);
  if (!s.ok()) return {400, s.getState()};
  const Options family_options = db->GetOptions(handle);
  const ProteanFilterPolicy* const policy = OwnPolicyOf(family_options);
  const auto store = policy == nullptr ? nullptr : policy->Samples();
  // RocksDB's filters need no design.
  if (!request.without_samples && !options.dry_run && !options.all_files &&
      policy != nullptr &&
      (store == nullptr ||
       store->Queue(handle->GetName(), db->GetEnv(), nullptr)->size() == 0)) {
    return {409, name +
                     " has no samples of queries, so its files would be read "
                     "and perhaps rewritten for queries that are generated "
                     "from their keys; allowed: without_samples if that is "
                     "what you want, or dry_run to see it first"};
  }
  const auto answer = std::make_shared<RefreshAnswer>(connection);
  options.progress = [answer](const RefreshProgress& progress) {
    return answer->Progress(progress);
  };
  const auto ended = [answer](const Status& status,
                              const RefreshResult& result) {
    answer->End(status, result);
  };
  if (!family->begin(options, ended)) {
    return {409, "a refresh of " + name + " is running; wait for its end"};
  }
  Log(InfoLogLevel::INFO_LEVEL, db->GetDBOptions().info_log,
      "Protean: a request began a refresh of %s", name.c_str());
  return {0, ""};
}

// ---- Sockets ----

Status SystemError(const std::string& path) {
  return Status::IOError("cannot listen at " + path, errnoStr(errno));
}

// Deletes the socket of a process that has ended.
Status DeleteStale(const std::string& path) {
  struct stat found;
  if (lstat(path.c_str(), &found) != 0 || !S_ISSOCK(found.st_mode)) {
    return Status::IOError("cannot listen at " + path,
                           "a file of that name is no socket");
  }
  const int fd = OpenSocket(path, /*connects=*/true);
  if (fd >= 0) close(fd);
  if (fd >= 0 || errno != ECONNREFUSED) {
    return Status::Busy("cannot listen at " + path,
                        "another process or another DB is served there; give "
                        "each a path of its own");
  }
  return unlink(path.c_str()) == 0 ? Status::OK() : SystemError(path);
}

}  // namespace

int OpenSocket(const std::string& path, bool connects) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  memcpy(address.sun_path, path.data(), path.size());
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  // How long connect waits.
  const timeval second = {/*tv_sec=*/1, /*tv_usec=*/0};
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &second, sizeof(second));
  // Linux gives the file the mode of the socket.
  if (fchmod(fd, S_IRUSR | S_IWUSR) == 0 &&
      (connects ? connect : bind)(fd, generic, sizeof(address)) == 0) {
    return fd;
  }
  const int error = errno;
  close(fd);
  errno = error;
  return -1;
}

class RequestServer {
 public:
  RequestServer(DB* db, std::string path) : db_(db), path_(std::move(path)) {}
  RequestServer(const RequestServer&) = delete;
  RequestServer& operator=(const RequestServer&) = delete;

  ~RequestServer() {
    if (listener_ < 0) return;
    ending_ = true;
    shutdown(listener_, SHUT_RDWR);  // which ends accept
    if (thread_.joinable()) thread_.join();
    close(listener_);
    struct stat file;
    if (lstat(path_.c_str(), &file) == 0 && file.st_dev == file_.st_dev &&
        file.st_ino == file_.st_ino) {
      unlink(path_.c_str());
    }
  }

  DB* db() const { return db_; }
  const std::string& path() const { return path_; }

  Status Listen() {
    constexpr size_t kMaxPath = sizeof(sockaddr_un::sun_path) - 1;
    if (path_.size() > kMaxPath || path_.find('\0') != std::string::npos) {
      return Status::InvalidArgument(
          "the socket " + path_ + " of " + std::to_string(path_.size()) +
          " bytes is not allowed; allowed: paths of up to " +
          std::to_string(kMaxPath) + " bytes, such as one below /run");
    }
    listener_ = OpenSocket(path_, /*connects=*/false);
    if (listener_ < 0 && errno == EADDRINUSE) {
      const Status s = DeleteStale(path_);
      if (!s.ok()) return s;
      listener_ = OpenSocket(path_, /*connects=*/false);
    }
    constexpr int kWaiting = 16;
    if (listener_ < 0 || lstat(path_.c_str(), &file_) != 0 ||
        listen(listener_, kWaiting) != 0) {
      return SystemError(path_);
    }
    thread_ = std::thread([this] { Loop(); });
    return Status::OK();
  }

  void Add(const ServedFamily* family) {
    const std::lock_guard<std::mutex> lock(mutex_);
    // The last one answers if a column family has several.
    families_[family->column_family->GetName()] = family;
  }
  void Remove(const ServedFamily* family) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto entry = families_.find(family->column_family->GetName());
    if (entry != families_.end() && entry->second == family) {
      families_.erase(entry);
    }
  }

 private:
  void Loop() {
    while (!ending_) {
      const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd >= 0) {
        Reply(std::make_shared<Connection>(fd));
      } else if (!ending_) {  // perhaps no file descriptor is left
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
      }
    }
  }

  void Reply(const std::shared_ptr<Connection>& connection) {
    std::string head;
    Request request;
    Answer answer = connection->ReadHead(&head);
    if (answer.code == 200) {
      answer = Parse(head.substr(0, head.find_first_of("\r\n")), &request);
    }
    if (answer.code == 200) answer = Handle(request, connection);
    if (answer.code == 0) return;
    if (answer.code != 200) answer.body += "\n";
    connection->Send(Head(answer.code, answer.type) +
                     "Content-Length: " + std::to_string(answer.body.size()) +
                     "\r\n\r\n" + answer.body);
  }

  Answer Handle(const Request& request,
                const std::shared_ptr<Connection>& connection) {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::vector<const ServedFamily*> chosen;
    std::string names;
    for (const auto& [name, family] : families_) {
      names += (names.empty() ? "" : ", ") + name;
      if (request.column_family.empty() || request.column_family == name) {
        chosen.push_back(family);
      }
    }
    if (chosen.empty()) {
      return {404, "column family " + request.column_family +
                       " is not allowed; allowed, since they have a "
                       "FilterRefresher with this socket: " +
                       names};
    }
    if (request.what == "POST /samples") return SaveSamples(db_, chosen);
    if (request.what != "POST /refresh") {
      return StatisticsOf(db_, request, chosen);
    }
    if (chosen.size() == 1) {
      return BeginRefresh(db_, request, chosen[0], connection);
    }
    return {400,
            "a refresh of several column families is not allowed; "
            "allowed: column_family with one of " +
                names};
  }

  DB* const db_;
  const std::string path_;
  int listener_ = -1;
  struct stat file_ = {};  // of the socket
  std::atomic<bool> ending_{false};
  std::mutex mutex_;
  std::map<std::string, const ServedFamily*> families_;  // by name
  std::thread thread_;
};

Status LimitRefresh(const RefreshOptions& own, const RefreshOptions& asked,
                    const Comparator& order, RefreshOptions* limited) {
  using Bound = std::optional<std::string>;
  const auto compare = [&order](const Bound& a, const Bound& b) {
    return order.CompareWithoutTimestamp(*a, false, *b, false);
  };
  *limited = own;
  limited->progress = nullptr;
  limited->dry_run = own.dry_run || asked.dry_run;
  limited->all_files = own.all_files || asked.all_files;
  limited->max_bytes = std::min(own.max_bytes, asked.max_bytes);
  if (own.bytes_per_second == 0 ||
      (asked.bytes_per_second > 0 &&
       asked.bytes_per_second < own.bytes_per_second)) {
    limited->bytes_per_second = asked.bytes_per_second;
  }
  limited->min_gain = std::max(own.min_gain, asked.min_gain);
  limited->payback_seconds =
      std::min(own.payback_seconds, asked.payback_seconds);
  limited->max_parallel_rewrites =
      std::min(own.max_parallel_rewrites, asked.max_parallel_rewrites);
  if (!own.start || (asked.start && compare(asked.start, own.start) > 0)) {
    limited->start = asked.start;
  }
  if (!own.limit || (asked.limit && compare(asked.limit, own.limit) < 0)) {
    limited->limit = asked.limit;
  }
  if (limited->start && limited->limit &&
      compare(limited->start, limited->limit) >= 0) {
    return Status::InvalidArgument(
        "the range has no keys, or none that the application allows");
  }
  if (own.levels.empty()) {
    limited->levels = asked.levels;
    return Status::OK();
  }
  limited->levels.clear();
  for (const int level : asked.levels.empty() ? own.levels : asked.levels) {
    if (std::count(own.levels.begin(), own.levels.end(), level) > 0) {
      limited->levels.push_back(level);
    }
  }
  // No levels stand for all of them.
  return limited->levels.empty()
             ? Status::InvalidArgument("levels " + LevelsText(asked.levels) +
                                       " are not allowed; the application "
                                       "allows levels " +
                                       LevelsText(own.levels))
             : Status::OK();
}

// All servers of the process, by path. Not destroyed when the process ends: DBs
// may be closed later.
static std::mutex servers_mutex;
static std::map<std::string, std::weak_ptr<RequestServer>>& Servers() {
  static auto& servers =
      *new std::map<std::string, std::weak_ptr<RequestServer>>;
  return servers;
}

Status Serve(DB* db, const std::string& path, const ServedFamily* family,
             std::shared_ptr<RequestServer>* server) {
  const std::lock_guard<std::mutex> lock(servers_mutex);
  std::weak_ptr<RequestServer>& known = Servers()[path];
  *server = known.lock();
  Status s;
  if (*server == nullptr || (*server)->db() != db->GetRootDB()) {
    *server = std::make_shared<RequestServer>(db->GetRootDB(), path);
    s = (*server)->Listen();
    if (s.ok()) known = *server;
  }
  if (s.ok()) {
    (*server)->Add(family);
  } else {
    server->reset();
  }
  Log(s.ok() ? InfoLogLevel::INFO_LEVEL : InfoLogLevel::ERROR_LEVEL,
      db->GetDBOptions().info_log, "Protean: requests %s",
      s.ok() ? ("are answered at " + path).c_str()
             : ("are not answered: " + s.ToString()).c_str());
  return s;
}

void EndServing(const ServedFamily* family,
                std::shared_ptr<RequestServer>* server) {
  const std::lock_guard<std::mutex> lock(servers_mutex);
  (*server)->Remove(family);
  if (server->use_count() == 1) Servers().erase((*server)->path());
  server->reset();
}

}  // namespace ROCKSDB_NAMESPACE::protean
