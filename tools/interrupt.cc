// SPDX-License-Identifier: Apache-2.0

#include "tools/interrupt.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

volatile sig_atomic_t interrupted = 0;

void OnInterrupt(int /*signal*/) { interrupted = 1; }

}  // namespace

Interrupt::Interrupt() {
  interrupted = 0;
  struct sigaction action = {};
  action.sa_handler = OnInterrupt;
  sigemptyset(&action.sa_mask);
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  sigaction(SIGINT, &action, &before_);
}

Interrupt::~Interrupt() { sigaction(SIGINT, &before_, nullptr); }

bool Interrupt::requested() const { return interrupted != 0; }

}  // namespace ROCKSDB_NAMESPACE::protean
