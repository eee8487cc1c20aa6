// SPDX-License-Identifier: Apache-2.0

#include "tests/table/differential/journal.h"

#include <cstdio>

#include "tests/key_families.h"

namespace ROCKSDB_NAMESPACE::protean {

void Journal::Note(const std::string& line) {
  if (print_) {
    printf("%s\n", line.c_str());
    fflush(stdout);
  }
  lines_.push_back(line);
}

void Journal::Differ(const std::string& what) {
  if (!ok()) return;
  difference_ = what;
  if (print_) printf("DIFFERENCE: %s\n", what.c_str());
}

bool Journal::Expect(const std::string& what, const std::string& plain,
                     const std::string& protean) {
  if (plain == protean) return true;
  Differ(what + "\n  plain:   " + plain + "\n  protean: " + protean);
  return false;
}

std::string Describe(const Status& status) {
  if (status.ok()) return "OK";
  return status.ToString().substr(0, status.ToString().find(": ")) + "/" +
         std::to_string(status.subcode());
}

std::string Describe(const WideColumns& columns) {
  std::string result;
  for (const WideColumn& column : columns) {
    result += Brief(column.name()) + "=" + Hex(column.value()) + ";";
  }
  return result;
}

std::string Brief(const Slice& bytes) {
  std::string result = "'";
  for (size_t i = 0; i < bytes.size();) {
    size_t run = 1;
    while (i + run < bytes.size() && bytes[i + run] == bytes[i]) run++;
    const auto c = static_cast<unsigned char>(bytes[i]);
    char one[8];
    snprintf(one, sizeof(one),
             c > ' ' && c < 0x7f && c != '\\' ? "%c" : "\\%02x", c);
    if (run < 6) {
      for (size_t j = 0; j < run; j++) result += one;
    } else {
      result += one + ("{" + std::to_string(run) + "}");
    }
    i += run;
  }
  return result + "'";
}

}  // namespace ROCKSDB_NAMESPACE::protean
