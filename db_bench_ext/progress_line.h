// SPDX-License-Identifier: Apache-2.0

//  A line of progress on a terminal, overwritten as work goes on. Without a
//  terminal, nothing is printed.

#pragma once

#include <unistd.h>

#include <cstdio>
#include <string>

#include "rocksdb/rocksdb_namespace.h"

namespace ROCKSDB_NAMESPACE::protean {

class ProgressLine {
 public:
  // Sets the beginning of all later lines.
  void SetTitle(const std::string& title) { title_ = title; }

  void Show(const std::string& what, double done) {
    if (!terminal_) return;
    const int percent = static_cast<int>(100 * done);
    if (what == what_ && percent == percent_) return;
    what_ = what;
    percent_ = percent;
    fprintf(stderr, "\r%-50s %3d %%", (title_ + ": " + what).c_str(), percent);
  }
  void Clear() {
    if (terminal_) fprintf(stderr, "\r%-60s\r", "");
  }

 private:
  const bool terminal_ = isatty(STDERR_FILENO) == 1;
  std::string title_;
  std::string what_;
  int percent_ = -1;
};

}  // namespace ROCKSDB_NAMESPACE::protean
