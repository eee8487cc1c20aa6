//  protean inspect: shows which filters there are.

#pragma once

#include <map>
#include <string>
#include <vector>

#include "tools/command.h"
#include "tools/output.h"
#include "tools/target.h"

namespace ROCKSDB_NAMESPACE::protean {

class Inspect : public Command {
 public:
  const char* name() const override { return "inspect"; }
  const char* summary() const override {
    return "Shows the filter of each SST file, what its design is based on, "
           "and its predicted false positive rate.";
  }
  const char* usage() const override {
    return "inspect --db=DIR | FILE...  [FLAGS]";
  }
  const char* help() const override;
  void AddFlags(Arguments* arguments) override;
  Status Run(const std::vector<std::string>& operands, std::ostream& out,
             std::ostream& err, bool* found) override;

 private:
  Status ReadStatistics();
  void AddObserved(const TargetFamily& family, const TargetFile& file,
                   Json* row) const;

  Target target_;
  bool json_ = false;
  bool levels_only_ = false;
  std::string statistics_file_;
  std::string html_file_;
  std::string log_file_;
  // The files in the JSON of FilterStatistics, by column family and file name.
  std::map<std::string, std::map<std::string, Json>> statistics_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
