// SPDX-License-Identifier: Apache-2.0

//  Ctrl-C and SIGTERM for a command that runs in the process of the test.

#pragma once

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "rocksdb/rocksdb_namespace.h"

namespace ROCKSDB_NAMESPACE::protean {

// Sends a signal to this process as soon as the process catches that signal.
class SignalWhenCaught {
 public:
  explicit SignalWhenCaught(int signal)
      : thread_([signal] {
          struct sigaction action = {};
          while (action.sa_handler == SIG_DFL) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
            sigaction(signal, nullptr, &action);
          }
          kill(getpid(), signal);
        }) {}
  void Join() { thread_.join(); }

 private:
  std::thread thread_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
