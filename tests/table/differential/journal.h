// SPDX-License-Identifier: Apache-2.0

//  What a run has done so far, one line per operation, and the first difference
//  between the twins.

#pragma once

#include <array>
#include <string>
#include <vector>

#include "rocksdb/iterator.h"
#include "rocksdb/status.h"
#include "rocksdb/wide_columns.h"

namespace ROCKSDB_NAMESPACE::protean {

enum Twin { kProtean, kPlain };
constexpr std::array<Twin, 2> kTwins = {kProtean, kPlain};

class Journal {
 public:
  // With `print`, lines go to stdout at once, so that a crash shows them.
  explicit Journal(bool print) : print_(print) {}

  void Note(const std::string& line);

  // Records a difference, unless there is one already. The rest of the run does
  // not count then.
  void Differ(const std::string& what);
  // Reports a difference if the strings differ. Returns whether they agree.
  bool Expect(const std::string& what, const std::string& plain,
              const std::string& protean);

  bool ok() const { return difference_.empty(); }
  const std::string& difference() const { return difference_; }
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  const bool print_;
  std::vector<std::string> lines_;
  std::string difference_;
};

// A status without its message, which may contain the name of a file.
std::string Describe(const Status& status);
std::string Describe(const WideColumns& columns);
// Bytes in printable form; long runs of the same byte are shortened.
std::string Brief(const Slice& bytes);

}  // namespace ROCKSDB_NAMESPACE::protean
