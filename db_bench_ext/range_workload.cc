// SPDX-License-Identifier: Apache-2.0

#include "db_bench_ext/range_workload.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <tuple>

namespace ROCKSDB_NAMESPACE::protean {

RangeWorkload::RangeWorkload(const RangeWorkloadOptions& options,
                             Workload workload)
    : options_(options),
      records_(std::move(workload.source), std::move(workload.keys),
               options.value_bytes, options.runs, options.size.seed),
      samples_(std::move(workload.samples)) {
  std::tie(empty_, positive_) = SplitByTruth(records_.keys(), workload.queries);
}

Status RangeWorkload::Run(BenchDb* db, BenchReport* report,
                          ProgressLine* line) const {
  const size_t asked = empty_.size() * std::max<uint64_t>(options_.repeats, 1);
  Rng rng(options_.size.seed + 3);
  const auto ranks = static_cast<double>(empty_.size());
  std::discrete_distribution<size_t> zipf(
      std::max<size_t>(empty_.size(), 1), 0.5, ranks + 0.5,
      [](double rank) { return std::pow(rank, -kZipfExponent); });
  QueryMeter meter(db, QueryKind::kClosedSeek);
  for (size_t i = 0; i < asked; i++) {
    const Query& query = empty_[options_.repeats == 0 ? i : zipf(rng)];
    meter.Time([&] { return records_.SeekFindsNothing(db, query); });
    if (i % 256 == 0) {
      line->Show("closed seeks",
                 static_cast<double>(i) / static_cast<double>(asked));
    }
  }
  QueryResult result = meter.Finish(/*files_with_answer=*/0);
  result.empty_share = 1;
  for (const Query& query : positive_) {
    if (!records_.SeekIsRight(db, records_.keys(), query)) {
      result.wrong_results++;
    }
  }
  line->Clear();
  report->Row(result);
  return Status::OK();
}

}  // namespace ROCKSDB_NAMESPACE::protean
