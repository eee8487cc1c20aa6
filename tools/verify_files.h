// SPDX-License-Identifier: Apache-2.0

//  Verifies all files of a DB, although the DB may compact them meanwhile.

#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "rocksdb/status.h"
#include "tools/file_check.h"
#include "tools/output.h"
#include "tools/progress.h"
#include "tools/target.h"
#include "tools/verify_report.h"

namespace ROCKSDB_NAMESPACE::protean {

class FileVerifier {
 public:
  // Files that are well are not printed with `problems_only`. The other
  // arguments must outlive this object.
  FileVerifier(bool problems_only, Output* output, Progress* progress)
      : problems_only_(problems_only), output_(*output), progress_(*progress) {}

  // Opens the target with these operands, and verifies its files, and then the
  // files that have replaced those that are gone. Files that this object has
  // verified before are left out. Prints a row for each file, and adds it to
  // `*totals`. Returns an error only if the target cannot be opened.
  Status Verify(const std::vector<std::string>& operands, Target* target,
                VerifyTotals* totals);

 private:
  // Lists the files of the target that have not been verified.
  std::vector<FileCheck> ListNewFiles(const Target& target);
  // Verifies these files, several at a time. Returns the number of those that
  // are gone.
  uint64_t VerifyNewFiles(const Target& target, VerifyTotals* totals);

  const bool problems_only_;
  Output& output_;
  Progress& progress_;
  // All files verified so far, by column family and name.
  std::set<std::pair<std::string, std::string>> seen_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
