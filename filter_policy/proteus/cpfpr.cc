// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/proteus/cpfpr.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <unordered_map>

#include "filter_policy/range_filter.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// More prefixes than any query may test.
constexpr uint64_t kManyPrefixes = kMaxPrefixProbes + 1;

// The probability that at least one of `count` events of this probability
// happens; `log_not` is std::log1p(-rate).
double AnyOf(double rate, double log_not, uint64_t count) {
  if (count > kMaxPrefixProbes || rate >= 1) return 1;
  return count == 1 ? rate : -std::expm1(static_cast<double>(count) * log_not);
}
// The probability that the first set lets at most `most` of `count` regions
// within a query through, and that the second set resolves all of these: the
// sum of equation 4, up to that term.
double NoneOf(uint64_t count, double rate, double resolved, uint64_t most) {
  if (most >= count) {
    return std::pow(1 - rate + rate * resolved, static_cast<double>(count));
  }
  if (rate >= 1) return 0;
  double term = std::pow(1 - rate, static_cast<double>(count));
  double sum = term;
  for (uint64_t i = 0; i < most; i++) {
    term *= static_cast<double>(count - i) / static_cast<double>(i + 1) * rate /
            (1 - rate) * resolved;
    sum += term;
  }
  return sum;
}

// Turns `hi` into the last bits before it, a bound that goes on with ones up to
// `bytes` bytes. False if there are none.
bool MakeInclusive(std::string* hi, size_t bytes) {
  while (!hi->empty() && hi->back() == '\0') hi->pop_back();
  if (hi->empty()) return false;
  hi->back() = static_cast<char>(static_cast<uint8_t>(hi->back()) - 1);
  if (hi->size() < bytes) hi->append(bytes - hi->size(), '\xff');
  return true;
}

struct SortedSample {
  uint64_t word;  // of its lower bound
  const SampleQuery* sample;
};

// Sorts the samples, whose first words are set, by their lower bounds.
void SortByWords(std::vector<SortedSample>* samples) {
  // Samples in [begin, end) have equal lower bounds before byte `from`, and the
  // words from there on are set.
  struct Range {
    size_t from;
    size_t begin;
    size_t end;
  };
  const auto at = [&](size_t index) {
    return samples->begin() + static_cast<ptrdiff_t>(index);
  };
  std::vector<Range> ranges = {{0, 0, samples->size()}};
  while (!ranges.empty()) {
    const Range range = ranges.back();
    ranges.pop_back();
    std::sort(at(range.begin), at(range.end),
              [](const SortedSample& a, const SortedSample& b) {
                return a.word < b.word;
              });
    const size_t next = range.from + sizeof(uint64_t);
    for (size_t i = range.begin; i < range.end;) {
      const size_t begin = i;
      while (i < range.end && at(i)->word == at(begin)->word) i++;
      if (i - begin < 2) continue;
      // Bounds that end here precede those that go on, and differ in the number
      // of zeros that they end with.
      const auto longer =
          std::partition(at(begin), at(i), [next](const SortedSample& sample) {
            return sample.sample->lo.size() <= next;
          });
      std::sort(at(begin), longer,
                [](const SortedSample& a, const SortedSample& b) {
                  return a.sample->lo.size() < b.sample->lo.size();
                });
      for (auto sample = longer; sample != at(i); ++sample) {
        sample->word = LoadBits64(sample->sample->lo, next);
      }
      if (longer != at(i)) {
        ranges.push_back(
            {next, static_cast<size_t>(longer - samples->begin()), i});
      }
    }
  }
}

// Finds the first key at or above `target` from `*index` on, which advances.
void GallopTo(const KeyStore& keys, const Slice& target, size_t* index) {
  size_t begin = *index;
  size_t step = 1;
  size_t end = begin;
  while (end < keys.size() && keys.Compare(end, target) < 0) {
    begin = end + 1;
    end += step;
    step *= 2;
  }
  *index = keys.LowerBound(target, begin, std::min(end, keys.size()));
}

}  // namespace

// The prefixes from that of `lo` to that of `hi`, which are 64 bits each from
// the byte on in which the bounds part.
inline uint64_t CpfprModel::Query::Count(const ByteAlphabets& alphabets,
                                         uint64_t lo, uint64_t hi,
                                         uint32_t bits) const {
  if (bits <= bounds_shared) return 1;
  const uint32_t from = bounds_shared / 8;
  const uint32_t used = bits - 8 * from;
  if (used > 64) return kManyPrefixes;
  if (alphabets.AreAny()) {
    return std::min((hi >> (64 - used)) - (lo >> (64 - used)),
                    kMaxPrefixProbes) +
           1;
  }
  char lo_bytes[sizeof(lo)];
  char hi_bytes[sizeof(hi)];
  EncodeFixed64(lo_bytes, EndianSwapValue(lo));
  EncodeFixed64(hi_bytes, EndianSwapValue(hi));
  return std::min(alphabets.Count(lo_bytes, hi_bytes, from, bits),
                  kManyPrefixes);
}

uint64_t CpfprModel::Query::CountAll(const ByteAlphabets& alphabets,
                                     uint32_t bits) const {
  return Count(alphabets, lo_rest, hi_rest, bits);
}

namespace {

// The bits of a word after bit `bits` of the bounds, where the word begins with
// byte `from` of them.
uint64_t BitsBehind(uint32_t bits, uint32_t from) {
  const uint32_t kept = bits - 8 * from;
  return kept >= 64 ? 0 : ~uint64_t{0} >> kept;
}

}  // namespace

uint64_t CpfprModel::Query::CountLeft(const ByteAlphabets& alphabets,
                                      uint32_t first, uint32_t bits) const {
  const uint64_t below = BitsBehind(first, bounds_shared / 8);
  return Count(alphabets, lo_rest, lo_rest | below, bits);
}
uint64_t CpfprModel::Query::CountRight(const ByteAlphabets& alphabets,
                                       uint32_t first, uint32_t bits) const {
  const uint64_t below = BitsBehind(first, bounds_shared / 8);
  return Count(alphabets, hi_rest & ~below, hi_rest, bits);
}
uint64_t CpfprModel::Query::CountEnds(const ByteAlphabets& alphabets,
                                      uint32_t first) const {
  return Count(alphabets, lo_rest, lo_rest, first) +
         Count(alphabets, hi_rest, hi_rest, first);
}

uint64_t CpfprModel::Query::CountTested(const ByteAlphabets& alphabets,
                                        uint32_t first, uint32_t bits) const {
  if (first <= bounds_shared) return CountAll(alphabets, bits);
  uint64_t count = 0;
  if (lo_shared >= first) count += CountLeft(alphabets, first, bits);
  if (hi_shared >= first) count += CountRight(alphabets, first, bits);
  return std::min(count, kManyPrefixes);
}

uint64_t LeastBytes(AmqKind kind, uint64_t hashes, double rate, uint64_t most) {
  uint64_t low = 0;
  uint64_t high = most;
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    if (PlanAmq(kind, hashes, middle).false_positive_rate <= rate) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return high;
}

PrefixSets PlanPrefixSets(const ProteusDesign& design,
                          const KeyStatistics& statistics, uint64_t bytes,
                          SetPlanner plan) {
  PrefixSets sets;
  if (design.key_set || design.first_prefix_bits > 0) {
    uint64_t first_bytes = bytes;
    if (design.prefix_bits > 0 && design.key_rate > 0) {
      first_bytes =
          LeastBytes(design.amq, statistics.num_keys(), design.key_rate, bytes);
    } else if (design.prefix_bits > 0) {
      first_bytes = static_cast<uint64_t>(design.first_share *
                                          static_cast<double>(bytes));
    }
    sets.first =
        plan(design.amq,
             design.key_set ? statistics.num_keys()
                            : statistics.Prefixes(design.first_prefix_bits),
             first_bytes);
  }
  if (design.prefix_bits == 0) return sets;
  sets.second =
      plan(design.amq,
           statistics.PrefixesOfSeries(design.prefix_bits, design.stride_bits),
           bytes - sets.first.bytes);
  return sets;
}

CpfprModel::CpfprModel(const KeyStore& keys, const KeyStatistics& statistics,
                       const std::vector<SampleQuery>& samples,
                       const std::vector<Query>& prior, bool prefixes_only,
                       double sample_weight)
    : statistics_(statistics) {
  if (keys.size() == 0) return;
  const std::string smallest = keys[0];
  const std::string largest = keys[keys.size() - 1];
  std::vector<SortedSample> order;
  order.reserve(samples.size());
  for (const SampleQuery& sample : samples) {
    if (IsInverted(sample.lo, sample.hi, sample.hi_inclusive)) continue;
    if (LiesBeyond(sample, smallest, largest)) {
      outside_++;
      continue;
    }
    order.push_back({LoadBits64(sample.lo, 0), &sample});
  }
  SortByWords(&order);

  queries_.reserve(order.size() + prior.size());
  size_t index = 0;
  SampleQuery scan;
  for (const SortedSample& entry : order) {
    const bool is_scan = prefixes_only && entry.sample->lo == entry.sample->hi;
    if (is_scan) {
      scan.lo = entry.sample->lo;
      scan.hi_inclusive = false;
      if (!FirstBehindPrefix(scan.lo, &scan.hi)) continue;
    }
    const SampleQuery& sample = is_scan ? scan : *entry.sample;
    GallopTo(keys, sample.lo, &index);
    if (index < keys.size()) {
      const int to_hi = keys.Compare(index, sample.hi);
      if (to_hi < 0 || (to_hi == 0 && sample.hi_inclusive)) continue;
    }
    Query query;
    if (MakeQuery(sample.lo, sample.hi, sample.hi_inclusive, keys, index, index,
                  statistics, &query)) {
      query.weight = sample_weight;
      queries_.push_back(query);
    }
  }
  num_samples_ = queries_.size();
  queries_.insert(queries_.end(), prior.begin(), prior.end());
  const auto points = std::stable_partition(
      queries_.begin(), queries_.end(),
      [](const Query& q) { return !q.promised || !q.is_point(); });
  num_before_points_ = static_cast<size_t>(points - queries_.begin());
  for (auto query = points; query != queries_.end(); ++query) {
    points_.Add(query->shared(), query->weight);
  }
  points_.Sort();
}

bool CpfprModel::MakeQuery(const Slice& lo, const Slice& hi, bool hi_inclusive,
                           const KeyStore& keys, size_t keys_below, size_t next,
                           const KeyStatistics& statistics, Query* query) {
  Slice last = hi;
  std::string inclusive;
  if (!hi_inclusive && EndsBefore(hi, statistics.shortest_key())) {
    inclusive = hi.ToString();
    if (!MakeInclusive(&inclusive,
                       std::max(lo.size(), statistics.longest_key()) + 8)) {
      return false;
    }
    last = inclusive;
  }
  *query = {};
  std::string decoded;
  // keys_below - 1 is above all indexes if there is no key below.
  for (size_t neighbour : {keys_below - 1, next}) {
    if (neighbour >= keys.size()) continue;
    const Slice key = keys.Get(neighbour, &decoded);
    query->lo_shared = std::max(query->lo_shared, SharedBits(lo, key));
    query->hi_shared = std::max(query->hi_shared, SharedBits(last, key));
  }
  query->bytes = static_cast<uint32_t>(std::max(lo.size(), hi.size()));
  query->weight = 1;
  query->bounds_shared = SharedBits(lo, last);
  if (query->bounds_shared != kAllBits) {
    query->lo_rest = LoadBits64(lo, query->bounds_shared / 8);
    query->hi_rest = LoadBits64(last, query->bounds_shared / 8);
  }
  return true;
}

CpfprModel::RunRates::RunRates(double rate, size_t most)
    : num_lengths_(std::min(most, kLengths)) {
  double power = 1;
  for (size_t i = 0; i < num_lengths_; i++) {
    power *= rate;
    all_of_[i] = power;
    log_not_[i] = kNotKnown;
  }
}

double CpfprModel::RunRates::AnyRunOf(uint32_t lengths, uint64_t runs) const {
  const size_t i = std::min<size_t>(lengths, num_lengths_) - 1;
  // Most queries test one prefix.
  if (runs > 1 && log_not_[i] == kNotKnown) {
    log_not_[i] = std::log1p(-std::min(all_of_[i], 1 - 1e-16));
  }
  return protean::AnyOf(all_of_[i], log_not_[i], runs);
}

// The longest prefixes of a series of which not too many are tested, and how
// many of them. A design of one length tests those of that length.
uint32_t CpfprModel::LongestTested(const Query& query,
                                   const ProteusDesign& design,
                                   uint64_t* tested) const {
  const ByteAlphabets& alphabets = AlphabetsOf(design);
  uint32_t bits = design.LongestPrefix(query.bytes);
  *tested = query.CountTested(alphabets, design.trie_bits, bits);
  while (bits > design.prefix_bits && *tested > kMaxPrefixProbes) {
    bits -= design.stride_bits;
    *tested = query.CountTested(alphabets, design.trie_bits, bits);
  }
  return bits;
}

namespace {

// The number of lengths of which a prefix of `bits` bits and those that it
// begins with are absent, where a key shares `shared` bits.
uint32_t LengthsOf(const ProteusDesign& design, uint32_t shared,
                   uint32_t bits) {
  if (design.stride_bits == 0) return 1;
  // The prefixes of all lengths that no key shares must be false positives.
  const uint32_t from = std::max(shared + 1, design.prefix_bits);
  return (bits - from) / design.stride_bits + 1;
}

}  // namespace

// Equations 1 and 5, also for a series.
CpfprModel::Tested CpfprModel::TestOneLayer(const Query& query,
                                            const ProteusDesign& design) const {
  constexpr Tested kNever = {0, 0};
  constexpr Tested kAlways = {0, 1};
  const uint32_t shared = query.shared();
  if (shared < design.trie_bits) return kNever;
  if (design.prefix_bits == 0) return kAlways;
  if (shared >= design.LongestPrefix(query.bytes)) return kAlways;
  uint64_t tested = 0;
  const uint32_t bits = LongestTested(query, design, &tested);
  if (shared >= bits) return kAlways;
  return {LengthsOf(design, shared, bits), tested};
}

// TestOneLayer for all queries of a class like this one. False if their bounds
// count one by one.
bool CpfprModel::TestClass(const Query& query, const ProteusDesign& design,
                           Tested* tested) {
  const uint32_t shared = query.shared();
  *tested = {0, shared < design.trie_bits ? uint64_t{0} : uint64_t{1}};
  if (tested->prefixes == 0 || design.prefix_bits == 0) return true;
  const uint32_t longest = design.LongestPrefix(query.bytes);
  if (shared >= longest) return true;
  tested->lengths = LengthsOf(design, shared, longest);
  return longest <= query.bounds_shared;
}

double CpfprModel::OneLayer(const Query& query, const ProteusDesign& design,
                            const RunRates& rates) const {
  const Tested tested = TestOneLayer(query, design);
  return rates.RateOf(tested.lengths, tested.prefixes);
}

// Equation 4.
double CpfprModel::TwoSets(const Query& query, const ProteusDesign& design,
                           double first_rate, const RunRates& rates) const {
  const uint32_t first = design.first_prefix_bits;
  const uint32_t bits = design.prefix_bits;
  if (query.shared() >= bits) return 1;
  const ByteAlphabets& alphabets = AlphabetsOf(design);
  const uint64_t regions = query.CountAll(alphabets, first);
  if (regions == 0) return 0;
  if (regions > kMaxPrefixProbes) return 1;
  // The average number of prefixes tested in the end: the regions, and the
  // prefixes below those that the first set lets through.
  auto tested = static_cast<double>(regions);
  // The probability that one region of `prefixes` prefixes is resolved.
  // `shared` tells whether a key lies in it.
  auto resolve = [&](bool shared, uint64_t prefixes) {
    const double through = shared ? 1 : first_rate;
    tested += through * static_cast<double>(prefixes);
    return 1 - through * rates.AnyOf(prefixes);
  };
  if (regions == 1) {
    const double all =
        resolve(query.shared() >= first, query.CountAll(alphabets, bits));
    return tested > kMaxPrefixProbes ? 1 : 1 - all;
  }
  double all = resolve(query.lo_shared >= first,
                       query.CountLeft(alphabets, first, bits)) *
               resolve(query.hi_shared >= first,
                       query.CountRight(alphabets, first, bits));
  // The filter tests no prefixes beyond its limit.
  if (tested > kMaxPrefixProbes) return 1;
  const uint64_t between = regions - query.CountEnds(alphabets, first);
  if (between > 0) {
    const uint64_t whole = alphabets.CountBelow(first, bits);
    const auto most = static_cast<uint64_t>((kMaxPrefixProbes - tested) /
                                            static_cast<double>(whole));
    all *= NoneOf(between, first_rate, 1 - rates.AnyOf(whole), most);
  }
  return 1 - all;
}

double CpfprModel::Probability(const Query& query, const ProteusDesign& design,
                               double first_rate, const RunRates& rates) const {
  if (design.first_prefix_bits > 0) {
    return TwoSets(query, design, first_rate, rates);
  }
  if (design.keys_alone && query.is_point()) return first_rate;
  const double probability = OneLayer(query, design, rates);
  return design.key_set && query.is_point() ? first_rate * probability
                                            : probability;
}

namespace {

// Adds tests of `prefixes` prefixes that follow each other, which are made with
// this probability.
void AddRun(double probability, uint64_t prefixes, CpfprModel::Tests* tests) {
  // Sets keep that many neighbors together (design_proteus.md).
  constexpr uint64_t kNeighbors = 64;
  const uint64_t tested = std::min(prefixes, kMaxPrefixProbes);
  tests->prefixes += probability * static_cast<double>(tested);
  tests->runs += probability * std::ceil(static_cast<double>(tested) /
                                         static_cast<double>(kNeighbors));
}

}  // namespace

CpfprModel::Tests CpfprModel::TestsOf(const Query& query,
                                      const ProteusDesign& design,
                                      double first_rate) const {
  Tests tests;
  double asked = 1;
  if (design.key_set && query.is_point()) {
    AddRun(1, 1, &tests);
    if (design.keys_alone) return tests;
    asked = first_rate;
  }
  if (design.prefix_bits == 0 && design.first_prefix_bits == 0) return tests;
  const uint32_t first = design.first_prefix_bits;
  if (first > 0) {
    const ByteAlphabets& alphabets = AlphabetsOf(design);
    const auto through = [&](uint32_t shared) {
      return shared >= first ? 1 : first_rate;
    };
    const uint32_t bits = design.prefix_bits;
    const uint64_t regions = query.CountAll(alphabets, first);
    AddRun(1, regions, &tests);
    if (regions <= 1) {
      AddRun(through(query.shared()), query.CountAll(alphabets, bits), &tests);
    } else {
      AddRun(through(query.lo_shared), query.CountLeft(alphabets, first, bits),
             &tests);
      AddRun(through(query.hi_shared), query.CountRight(alphabets, first, bits),
             &tests);
    }
    return tests;
  }
  if (query.shared() < design.trie_bits) return tests;
  uint64_t tested = 0;
  LongestTested(query, design, &tested);
  AddRun(asked, tested, &tests);
  return tests;
}

CpfprModel::Tests CpfprModel::CountTests(const ProteusDesign& design,
                                         const PrefixSets& sets,
                                         size_t step) const {
  Tests sum;
  double weights = 0;
  for (size_t i = 0; i < queries_.size(); i += step) {
    const Query& query = queries_[i];
    const Tests tests = TestsOf(query, design, sets.first.false_positive_rate);
    sum.prefixes += query.weight * tests.prefixes;
    sum.runs += query.weight * tests.runs;
    weights += query.weight;
  }
  if (weights > 0) {
    sum.prefixes /= weights;
    sum.runs /= weights;
  }
  return sum;
}

CpfprModel CpfprModel::Ranges() const {
  CpfprModel ranges = *this;
  const auto is_point = [](const Query& query) { return query.is_point(); };
  std::vector<Query>& queries = ranges.queries_;
  const auto end_samples =
      queries.begin() + static_cast<ptrdiff_t>(num_samples_);
  const auto points = std::count_if(queries.begin(), end_samples, is_point);
  ranges.num_samples_ = num_samples_ - static_cast<size_t>(points);
  queries.erase(std::remove_if(queries.begin(), queries.end(), is_point),
                queries.end());
  ranges.num_before_points_ = queries.size();
  ranges.points_ = SharedShares();
  return ranges;
}

// The probability of a promised point, on average, if there is no series.
double CpfprModel::PointsProbability(const ProteusDesign& design,
                                     double first_rate, double rate) const {
  if (design.keys_alone) return first_rate;
  const double certain = points_.AtLeast(design.prefix_bits);
  if (design.first_prefix_bits > 0) {
    const double reached = points_.AtLeast(design.first_prefix_bits);
    return certain + (reached - certain) * rate +
           (1 - reached) * first_rate * rate;
  }
  const double reached = points_.AtLeast(design.trie_bits);
  const double layers =
      design.prefix_bits == 0 ? reached : certain + (reached - certain) * rate;
  return design.key_set ? first_rate * layers : layers;
}

CpfprModel::Rates CpfprModel::Combine(const ProteusDesign& design,
                                      const PrefixSets& sets, size_t step,
                                      Sum (&sums)[kNumSums]) const {
  if (points_.total() > 0) {
    // Each query stands for `step` of them.
    Sum points;
    points.weights = points_.total() / static_cast<double>(step);
    points.rates =
        points.weights *
        (design.stride_bits > 0
             ? sums[kPointsSum].Mean()
             : PointsProbability(design, sets.first.false_positive_rate,
                                 sets.second.false_positive_rate));
    sums[kPromisedSum].Add(points);
  }
  Sum of_kinds;
  for (size_t kind = 1; kind <= kMaxKinds; kind++) of_kinds.Add(sums[kind]);
  double squares = 0;
  for (size_t kind = 1; kind <= kMaxKinds; kind++) {
    const double difference = sums[kind].Mean() - of_kinds.Mean();
    squares += sums[kind].weights * difference * difference;
  }
  Sum all = of_kinds;
  all.Add(sums[0]);
  all.Add(sums[kPromisedSum]);
  return {all.Mean(), sums[kPromisedSum].Mean(),
          of_kinds.weights > 0 ? std::sqrt(squares / of_kinds.weights) : 0};
}

namespace {

constexpr size_t kAnyNumber = ~size_t{0};

// The number of lengths that a run of prefixes may have.
size_t MostLengths(const ProteusDesign& design) {
  return design.stride_bits > 0 ? kAnyNumber : 1;
}

}  // namespace

CpfprModel::Rates CpfprModel::Average(const ProteusDesign& design,
                                      const PrefixSets& sets,
                                      size_t step) const {
  const double first_rate = sets.first.false_positive_rate;
  const RunRates run_rates(sets.second.false_positive_rate,
                           MostLengths(design));
  Sum sums[kNumSums];
  const auto add = [&](const Query& query, Sum* sum) {
    sum->rates +=
        query.weight * Probability(query, design, first_rate, run_rates);
    sum->weights += query.weight;
  };
  for (size_t i = 0; i < num_before_points_; i += step) {
    add(queries_[i], &sums[SumOf(queries_[i])]);
  }
  if (design.stride_bits > 0) {
    for (size_t i = num_before_points_; i < queries_.size(); i += step) {
      add(queries_[i], &sums[kPointsSum]);
    }
  }
  return Combine(design, sets, step, sums);
}

namespace {

// Finds the numbers of things by all that tells them apart.
class Places {
 public:
  static constexpr uint32_t kNone = ~uint32_t{0};

  // `most` is the number of things that there may be.
  explicit Places(size_t most)
      : shift_(64 - BitsFor(2 * most + 1)),
        numbers_(size_t{1} << (64 - shift_), kNone) {}

  // The place of the number of the thing for which `is_it(number)` is true, or
  // kNone where it is to be.
  template <typename IsIt>
  uint32_t& Find(uint64_t hash, const IsIt& is_it) {
    size_t place = hash * 0x9e3779b97f4a7c15u >> shift_;
    while (numbers_[place] != kNone && !is_it(numbers_[place])) {
      place = (place + 1) & (numbers_.size() - 1);
    }
    return numbers_[place];
  }

 private:
  const uint32_t shift_;
  std::vector<uint32_t> numbers_;
};

}  // namespace

CpfprModel::QuerySample CpfprModel::SampleOf(size_t step) const {
  QuerySample sample;
  sample.step = step;
  AddClasses(0, num_before_points_, /*are_points=*/false, &sample);
  sample.num_before_points = sample.classes.size();
  AddClasses(num_before_points_, queries_.size(), /*are_points=*/true, &sample);
  for (size_t i = 0; i < sample.num_before_points; i++) {
    const QueryClass& alike = sample.classes[i];
    const uint32_t shared = sample.queries[alike.begin].shared();
    sample.shared.Add(shared, alike.weight);
    if (alike.sum == kPromisedSum) {
      sample.promised_shared.Add(shared, alike.weight);
    }
  }
  // All points count, whatever the step.
  for (size_t i = num_before_points_; i < queries_.size(); i++) {
    const double weight = queries_[i].weight / static_cast<double>(step);
    sample.shared.Add(queries_[i].shared(), weight);
    sample.promised_shared.Add(queries_[i].shared(), weight);
  }
  sample.shared.Sort();
  sample.promised_shared.Sort();
  return sample;
}

// Adds the classes of every step-th of the queries in [begin, end).
void CpfprModel::AddClasses(size_t begin, size_t end, bool are_points,
                            QuerySample* sample) const {
  if (begin == end) return;
  const size_t step = sample->step;
  // Bounds are looked at behind what they share. With alphabets, all of the
  // byte counts in which they part.
  const bool any_bytes = statistics_.alphabets().AreAny();
  const size_t most = (end - begin + step - 1) / step;
  std::vector<QueryClass> classes;
  std::vector<Query> queries;
  std::vector<uint32_t> class_of;  // the queries
  queries.reserve(most);
  class_of.reserve(most);
  Places class_places(most);
  Places query_places(most);
  const auto mix = [](uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * 0xff51afd7ed558ccdu;
    return hash ^ hash >> 32;
  };
  for (size_t i = begin; i < end; i += step) {
    Query query = queries_[i];
    if (any_bytes && !query.is_point()) {
      const uint64_t behind = ~uint64_t{0} >> query.bounds_shared % 8;
      query.lo_rest &= behind;
      query.hi_rest &= behind;
    }
    const uint32_t sum =
        static_cast<uint32_t>(are_points ? kPointsSum : SumOf(query));
    const uint64_t hash =
        mix(mix(uint64_t{query.lo_shared} << 32 | query.hi_shared,
                uint64_t{query.bounds_shared} << 32 | query.bytes),
            sum);
    uint32_t& number = class_places.Find(hash, [&](uint32_t other) {
      const Query& first = queries[classes[other].begin];
      return first.lo_shared == query.lo_shared &&
             first.hi_shared == query.hi_shared &&
             first.bounds_shared == query.bounds_shared &&
             first.bytes == query.bytes && classes[other].sum == sum;
    });
    if (number == Places::kNone) {
      number = static_cast<uint32_t>(classes.size());
      QueryClass added;
      added.sum = sum;
      added.begin = queries.size();
      classes.push_back(added);
    }
    classes[number].weight += query.weight;
    uint32_t& place = query_places.Find(
        mix(mix(hash, query.lo_rest), query.hi_rest), [&](uint32_t other) {
          return class_of[other] == number &&
                 queries[other].lo_rest == query.lo_rest &&
                 queries[other].hi_rest == query.hi_rest;
        });
    if (place != Places::kNone) {
      queries[place].weight += query.weight;
      continue;
    }
    place = static_cast<uint32_t>(queries.size());
    queries.push_back(query);
    class_of.push_back(number);
  }
  // Classes that most designs do not resolve come first: a sum over the classes
  // is then known early to be large.
  std::vector<uint32_t> order(classes.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    const Query& in_a = queries[classes[a].begin];
    const Query& in_b = queries[classes[b].begin];
    if (in_a.bounds_shared != in_b.bounds_shared) {
      return in_a.bounds_shared < in_b.bounds_shared;
    }
    return in_a.shared() != in_b.shared() ? in_a.shared() > in_b.shared()
                                          : a < b;
  });
  // Moves the queries to their classes.
  std::vector<size_t> sizes(classes.size());
  for (uint32_t number : class_of) sizes[number]++;
  size_t place = sample->queries.size();
  for (uint32_t number : order) {
    classes[number].begin = classes[number].end = place;
    place += sizes[number];
  }
  sample->queries.resize(place);
  for (size_t i = 0; i < queries.size(); i++) {
    sample->queries[classes[class_of[i]].end++] = queries[i];
  }
  for (uint32_t number : order) sample->classes.push_back(classes[number]);
}

CpfprModel::QueryGroups CpfprModel::GroupsOf(const ProteusDesign& design,
                                             const QuerySample& sample) const {
  QueryGroups found;
  found.step = sample.step;
  const size_t end =
      design.stride_bits > 0 ? sample.classes.size() : sample.num_before_points;
  if (end == 0) return found;
  // The indexes of the groups: of those that test one prefix or none, which
  // most queries do, by all that tells them apart.
  constexpr uint32_t kNone = ~uint32_t{0};
  uint32_t usual[RunRates::kLengths + 1][2][kNumSums][2];
  memset(usual, 0xff, sizeof(usual));
  std::unordered_map<uint64_t, size_t> others;
  const auto add = [&](const Query& query, const Tested& tested, uint32_t sum,
                       double weight) {
    QueryGroup group;
    group.lengths = static_cast<uint32_t>(
        std::min<size_t>(tested.lengths, RunRates::kLengths));
    group.tested =
        static_cast<uint32_t>(std::min(tested.prefixes, kManyPrefixes));
    group.sum = sum;
    group.is_point = query.is_point();
    group.weight = 0;
    size_t index = found.groups.size();
    if (group.tested <= 1) {
      uint32_t& known =
          usual[group.lengths][group.tested][sum][group.is_point ? 1 : 0];
      if (known == kNone) known = static_cast<uint32_t>(index);
      index = known;
    } else {
      const uint64_t key = uint64_t{group.tested} << 32 | group.lengths << 8 |
                           sum << 1 | (group.is_point ? 1 : 0);
      index = others.try_emplace(key, index).first->second;
    }
    if (index == found.groups.size()) found.groups.push_back(group);
    found.groups[index].weight += weight;
  };
  for (size_t i = 0; i < end; i++) {
    const QueryClass& alike = sample.classes[i];
    const Query& first = sample.queries[alike.begin];
    Tested tested = {};
    if (TestClass(first, design, &tested)) {
      add(first, tested, alike.sum, alike.weight);
      continue;
    }
    for (size_t j = alike.begin; j < alike.end; j++) {
      const Query& query = sample.queries[j];
      add(query, TestOneLayer(query, design), alike.sum, query.weight);
    }
  }
  return found;
}

CpfprModel::Rates CpfprModel::AverageOfTwoSets(const QuerySample& sample,
                                               const ProteusDesign& design,
                                               const PrefixSets& sets,
                                               double most) const {
  const double first_rate = sets.first.false_positive_rate;
  const RunRates run_rates(sets.second.false_positive_rate,
                           MostLengths(design));
  const uint32_t bits = design.prefix_bits;
  const double total = sample.shared.total();
  const double most_weight = most * total;
  Sum sums[kNumSums];
  double found = 0;
  for (size_t i = 0; i < sample.num_before_points; i++) {
    const QueryClass& alike = sample.classes[i];
    Sum& sum = sums[alike.sum];
    sum.weights += alike.weight;
    const Query& first = sample.queries[alike.begin];
    double rates = 0;
    if (first.shared() >= bits) {
      rates = alike.weight;
    } else if (bits <= first.bounds_shared) {
      // One prefix of each length is tested.
      rates = alike.weight * sets.second.false_positive_rate;
      if (first.shared() < design.first_prefix_bits) rates *= first_rate;
    } else {
      for (size_t j = alike.begin; j < alike.end; j++) {
        const Query& query = sample.queries[j];
        rates += query.weight * TwoSets(query, design, first_rate, run_rates);
      }
    }
    sum.rates += rates;
    found += rates;
    if (found > most_weight) return {found / total, 0, 0};
  }
  return Combine(design, sets, sample.step, sums);
}

CpfprModel::Rates CpfprModel::AverageOf(const QueryGroups& groups,
                                        const ProteusDesign& design,
                                        const PrefixSets& sets) const {
  const double first_rate = sets.first.false_positive_rate;
  const RunRates run_rates(sets.second.false_positive_rate,
                           MostLengths(design));
  Sum sums[kNumSums];
  for (const QueryGroup& group : groups.groups) {
    double probability = run_rates.RateOf(group.lengths, group.tested);
    if (group.is_point && design.keys_alone) {
      probability = first_rate;
    } else if (group.is_point && design.key_set) {
      probability *= first_rate;
    }
    sums[group.sum].rates += group.weight * probability;
    sums[group.sum].weights += group.weight;
  }
  return Combine(design, sets, groups.step, sums);
}

}  // namespace ROCKSDB_NAMESPACE::protean
