// SPDX-License-Identifier: Apache-2.0

//  What tests that kill processes share: processes that the test's own one
//  forks, and memory that they have in common. The test's own process has no
//  threads when it forks.

#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <functional>

#include "rocksdb/rocksdb_namespace.h"

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

}  // namespace ROCKSDB_NAMESPACE::protean
