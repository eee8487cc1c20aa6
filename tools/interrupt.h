// SPDX-License-Identifier: Apache-2.0

//  Ctrl-C and SIGTERM as a request to stop after the current piece of work.

#pragma once

#include <signal.h>

#include <array>

#include "rocksdb/rocksdb_namespace.h"

namespace ROCKSDB_NAMESPACE::protean {

// While an Interrupt exists, the first SIGINT is only noted, and so is the
// first SIGTERM, with which a service manager or kill asks a process to end. A
// second one ends the process as usual. At most one Interrupt exists at a time.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();

  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  bool requested() const;

 private:
  std::array<struct sigaction, 2> before_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
