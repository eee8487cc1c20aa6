// SPDX-License-Identifier: Apache-2.0

#include "tools/progress.h"

#include <unistd.h>

#include <iostream>

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr std::chrono::milliseconds kPeriod(200);
// Returns to the first column and erases the line.
constexpr char kEraseLine[] = "\r\033[K";

}  // namespace

Progress::Progress(std::ostream& err)
    : err_(err), watched_(&err == &std::cerr && isatty(STDERR_FILENO) != 0) {}

void Progress::Show(const std::string& text) {
  if (!watched_) return;
  err_ << kEraseLine << text << std::flush;
  shown_ = true;
  due_ = std::chrono::steady_clock::now() + kPeriod;
}

void Progress::Clear() {
  if (shown_) err_ << kEraseLine << std::flush;
  shown_ = false;
}

}  // namespace ROCKSDB_NAMESPACE::protean
