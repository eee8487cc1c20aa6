//  protean advise: recommends filters for a DB.

#pragma once

#include <string>
#include <vector>

#include "tools/command.h"
#include "tools/filter_replay.h"
#include "tools/output.h"
#include "tools/target.h"

namespace ROCKSDB_NAMESPACE::protean {

class Advise : public Command {
 public:
  const char* name() const override { return "advise"; }
  const char* summary() const override {
    return "Recommends filters and their size, measured with the DB's own "
           "files and reads.";
  }
  const char* usage() const override {
    return "advise --db=DIR | FILE...  [--trace=FILE | --queries=FILE]  "
           "[FLAGS]";
  }
  const char* help() const override;
  void AddFlags(Arguments* arguments) override;
  Status Run(const std::vector<std::string>& operands, std::ostream& out,
             std::ostream& err, bool* found) override;

 private:
  // Chooses the column family, and adapts its options so that filters can be
  // tried.
  Status ChooseFamily(TargetFamily* family) const;
  Status ReadReads(const TargetFamily& family, std::ostream& err,
                   ReadSample* reads);
  Status MakeCandidates(std::vector<Candidate>* candidates) const;

  void PrintReads(const TargetFamily& family, const ReadTruth& truth,
                  const ReplayReport& report,
                  const std::vector<ReadQuery>& reads, Output* output) const;
  void PrintResults(const TargetFamily& family, const ReplayReport& report,
                    Output* output) const;
  // The index of the recommended result, beyond which no larger budget saves
  // enough for its bits.
  size_t Recommend(const ReplayReport& report) const;
  void PrintAdvice(const TargetFamily& family, const Candidate& candidate,
                   const ReplayReport& report, size_t recommended,
                   Output* output) const;

  Target target_;
  std::string queries_;
  std::string trace_;
  std::string save_samples_;
  std::vector<std::string> policies_;
  uint64_t max_bytes_ = uint64_t{1} << 30;
  uint64_t max_queries_ = 20000;
  double min_saving_ = 1;
  bool json_ = false;

  std::string source_;       // of the reads, for messages
  uint64_t reads_seen_ = 0;  // at the source
};

}  // namespace ROCKSDB_NAMESPACE::protean
