//  protean verify: checks that filters find what the files hold.

#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tools/command.h"
#include "tools/output.h"
#include "tools/progress.h"
#include "tools/target.h"

namespace ROCKSDB_NAMESPACE::protean {

class Verify : public Command {
 public:
  const char* name() const override { return "verify"; }
  const char* summary() const override {
    return "Checks that the filter of each SST file finds every key of the "
           "file, and that the file is undamaged.";
  }
  const char* usage() const override {
    return "verify --db=DIR | FILE...  [FLAGS]";
  }
  const char* help() const override;
  void AddFlags(Arguments* arguments) override;
  Status Run(const std::vector<std::string>& operands, std::ostream& out,
             std::ostream& err, bool* found) override;

 private:
  // The result of a pass over files.
  struct Findings {
    uint64_t files = 0;
    uint64_t keys = 0;
    uint64_t wrong = 0;
    std::vector<std::pair<std::string, std::string>> fixable;
    // All files verified so far, by column family and name.
    std::set<std::pair<std::string, std::string>> seen;
  };

  // Verifies the files of the target except those that `*findings` has seen,
  // several at a time, and prints a row for each.
  void VerifyFiles(const Target& target, Output* output, Progress* progress,
                   Findings* findings) const;
  // Rewrites the fixable files. Adds the number of those that cannot be
  // rewritten to `*unfixed`.
  Status Fix(const Findings& findings, std::ostream& err, Output* output,
             Progress* progress, uint64_t* unfixed) const;

  Target target_;
  bool fix_ = false;
  bool json_ = false;
};

}  // namespace ROCKSDB_NAMESPACE::protean
