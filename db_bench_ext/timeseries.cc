#include "db_bench_ext/timeseries.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>
#include <tuple>

#include "db_bench_ext/workload.h"
#include "monitoring/histogram.h"
#include "rocksdb/perf_context.h"
#include "rocksdb/perf_level.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {
constexpr double kNsPerSecond = 1e9;
// Each run is half as large as the one below it.
constexpr int kRunWeights[] = {4, 2, 1};
constexpr int kRunLevels[] = {3, 2, 1};
constexpr int kTotalWeight = 7;
}  // namespace

const char* QueryKindName(QueryKind kind) {
  switch (kind) {
    case QueryKind::kPoint:
      return "point";
    case QueryKind::kOpenSeek:
      return "open_seek";
    case QueryKind::kClosedSeek:
      return "closed_seek";
  }
  return "";
}

Timeseries::Timeseries(const TimeseriesOptions& options) : options_(options) {
  std::mt19937_64 rng(options.seed);
  std::exponential_distribution<double> gap(1 / kMeanGapNs);
  std::uniform_real_distribution<double> start(0, kMeanGapNs);
  // All sensors record for the same time, long enough for as many records as
  // asked for, give or take what the Poisson process does.
  const double duration = kMeanGapNs * static_cast<double>(options.records) /
                          static_cast<double>(options.sensors);
  for (uint64_t sensor = 0; sensor < options.sensors; sensor++) {
    for (double time = start(rng); time < duration; time += gap(rng)) {
      records_.push_back({static_cast<uint64_t>(time), sensor, 0});
    }
  }
  std::sort(records_.begin(), records_.end(),
            [](const Record& a, const Record& b) {
              return std::tie(a.time, a.sensor) < std::tie(b.time, b.sensor);
            });
  records_.erase(std::unique(records_.begin(), records_.end(),
                             [](const Record& a, const Record& b) {
                               return a.time == b.time && a.sensor == b.sensor;
                             }),
                 records_.end());
  for (int level : kRunLevels) runs_.push_back({level, 0});
  for (Record& record : records_) {
    int pick = static_cast<int>(rng() % kTotalWeight);
    while (pick >= kRunWeights[record.run]) pick -= kRunWeights[record.run++];
    runs_[record.run].records++;
  }
  for (size_t i = 0; i < 4096; i++) {
    random_bytes_ += BigEndianKey(rng());
  }
}

std::string Timeseries::Key(uint64_t time, uint64_t sensor) {
  return BigEndianKey(time) + BigEndianKey(sensor);
}

void Timeseries::FillValue(const Record& record, std::string* value) const {
  const size_t offset =
      (record.time * 31 + record.sensor) % (random_bytes_.size() - kValueSize);
  value->assign(random_bytes_, offset, kValueSize);
}

Status Timeseries::Load(BenchDb* db, const BenchDb::Progress& progress) const {
  double done = 0;
  for (size_t run = 0; run < runs_.size(); run++) {
    std::vector<const Record*> part;
    for (const Record& record : records_) {
      if (record.run == static_cast<int>(run)) part.push_back(&record);
    }
    const double share =
        static_cast<double>(part.size()) / static_cast<double>(records_.size());
    const Status s = db->LoadRun(
        runs_[run],
        [&](size_t index, std::string* key, std::string* value) {
          *key = Key(part[index]->time, part[index]->sensor);
          FillValue(*part[index], value);
        },
        [&](double part_done) { progress(done + share * part_done); });
    if (!s.ok()) return s;
    done += share;
  }
  return Status::OK();
}

Status Timeseries::WarmUp(BenchDb* db) const {
  std::mt19937_64 rng(options_.seed + 1);
  std::string value;
  for (uint64_t i = 0; i < records_.size() / 8; i++) {
    const Record& record = records_[rng() % records_.size()];
    const Status s =
        db->db()->Get(ReadOptions(), Key(record.time, record.sensor), &value);
    if (!s.ok()) return s;
  }
  return Status::OK();
}

std::vector<Timeseries::Query> Timeseries::MakeQueries(
    QueryKind kind, int empty_percent) const {
  std::mt19937_64 rng(options_.seed + 100 * static_cast<uint64_t>(kind) +
                      static_cast<uint64_t>(empty_percent));
  // Events of all sensors together are `gap` ns apart on average. A range of
  // gap * ln(1 / P) holds none with probability P.
  const uint64_t span = records_.back().time;
  const double gap =
      static_cast<double>(span) / static_cast<double>(records_.size());
  const auto size = static_cast<uint64_t>(
      std::max(1.0, gap * std::log(100.0 / std::max(1, empty_percent))));
  std::vector<Query> queries(options_.queries);
  for (Query& query : queries) {
    query.time = rng() % span;
    query.sensor = rng() % options_.sensors;
    query.end = query.time + size;
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
    runs |= uint64_t{1} << records_[i].run;
  }
  return static_cast<uint64_t>(__builtin_popcountll(runs));
}

// Runs one query; true if the answer is right.
bool Timeseries::RunQuery(DB* db, QueryKind kind, const Query& query) const {
  if (kind == QueryKind::kPoint) {
    std::string value;
    const Status s =
        db->Get(ReadOptions(), Key(query.time, query.sensor), &value);
    return s.ok() ? RunsWithAnswer(kind, query) > 0 : s.IsNotFound();
  }
  // A timestamp without a sensor comes before all events of that time.
  const std::string lo = BigEndianKey(query.time);
  const std::string hi = BigEndianKey(query.end);
  const Slice upper_bound = hi;
  ReadOptions read_options;
  if (kind == QueryKind::kClosedSeek) {
    read_options.iterate_upper_bound = &upper_bound;
  }
  std::unique_ptr<Iterator> it(db->NewIterator(read_options));
  it->Seek(lo);
  if (!it->status().ok()) return false;
  std::string found;
  if (it->Valid()) {
    found = it->key().ToString();
    if (it->value().size() != kValueSize) return false;
  }
  it.reset();
  const size_t first = FirstAtOrAfter(query.time);
  const bool expected =
      first < records_.size() &&
      (kind == QueryKind::kOpenSeek || records_[first].time < query.end);
  return expected ? found == Key(records_[first].time, records_[first].sensor)
                  : found.empty();
}

Status Timeseries::Run(BenchDb* db, QueryKind kind, int empty_percent,
                       const BenchDb::Progress& progress,
                       TimeseriesResult* result) const {
  const std::vector<Query> queries = MakeQueries(kind, empty_percent);
  result->kind = kind;
  result->empty_share = empty_percent / 100.0;

  // Files that a filter let through (asked and passed), and held back.
  const bool point = kind == QueryKind::kPoint;
  auto passed = [&] {
    return point ? db->Ticker(BLOOM_FILTER_FULL_POSITIVE)
                 : db->Ticker(LAST_LEVEL_SEEK_FILTER_MATCH) +
                       db->Ticker(NON_LAST_LEVEL_SEEK_FILTER_MATCH);
  };
  auto held_back = [&] {
    return point ? db->Ticker(BLOOM_FILTER_USEFUL)
                 : db->Ticker(LAST_LEVEL_SEEK_FILTERED) +
                       db->Ticker(NON_LAST_LEVEL_SEEK_FILTERED);
  };
  const uint64_t passed_before = passed();
  const uint64_t held_back_before = held_back();

  SetPerfLevel(PerfLevel::kEnableCount);
  get_perf_context()->Reset();
  HistogramImpl latencies;
  double seconds = 0;
  for (size_t i = 0; i < queries.size(); i++) {
    const auto start = std::chrono::steady_clock::now();
    const bool right = RunQuery(db->db(), kind, queries[i]);
    const double ns = std::chrono::duration<double, std::nano>(
                          std::chrono::steady_clock::now() - start)
                          .count();
    if (!right) result->wrong_results++;
    latencies.Add(static_cast<uint64_t>(ns));
    seconds += ns / kNsPerSecond;
    if (i % 256 == 0) {
      progress(static_cast<double>(i) / static_cast<double>(queries.size()));
    }
  }
  const auto ops = static_cast<double>(queries.size());
  result->ops_per_sec = ops / seconds;
  result->p50_us = latencies.Percentile(50) / 1000;
  result->p99_us = latencies.Percentile(99) / 1000;
  result->block_reads_per_op =
      static_cast<double>(get_perf_context()->block_read_count) / ops;
  SetPerfLevel(PerfLevel::kDisable);

  const uint64_t now_passed = passed() - passed_before;
  const uint64_t now_held_back = held_back() - held_back_before;
  if (now_passed + now_held_back > 0) {
    uint64_t with_answer = 0;
    for (const Query& query : queries) {
      with_answer += RunsWithAnswer(kind, query);
    }
    const double false_positives =
        static_cast<double>(now_passed) -
        static_cast<double>(std::min(now_passed, with_answer));
    const double asked = false_positives + static_cast<double>(now_held_back);
    result->filter_fpr = asked > 0 ? false_positives / asked : 0;
  }
  return Status::OK();
}

}  // namespace ROCKSDB_NAMESPACE::protean
