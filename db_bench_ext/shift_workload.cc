// SPDX-License-Identifier: Apache-2.0

#include "db_bench_ext/shift_workload.h"

#include <algorithm>

#include "db_bench_ext/stopwatch.h"
#include "filter_policy/protean_filter_policy.h"
#include "plugin/refresh_filters.h"

namespace ROCKSDB_NAMESPACE::protean {

Status ShiftWorkload::Create(const ShiftOptions& options,
                             const KeySource& source,
                             std::unique_ptr<DbWorkload>* workload) {
  Rng rng(options.ranges.size.seed);
  std::vector<std::string> all;
  const uint64_t num_loaded = options.ranges.size.keys;
  Status s = DrawKeys(source, num_loaded + options.puts, &rng, &all);
  if (!s.ok()) return s;
  std::vector<std::string> loaded = all;
  std::shuffle(loaded.begin(), loaded.end(), rng);
  const auto middle = loaded.begin() + static_cast<std::ptrdiff_t>(num_loaded);
  std::vector<std::string> puts(middle, loaded.end());
  loaded.erase(middle, loaded.end());
  std::sort(loaded.begin(), loaded.end());
  std::unique_ptr<ShiftWorkload> shift(new ShiftWorkload(
      options, source, std::move(all), std::move(loaded), std::move(puts)));
  s = shift->DrawSamples();
  *workload = std::move(shift);
  return s;
}

Status ShiftWorkload::DrawSamples() {
  Rng rng(options_.ranges.size.seed + 1);
  const QuerySource queries(options_.first_query_options, records_.source(),
                            records_.keys());
  return queries.DrawEmpty(options_.ranges.size.samples, &rng, &samples_);
}

double ShiftWorkload::Transition(uint64_t i) const {
  const uint64_t last = std::max<uint64_t>(options_.ranges.size.queries, 2) - 1;
  if (!options_.gradual) return 2 * i < last + 1 ? 0 : 1;
  return static_cast<double>(i) / static_cast<double>(last);
}

const std::string& ShiftWorkload::AnyStoredKey(uint64_t puts_done,
                                               Rng* rng) const {
  const std::vector<std::string>& loaded = records_.keys();
  const uint64_t pick = std::uniform_int_distribution<uint64_t>(
      0, loaded.size() + puts_done - 1)(*rng);
  return pick < loaded.size() ? loaded[pick] : puts_[pick - loaded.size()];
}

Status ShiftWorkload::DrawSteps(uint64_t begin, uint64_t end, Rng* rng,
                                std::vector<Step>* steps) const {
  // Queries lie near keys that are stored by then, and hold no key that is or
  // will be stored.
  uint64_t puts_done = 0;
  const auto stored_key = [&](Rng* r) { return AnyStoredKey(puts_done, r); };
  const QuerySource first(options_.first_query_options, records_.source(),
                          all_keys_, stored_key);
  const QuerySource last(options_.last_query_options, records_.source(),
                         all_keys_, stored_key);
  for (uint64_t i = begin; i < end; i++) {
    puts_done = PutsDue(i + 1);
    const bool shifted = std::bernoulli_distribution(Transition(i))(*rng);
    Step step{{}, puts_done};
    if (!(shifted ? last : first).DrawEmpty(rng, &step.query)) {
      return Status::InvalidArgument("almost all queries find a key");
    }
    steps->push_back(std::move(step));
  }
  return Status::OK();
}

Status ShiftWorkload::RunBatch(BenchDb* db, uint64_t begin, uint64_t end,
                               Rng* rng, ShiftBatch* batch) const {
  std::vector<Step> steps;
  Status s = DrawSteps(begin, end, rng, &steps);
  if (!s.ok()) return s;
  uint64_t puts_done = PutsDue(begin);
  const Stopwatch stopwatch;
  QueryMeter meter(db, QueryKind::kClosedSeek);
  for (const Step& step : steps) {
    for (; puts_done < step.puts_before && s.ok(); puts_done++) {
      s = records_.Put(db, puts_[puts_done]);
    }
    if (!s.ok()) return s;
    meter.Time([&] { return records_.SeekFindsNothing(db, step.query); });
  }
  const QueryResult seeks = meter.Finish(/*files_with_answer=*/0);
  s = db->db()->WaitForCompact(WaitForCompactOptions());
  if (s.ok() && options_.refresh) s = Refresh(db, batch);
  batch->seconds += stopwatch.Seconds();
  batch->seeks = seeks;
  batch->seeks.empty_share = 1;
  batch->transition = (Transition(begin) + Transition(end - 1)) / 2;
  return s;
}

Status ShiftWorkload::Refresh(BenchDb* db, ShiftBatch* batch) const {
  const ProteanFilterPolicy* policy =
      AsProteanFilterPolicy(db->filter_policy());
  if (policy == nullptr || policy->Samples() == nullptr) return Status::OK();
  RefreshResult result;
  const Status s = RefreshFilters(db->db(), db->db()->DefaultColumnFamily(),
                                  RefreshOptions(), &result);
  batch->refreshed_bytes += result.bytes_rewritten;
  return s;
}

uint64_t ShiftWorkload::CountMissingKeys(BenchDb* db, Rng* rng) const {
  uint64_t missing = 0;
  for (uint64_t i = 0; i < options_.ranges.size.queries / 10; i++) {
    const std::string& key = AnyStoredKey(puts_.size(), rng);
    if (!records_.SeekIsRight(db, all_keys_, {key, key})) missing++;
  }
  return missing;
}

Status ShiftWorkload::Run(BenchDb* db, BenchReport* report,
                          ProgressLine* line) const {
  Rng rng(options_.ranges.size.seed + 2);
  const uint64_t jobs_before = db->BackgroundJobs();
  const uint64_t queries = options_.ranges.size.queries;
  ShiftBatch batch;
  Status s;
  for (uint64_t i = 0; i < options_.batches && s.ok(); i++) {
    line->Show("closed seeks and puts",
               static_cast<double>(i) / static_cast<double>(options_.batches));
    batch.batch = i + 1;
    s = RunBatch(db, queries * i / options_.batches,
                 queries * (i + 1) / options_.batches, &rng, &batch);
    batch.jobs = db->BackgroundJobs() - jobs_before;
    FileSums sums;
    if (s.ok()) s = SumFiles(db->db(), &sums);
    batch.bits_per_key = sums.FilterBitsPerKey();
    if (i + 1 == options_.batches) {
      batch.seeks.wrong_results += CountMissingKeys(db, &rng);
    }
    line->Clear();
    if (s.ok()) report->Row(batch);
  }
  return s;
}

}  // namespace ROCKSDB_NAMESPACE::protean
