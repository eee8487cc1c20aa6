// SPDX-License-Identifier: Apache-2.0

//  Which of the filters that were tried is the best: the one that saves most
//  for its bits, among those that obey the operator's limits. And what was
//  measured, in tables for people and in rows for programs; and the commands
//  that lead to the recommended filters.

#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "tools/filter_replay.h"
#include "tools/output.h"
#include "tools/read_truth.h"
#include "tools/target.h"

namespace ROCKSDB_NAMESPACE::protean {

// The first two results of a replay: the existing filters, and no filters.
constexpr size_t kAsItIs = 0;
constexpr size_t kNoFilters = 1;

// Filters count as equally good if their size and the blocks read differ by
// less than this factor.
constexpr double kAsGood = 1.02;

// What the filters may cost. Infinity is no limit.
struct AdviceLimits {
  static constexpr double kNoLimit = std::numeric_limits<double>::infinity();

  double get_blocks = kNoLimit;     // of a Get of an absent key, on average
  double filter_memory = kNoLimit;  // bytes of all filters
  double build_cpu = kNoLimit;      // seconds, to build all filters
};

// How a result stands to the limit that it exceeds by the largest factor, or
// comes nearest to.
struct LimitUse {
  std::string flag;  // such as "max_get_blocks"
  double needs = 0;
  double allowed = AdviceLimits::kNoLimit;

  double Share() const;
  bool exceeds() const { return Share() > 1; }
  // Such as "needs 0.0200 blocks for a Get of an absent key, but
  // --max_get_blocks=0.0100".
  std::string Text() const;
};
LimitUse TightestLimit(const ReplayResult& result, const AdviceLimits& limits);

// Returns true if Gets of absent keys were replayed, without which their limit
// means nothing.
bool HasAbsentGets(const ReplayResult& result);

struct Recommendation {
  // The index of the best result, or of the nearest miss if none of the results
  // obeys the limits.
  size_t result = kNoFilters;
  bool obeys = true;
  // The index that would be best if there were no limits.
  size_t without_limits = kNoFilters;
};

// Starts from no filters; if the limits rule these out, from the result with
// the largest saving per bit. Goes on to the result with the largest saving per
// additional bit, until a bit saves less than `min_saving` percent of the
// blocks read without filters.
Recommendation Recommend(const std::vector<ReplayResult>& results,
                         const AdviceLimits& limits, double min_saving);

// Prints that there is no advice, because the reads, which come from `source`,
// ask no file.
void PrintNothingMeasured(const TargetFamily& family, const std::string& source,
                          const std::vector<ReadQuery>& reads, Output* output);

// Prints one report. The arguments of the constructor must outlive it.
class AdviceTables {
 public:
  // Programs get the rows of all results, people those of the recommended one.
  AdviceTables(const TargetFamily& family, const ReplayReport& report,
               Output* output)
      : family_(family), report_(report), output_(output) {}

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
  // The fields that the rows of a policy, a level and the advice have in
  // common.
  Json RowOf(const std::string& policy, const ReplaySum& sum) const;

 private:
  // What the results leave out or assume.
  void PrintNotes(const ReadTruth& truth, size_t missing) const;

  const TargetFamily& family_;
  const ReplayReport& report_;
  Output* const output_;
};

// ---- The way there ----

// Where protean advise has its DB and its reads from, as its flags say; empty
// what was not given.
struct AdviceSource {
  std::string db;
  std::string trace;
  std::string queries;
  std::string save_samples;
  uint64_t max_queries = 20000;
};

// The policy as an options string. A policy that learns gets the files that it
// learns from.
std::string PolicyText(const AdviceSource& source, const TargetFamily& family,
                       const Candidate& candidate);

// The commands that give the DB the recommended filters, in their order; none
// without a DB.
std::vector<std::string> CommandsFor(const AdviceSource& source,
                                     const TargetFamily& family,
                                     const Candidate& candidate);

}  // namespace ROCKSDB_NAMESPACE::protean
