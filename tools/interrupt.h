//  Ctrl-C as a wish to end after the work in hand.

#pragma once

#include <signal.h>

#include "rocksdb/rocksdb_namespace.h"

namespace ROCKSDB_NAMESPACE::protean {

// While one exists, the first SIGINT is taken note of. The next one ends the
// process as ever. At most one at a time.
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
