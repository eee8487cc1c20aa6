// SPDX-License-Identifier: Apache-2.0

#include "db_bench_ext/workload.h"

#include <algorithm>
#include <cmath>

#include "db_bench_ext/key_arithmetic.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr NamedWorkload kWorkloads[] = {
    {"point", WorkloadFamily::kDataSet, WorkloadKind::kPoint},
    {"range", WorkloadFamily::kDataSet, WorkloadKind::kRange},
    {"mixed", WorkloadFamily::kDataSet, WorkloadKind::kMixed},
    {"prefix", WorkloadFamily::kDataSet, WorkloadKind::kPrefix},
    {"short_range", WorkloadFamily::kDataSet, WorkloadKind::kShortRange},
    {"ranges", WorkloadFamily::kDistributions, {}},
    {"strings", WorkloadFamily::kDistributions, {}},
    {"timeseries", WorkloadFamily::kEngine, {}},
    {"open_seeks", WorkloadFamily::kEngine, {}},
    {"cache_sizes", WorkloadFamily::kEngine, {}},
    {"queue", WorkloadFamily::kEngine, {}},
    {"write", WorkloadFamily::kEngine, {}},
};

// Draws a rank below `num` by Zipf's law, from the integral of the law.
size_t ZipfRank(size_t num, Rng* rng) {
  const double power = 1 - kZipfExponent;
  const double least = std::pow(0.5, power);
  const double most = std::pow(static_cast<double>(num) + 0.5, power);
  const double at = std::uniform_real_distribution<double>(least, most)(*rng);
  return std::min(num - 1, static_cast<size_t>(std::pow(at, 1 / power) - 0.5));
}

Status CheckNumKeys(uint64_t num_keys) {
  return num_keys > 0
             ? Status::OK()
             : Status::InvalidArgument("at least one key must be generated");
}

}  // namespace

Status FindWorkload(const std::string& name, bool engine,
                    const NamedWorkload** workload) {
  std::string allowed;
  for (const NamedWorkload& named : kWorkloads) {
    if (named.family == WorkloadFamily::kEngine && !engine) continue;
    if (name == named.name) {
      *workload = &named;
      return Status::OK();
    }
    allowed += (allowed.empty() ? "" : ", ") + std::string(named.name);
  }
  return Status::InvalidArgument("--workload=" + name +
                                 " is unknown; allowed: " + allowed);
}

// ---- Data sets ----

DataSet::DataSet(KeyType type, uint64_t num_keys, uint64_t seed,
                 const WindowLengths& windows, bool zipf)
    : type_(type), rng_(seed), source_(SourceOf(type, windows)) {
  all_ = DrawDistinct(source_.draw, 2 * num_keys, &rng_);
  num_stored_ = (all_.size() + 1) / 2;
  if (IsNumeric(type)) MeasureNumbers();
  std::shuffle(all_.begin(), all_.end(), rng_);
  source_.draw = [this, zipf](Rng* rng) {
    // Which keys have which rank is random, since all are shuffled.
    if (zipf) return all_[ZipfRank(all_.size(), rng)];
    return all_[std::uniform_int_distribution<size_t>(0,
                                                      all_.size() - 1)(*rng)];
  };
}

void DataSet::MeasureNumbers() {
  // Stored keys that a range holds on average: the paper's ranges of 2^37 have
  // as many with 50M random keys.
  constexpr double kKeysPerRange = 0x1p37 * 50e6 / 0x1p64;
  double span = 0x1p64;
  largest_ = ~uint64_t{0};
  if (type_ != KeyType::kU64) {
    smallest_ = LeadingNumber(all_.front());
    largest_ = LeadingNumber(all_.back());
    span = static_cast<double>(largest_ - smallest_) + 1;
  }
  range_size_ = std::max<uint64_t>(
      1, static_cast<uint64_t>(span * kKeysPerRange /
                               static_cast<double>(num_stored_)));
}

std::vector<std::string> DataSet::StoredKeys() const {
  std::vector<const std::string*> order;
  order.reserve(num_stored_);
  for (size_t i = 0; i < num_stored_; i++) order.push_back(&all_[i]);
  std::sort(order.begin(), order.end(),
            [](const std::string* a, const std::string* b) { return *a < *b; });
  std::vector<std::string> keys;
  keys.reserve(num_stored_);
  for (const std::string* key : order) keys.push_back(*key);
  return keys;
}

QueryOptions DataSet::OptionsOf(WorkloadKind kind) const {
  QueryOptions options;
  if (kind == WorkloadKind::kPoint) {
    options.distribution = QueryDistribution::kReal;
    options.rmax = 0;
  } else if (kind == WorkloadKind::kPrefix) {
    options.distribution = QueryDistribution::kFields;
  } else if (kind == WorkloadKind::kShortRange) {
    options.distribution = QueryDistribution::kUniform;
    options.rmin = 1;
    options.rmax = 1024;
    options.min_left = smallest_;
    options.max_left = largest_;
  } else {
    options.distribution = QueryDistribution::kAfter;
    options.rmax = range_size_;
  }
  return options;
}

std::vector<Query> DataSet::MakeQueries(WorkloadKind kind,
                                        uint64_t num_queries) {
  // The mixed workload takes them in turn.
  const QuerySource even(
      OptionsOf(kind == WorkloadKind::kMixed ? WorkloadKind::kPoint : kind),
      source_, all_);
  const QuerySource odd(
      OptionsOf(kind == WorkloadKind::kMixed ? WorkloadKind::kRange : kind),
      source_, all_);
  std::vector<Query> queries;
  queries.reserve(num_queries);
  for (uint64_t i = 0; i < num_queries; i++) {
    queries.push_back((i % 2 == 0 ? even : odd).Draw(&rng_));
  }
  return queries;
}

// ---- Generating ----

Status Generate(WorkloadKind kind, KeyType type, const WorkloadSize& size,
                Workload* workload) {
  if (kind == WorkloadKind::kShortRange && !IsNumeric(type)) {
    return Status::InvalidArgument(
        "workload short_range is for numbers; allowed key types: u64, dense, "
        "timeseries");
  }
  if (kind == WorkloadKind::kPrefix && IsNumeric(type)) {
    return Status::InvalidArgument(
        "workload prefix is for text; allowed key types: text, url, domain, "
        "name, path, host, user_time");
  }
  const Status s = CheckNumKeys(size.keys);
  if (!s.ok()) return s;
  DataSet data(type, size.keys, size.seed, size.windows, size.zipf);
  workload->source = data.source();
  workload->source.draw = nullptr;
  workload->keys = data.StoredKeys();
  workload->queries = data.MakeQueries(kind, size.queries);
  // About half of the queries find nothing.
  workload->samples =
      SplitByTruth(workload->keys, data.MakeQueries(kind, 4 * size.samples))
          .first;
  workload->samples.resize(
      std::min<uint64_t>(workload->samples.size(), size.samples));
  return s;
}

Status Generate(const KeySource& source, const QueryOptions& options,
                const WorkloadSize& size, Workload* workload) {
  Status s = CheckNumKeys(size.keys);
  Rng key_rng(size.seed);
  if (s.ok()) s = DrawKeys(source, size.keys, &key_rng, &workload->keys);
  if (!s.ok()) return s;
  workload->source = source;
  const QuerySource queries(options, source, workload->keys);
  Rng sample_rng(size.seed + 1);
  s = queries.DrawEmpty(size.samples, &sample_rng, &workload->samples);
  Rng query_rng(size.seed + 2);
  if (s.ok())
    s = queries.DrawEmpty(size.queries, &query_rng, &workload->queries);
  for (uint64_t i = 0; i < size.queries / 10; i++) {
    workload->queries.push_back(queries.DrawPositive(&query_rng));
  }
  return s;
}

}  // namespace ROCKSDB_NAMESPACE::protean
