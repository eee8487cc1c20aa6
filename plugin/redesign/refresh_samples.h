// SPDX-License-Identifier: Apache-2.0

//  The sample queries of a column family, and the part of all questions to
//  filters that each of them stands for.

#pragma once

#include <cstddef>
#include <vector>

#include "filter_policy/protean_filter_policy.h"
#include "filter_policy/samples/query_queue.h"
#include "rocksdb/db.h"
#include "rocksdb/metadata.h"

namespace ROCKSDB_NAMESPACE::protean {

// Some samples of a RefreshSamples object, ordered by lower bound.
using SampledQueries = std::vector<const SampleQuery*>;

// Not thread safe.
class RefreshSamples {
 public:
  // Takes the samples that the policy has for the column family now.
  RefreshSamples(const ProteanFilterPolicy& policy, DB* db,
                 ColumnFamilyHandle* column_family);

  RefreshSamples(const RefreshSamples&) = delete;
  RefreshSamples& operator=(const RefreshSamples&) = delete;

  // Their number; 0 if the policy has no use for samples.
  size_t size() const { return samples_.size(); }
  bool empty() const { return samples_.empty(); }
  // Whether any sample is from a query since the DB was opened.
  bool rate_known() const { return rate_known_; }
  // The questions to filters that all samples stand for.
  double questions_per_second() const { return questions_per_second_; }

  // Returns the queries that the filter of each file decides, by the order of
  // the files in the metadata. A query counts in equal parts for all of these
  // files. Called once, before Share.
  std::vector<SampledQueries> SpreadOver(const ColumnFamilyMetaData& metadata,
                                         size_t timestamp_size);

  // The share of the queries in all questions that the samples stand for.
  double Share(const SampledQueries& queries) const;

 private:
  std::vector<SampleQuery> samples_;  // ordered by lower bound
  // The weight of each sample, for each file whose filter decides it.
  std::vector<double> weights_;
  bool rate_known_ = false;
  double questions_per_second_ = 0;
};

}  // namespace ROCKSDB_NAMESPACE::protean
