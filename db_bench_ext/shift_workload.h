// SPDX-License-Identifier: Apache-2.0

//  Shifting queries (Proteus paper, section 6.4): closed seeks that find
//  nothing, first from one distribution, in the end from another, while new
//  records are written among them and the tree compacts itself. A filter that
//  designs itself begins with samples of the first distribution, and then
//  samples the queries itself.

#pragma once

#include <string>
#include <vector>

#include "db_bench_ext/db_workload.h"
#include "db_bench_ext/keyed_records.h"
#include "db_bench_ext/query_source.h"
#include "db_bench_ext/range_workload.h"

namespace ROCKSDB_NAMESPACE::protean {

struct ShiftOptions {
  RangeWorkloadOptions ranges;
  QueryOptions first_query_options;
  QueryOptions last_query_options;
  // The share of the last distribution rises from 0 to 1 between the first
  // query and the last one; else at once, in the middle.
  bool gradual = true;
  uint64_t batches = 12;
  uint64_t puts = 0;  // new records
  // Whether RefreshFilters is called after each batch, if the filters design
  // themselves.
  bool refresh = false;
};

class ShiftWorkload : public DbWorkload {
 public:
  // InvalidArgument if the keys or the samples cannot be drawn.
  static Status Create(const ShiftOptions& options, const KeySource& source,
                       std::unique_ptr<DbWorkload>* workload);

  std::string Describe() const override { return options_.ranges.description; }
  uint64_t record_bytes() const override { return records_.record_bytes(); }
  uint64_t loaded_records() const override { return records_.keys().size(); }
  uint64_t written_records() const override { return puts_.size(); }
  Status Load(BenchDb* db, const BenchDb::Progress& progress) const override {
    return records_.Load(db, samples_, progress);
  }
  Status WarmUp(BenchDb* db) const override { return records_.WarmUp(db); }
  // Reports a row for each batch. A batch ends when the background work that it
  // caused is done, which counts towards the batch's seconds, so that the trees
  // of two filters do not drift apart. After the last batch, some of the
  // records are looked up.
  Status Run(BenchDb* db, BenchReport* report,
             ProgressLine* line) const override;

 private:
  struct Step {
    Query query;
    uint64_t puts_before;  // since the first query
  };

  ShiftWorkload(const ShiftOptions& options, const KeySource& source,
                std::vector<std::string> all_keys,
                std::vector<std::string> loaded, std::vector<std::string> puts)
      : options_(options),
        all_keys_(std::move(all_keys)),
        puts_(std::move(puts)),
        records_(source, std::move(loaded), options.ranges.value_bytes,
                 options.ranges.runs, options.ranges.size.seed) {}

  // The share of the last distribution at query number `i`.
  double Transition(uint64_t i) const;
  // The number of new records that are written after `i` queries; they are
  // spread evenly.
  uint64_t PutsDue(uint64_t i) const {
    return puts_.size() * i / options_.ranges.size.queries;
  }
  // A key that is stored once `puts_done` of the new records are.
  const std::string& AnyStoredKey(uint64_t puts_done, Rng* rng) const;
  Status DrawSamples();
  // Draws the queries with numbers in [begin, end).
  Status DrawSteps(uint64_t begin, uint64_t end, Rng* rng,
                   std::vector<Step>* steps) const;
  Status RunBatch(BenchDb* db, uint64_t begin, uint64_t end, Rng* rng,
                  ShiftBatch* batch) const;
  Status Refresh(BenchDb* db, ShiftBatch* batch) const;
  uint64_t CountMissingKeys(BenchDb* db, Rng* rng) const;

  const ShiftOptions options_;
  const std::vector<std::string> all_keys_;  // loaded or put, ascending
  const std::vector<std::string> puts_;      // in the order of writing
  const KeyedRecords records_;               // the loaded records
  std::vector<Query> samples_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
