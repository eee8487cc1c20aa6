// SPDX-License-Identifier: Apache-2.0

//  Ctrl-C as a request to stop after the current piece of work.

#pragma once

#include <signal.h>

#include "rocksdb/rocksdb_namespace.h"

namespace ROCKSDB_NAMESPACE::protean {

// While an Interrupt exists, the first SIGINT is only noted; a second one ends
// the process as usual. At most one exists at a time.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();

  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  bool requested() const;

 private:
  struct sigaction before_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
