// SPDX-License-Identifier: Apache-2.0

//  The output of commands: tables and lines for people, or, with --json, one
//  object per line for programs.

#pragma once

#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "rocksdb/slice.h"

namespace ROCKSDB_NAMESPACE::protean {

using Json = nlohmann::ordered_json;

// A column of a table.
struct Column {
  const char* field;  // key in the rows
  const char* title;
  // Digits after the point of a fraction.
  int digits = 2;
};

class Output {
 public:
  Output(std::ostream& out, bool as_json) : out_(out), as_json_(as_json) {}

  // Prints a line for people only.
  void Line(const std::string& text = "");

  // Prints a table. Programs get each row with all of its fields. People get
  // the fields that have columns, without columns that are empty in all rows;
  // nulls are shown as "-".
  void Table(const std::vector<Column>& columns, const std::vector<Json>& rows);

  // Prints a row for programs only.
  void Row(const Json& row);

 private:
  std::ostream& out_;
  const bool as_json_;
};

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

// A number of bytes, such as 1.5 MB; a MB is 2^20 bytes.
std::string PrintedBytes(double bytes);
inline std::string PrintedBytes(uint64_t bytes) {
  return PrintedBytes(static_cast<double>(bytes));
}

// Wraps a text into lines of at most `width` columns. All lines but the first
// begin with `indent` spaces; the first line has already been indented.
std::string Wrap(const std::string& text, size_t indent, size_t width);

// The word among `known`, of which there is at least one, that takes the fewest
// changes of a character from `word`.
std::string Nearest(const std::string& word,
                    const std::vector<std::string>& known);

// Formats as printf does.
std::string Format(const char* format, ...)
    __attribute__((format(printf, 1, 2)));

}  // namespace ROCKSDB_NAMESPACE::protean
