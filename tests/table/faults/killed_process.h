// SPDX-License-Identifier: Apache-2.0

//  Processes that a test forks, which has no threads then, memory that they
//  have in common, and power failures.

#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "rocksdb/rocksdb_namespace.h"
#include "util/random.h"
#include "util/string_util.h"

namespace ROCKSDB_NAMESPACE::protean {

// Runs `body` in another process, and returns how that has ended, as waitpid
// does: with 1 if the test fails there.
inline int InAnotherProcess(const std::function<void()>& body) {
  fflush(stdout);
  fflush(stderr);
  const pid_t child = fork();
  if (child == 0) {
    body();
    fflush(stdout);
    _exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int ended = 0;
  while (waitpid(child, &ended, 0) < 0 && errno == EINTR) {
  }
  return ended;
}

// A T of zeros that the processes which are forked afterwards share. T has no
// destructor that does anything.
template <typename T>
class SharedMemory {
 public:
  SharedMemory()
      : memory_(mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    EXPECT_NE(MAP_FAILED, memory_);
  }
  ~SharedMemory() { munmap(memory_, sizeof(T)); }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  T* operator->() const { return static_cast<T*>(memory_); }
  void Clear() { memset(memory_, 0, sizeof(T)); }

 private:
  void* const memory_;
};

// What a power failure takes from a folder in which a process has been killed:
// all data that it had not synced, and all new files and names whose folder it
// had not synced. Deletions last.
//
// `journal` is that of the process's FaultFileSystem. Of data that was not
// synced, a part is left that `rnd` chooses; nothing of it without.
class PowerFailure {
 public:
  explicit PowerFailure(const std::string& journal) {
    std::ifstream lines(journal);
    for (std::string line; std::getline(lines, line);) Replay(line);
  }

  void Strike(Random* rnd) {
    for (auto change = unsynced_.rbegin(); change != unsynced_.rend();
         ++change) {
      if (change->from.empty()) {
        std::filesystem::remove(change->path);
        files_.erase(change->path);
        continue;
      }
      if (!IsThere(change->path)) continue;
      std::filesystem::rename(change->path, change->from);
      files_[change->from] = files_[change->path];
      files_.erase(change->path);
      if (!change->replaced.empty()) {
        std::filesystem::rename(change->replaced, change->path);
      }
    }
    for (const auto& [path, synced] : files_) {
      if (!IsThere(path)) continue;
      const uint64_t size = std::filesystem::file_size(path);
      if (size <= synced) continue;
      const uint64_t torn =
          rnd == nullptr ? 0 : rnd->Uniform(static_cast<int>(size - synced));
      std::filesystem::resize_file(path, synced + torn);
      lost_bytes_ += size - synced - torn;
    }
  }

  uint64_t lost_bytes() const { return lost_bytes_; }

 private:
  // A file that was created, or, with `from`, renamed.
  struct Change {
    std::string path;
    std::string from;
    std::string replaced;  // what was there before, if anything
  };

  // A process that was killed from outside may have deleted the file and not
  // noted that yet.
  static bool IsThere(const std::string& path) {
    return std::filesystem::exists(path);
  }

  void Replay(const std::string& line) {
    std::vector<std::string> fields = StringSplit(line, '\t');
    fields.resize(4);
    const std::string& what = fields[0];
    const std::string& path = fields[1];
    const std::string& more = fields[2];  // bytes, or the old name
    const std::string& replaced = fields[3];
    if (what == "C") {
      files_[path] = 0;
      unsynced_.push_back({path, "", ""});
    } else if (what == "S") {
      files_[path] = std::stoull(more);
    } else if (what == "R") {
      files_[path] = files_[more];
      files_.erase(more);
      unsynced_.push_back({path, more, replaced});
    } else if (what == "D") {
      files_.erase(path);
      Forget([&](const Change& change) { return change.path == path; });
    } else if (what == "F") {
      const auto folder = std::filesystem::path(path + "/").parent_path();
      Forget([&](const Change& change) {
        return std::filesystem::path(change.path).parent_path() == folder;
      });
    }
  }
  // These are not lost any more.
  void Forget(const std::function<bool(const Change&)>& is_synced) {
    unsynced_.erase(
        std::remove_if(unsynced_.begin(), unsynced_.end(), is_synced),
        unsynced_.end());
  }

  std::map<std::string, uint64_t> files_;  // the bytes of each that are synced
  std::vector<Change> unsynced_;           // in their order
  uint64_t lost_bytes_ = 0;
};

}  // namespace ROCKSDB_NAMESPACE::protean
