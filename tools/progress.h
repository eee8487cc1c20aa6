//  A line that says how far a command has come, while somebody watches.

#pragma once

#include <chrono>
#include <ostream>
#include <string>

#include "rocksdb/rocksdb_namespace.h"

namespace ROCKSDB_NAMESPACE::protean {

// Shows nothing unless `err` is the process's stderr, and that a terminal.
class Progress {
 public:
  explicit Progress(std::ostream& err);
  // Removes the line.
  ~Progress() { Clear(); }

  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Whether it is time for another text: some times a second.
  bool IsDue() const {
    return watched_ && std::chrono::steady_clock::now() >= due_;
  }
  // Puts this text, which is no longer than a line, in the place of the last.
  void Show(const std::string& text);
  // Removes the line, before something else is printed.
  void Clear();

 private:
  std::ostream& err_;
  const bool watched_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point due_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
