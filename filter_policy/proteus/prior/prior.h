// SPDX-License-Identifier: Apache-2.0

//  The prior: the queries for which a file's filter is designed before any
//  sample query has come, and in part later too, since some queries to come are
//  like none of the samples.
//
//  Only the keys are known. So the queries are made from the keys, as a mixture
//  of what applications ask, all of it empty: docs/internals/proteus.md has the
//  kinds and their weights, and tells why. docs/results/first_file.md and
//  docs/results/engine.md tell what was measured.
//
//  The prior depends on the keys alone: equal keys give equal priors.

#pragma once

#include <optional>
#include <vector>

#include "filter_policy/proteus/model/cpfpr.h"

namespace ROCKSDB_NAMESPACE::protean {

// The queries, whose weights sum to kPriorSamples. There are none if there are
// no keys, or no place between them. `statistics` are those of `keys`. The more
// samples there are, the fewer queries stand for the prior. LocateSamples
// explains `prefixes_only`.
std::vector<LocatedQuery> MakePrior(const KeyStore& keys,
                                    const KeyStatistics& statistics,
                                    size_t num_samples, bool prefixes_only);

// The prior of a file, which is made anew only if the number of samples
// matters. The keys and their statistics must outlive it.
class FilePrior {
 public:
  FilePrior(const KeyStore& keys, const KeyStatistics& statistics,
            bool prefixes_only)
      : keys_(keys), statistics_(statistics), prefixes_only_(prefixes_only) {}

  void MakeFor(size_t num_samples);
  // The model of these samples, each of this weight, and of the prior.
  CpfprModel ModelOf(const std::vector<SampleQuery>& samples,
                     double weight) const {
    return CpfprModel(keys_, statistics_, samples, queries_, prefixes_only_,
                      weight);
  }
  const KeyStatistics& statistics() const { return statistics_; }
  // None before MakeFor.
  const std::vector<LocatedQuery>& queries() const { return queries_; }

 private:
  const KeyStore& keys_;
  const KeyStatistics& statistics_;
  const bool prefixes_only_;
  std::optional<bool> many_samples_;
  std::vector<LocatedQuery> queries_;
};

// The number of sample queries for which the prior counts. By the rule of
// succession, after n queries that were all alike, the next one is of another
// kind with a probability of about 1 / (n + 1): the share of one sample.
constexpr double kPriorSamples = 1;

}  // namespace ROCKSDB_NAMESPACE::protean
