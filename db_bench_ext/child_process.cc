// SPDX-License-Identifier: Apache-2.0

#include "db_bench_ext/child_process.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// What a child sends begins with one of these.
constexpr char kDone = 'd';
constexpr char kFailed = 'f';

Status Failed(const std::string& why) {
  return Status::Aborted("a child process", why);
}

void SendAll(int fd, const std::string& bytes) {
  for (size_t sent = 0; sent < bytes.size();) {
    const ssize_t n = write(fd, bytes.data() + sent, bytes.size() - sent);
    if (n < 0 && errno != EINTR) return;
    if (n > 0) sent += static_cast<size_t>(n);
  }
}

std::string ReceiveAll(int fd) {
  std::string bytes;
  char buffer[4096];
  for (;;) {
    const ssize_t n = read(fd, buffer, sizeof(buffer));
    if (n == 0 || (n < 0 && errno != EINTR)) return bytes;
    if (n > 0) bytes.append(buffer, static_cast<size_t>(n));
  }
}

}  // namespace

Status RunInChild(const std::function<Status(std::string* text)>& work,
                  std::string* text) {
  int ends[2];
  if (pipe(ends) != 0) return Failed(strerror(errno));
  // Else the child would print what is still buffered a second time.
  fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) {
    close(ends[0]);
    close(ends[1]);
    return Failed(strerror(errno));
  }
  if (child == 0) {
    close(ends[0]);
    std::string made;
    const Status s = work(&made);
    SendAll(ends[1], s.ok() ? kDone + made : kFailed + s.ToString());
    _exit(0);
  }
  close(ends[1]);
  const std::string received = ReceiveAll(ends[0]);
  close(ends[0]);
  int ended = 0;
  while (waitpid(child, &ended, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(ended)) {
    return Failed("was ended by signal " + std::to_string(WTERMSIG(ended)));
  }
  if (received.empty()) return Failed("ended early");
  *text = received.substr(1);
  return received[0] == kDone ? Status::OK() : Failed(*text);
}

}  // namespace ROCKSDB_NAMESPACE::protean
