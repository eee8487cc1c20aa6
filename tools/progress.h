// SPDX-License-Identifier: Apache-2.0

//  Long pieces of work: how far they are, in a line on a terminal; Ctrl-C and
//  SIGTERM as a request to stop after the current piece; several threads.

#pragma once

#include <signal.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <ostream>
#include <string>

#include "rocksdb/rocksdb_namespace.h"

namespace ROCKSDB_NAMESPACE::protean {

// A duration for people, such as "40 s", "5 min" or "3 h 20 min".
std::string PrintedSeconds(double seconds);

// The seconds until `total` bytes are done, if the rest takes as long per byte
// as the `done` bytes, which have taken `seconds`. Negative if nothing has been
// done yet.
double SecondsLeft(uint64_t done, uint64_t total, double seconds);

// Such as "1.2 GB of 3.4 GB, 35 %, about 5 min left"; "beginning" as long as
// `total` is not known, which is 0 then.
std::string PrintedProgress(uint64_t done, uint64_t total, double seconds);

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

// Calls `work` with each number below `count`, several at a time, and returns
// when all calls have returned.
void InParallel(size_t count, const std::function<void(size_t)>& work);

}  // namespace ROCKSDB_NAMESPACE::protean
