// SPDX-License-Identifier: Apache-2.0

//  The search for the best design (Proteus paper, section 4.3): a race before
//  one judge (DesignJudge, design_judge.h), which docs/internals/proteus.md
//  tells in full ("How the design is chosen").
//
//    1. Each form of designs has a function that makes a list of its candidates
//       and leaves the best of them: all pairs, as in algorithm 1
//       (SearchPairs); series and pairs of sets, from a coarse grid
//       (SearchSeries, SearchTwoSets); and the best of all with a set of whole
//       keys in front (AddKeySets).
//    2. The best, by rate and by cost, meet 2,048 queries, and those that these
//       do not tell apart meet all (Race).
//
//  docs/results/constants.md tells what halving and doubling each constant of
//  the search does (scripts/constants_table.py).

#pragma once

#include <utility>
#include <vector>

#include "filter_policy/proteus/search/design_judge.h"
#include "filter_policy/query_demand.h"

namespace ROCKSDB_NAMESPACE::protean {

class DesignSearch {
 public:
  // `kinds` are the allowed kinds of sets. The model must outlive the search.
  DesignSearch(const CpfprModel& model, std::vector<AmqKind> kinds,
               const FilterDemand& demand = {})
      : model_(model),
        statistics_(model.statistics()),
        judge_(model),
        kinds_(std::move(kinds)),
        demand_(demand) {}

  void ForbidKeySets() { allow_key_sets_ = false; }
  // From now on, each design has a set of the whole keys, which point queries
  // ask alone. Without samples, it is as small as what is promised of points of
  // a filter of `filter_bytes` allows; with samples, their points and ranges
  // decide, down to half of that. It takes three quarters of the memory at
  // most. Not for DesignSpace::kTwoPrefixFilters.
  void AskKeysForPoints(uint64_t filter_bytes) { promising_ = filter_bytes; }

  // The best design in `bytes` bytes: its false positive rate is the lowest, or
  // a little above that if the design is faster by enough.
  ProteusDesign Choose(DesignSpace space, uint64_t bytes,
                       bool allow_tries = true) const;

 private:
  // Number of queries that the first round looks at.
  static constexpr size_t kFirstRoundQueries = 4096;
  // Number of designs of the lowest rates, and of those of the lowest costs,
  // that are in the race.
  static constexpr size_t kFinalists = 12;
  // Queries that the first round of the searches for two sets and for series
  // looks at.
  static constexpr size_t kGridQueries = 128;
  // Prefixes that a query of a series or of two sets tests, roughly.
  static constexpr double kUsualPrefixes = 4;

  // The design of a set of whole keys of that size with what `ranges`, a search
  // with one kind of sets, finds for the rest of the memory.
  DesignCandidate BesideKeys(const DesignSearch& ranges, DesignSpace space,
                             uint64_t key_bytes, uint64_t bytes,
                             bool allow_tries) const;
  ProteusDesign ChooseBesideKeys(DesignSpace space, uint64_t bytes,
                                 bool allow_tries) const;
  // If time weighs more than usual, replaces what is only roughly known of the
  // prefixes that a query tests.
  void CountTests(uint64_t bytes, DesignCandidate* candidate) const {
    if (demand_.price < kUsualPrice) judge_.CountTests(bytes, candidate);
  }
  void Race(uint64_t bytes, std::vector<DesignCandidate>* found) const;
  // Adds one design for each kind of sets: the layer, after a set of whole keys
  // if key_share > 0. A query tests about `tests` prefixes.
  void AddOfEachKind(const Layer& layer, double key_share, double tests,
                     uint64_t bytes, size_t num_queries,
                     std::vector<DesignCandidate>* found) const;
  // Adds designs, each with a set of whole keys in these shares of the memory
  // of its sets.
  void AddKeySets(const std::vector<DesignCandidate>& designs,
                  const std::vector<double>& shares, uint64_t bytes,
                  std::vector<DesignCandidate>* found) const;

  // In `broken`, if given, are the best designs that do not keep what is
  // promised of points, one for each first length.
  void SearchPairs(const std::vector<uint32_t>& first_lengths,
                   const std::vector<uint32_t>& lengths, uint64_t bytes,
                   std::vector<DesignCandidate>* found,
                   std::vector<DesignCandidate>* broken = nullptr) const;
  void SearchSeries(uint64_t bytes, double key_share,
                    std::vector<DesignCandidate>* found) const;
  void SearchTwoSets(uint64_t bytes, std::vector<DesignCandidate>* found) const;

  const CpfprModel& model_;
  const KeyStatistics& statistics_;
  const DesignJudge judge_;
  const std::vector<AmqKind> kinds_;
  const FilterDemand demand_;
  bool allow_key_sets_ = true;
  bool allow_two_sets_ = true;
  // The size of the filter whose points ask the keys alone; 0 if they do not.
  uint64_t promising_ = 0;
};

}  // namespace ROCKSDB_NAMESPACE::protean
