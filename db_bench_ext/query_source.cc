// SPDX-License-Identifier: Apache-2.0

#include "db_bench_ext/query_source.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <map>

#include "db_bench_ext/key_arithmetic.h"
#include "db_bench_ext/sosd_file.h"
#include "filter_policy/range_filter.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

uint64_t UniformIn(uint64_t smallest, uint64_t largest, Rng* rng) {
  return std::uniform_int_distribution<uint64_t>(smallest, largest)(*rng);
}

bool Chance(double probability, Rng* rng) {
  return std::bernoulli_distribution(probability)(*rng);
}

// Text of any length has no sums: a range ends where the last byte is 1 more.
Query TextRange(const std::string& key) {
  std::string end = key;
  end.back() = static_cast<char>(static_cast<uint8_t>(end.back()) + 1);
  return {key, end};
}

// The scan of all keys that begin with `prefix`.
Query PrefixScan(const std::string& prefix) {
  Query query = {prefix, prefix, /*hi_inclusive=*/false};
  if (!FirstAfterPrefix(prefix, &query.hi)) {
    // The prefix is 0xFF alone, and no string behind it begins otherwise.
    query.hi.append(64, '\xff');
  }
  return query;
}

// One or more of the first fields of a key, all with their last bytes.
std::string FirstFields(const std::string& key, Rng* rng) {
  std::vector<size_t> ends;
  for (size_t i = 1; i < key.size(); i++) {
    if (!isalnum(static_cast<uint8_t>(key[i - 1]))) ends.push_back(i);
  }
  ends.push_back(key.size());
  return key.substr(0, ends[UniformIn(0, ends.size() - 1, rng)]);
}

}  // namespace

Status ParseQueryDistribution(const std::string& name, const KeySource& source,
                              QueryDistribution* distribution) {
  static const std::map<std::string, QueryDistribution> distributions = {
      {"uniform", QueryDistribution::kUniform},
      {"correlated", QueryDistribution::kCorrelated},
      {"split", QueryDistribution::kSplit},
      {"real", QueryDistribution::kReal},
      {"fields", QueryDistribution::kFields},
      {"prefix", QueryDistribution::kPrefix}};
  const auto found = distributions.find(name);
  if (found == distributions.end()) {
    return Status::InvalidArgument(
        "query distribution " + name +
        " is unknown; allowed: uniform, correlated, split, real, fields, "
        "prefix");
  }
  const bool for_text = found->second == QueryDistribution::kFields;
  if (source.key_bytes == 0 && !for_text &&
      found->second != QueryDistribution::kReal &&
      found->second != QueryDistribution::kPrefix) {
    return Status::InvalidArgument("query distribution " + name +
                                   " needs keys of one length; allowed: real, "
                                   "fields, prefix");
  }
  if (source.key_bytes > 0 && for_text) {
    return Status::InvalidArgument("query distribution " + name +
                                   " needs text of varying length; allowed: "
                                   "uniform, correlated, split, real, prefix");
  }
  *distribution = found->second;
  return Status::OK();
}

QuerySource::QuerySource(const QueryOptions& options, const KeySource& source,
                         const std::vector<std::string>& keys, KeyMaker any_key)
    : options_(options),
      source_(source),
      keys_(keys),
      any_key_(any_key ? std::move(any_key) : [&keys](Rng* rng) {
        return keys[UniformIn(0, keys.size() - 1, rng)];
      }) {}

uint64_t QuerySource::Offset(uint64_t rmax, Rng* rng) const {
  return rmax == 0 ? 0 : UniformIn(options_.rmin, rmax, rng);
}

// The bytes of a key that offsets count in.
std::string QuerySource::NumberOf(const std::string& key) const {
  return key.substr(0, source_.key_bytes - source_.suffix_bytes);
}

// The range of all keys whose numbers lie in [lo, hi].
Query QuerySource::Between(const std::string& lo, const std::string& hi) const {
  return {lo + std::string(source_.suffix_bytes, '\0'),
          hi + std::string(source_.suffix_bytes, '\xff')};
}

Query QuerySource::Range(const std::string& left, uint64_t rmax,
                         Rng* rng) const {
  if (rmax == 0) return {left, left};
  if (source_.key_bytes == 0) return TextRange(left);
  const std::string lo = NumberOf(left);
  return Between(lo, KeyPlus(lo, Offset(rmax, rng)));
}

std::string QuerySource::AnyLeft(uint64_t rmax, Rng* rng) const {
  if (options_.max_left > 0) {
    return BigEndianKey(UniformIn(options_.min_left, options_.max_left, rng));
  }
  // Whole ranges only: no left bound is so high that its range would be cut.
  const std::string largest =
      KeyMinus(std::string(source_.key_bytes, '\xff'), rmax);
  std::string left;
  do {
    left.clear();
    while (left.size() < source_.key_bytes) left += BigEndianKey((*rng)());
    left.resize(source_.key_bytes);
  } while (left > largest);
  return left;
}

Query QuerySource::Correlated(uint64_t rmax, Rng* rng) const {
  const uint64_t distance = UniformIn(1, options_.corr_degree, rng);
  return Range(KeyPlus(any_key_(rng), distance), rmax, rng);
}

Query QuerySource::Behind(const std::string& key) const {
  if (source_.key_bytes == 0) return TextRange(key);
  const std::string lo = KeyPlus(NumberOf(key), options_.rmax);
  return Between(lo, KeyPlus(lo, options_.rmax));
}

Query QuerySource::Draw(Rng* rng) const {
  const bool point =
      options_.point_share > 0 && Chance(options_.point_share, rng);
  const uint64_t rmax = point ? 0 : options_.rmax;
  switch (options_.distribution) {
    case QueryDistribution::kUniform:
      return Range(AnyLeft(rmax, rng), rmax, rng);
    case QueryDistribution::kCorrelated:
      return Correlated(rmax, rng);
    case QueryDistribution::kSplit:
      return Chance(0.5, rng)
                 ? Range(AnyLeft(rmax, rng), rmax, rng)
                 : Correlated(point ? 0 : options_.rmax_correlated, rng);
    case QueryDistribution::kReal:
      return Range(source_.draw(rng), rmax, rng);
    case QueryDistribution::kFields:
      return TextRange(FirstFields(source_.draw(rng), rng));
    case QueryDistribution::kAfter:
      return source_.range ? source_.range(source_.draw(rng), rng)
                           : Behind(source_.draw(rng));
    case QueryDistribution::kPrefix:
      return AbsentPrefix(rng);
  }
  return {};
}

Query QuerySource::AbsentPrefix(Rng* rng) const {
  constexpr int kAttempts = 1000;
  std::string key;
  size_t shared = 0;
  for (int i = 0; i < kAttempts && shared >= key.size(); i++) {
    key = source_.draw(rng);
    const auto next = std::lower_bound(keys_.begin(), keys_.end(), key);
    shared = 0;
    if (next != keys_.end()) shared = Slice(key).difference_offset(*next);
    if (next != keys_.begin()) {
      shared = std::max(shared, Slice(key).difference_offset(*std::prev(next)));
    }
  }
  // A stored key, if there seem to be no others: the scan is not empty then.
  const size_t shortest = std::min(shared + 1, key.size());
  return PrefixScan(key.substr(0, UniformIn(shortest, key.size(), rng)));
}

Query QuerySource::DrawPositive(Rng* rng) const {
  const std::string key = any_key_(rng);
  if (options_.distribution == QueryDistribution::kPrefix) {
    return PrefixScan(key.substr(0, UniformIn(1, key.size(), rng)));
  }
  const bool point = options_.rmax == 0 || (options_.point_share > 0 &&
                                            Chance(options_.point_share, rng));
  if (point) return {key, key};
  if (source_.key_bytes == 0) return TextRange(key);
  const uint64_t offset = Offset(options_.rmax, rng);
  const uint64_t below = UniformIn(0, offset, rng);
  const std::string number = NumberOf(key);
  return Between(KeyMinus(number, below), KeyPlus(number, offset - below));
}

bool QuerySource::DrawEmpty(Rng* rng, Query* query) const {
  constexpr int kAttempts = 1000;
  for (int i = 0; i < kAttempts; i++) {
    *query = Draw(rng);
    if (!Holds(keys_, *query)) return true;
  }
  return false;
}

Status QuerySource::DrawEmpty(uint64_t num, Rng* rng,
                              std::vector<Query>* queries) const {
  queries->clear();
  queries->reserve(num);
  while (queries->size() < num) {
    Query query;
    if (!DrawEmpty(rng, &query)) {
      return Status::InvalidArgument(
          "almost all queries find a key: fewer keys, smaller ranges or "
          "another query distribution leave more of them empty");
    }
    queries->push_back(std::move(query));
  }
  return Status::OK();
}

Status ReadQueries(const std::string& file, bool text, bool hi_inclusive,
                   std::vector<Query>* queries) {
  if (text) {
    std::ifstream in(file);
    if (!in) return Status::IOError(file, "cannot be read");
    for (std::string line; std::getline(in, line);) {
      const size_t tab = line.find('\t');
      queries->push_back({line.substr(0, tab), tab == std::string::npos
                                                   ? line
                                                   : line.substr(tab + 1)});
    }
  } else {
    std::vector<uint64_t> numbers;
    const Status s = ReadNumbers(file, 2, &numbers);
    if (!s.ok()) return s;
    for (size_t i = 0; i < numbers.size(); i += 2) {
      queries->push_back(
          {BigEndianKey(numbers[i]), BigEndianKey(numbers[i + 1])});
    }
  }
  for (size_t i = 0; i < queries->size(); i++) {
    Query& query = (*queries)[i];
    query.hi_inclusive = hi_inclusive || query.lo == query.hi;
    if (query.hi < query.lo) {
      return Status::InvalidArgument(
          file, "query " + std::to_string(i + 1) + " has hi below lo");
    }
  }
  return Status::OK();
}

bool Holds(const std::vector<std::string>& keys, const Query& query) {
  const auto first = std::lower_bound(keys.begin(), keys.end(), query.lo);
  if (first == keys.end()) return false;
  const int order = first->compare(query.hi);
  return order < 0 || (order == 0 && query.hi_inclusive);
}

std::pair<std::vector<Query>, std::vector<Query>> SplitByTruth(
    const std::vector<std::string>& keys, const std::vector<Query>& queries) {
  std::vector<Query> empty;
  std::vector<Query> positive;
  for (const Query& query : queries) {
    (Holds(keys, query) ? positive : empty).push_back(query);
  }
  return {std::move(empty), std::move(positive)};
}

std::string UpperBoundOf(const Query& query, const KeySource& source) {
  if (!query.hi_inclusive) return query.hi;
  std::string bound = KeyPlus(query.hi, 1);
  return source.key_bytes == 0 || bound == query.hi ? query.hi + '\0' : bound;
}

}  // namespace ROCKSDB_NAMESPACE::protean
