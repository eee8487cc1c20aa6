//  What commands print: for people, tables and lines; for programs (--json),
//  one object a line.

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
  const char* field;  // of the rows
  const char* title;
  // Digits after the point of a number that is not whole.
  int digits = 2;
};

class Output {
 public:
  Output(std::ostream& out, bool as_json) : out_(out), as_json_(as_json) {}

  bool as_json() const { return as_json_; }

  // A line for people only.
  void Line(const std::string& text = "");

  // The rows of a table: for programs, each row with all of its fields. People
  // get those of the columns, except columns in which no row has anything;
  // nulls are shown as "-".
  void Table(const std::vector<Column>& columns, const std::vector<Json>& rows);

  // A row for programs only.
  void Row(const Json& row);

 private:
  std::ostream& out_;
  const bool as_json_;
};

// A key for people and programs: as it is if it is printable, and else in
// hexadecimal, as in ldb --hex and in files of queries.
std::string PrintedKey(const Slice& key);

// A number of bytes, such as 1.5 MB (of 2^20 bytes).
std::string PrintedBytes(double bytes);

// As printf.
std::string Format(const char* format, ...)
    __attribute__((format(printf, 1, 2)));

}  // namespace ROCKSDB_NAMESPACE::protean
