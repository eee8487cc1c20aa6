#include "db_bench_ext/query_source.h"

#include <map>

#include "db_bench_ext/key_arithmetic.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

uint64_t Between(uint64_t smallest, uint64_t largest, Rng* rng) {
  return std::uniform_int_distribution<uint64_t>(smallest, largest)(*rng);
}

bool Chance(double probability, Rng* rng) {
  return std::bernoulli_distribution(probability)(*rng);
}

}  // namespace

Status ParseQueryDistribution(const std::string& name, const KeySource& source,
                              QueryDistribution* distribution) {
  static const std::map<std::string, QueryDistribution> distributions = {
      {"uniform", QueryDistribution::kUniform},
      {"correlated", QueryDistribution::kCorrelated},
      {"split", QueryDistribution::kSplit},
      {"real", QueryDistribution::kReal}};
  const auto found = distributions.find(name);
  if (found == distributions.end()) {
    return Status::InvalidArgument(
        "query distribution " + name +
        " is unknown; allowed: uniform, correlated, split, real");
  }
  if (source.key_bytes == 0 && found->second != QueryDistribution::kReal) {
    return Status::InvalidArgument("query distribution " + name +
                                   " needs keys of one length; allowed: real");
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
        return keys[Between(0, keys.size() - 1, rng)];
      }) {}

uint64_t QuerySource::Offset(uint64_t rmax, Rng* rng) const {
  return rmax == 0 ? 0 : Between(options_.rmin, rmax, rng);
}

Query QuerySource::Range(const std::string& left, uint64_t rmax,
                         Rng* rng) const {
  if (source_.key_bytes == 0) {
    return rmax == 0 ? Query{left, left} : TextRange(left);
  }
  return {left, KeyPlus(left, Offset(rmax, rng))};
}

Query QuerySource::Uniform(uint64_t rmax, Rng* rng) const {
  // Whole ranges only: no left bound so high that they would be cut.
  const std::string largest =
      KeyMinus(std::string(source_.key_bytes, '\xff'), rmax);
  std::string left;
  do {
    left.clear();
    while (left.size() < source_.key_bytes) left += BigEndianKey((*rng)());
    left.resize(source_.key_bytes);
  } while (left > largest);
  return Range(left, rmax, rng);
}

Query QuerySource::Correlated(uint64_t rmax, Rng* rng) const {
  const uint64_t distance = Between(1, options_.corr_degree, rng);
  return Range(KeyPlus(any_key_(rng), distance), rmax, rng);
}

Query QuerySource::Draw(Rng* rng) const {
  const bool point =
      options_.point_share > 0 && Chance(options_.point_share, rng);
  const uint64_t rmax = point ? 0 : options_.rmax;
  switch (options_.distribution) {
    case QueryDistribution::kUniform:
      return Uniform(rmax, rng);
    case QueryDistribution::kCorrelated:
      return Correlated(rmax, rng);
    case QueryDistribution::kSplit:
      return Chance(0.5, rng)
                 ? Uniform(rmax, rng)
                 : Correlated(point ? 0 : options_.rmax_correlated, rng);
    case QueryDistribution::kReal:
      return Range(source_.draw(rng), rmax, rng);
  }
  return {};
}

Query QuerySource::DrawPositive(Rng* rng) const {
  const std::string key = any_key_(rng);
  const bool point = options_.rmax == 0 || (options_.point_share > 0 &&
                                            Chance(options_.point_share, rng));
  if (point) return {key, key};
  if (source_.key_bytes == 0) return TextRange(key);
  const uint64_t offset = Offset(options_.rmax, rng);
  const uint64_t below = Between(0, offset, rng);
  return {KeyMinus(key, below), KeyPlus(key, offset - below)};
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

std::string UpperBoundBehind(const std::string& key, const KeySource& source) {
  std::string bound = KeyPlus(key, 1);
  return source.key_bytes == 0 || bound == key ? key + '\0' : bound;
}

}  // namespace ROCKSDB_NAMESPACE::protean
