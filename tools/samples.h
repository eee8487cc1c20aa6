//  protean samples: the sample queries by which filters are designed.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "filter_policy/samples/query_queue.h"
#include "tools/command.h"
#include "tools/output.h"
#include "tools/target.h"

namespace ROCKSDB_NAMESPACE::protean {

class Samples : public Command {
 public:
  const char* name() const override { return "samples"; }
  const char* summary() const override {
    return "Shows, exports, imports and merges the sample queries by which "
           "filters are designed.";
  }
  const char* usage() const override {
    return "samples show|export|import|merge  [FILE...]  [FLAGS]";
  }
  const char* help() const override;
  void AddFlags(Arguments* arguments) override;
  Status Run(const std::vector<std::string>& operands, std::ostream& out,
             std::ostream& err, bool* found) override;

 private:
  // What a form is called with: its operands.
  using Files = std::vector<std::string>;
  Status Show(const Files& files, Output* output, std::ostream& err,
              bool* found);
  Status Export(const Files& files, Output* output, std::ostream& err);
  Status Import(const Files& files, Output* output, std::ostream& err);
  Status Merge(const Files& files, Output* output, std::ostream& err);

  // Opens the DB, of which exactly one column family is meant.
  Status OpenOne(const char* form);
  void ShowShapes(const std::string& column_family, const std::string& file,
                  const std::vector<SampleQuery>& queries,
                  Output* output) const;
  void ShowFiles(const TargetFamily& family, std::vector<SampleQuery> queries,
                 Output* output, bool* found) const;

  Target target_;
  std::string output_;
  uint64_t max_ = 0;
  bool json_ = false;
};

// Takes queries from each of the lists in turn, the newest first, which is the
// last one of a list; at most `max` in all, or all for 0. Of equal ones, the
// one that is taken first counts. Returns them in such an order that the newest
// is the last one again.
std::vector<SampleQuery> MergeSamples(
    std::vector<std::vector<SampleQuery>> lists, uint64_t max);

}  // namespace ROCKSDB_NAMESPACE::protean
