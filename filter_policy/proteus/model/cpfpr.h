// SPDX-License-Identifier: Apache-2.0

//  The contextual prefix FPR model (Proteus paper, sections 3 and 4.3): the
//  false positive rate that a design would have on a sample of queries.
//
//  Whether a design resolves an empty query depends on three lengths: what each
//  of its bounds shares with the nearest key, and what the bounds share. So the
//  keys are asked once for each query, and any number of designs can then be
//  judged without them. In the order of the work:
//
//    located_query.h, located_samples.h   the three lengths of a query
//    model_queries.h         the samples and the prior together
//    prefix_sets.h           the plan: how many bytes each set of a design
//                            gets, and its false positive rate
//    prefix_counts.h, tested_prefixes.h   the prefixes that a query tests
//    query_probability.h     the probability of a false positive: equations 1,
//                            4 and 5
//    design_rates.h          the averages of these probabilities
//    prefix_tests.h          what a query asks of the sets: its time
//
//  CpfprModel is this work for one query after the other. A search judges
//  thousands of designs, and takes the same averages with less work:
//
//    query_sample.h          every k-th query, with equal ones in classes
//    query_groups.h          the queries that all designs of the same lengths
//                            test alike
//    sample_rates.h          the averages from classes and groups

#pragma once

#include <utility>
#include <vector>

#include "filter_policy/proteus/model/design_rates.h"
#include "filter_policy/proteus/model/model_queries.h"
#include "filter_policy/proteus/model/prefix_sets.h"
#include "filter_policy/proteus/model/prefix_tests.h"

namespace ROCKSDB_NAMESPACE::protean {

class CpfprModel {
 public:
  // Locates those of `samples` for which the file would be asked and which find
  // nothing in it. `keys` ascend; `statistics` are theirs, and must outlive the
  // model. The queries of `prior` (prior.h) count as well. If `prefixes_only`,
  // a point query asks for all keys that start with its key. Each sample has
  // the weight `sample_weight`: the number of samples that it stands for.
  CpfprModel(const KeyStore& keys, const KeyStatistics& statistics,
             const std::vector<SampleQuery>& samples,
             const std::vector<LocatedQuery>& prior = {},
             bool prefixes_only = false, double sample_weight = 1)
      : CpfprModel(statistics,
                   OrderQueries(LocateSamples(keys, statistics, samples,
                                              prefixes_only, sample_weight),
                                prior)) {}

  // ModelQueries explains these.
  const std::vector<LocatedQuery>& queries() const { return queries_.all; }
  size_t num_samples() const { return queries_.num_samples; }
  size_t num_before_points() const { return queries_.num_before_points; }
  const SharedShares& points() const { return queries_.points; }
  uint32_t outside() const { return queries_.outside; }

  const KeyStatistics& statistics() const { return statistics_; }

  // The model of those queries that are no points.
  CpfprModel Ranges() const { return {statistics_, RangesAmong(queries_)}; }

  // The false positive rate of a design whose sets take `set_bytes` bytes.
  double Evaluate(const ProteusDesign& design, uint64_t set_bytes) const {
    return Average(design, PlanPrefixSets(design, statistics_, set_bytes), 1)
        .all;
  }

  // The rates of a design with given sets, on every `step`-th query. Promised
  // points all count, except for a series.
  DesignRates Average(const ProteusDesign& design, const PrefixSets& sets,
                      size_t step) const;

  // What every `step`-th query asks of the sets, on average.
  PrefixTests CountTests(const ProteusDesign& design, const PrefixSets& sets,
                         size_t step) const;

 private:
  CpfprModel(const KeyStatistics& statistics, ModelQueries queries)
      : statistics_(statistics), queries_(std::move(queries)) {}

  const KeyStatistics& statistics_;
  ModelQueries queries_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
