// SPDX-License-Identifier: Apache-2.0

#include "db_bench_ext/timeseries.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <tuple>

#include "db_bench_ext/key_arithmetic.h"
#include "db_bench_ext/seed_samples.h"

namespace ROCKSDB_NAMESPACE::protean {

Timeseries::Timeseries(const TimeseriesOptions& options)
    : options_(options),
      rng_(options.seed),
      records_(MakeRecords()),
      values_(kValueSize, &rng_, options.compacted) {
  for (size_t i = 0; i < records_.size(); i++) {
    runs_.push_back(options_.runs.Pick(rng_()));
  }
  samples_ = MakeSamples();
}

std::vector<Timeseries::Record> Timeseries::MakeRecords() {
  std::exponential_distribution<double> gap(1 / kMeanGapNs);
  std::uniform_real_distribution<double> start(0, kMeanGapNs);
  // All sensors record for the same time, in which they are expected to make
  // options_.records records: the events are a Poisson process.
  const double duration = kMeanGapNs * static_cast<double>(options_.records) /
                          static_cast<double>(options_.sensors);
  std::vector<Record> records;
  for (uint64_t sensor = 0; sensor < options_.sensors; sensor++) {
    for (double time = start(rng_); time < duration; time += gap(rng_)) {
      records.push_back({static_cast<uint64_t>(time), sensor});
    }
  }
  std::sort(records.begin(), records.end(),
            [](const Record& a, const Record& b) {
              return std::tie(a.time, a.sensor) < std::tie(b.time, b.sensor);
            });
  records.erase(std::unique(records.begin(), records.end(),
                            [](const Record& a, const Record& b) {
                              return a.time == b.time && a.sensor == b.sensor;
                            }),
                records.end());
  return records;
}

std::string Timeseries::Describe() const {
  return "timeseries: " + std::to_string(options_.sensors) + " sensors";
}

std::string Timeseries::Key(uint64_t time, uint64_t sensor) {
  return BigEndianKey(time) + BigEndianKey(sensor);
}

BenchDb::RecordSource Timeseries::Source() const {
  return [this](size_t index, std::string* key, std::string* value) {
    const Record& record = records_[index];
    *key = Key(record.time, record.sensor);
    values_.Fill(record.time * 31 + record.sensor, value);
  };
}

Status Timeseries::Load(BenchDb* db, const BenchDb::Progress& progress) const {
  SeedSamples(db->filter_policy(), samples_);
  return db->Load(runs_, Source(), progress);
}

Status Timeseries::WarmUp(BenchDb* db) const {
  return db->WarmUp(records_.size(), Source(), options_.seed + 1);
}

std::vector<std::pair<QueryKind, int>> Timeseries::Kinds() const {
  std::vector<std::pair<QueryKind, int>> kinds = {{QueryKind::kPoint, 100},
                                                  {QueryKind::kPoint, 0},
                                                  {QueryKind::kOpenSeek, 0}};
  for (int percent : options_.empty_percents) {
    kinds.emplace_back(QueryKind::kClosedSeek, percent);
  }
  kinds.emplace_back(QueryKind::kCount, 0);
  return kinds;
}

std::vector<protean::Query> Timeseries::MakeSamples() const {
  std::vector<protean::Query> samples;
  const uint64_t of_each =
      options_.samples / (options_.empty_percents.size() + 1);
  for (const auto& [kind, percent] : Kinds()) {
    if (percent == 0) continue;
    // On average, `of_each` of these queries are empty.
    for (const Query& query :
         MakeQueries(kind, percent, 100 * of_each / percent, ~options_.seed)) {
      if (RunsWithAnswer(kind, query) > 0) continue;
      if (kind == QueryKind::kPoint) {
        const std::string key = Key(query.time, query.sensor);
        samples.push_back({key, key});
      } else {
        // The sample covers all sensors up to the range's end.
        samples.push_back(
            {BigEndianKey(query.time), Key(query.end - 1, ~uint64_t{0})});
      }
    }
  }
  // The kinds are mixed: a queue may keep only the latest samples.
  std::shuffle(samples.begin(), samples.end(), Rng(~options_.seed));
  return samples;
}

std::vector<Timeseries::Query> Timeseries::MakeQueries(QueryKind kind,
                                                       int empty_percent,
                                                       uint64_t num_queries,
                                                       uint64_t seed) const {
  std::mt19937_64 rng(seed + 100 * static_cast<uint64_t>(kind) +
                      static_cast<uint64_t>(empty_percent));
  // Events of all sensors together are `gap` ns apart on average. A range of
  // gap * ln(1 / P) holds none with probability P.
  const uint64_t span = records_.back().time;
  const double gap =
      static_cast<double>(span) / static_cast<double>(records_.size());
  const double gaps = kind == QueryKind::kCount
                          ? kCounted
                          : std::log(100.0 / std::max(1, empty_percent));
  const auto size = static_cast<uint64_t>(std::max(1.0, gap * gaps));
  std::vector<Query> queries(num_queries);
  for (Query& query : queries) {
    query.time = rng() % span;
    query.sensor = rng() % options_.sensors;
    query.end = query.time + size;
    query.stored = kind == QueryKind::kPoint && empty_percent == 0;
    if (query.stored) {
      const Record& record = records_[rng() % records_.size()];
      query.time = record.time;
      query.sensor = record.sensor;
    }
  }
  return queries;
}

size_t Timeseries::FirstAtOrAfter(uint64_t time) const {
  return std::lower_bound(
             records_.begin(), records_.end(), time,
             [](const Record& record, uint64_t t) { return record.time < t; }) -
         records_.begin();
}

uint64_t Timeseries::RunsWithAnswer(QueryKind kind, const Query& query) const {
  const uint64_t end = kind == QueryKind::kPoint ? query.time + 1 : query.end;
  uint64_t runs = 0;
  for (size_t i = FirstAtOrAfter(query.time);
       i < records_.size() && records_[i].time < end; i++) {
    if (kind == QueryKind::kPoint && records_[i].sensor != query.sensor) {
      continue;
    }
    runs |= uint64_t{1} << runs_[i];
  }
  return static_cast<uint64_t>(__builtin_popcountll(runs));
}

// Runs one query. Returns whether the answer is right.
bool Timeseries::RunQuery(BenchDb* db, QueryKind kind,
                          const Query& query) const {
  if (kind == QueryKind::kPoint) {
    std::string value;
    const Status s =
        db->db()->Get(ReadOptions(), Key(query.time, query.sensor), &value);
    return s.ok() ? RunsWithAnswer(kind, query) > 0
                  : s.IsNotFound() && !query.stored;
  }
  // A timestamp without a sensor comes before all events of that time.
  const std::string lo = BigEndianKey(query.time);
  const std::string hi = BigEndianKey(query.end);
  if (kind == QueryKind::kCount) {
    uint64_t count;
    bool estimated;
    if (!db->Count(lo, hi, &count, &estimated).ok()) return false;
    const auto truth = static_cast<double>(FirstAtOrAfter(query.end) -
                                           FirstAtOrAfter(query.time));
    const double error = std::abs(static_cast<double>(count) - truth);
    return error <= (estimated ? kMaxCountError * truth : 0);
  }
  const Slice upper_bound = hi;
  const SeekResult found = db->SeekFirst(
      lo, kind == QueryKind::kClosedSeek ? &upper_bound : nullptr);
  if (!found.status.ok()) return false;
  const size_t first = FirstAtOrAfter(query.time);
  const bool expected =
      first < records_.size() &&
      (kind == QueryKind::kOpenSeek || records_[first].time < query.end);
  if (!expected) return found.key.empty();
  return found.key == Key(records_[first].time, records_[first].sensor) &&
         found.value_bytes == kValueSize;
}

QueryResult Timeseries::RunKind(BenchDb* db, QueryKind kind, int empty_percent,
                                uint64_t seed, ProgressLine* line) const {
  const std::vector<Query> queries =
      MakeQueries(kind, empty_percent,
                  kind == QueryKind::kCount
                      ? std::max<uint64_t>(1, options_.queries / kSeeksPerCount)
                      : options_.queries,
                  seed);
  QueryMeter meter(db, kind);
  for (size_t i = 0; i < queries.size(); i++) {
    meter.Time([&] { return RunQuery(db, kind, queries[i]); });
    if (i % 256 == 0) {
      line->Show(QueryKindName(kind),
                 static_cast<double>(i) / static_cast<double>(queries.size()));
    }
  }
  uint64_t with_answer = 0;
  for (const Query& query : queries) with_answer += RunsWithAnswer(kind, query);
  QueryResult result = meter.Finish(with_answer);
  if (options_.compacted && with_answer > 0) result.filter_fpr = -1;
  result.empty_share = empty_percent / 100.0;
  return result;
}

Status Timeseries::Run(BenchDb* db, BenchReport* report,
                       ProgressLine* line) const {
  for (uint64_t round = 0; round < options_.rounds; round++) {
    for (const auto& [kind, percent] : Kinds()) {
      const QueryResult result =
          RunKind(db, kind, percent, options_.seed + round, line);
      line->Clear();
      report->Row(result);
    }
  }
  return Status::OK();
}

}  // namespace ROCKSDB_NAMESPACE::protean
