// SPDX-License-Identifier: Apache-2.0

//  The output of commands: tables and lines for people, or, with --json, one
//  object per line for programs.

#pragma once

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "rocksdb/env.h"
#include "rocksdb/rocksdb_namespace.h"
#include "rocksdb/slice.h"
#include "rocksdb/status.h"

namespace ROCKSDB_NAMESPACE::protean {

using Json = nlohmann::ordered_json;

// A column of a table.
struct Column {
  const char* field;  // key in the rows
  // The field's name if it is not given.
  const char* title = nullptr;
  // Digits after the point of a fraction.
  int digits = 2;
};

class Output {
 public:
  Output(std::ostream& out, bool as_json) : out_(out), as_json_(as_json) {}

  // Prints a line for people only.
  void Line(const std::string& text = "") {
    if (!as_json_) out_ << text << '\n';
  }

  // Prints a text as it is.
  void Text(const std::string& text) { out_ << text; }

  // Prints a table. Programs get each row with all of its fields. People get
  // the fields that have columns, without columns that are empty in all rows;
  // nulls are shown as "-".
  void Table(const std::vector<Column>& columns, const std::vector<Json>& rows);

  // Prints a row for programs only.
  void Row(const Json& row) {
    if (!as_json_) return;
    out_ << row.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
  }

 private:
  std::ostream& out_;
  const bool as_json_;
};

// Writes a file that the command line names, as `called` in an error. What a DB
// is to read is written with its Env.
Status WriteResult(const std::string& file, const std::string& called,
                   const std::string& contents, Env* env = Env::Default());

// A key for people and programs: the key itself if it is printable, else
// hexadecimal, as in ldb --hex and in files of queries.
std::string PrintedKey(const Slice& key);

// A name for people: line breaks and other control characters are shown as in
// a string of C, such as \n.
std::string PrintedName(const std::string& name);

// A word of a command line for a shell, quoted if it has to be.
std::string ShellWord(const std::string& word);

// The path from the root, for text that may be used in another working folder.
std::string AbsolutePath(const std::string& path);

// A number, or null for a negative one, which means unknown.
template <typename T>
Json OrNull(T number) {
  return number < 0 ? Json() : Json(number);
}

// A value, or null if it is not known.
template <typename T>
Json OrNull(bool known, const T& value) {
  return known ? Json(value) : Json();
}

// How much of `a` there is for each `b`, of which at least one counts.
template <typename A, typename B>
double Ratio(A a, B b) {
  return static_cast<double>(a) / std::max(static_cast<double>(b), 1.0);
}

// A number of bytes, such as 1.5 MB; a MB is 2^20 bytes.
std::string PrintedBytes(double bytes);
inline std::string PrintedBytes(uint64_t bytes) {
  return PrintedBytes(static_cast<double>(bytes));
}

// Wraps a text into lines of at most `width` columns. All lines but the first
// begin with `indent` spaces; the first line has already been indented.
std::string Wrap(const std::string& text, size_t indent, size_t width = 100);

// The word among `known`, of which there is at least one, that takes the fewest
// changes of a character from `word`, or that `word` begins.
std::string Nearest(const std::string& word,
                    const std::vector<std::string>& known);

// Formats as printf does.
std::string Format(const char* format, ...)
    __attribute__((format(printf, 1, 2)));

// ---- Progress ----

// Long pieces of work: how far they are, in a line on a terminal; Ctrl-C and
// SIGTERM as a request to stop after the current piece.

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
  explicit Progress(std::ostream& err)
      : err_(err), watched_(&err == &std::cerr && isatty(STDERR_FILENO) != 0) {}
  // Clears the line.
  ~Progress() { Clear(); }

  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Returns true if the line is shown at all.
  bool watched() const { return watched_; }
  // Returns true if it is time to show another text, which is a few times a
  // second.
  bool IsDue() const {
    return watched_ && std::chrono::steady_clock::now() >= due_;
  }
  // The time since this object was made.
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() -
                                         begin_)
        .count();
  }
  // Replaces the line by `text`, which must fit into a line.
  void Show(const std::string& text) {
    if (!watched_) return;
    err_ << kEraseLine << text << std::flush;
    shown_ = true;
    due_ = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
  }
  // Clears the line, so that something else can be printed.
  void Clear() {
    if (shown_) err_ << kEraseLine << std::flush;
    shown_ = false;
  }

 private:
  // Returns to the first column and erases the line.
  static constexpr char kEraseLine[] = "\r\033[K";

  std::ostream& err_;
  const bool watched_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point due_;
  const std::chrono::steady_clock::time_point begin_ =
      std::chrono::steady_clock::now();
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
  void (*before_[2])(int);
};

}  // namespace ROCKSDB_NAMESPACE::protean
