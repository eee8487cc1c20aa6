//  protean samples: the sample queries that filters are designed for.

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
    return "Shows, exports, imports and merges the sample queries that filters "
           "are designed for.";
  }
  const char* usage() const override {
    return "samples show|export|import|merge  [FILE...]  [FLAGS]";
  }
  const char* help() const override;
  void AddFlags(Arguments* arguments) override;
  Status Run(const std::vector<std::string>& operands, std::ostream& out,
             std::ostream& err, bool* found) override;

 private:
  // The operands of a form of the command.
  using Files = std::vector<std::string>;
  Status Show(const Files& files, Output* output, std::ostream& err,
              bool* found);
  Status Export(const Files& files, Output* output, std::ostream& err);
  Status Import(const Files& files, Output* output, std::ostream& err);
  Status Merge(const Files& files, Output* output, std::ostream& err);

  // Opens the DB. Returns InvalidArgument unless exactly one column family is
  // selected.
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

// Merges lists of samples, each of which is ordered from oldest to newest.
// Takes queries from each list in turn, the newest first: at most `max` in all,
// or all of them if `max` is 0. Duplicates are taken once, where they come
// first. The result is also ordered from oldest to newest.
std::vector<SampleQuery> MergeSamples(
    std::vector<std::vector<SampleQuery>> lists, uint64_t max);

}  // namespace ROCKSDB_NAMESPACE::protean
