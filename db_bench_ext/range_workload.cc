#include "db_bench_ext/range_workload.h"

namespace ROCKSDB_NAMESPACE::protean {

Status RangeWorkload::Create(const RangeWorkloadOptions& options,
                             const KeySource& source,
                             std::unique_ptr<DbWorkload>* workload) {
  Rng rng(options.seed);
  std::vector<std::string> keys;
  Status s = DrawKeys(source, options.records, &rng, &keys);
  if (!s.ok()) return s;
  std::unique_ptr<RangeWorkload> ranges(
      new RangeWorkload(options, source, std::move(keys)));
  s = ranges->DrawQueries();
  *workload = std::move(ranges);
  return s;
}

Status RangeWorkload::DrawQueries() {
  const QuerySource queries(options_.query_options, records_.source(),
                            records_.keys());
  Rng sample_rng(options_.seed + 1);
  Status s = queries.DrawEmpty(options_.samples, &sample_rng, &samples_);
  Rng query_rng(options_.seed + 2);
  if (s.ok()) s = queries.DrawEmpty(options_.queries, &query_rng, &empty_);
  for (uint64_t i = 0; i < options_.queries / 10; i++) {
    positive_.push_back(queries.DrawPositive(&query_rng));
  }
  return s;
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
