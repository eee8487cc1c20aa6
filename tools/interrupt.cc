// SPDX-License-Identifier: Apache-2.0

#include "tools/interrupt.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr std::array<int, 2> kSignals = {SIGINT, SIGTERM};

volatile sig_atomic_t interrupted = 0;

void SetAll(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  for (const int signal : kSignals) sigaction(signal, &action, nullptr);
}

// The next signal of either kind ends the process.
void OnInterrupt(int /*signal*/) {
  interrupted = 1;
  SetAll(SIG_DFL);
}

}  // namespace

Interrupt::Interrupt() {
  interrupted = 0;
  for (size_t i = 0; i < kSignals.size(); i++) {
    sigaction(kSignals[i], nullptr, &before_[i]);
  }
  SetAll(OnInterrupt);
}

Interrupt::~Interrupt() {
  for (size_t i = 0; i < kSignals.size(); i++) {
    sigaction(kSignals[i], &before_[i], nullptr);
  }
}

bool Interrupt::requested() const { return interrupted != 0; }

}  // namespace ROCKSDB_NAMESPACE::protean
