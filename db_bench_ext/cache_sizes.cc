// SPDX-License-Identifier: Apache-2.0

#include "db_bench_ext/cache_sizes.h"

#include <algorithm>
#include <cmath>

#include "db_bench_ext/key_arithmetic.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr double kEmptyShare = 0.99;  // of closed seeks

QueryOptions Points() {
  QueryOptions options;
  options.rmax = 0;
  return options;
}

// Draws the queries of a stream. A query depends on its rank alone, so that the
// popular ones come again.
class RankedQueries {
 public:
  // `weights` are those of the ranks, or nullptr if no query comes twice.
  RankedQueries(const QuerySource& source, double empty_share, uint64_t seed,
                std::discrete_distribution<uint64_t>* weights)
      : source_(source),
        empty_share_(empty_share),
        seed_(seed),
        weights_(weights) {}

  Status Draw(uint64_t num, Rng* rng, std::vector<Query>* queries) {
    queries->resize(num);
    for (Query& query : *queries) {
      const bool empty = std::bernoulli_distribution(empty_share_)(*rng);
      const uint64_t rank = weights_ == nullptr ? (*rng)() : (*weights_)(*rng);
      std::seed_seq seeds = {seed_, rank & 0xffffffff, rank >> 32,
                             uint64_t{empty}};
      std::minstd_rand seeded(seeds);
      Rng of_rank((uint64_t{seeded()} << 32) + seeded());
      if (!empty) {
        query = source_.DrawPositive(&of_rank);
      } else if (!source_.DrawEmpty(&of_rank, &query)) {
        return Status::InvalidArgument("almost all queries find a key");
      }
    }
    return Status::OK();
  }

 private:
  const QuerySource& source_;
  const double empty_share_;
  const uint64_t seed_;
  std::discrete_distribution<uint64_t>* const weights_;
};

}  // namespace

Status CacheSizes::Create(const CacheSizesOptions& options,
                          const KeySource& source,
                          const QueryOptions& query_options,
                          std::unique_ptr<DbWorkload>* workload) {
  Rng rng(options.ranges.size.seed);
  std::vector<std::string> keys;
  Status s = DrawKeys(source, options.ranges.size.keys, &rng, &keys);
  if (!s.ok()) return s;
  std::unique_ptr<CacheSizes> sizes(
      new CacheSizes(options, source, std::move(keys)));
  s = sizes->DrawStreams(query_options);
  if (s.ok()) s = sizes->DrawSamples(query_options);
  *workload = std::move(sizes);
  return s;
}

uint64_t CacheSizes::CacheBytes(int percent) const {
  return records_.keys().size() * kReferenceBits / 8 *
         static_cast<uint64_t>(percent) / 100;
}

void CacheSizes::Adjust(BenchDbOptions* options) const {
  options->pin_filters = false;
  options->files = options_.files;
  options->cache_bytes = CacheBytes(
      *std::max_element(options_.percents.begin(), options_.percents.end()));
}

Status CacheSizes::DrawStreams(const QueryOptions& query_options) {
  const WorkloadSize& size = options_.ranges.size;
  const auto ranks = static_cast<double>(size.keys);
  std::discrete_distribution<uint64_t> zipf(
      size.keys, 0.5, ranks + 0.5,
      [](double rank) { return std::pow(rank, -kZipfExponent); });
  Rng rng(size.seed + 2);
  Status s;
  for (bool skewed : {false, true}) {
    for (QueryKind kind : options_.kinds) {
      const QuerySource source(
          kind == QueryKind::kPoint ? Points() : query_options,
          records_.source(), records_.keys());
      RankedQueries queries(
          source, kind == QueryKind::kClosedSeek ? kEmptyShare : 1,
          size.seed + static_cast<uint64_t>(kind), skewed ? &zipf : nullptr);
      Stream stream = {kind, skewed, {}, {}};
      for (std::vector<Query>* part : {&stream.warm_up, &stream.measured}) {
        if (s.ok()) s = queries.Draw(size.queries, &rng, part);
      }
      streams_.push_back(std::move(stream));
    }
  }
  return s;
}

// Samples are what the reads of such queries would sample: as many of each
// kind. An open seek is one to the key that it finds.
Status CacheSizes::DrawSamples(const QueryOptions& query_options) {
  const WorkloadSize& size = options_.ranges.size;
  Rng rng(size.seed + 1);
  for (QueryKind kind : options_.kinds) {
    const QuerySource source(
        kind == QueryKind::kPoint ? Points() : query_options, records_.source(),
        records_.keys());
    std::vector<Query> samples;
    const Status s =
        source.DrawEmpty(size.samples / options_.kinds.size(), &rng, &samples);
    if (!s.ok()) return s;
    for (Query& sample : samples) {
      const std::string* found =
          kind == QueryKind::kOpenSeek ? FirstKey(sample.lo) : nullptr;
      if (found != nullptr) sample.hi = KeyMinus(*found, 1);
      samples_.push_back(std::move(sample));
    }
  }
  // The kinds are mixed: a queue may keep only the latest samples.
  std::shuffle(samples_.begin(), samples_.end(), rng);
  return Status::OK();
}

const std::string* CacheSizes::FirstKey(const std::string& key) const {
  const std::vector<std::string>& keys = records_.keys();
  const auto first = std::lower_bound(keys.begin(), keys.end(), key);
  return first == keys.end() ? nullptr : &*first;
}

// Runs one query. Returns whether the answer is right.
bool CacheSizes::RunQuery(BenchDb* db, QueryKind kind,
                          const Query& query) const {
  if (kind == QueryKind::kPoint) {
    std::string value;
    return db->db()->Get(ReadOptions(), query.lo, &value).IsNotFound();
  }
  if (kind == QueryKind::kClosedSeek) {
    return records_.SeekIsRight(db, records_.keys(), query);
  }
  const SeekResult found = db->SeekFirst(query.lo, nullptr);
  const std::string* expected = FirstKey(query.lo);
  return found.status.ok() &&
         found.key == (expected == nullptr ? std::string() : *expected);
}

QueryResult CacheSizes::Measure(BenchDb* db, const Stream& stream) const {
  uint64_t wrong = 0;
  for (const Query& query : stream.warm_up) {
    if (!RunQuery(db, stream.kind, query)) wrong++;
  }
  QueryMeter meter(db, stream.kind);
  for (const Query& query : stream.measured) {
    meter.Time([&] { return RunQuery(db, stream.kind, query); });
  }
  QueryResult result = meter.Finish(/*files_with_answer=*/0);
  result.empty_share = stream.kind == QueryKind::kPoint        ? 1
                       : stream.kind == QueryKind::kClosedSeek ? kEmptyShare
                                                               : 0;
  result.wrong_results += wrong;
  return result;
}

Status CacheSizes::Run(BenchDb* db, BenchReport* report,
                       ProgressLine* line) const {
  for (size_t i = 0; i < options_.percents.size(); i++) {
    for (const Stream& stream : streams_) {
      line->Show(QueryKindName(stream.kind),
                 static_cast<double>(i) /
                     static_cast<double>(options_.percents.size()));
      CacheRow row;
      row.cache_percent = options_.percents[i];
      row.cache_bytes = CacheBytes(row.cache_percent);
      const Status s = db->Reopen(row.cache_bytes);
      if (!s.ok()) return s;
      row.cache_shards = db->CacheShards();
      row.zipf = stream.zipf;
      row.queries = Measure(db, stream);
      row.filter_bytes_in_cache = db->FilterBytesInCache();
      line->Clear();
      report->Row(row);
    }
  }
  return Status::OK();
}

}  // namespace ROCKSDB_NAMESPACE::protean
