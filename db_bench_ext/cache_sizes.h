// SPDX-License-Identifier: Apache-2.0

//  The workload cache_sizes: filters and indexes go through a block cache that
//  is smaller than all filters. One tree is read through caches of many sizes,
//  by queries for absent keys, closed seeks of which 99 % find nothing, and
//  seeks without a bound. Each kind of query is drawn uniformly, and by a Zipf
//  distribution with the exponent 0.99 over as many distinct queries as there
//  are records. Queries of a high rank lie anywhere in the key space, as in
//  YCSB.

#pragma once

#include <string>
#include <vector>

#include "db_bench_ext/db_workload.h"
#include "db_bench_ext/keyed_records.h"
#include "db_bench_ext/range_workload.h"

namespace ROCKSDB_NAMESPACE::protean {

struct CacheSizesOptions {
  RangeWorkloadOptions ranges;
  // Sizes of the block cache, in percent of kReferenceBits for each record.
  std::vector<int> percents;
  // The kinds of queries that are asked, and that filters learn from.
  std::vector<QueryKind> kinds = {QueryKind::kPoint, QueryKind::kClosedSeek,
                                  QueryKind::kOpenSeek};
  uint32_t files = 7;
};

class CacheSizes : public DbWorkload {
 public:
  // The bits per key of what the percents refer to, whatever the filter takes.
  static constexpr uint64_t kReferenceBits = 12;

  // `query_options` are those of the closed seeks. InvalidArgument if keys or
  // queries cannot be drawn.
  static Status Create(const CacheSizesOptions& options,
                       const KeySource& source,
                       const QueryOptions& query_options,
                       std::unique_ptr<DbWorkload>* workload);

  std::string Describe() const override { return options_.ranges.description; }
  uint64_t record_bytes() const override { return records_.record_bytes(); }
  uint64_t loaded_records() const override { return records_.keys().size(); }
  void Adjust(BenchDbOptions* options) const override;
  Status Load(BenchDb* db, const BenchDb::Progress& progress) const override {
    return records_.Load(db, samples_, progress);
  }
  // The queries themselves warm each cache.
  Status WarmUp(BenchDb* /*db*/) const override { return Status::OK(); }
  // Reports a row for each size of the cache and each stream of queries.
  Status Run(BenchDb* db, BenchReport* report,
             ProgressLine* line) const override;

 private:
  struct Stream {
    QueryKind kind;
    bool zipf;
    std::vector<Query> warm_up;
    std::vector<Query> measured;
  };

  CacheSizes(const CacheSizesOptions& options, const KeySource& source,
             std::vector<std::string> keys)
      : options_(options),
        records_(source, std::move(keys), options.ranges.value_bytes,
                 options.ranges.runs, options.ranges.size.seed) {}

  uint64_t CacheBytes(int percent) const;
  Status DrawStreams(const QueryOptions& query_options);
  Status DrawSamples(const QueryOptions& query_options);
  // The first key at or after `key`; nullptr if there is none.
  const std::string* FirstKey(const std::string& key) const;
  bool RunQuery(BenchDb* db, QueryKind kind, const Query& query) const;
  QueryResult Measure(BenchDb* db, const Stream& stream) const;

  const CacheSizesOptions options_;
  const KeyedRecords records_;
  std::vector<Stream> streams_;
  std::vector<Query> samples_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
