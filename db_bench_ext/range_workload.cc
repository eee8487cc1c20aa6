// SPDX-License-Identifier: Apache-2.0

#include "db_bench_ext/range_workload.h"

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
  QueryMeter meter(db, QueryKind::kClosedSeek);
  for (size_t i = 0; i < empty_.size(); i++) {
    meter.Time([&] { return records_.SeekFindsNothing(db, empty_[i]); });
    if (i % 256 == 0) {
      line->Show("closed seeks",
                 static_cast<double>(i) / static_cast<double>(empty_.size()));
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
