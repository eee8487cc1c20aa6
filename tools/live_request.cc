// SPDX-License-Identifier: Apache-2.0

#include "tools/live_request.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <locale>

#include "plugin/request_server.h"
#include "util/string_util.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

std::string Escaped(const std::string& value) {
  std::string text;
  for (const char c : value) {
    text += std::isalnum(c, std::locale::classic())
                ? std::string(1, c)
                : "%" + Slice(&c, 1).ToString(/*hex=*/true);
  }
  return text;
}

// Stores a socket that is connected to the process.
Status Connect(const std::string& path, int* fd) {
  constexpr size_t kMaxPath = sizeof(sockaddr_un::sun_path) - 1;
  if (path.size() > kMaxPath) {
    return Status::NotSupported(
        Format("the socket %s of %zu bytes is not allowed; allowed: paths of "
               "up to %zu bytes, which --socket=PATH names",
               path.c_str(), path.size(), kMaxPath));
  }
  *fd = OpenSocket(path, /*connects=*/true);
  if (*fd >= 0) return Status::OK();
  const int error = errno;
  if (error == EACCES || error == EPERM) {
    return Status::IOError("the socket " + path +
                           " is another user's; ask as the user whose process "
                           "has the DB open, or as root");
  }
  if (error == EAGAIN) {
    return Status::Aborted("the process at " + path +
                           " is busy, or hangs: it takes no more requests");
  }
  return Status::NotFound(
      "no process answers at " + path + " (" + errnoStr(error) +
      "); one that has the DB open answers if it has a FilterRefresher with "
      "that socket, which --socket=PATH names if it is another one. With a DB "
      "that no process has open, refresh works without --live, and statistics "
      "and samples save do not");
}

class Reader {
 public:
  Reader(int fd, bool is_refresh) : fd_(fd), is_refresh_(is_refresh) {}

  Status Read(const Watch& watch, std::string* body) {
    bool stopped = false;
    for (bool ended = false; !ended;) {
      if (!stopped && !watch(nullptr)) {
        if (!is_refresh_) return Status::Incomplete("interrupted");
        stopped = true;
        shutdown(fd_, SHUT_WR);
      }
      constexpr int kLookMillis = 100;
      pollfd fd = {fd_, POLLIN, 0};
      if (poll(&fd, 1, kLookMillis) <= 0) continue;
      char bytes[1 << 16];
      const ssize_t size = recv(fd_, bytes, sizeof(bytes), 0);
      ended = size == 0 || (size < 0 && errno != EINTR);
      if (size > 0) text_.append(bytes, static_cast<size_t>(size));
      TakeHead();
      TakeProgress(watch);
    }
    return Result(body);
  }

 private:
  void TakeHead() {
    const size_t end = text_.find("\r\n\r\n");
    if (code_ != 0 || end == std::string::npos) return;
    constexpr size_t kCodeAt = 9;  // behind "HTTP/1.1 "
    code_ = atoi(text_.substr(std::min(kCodeAt, end)).c_str());
    const std::string name = "Content-Length: ";
    const size_t length = text_.find(name);
    if (length < end)
      size_ = strtoull(&text_[length + name.size()], nullptr, 10);
    text_.erase(0, end + 4);
  }
  void TakeProgress(const Watch& watch) {
    if (code_ != 200 || !is_refresh_) return;
    for (size_t end; (end = text_.find('\n')) != std::string::npos;) {
      const Json line = Json::parse(text_.substr(0, end), nullptr, false);
      if (!line.is_object() || !line.contains("progress")) return;
      watch(&line["progress"]);
      text_.erase(0, end + 1);
    }
  }
  Status Result(std::string* body) const {
    const bool whole = code_ == 200 && is_refresh_
                           ? !text_.empty() && text_.back() == '\n'
                           : code_ != 0 && text_.size() == size_;
    if (!whole) {
      return Status::Aborted(
          "the process that has the DB open ended, or gave the answer up");
    }
    *body = text_;
    if (code_ == 200) return Status::OK();
    while (!body->empty() && body->back() == '\n') body->pop_back();
    return code_ < 500 ? Status::InvalidArgument(*body)
                       : Status::Aborted(*body);
  }

  const int fd_;
  const bool is_refresh_;
  int code_ = 0;     // of HTTP, once the head has been read
  size_t size_ = 0;  // of the body, if it is known
  std::string text_;
};

}  // namespace

void LiveFlags::AddFlags(Arguments* arguments) {
  arguments->Add(
      {{"live", "", &live,
        "ask the process that has the DB open, which must have a "
        "protean::FilterRefresher of the column family, with a socket"},
       {"socket", "PATH", &socket,
        "with --live, the socket of that process; default: protean.sock in the "
        "DB's folder"}});
}

Status AskLive(const Target& target, const LiveFlags& flags,
               const std::string& request, LiveParameters parameters,
               const Watch& watch, std::string* body) {
  if (!target.column_family.empty()) {
    parameters.emplace("column_family", target.column_family);
  }
  std::string head = request;
  char separator = '?';
  for (const auto& [name, value] : parameters) {
    head += separator + name + "=" + Escaped(value);
    separator = '&';
  }
  head += " HTTP/1.1\r\nHost: localhost\r\n\r\n";
  constexpr size_t kMaxHead = 8 << 10;
  if (head.size() > kMaxHead) {
    return Status::NotSupported(
        Format("a request of %zu bytes is not allowed; allowed: %zu bytes, so "
               "give shorter keys",
               head.size(), kMaxHead));
  }
  int fd = -1;
  Status s = Connect(
      flags.socket.empty() ? target.db + "/protean.sock" : flags.socket, &fd);
  if (!s.ok()) return s;
  send(fd, head.data(), head.size(), MSG_NOSIGNAL);
  Reader reader(fd, request == "POST /refresh");
  if (watch != nullptr) {
    s = reader.Read(watch, body);
  } else {
    const Interrupt interrupt;
    s = reader.Read([&](const Json*) { return !interrupt.requested(); }, body);
  }
  close(fd);
  return s;
}

// ---- protean statistics ----

namespace {

constexpr CommandText kStatistics = {
    "statistics", "Prints what the filters of a running process have done.",
    "--db=DIR", "those that have a FilterRefresher",
    R"(What filters have done is known only to the process that has the DB open. This command asks it for the
FilterStatistics (plugin/filter_statistics.h) of its column families, at a socket of that process:
protean.sock in the DB's folder, or that of --socket. The process must have a protean::FilterRefresher with
that socket. Ask as the user whose process it is, or as root.

Exit code: 0, 2 if the command failed, for instance because no process answered.

Examples:
  protean statistics --db=/data/db
  protean statistics --db=/data/db --json > statistics.json
  protean statistics --db=/data/db --prometheus > /var/lib/node_exporter/protean.prom
)"};

class StatisticsCommand : public Command {
 public:
  StatisticsCommand() : Command(kStatistics) {
    live_.AddFlags(&flags_);
    flags_.Add({{"prometheus", "", &prometheus_,
                 "print the text format of Prometheus"}});
  }

 private:
  Status Run() override {
    if (json_ && prometheus_) {
      return Status::InvalidArgument("give --json or --prometheus, not both");
    }
    Status s = OpenTarget(/*or_files=*/false);
    LiveParameters parameters;
    if (!prometheus_) parameters["format"] = json_ ? "json" : "text";
    std::string body;
    if (s.ok()) {
      s = AskLive(target_, live_,
                  prometheus_ ? "GET /metrics" : "GET /statistics", parameters,
                  nullptr, &body);
    }
    if (s.ok()) out().Text(body);
    return s;
  }

  LiveFlags live_;
  bool prometheus_ = false;
};

}  // namespace

std::unique_ptr<Command> NewStatistics() {
  return std::make_unique<StatisticsCommand>();
}

}  // namespace ROCKSDB_NAMESPACE::protean
