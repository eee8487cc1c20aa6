// SPDX-License-Identifier: Apache-2.0

//  A progress line on a terminal.

#pragma once

#include <chrono>
#include <ostream>
#include <string>

#include "rocksdb/rocksdb_namespace.h"

namespace ROCKSDB_NAMESPACE::protean {

// Shows nothing unless `err` is the process's stderr and a terminal.
class Progress {
 public:
  explicit Progress(std::ostream& err);
  // Clears the line.
  ~Progress() { Clear(); }

  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Whether the line is shown at all.
  bool watched() const { return watched_; }
  // Whether it is time to show another text, which is a few times a second.
  bool IsDue() const {
    return watched_ && std::chrono::steady_clock::now() >= due_;
  }
  // Replaces the line by `text`, which must fit into a line.
  void Show(const std::string& text);
  // Clears the line, so that something else can be printed.
  void Clear();

 private:
  std::ostream& err_;
  const bool watched_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point due_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
