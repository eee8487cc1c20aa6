// SPDX-License-Identifier: Apache-2.0

//  What protean advise has measured, in tables for people and in rows for
//  programs.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tools/filter_replay.h"
#include "tools/output.h"
#include "tools/read_truth.h"
#include "tools/target.h"

namespace ROCKSDB_NAMESPACE::protean {

// Prints that there is no advice, because the reads, which come from `source`,
// ask no file.
void PrintNothingMeasured(const TargetFamily& family, const std::string& source,
                          const std::vector<ReadQuery>& reads, Output* output);

// Prints one report. The arguments of the constructor must outlive it.
class AdviceTables {
 public:
  // Programs get the rows of all results, people those of the recommended one.
  AdviceTables(const TargetFamily& family, const ReplayReport& report,
               bool for_programs, Output* output)
      : family_(family),
        report_(report),
        for_programs_(for_programs),
        output_(output) {}

  // The reads that were replayed, and what limits the results. `source` is
  // where `seen` reads were found, of which `reads` were chosen. `missing`
  // files do not exist although the MANIFEST lists them.
  void PrintReads(const std::string& source, uint64_t seen,
                  const std::vector<ReadQuery>& reads, const ReadTruth& truth,
                  size_t missing) const;
  // What each result costs and saves.
  void PrintPolicies() const;
  // What each kind of read costs now and under the recommended result, and
  // which of them gets worse.
  void PrintKinds(size_t recommended) const;
  // The levels, as they are and under the recommended result.
  void PrintLevels(size_t recommended) const;
  // What `policy` does where false positives are cheap, and where they are
  // dear, if these are the results.
  void PrintTrade(const std::string& policy) const;

  // The fields that the rows of a policy, a level and the advice have in
  // common.
  Json RowOf(const std::string& policy, const ReplaySum& sum) const;

 private:
  const TargetFamily& family_;
  const ReplayReport& report_;
  const bool for_programs_;
  Output* const output_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
