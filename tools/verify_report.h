// SPDX-License-Identifier: Apache-2.0

//  What `protean verify` prints of the files that it has checked.

#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tools/file_check.h"
#include "tools/output.h"
#include "tools/target.h"

namespace ROCKSDB_NAMESPACE::protean {

// The sums over all files that were checked.
struct VerifyTotals {
  uint64_t files = 0;  // SST files
  uint64_t keys = 0;
  uint64_t blob_files = 0;
  uint64_t wrong = 0;
  uint64_t not_seen = 0;
  uint64_t not_checked = 0;  // filters
  // The wrong ones that can be fixed, by column family and name.
  std::vector<std::pair<std::string, std::string>> fixable;

  // Counts a file.
  void Add(const FileCheck& check);
  // Whether an operator has to look at something.
  bool NeedsAttention() const { return wrong > 0 || not_seen > 0; }
  // In words, such as "6 files with 9000 keys: all is well".
  std::string Summary() const;
};

// Prints a table of the column family's files among `checks`, and nothing if
// there are none to print. With `problems_only`, leaves out those that are
// well.
void PrintFiles(const TargetFamily& family,
                const std::vector<FileCheck>& checks, bool problems_only,
                Output* output);

// Prints that the MANIFEST ends within a record: `cut_off` says where.
void PrintCutOff(const std::string& cut_off, Output* output);

}  // namespace ROCKSDB_NAMESPACE::protean
