#include "filter_policy/proteus/cpfpr.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "filter_policy/proteus/key_bits.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// More prefixes than any query may test.
constexpr uint64_t kManyPrefixes = kMaxPrefixProbes + 1;

// Queries that the first round, the search for two sets and the search for
// series look at.
constexpr size_t kFirstRoundQueries = 4096;
constexpr size_t kTwoSetQueries = 512;
constexpr size_t kSeriesQueries = 512;
// Designs of least rate, and of least cost, that meet the whole sample.
constexpr size_t kFinalists = 12;
constexpr size_t kMaxTrieLengths = 48;
constexpr size_t kMaxPrefixLengths = 96;
// What a false positive costs, a read of an SSD, and what a query costs in the
// trie and for each prefix that it tests in a set. In ns.
constexpr double kFalsePositiveNanos = 100000;
constexpr double kTrieNanos = 40;
constexpr double kBloomNanos = 8;
constexpr double kRibbonNanos = 25;
// What a query of a series or of two sets tests, roughly.
constexpr double kUsualPrefixes = 4;
// For the sake of time, no more false positives than this are added.
constexpr double kMostForTime = 0.005;

// A set of this rate is not worth the time to test it.
constexpr double kUselessRate = 0.9;
// Deeper tries are not considered.
constexpr uint32_t kMaxTrieBits = 512;

// How many prefixes of each key a series may hold, for the sake of building
// time.
uint64_t MaxHashes(AmqKind kind) { return kind == AmqKind::kRibbon ? 2 : 4; }

// Bins of prefix counts: bin i holds those in [2^(i-1), 2^i).
constexpr size_t kBins = 11;
static_assert(kMaxPrefixProbes < 1 << (kBins - 1));

size_t BinOf(uint64_t prefixes) {
  return 64 - static_cast<size_t>(__builtin_clzll(prefixes));
}

// A bound's bits [begin, end) of the 64 that `rest` has of it from `from` on;
// from <= begin < end <= from + 64
uint64_t BitsOf(uint64_t rest, uint32_t from, uint32_t begin, uint32_t end) {
  return rest << (begin - from) >> (64 - (end - begin));
}

// The prefixes of that length from the lower to the upper bound.
uint64_t CountAll(const CpfprModel::Query& query, uint32_t bits) {
  const uint32_t from = query.bounds_shared;
  if (bits <= from) return 1;
  if (bits - from > 64) return kManyPrefixes;
  const uint64_t lo = BitsOf(query.lo_rest, from, from, bits);
  const uint64_t hi = BitsOf(query.hi_rest, from, from, bits);
  return std::min(hi - lo, kMaxPrefixProbes) + 1;
}

// Of a query whose bounds lie below different prefixes of `first` bits: the
// prefixes of `bits` bits below the first one of them (L in the paper), and
// below the last one (R).
uint64_t CountLeft(const CpfprModel::Query& query, uint32_t first,
                   uint32_t bits) {
  const uint32_t from = query.bounds_shared;
  if (bits - from > 64 || bits - first > 62) return kManyPrefixes;
  const uint64_t before = BitsOf(query.lo_rest, from, first, bits);
  return std::min((uint64_t{1} << (bits - first)) - before, kManyPrefixes);
}
uint64_t CountRight(const CpfprModel::Query& query, uint32_t first,
                    uint32_t bits) {
  const uint32_t from = query.bounds_shared;
  if (bits - from > 64) return kManyPrefixes;
  return std::min(BitsOf(query.hi_rest, from, first, bits), kMaxPrefixProbes) +
         1;
}

// The prefixes that a query tests which the first layer has not resolved: I2 *
// |L| + I3 * |R| of equation 5.
uint64_t CountTested(const CpfprModel::Query& query, uint32_t first,
                     uint32_t bits) {
  if (first <= query.bounds_shared) return CountAll(query, bits);
  uint64_t count = 0;
  if (query.lo_shared >= first) count += CountLeft(query, first, bits);
  if (query.hi_shared >= first) count += CountRight(query, first, bits);
  return std::min(count, kManyPrefixes);
}

// The probability that at least one of `count` prefixes is taken to be there.
double AnyOf(double rate, uint64_t count) {
  if (count > kMaxPrefixProbes || rate >= 1) return 1;
  return count == 1 ? rate : -std::expm1(count * std::log1p(-rate));
}

// The last bits before `hi`, as a bound that is continued with ones up to
// `bytes` bytes. False if there are none.
bool MakeInclusive(std::string* hi, size_t bytes) {
  while (!hi->empty() && hi->back() == '\0') hi->pop_back();
  if (hi->empty()) return false;
  hi->back() = static_cast<char>(static_cast<uint8_t>(hi->back()) - 1);
  if (hi->size() < bytes) hi->append(bytes - hi->size(), '\xff');
  return true;
}

// Finds the first key at or above `target` from `*index` on, which advances.
void GallopTo(const KeyStore& keys, const Slice& target, size_t* index) {
  size_t begin = *index;
  size_t step = 1;
  size_t end = begin;
  while (end < keys.size() && keys[end].compare(target) < 0) {
    begin = end + 1;
    end += step;
    step *= 2;
  }
  end = std::min(end, keys.size());
  while (begin < end) {
    const size_t middle = begin + (end - begin) / 2;
    if (keys[middle].compare(target) < 0) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  *index = begin;
}

}  // namespace

double CpfprModel::Candidate::Cost() const {
  const double prefix =
      design.amq == AmqKind::kRibbon ? kRibbonNanos : kBloomNanos;
  const double nanos =
      (design.trie_bits > 0 ? kTrieNanos : 0) + prefixes * prefix;
  return fpr + nanos / kFalsePositiveNanos;
}

PrefixSets PlanPrefixSets(const ProteusDesign& design,
                          const KeyStatistics& statistics, uint64_t bytes) {
  PrefixSets sets;
  if (design.prefix_bits == 0) return sets;
  if (design.first_prefix_bits > 0) {
    sets.first = PlanAmq(
        design.amq, statistics.Prefixes(design.first_prefix_bits),
        static_cast<uint64_t>(design.first_share * static_cast<double>(bytes)));
  }
  sets.second = PlanAmq(
      design.amq,
      statistics.PrefixesOfSeries(design.prefix_bits, design.stride_bits),
      bytes - sets.first.bytes);
  return sets;
}

CpfprModel::CpfprModel(const KeyStore& keys, const KeyStatistics& statistics,
                       const std::vector<SampleQuery>& samples)
    : statistics_(statistics) {
  if (keys.size() == 0) return;
  const Slice smallest = keys[0];
  const Slice largest = keys[keys.size() - 1];
  // By their first bytes, which decide most comparisons.
  struct Entry {
    uint64_t head;
    const SampleQuery* sample;
  };
  std::vector<Entry> order;
  order.reserve(samples.size());
  for (const SampleQuery& sample : samples) {
    const int bounds = Slice(sample.lo).compare(sample.hi);
    if (bounds > 0 || (bounds == 0 && !sample.hi_inclusive)) continue;
    const int upper = Slice(sample.hi).compare(smallest);
    if (upper < 0 || (upper == 0 && !sample.hi_inclusive) ||
        Slice(sample.lo).compare(largest) > 0) {
      outside_++;
      continue;
    }
    order.push_back({LoadBits64(sample.lo, 0), &sample});
  }
  std::sort(order.begin(), order.end(), [](const Entry& a, const Entry& b) {
    return a.head != b.head ? a.head < b.head : a.sample->lo < b.sample->lo;
  });

  queries_.reserve(order.size());
  size_t index = 0;
  std::string inclusive;
  for (const Entry& entry : order) {
    const SampleQuery& sample = *entry.sample;
    GallopTo(keys, sample.lo, &index);
    const bool has_next = index < keys.size();
    if (has_next) {
      const int to_hi = keys[index].compare(sample.hi);
      if (to_hi < 0 || (to_hi == 0 && sample.hi_inclusive)) continue;
    }
    Slice hi = sample.hi;
    // As the filter does it.
    if (!sample.hi_inclusive && !hi.empty() &&
        (hi.size() <= statistics.shortest_key() || hi[hi.size() - 1] != '\0')) {
      inclusive = sample.hi;
      if (!MakeInclusive(
              &inclusive,
              std::max(sample.lo.size(), statistics.longest_key()) + 8)) {
        continue;
      }
      hi = inclusive;
    }
    Query query = {};
    auto share = [&](const Slice& key) {
      query.lo_shared = std::max(query.lo_shared, SharedBits(sample.lo, key));
      query.hi_shared = std::max(query.hi_shared, SharedBits(hi, key));
    };
    if (index > 0) share(keys[index - 1]);
    if (has_next) share(keys[index]);
    query.bytes =
        static_cast<uint32_t>(std::max(sample.lo.size(), sample.hi.size()));
    query.bounds_shared = SharedBits(sample.lo, hi);
    if (query.bounds_shared != kAllBits) {
      query.lo_rest = BitWindow(sample.lo, query.bounds_shared);
      query.hi_rest = BitWindow(hi, query.bounds_shared);
    }
    queries_.push_back(query);
  }
}

// Equations 1 and 5, and the same for a series.
double CpfprModel::OneLayer(const Query& query, const ProteusDesign& design,
                            double rate) const {
  const uint32_t shared = query.shared();
  if (shared < design.trie_bits) return 0;
  if (design.prefix_bits == 0) return 1;
  uint32_t bits = design.prefix_bits;
  if (design.stride_bits > 0) {
    const auto query_bits = static_cast<uint32_t>(
        std::min<uint64_t>(uint64_t{8} * query.bytes, kMaxSeriesBits));
    if (query_bits > bits) {
      bits += (query_bits - bits) / design.stride_bits * design.stride_bits;
    }
    while (bits > design.prefix_bits &&
           CountTested(query, design.trie_bits, bits) > kMaxPrefixProbes) {
      bits -= design.stride_bits;
    }
  }
  if (shared >= bits) return 1;
  double each = rate;
  if (design.stride_bits > 0) {
    // All the lengths that no key shares must be taken to be there.
    const uint32_t from = std::max(shared + 1, design.prefix_bits);
    const uint32_t lengths = (bits - from) / design.stride_bits + 1;
    each = std::pow(rate, lengths);
  }
  return AnyOf(each, CountTested(query, design.trie_bits, bits));
}

// Equation 4.
double CpfprModel::TwoSets(const Query& query, const ProteusDesign& design,
                           double first_rate, double rate) const {
  const uint32_t first = design.first_prefix_bits;
  const uint32_t bits = design.prefix_bits;
  if (query.shared() >= bits) return 1;
  const uint64_t regions = CountAll(query, first);
  if (regions > kMaxPrefixProbes) return 1;
  // The probability that one region of that many prefixes is resolved, which a
  // key shares or not.
  auto resolved = [&](bool shared, uint64_t prefixes) {
    const double none = 1 - AnyOf(rate, prefixes);
    return shared ? none : 1 - first_rate + first_rate * none;
  };
  if (regions == 1) {
    return 1 - resolved(query.shared() >= first, CountAll(query, bits));
  }
  double all =
      resolved(query.lo_shared >= first, CountLeft(query, first, bits)) *
      resolved(query.hi_shared >= first, CountRight(query, first, bits));
  if (regions > 2) {
    const uint64_t whole =
        bits - first < 62 ? uint64_t{1} << (bits - first) : kManyPrefixes;
    all *= std::pow(resolved(false, whole), static_cast<double>(regions - 2));
  }
  return 1 - all;
}

double CpfprModel::Probability(const Query& query, const ProteusDesign& design,
                               double first_rate, double rate) const {
  return design.first_prefix_bits > 0 ? TwoSets(query, design, first_rate, rate)
                                      : OneLayer(query, design, rate);
}

double CpfprModel::Average(const ProteusDesign& design, const PrefixSets& sets,
                           size_t step) const {
  double sum = 0;
  size_t count = 0;
  for (size_t i = 0; i < queries_.size(); i += step, count++) {
    sum += Probability(queries_[i], design, sets.first.false_positive_rate,
                       sets.second.false_positive_rate);
  }
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

double CpfprModel::Evaluate(const ProteusDesign& design,
                            uint64_t set_bytes) const {
  return Average(design, PlanPrefixSets(design, statistics_, set_bytes), 1);
}

// Algorithm 1. The lengths ascend; a first length of 0 means no trie.
void CpfprModel::SearchPairs(const std::vector<uint32_t>& first_lengths,
                             const std::vector<uint32_t>& lengths,
                             const std::vector<AmqKind>& kinds, uint64_t bytes,
                             std::vector<Candidate>* found) const {
  struct Bin {
    double prefixes = 0;
    double queries = 0;
  };
  const size_t step = std::max<size_t>(1, queries_.size() / kFirstRoundQueries);
  const size_t num_first = first_lengths.size();
  const size_t num_lengths = lengths.size();
  // For each pair the queries that test prefixes, and those that test too many
  // in the last bin. What holds for all first lengths up to one is entered at
  // the first one, and taken off behind that one.
  std::vector<Bin> bins((num_first + 1) * num_lengths * kBins);
  auto bin = [&](size_t first, size_t length, uint64_t prefixes) -> Bin& {
    const size_t number =
        prefixes > kMaxPrefixProbes ? kBins - 1 : BinOf(prefixes);
    return bins[(first * num_lengths + length) * kBins + number];
  };
  std::vector<uint32_t> all_shared;
  for (size_t q = 0; q < queries_.size(); q += step) {
    const Query& query = queries_[q];
    const uint32_t shared = query.shared();
    all_shared.push_back(shared);
    const size_t begin_length =
        std::upper_bound(lengths.begin(), lengths.end(), shared) -
        lengths.begin();
    const size_t end_first =
        std::upper_bound(first_lengths.begin(), first_lengths.end(), shared) -
        first_lengths.begin();
    const size_t end_common =
        std::upper_bound(first_lengths.begin(),
                         first_lengths.begin() + end_first,
                         query.bounds_shared) -
        first_lengths.begin();
    for (size_t j = begin_length; j < num_lengths; j++) {
      if (end_common > 0) {
        const uint64_t prefixes = CountAll(query, lengths[j]);
        Bin& enter = bin(0, j, prefixes);
        enter.prefixes += static_cast<double>(prefixes);
        enter.queries++;
        Bin& leave = bin(end_common, j, prefixes);
        leave.prefixes -= static_cast<double>(prefixes);
        leave.queries--;
      }
      for (size_t i = end_common; i < end_first; i++) {
        const uint64_t prefixes =
            CountTested(query, first_lengths[i], lengths[j]);
        Bin& enter = bin(i, j, prefixes);
        enter.prefixes += static_cast<double>(prefixes);
        enter.queries++;
        Bin& leave = bin(i + 1, j, prefixes);
        leave.prefixes -= static_cast<double>(prefixes);
        leave.queries--;
      }
    }
  }
  std::sort(all_shared.begin(), all_shared.end());
  const auto total = static_cast<double>(all_shared.size());
  auto share_at_least = [&](uint32_t bits) {
    return static_cast<double>(
        all_shared.end() -
        std::lower_bound(all_shared.begin(), all_shared.end(), bits));
  };

  for (size_t i = 0; i < num_first; i++) {
    if (i > 0) {
      // What was entered for all first lengths from an earlier one on.
      const size_t row = num_lengths * kBins;
      for (size_t k = 0; k < row; k++) {
        bins[i * row + k].prefixes += bins[(i - 1) * row + k].prefixes;
        bins[i * row + k].queries += bins[(i - 1) * row + k].queries;
      }
    }
    const uint32_t first = first_lengths[i];
    KeyStatistics::TrieSize size;
    if (first > 0) size = statistics_.SizeOfTrie(first, bytes);
    const uint64_t trie = size.bytes;
    if (trie > bytes) continue;
    Candidate candidate;
    candidate.design.trie_bits = first;
    candidate.design.trie_lead = size.lead;
    if (first > 0) {
      candidate.fpr = share_at_least(first) / total;
      found->push_back(candidate);
    }
    for (size_t j = 0; j < num_lengths; j++) {
      if (lengths[j] <= first) continue;
      candidate.design.prefix_bits = lengths[j];
      // Those that share so much with a key are certain; the last bin too.
      const Bin* counts = &bins[(i * num_lengths + j) * kBins];
      const double certain =
          share_at_least(lengths[j]) + counts[kBins - 1].queries;
      for (AmqKind kind : kinds) {
        candidate.design.amq = kind;
        const AmqPlan plan =
            PlanAmq(kind, statistics_.Prefixes(lengths[j]), bytes - trie);
        if (plan.false_positive_rate > kUselessRate) continue;
        const double log_negative = std::log1p(-plan.false_positive_rate);
        double sum = certain;
        candidate.prefixes = 0;
        for (size_t k = 1; k + 1 < kBins; k++) {
          if (counts[k].queries < 0.5) continue;
          candidate.prefixes += counts[k].prefixes / total;
          sum -=
              counts[k].queries *
              std::expm1(counts[k].prefixes / counts[k].queries * log_negative);
        }
        candidate.fpr = sum / total;
        found->push_back(candidate);
      }
    }
  }
}

// The depths that a trie in so many bytes can have, and 0.
std::vector<uint32_t> CpfprModel::TrieLengths(uint64_t bytes) const {
  // The size grows with the depth.
  uint32_t low = 0;
  uint32_t high = std::min(statistics_.max_bits(), kMaxTrieBits);
  while (low < high) {
    const uint32_t middle = (low + high + 1) / 2;
    if (statistics_.SizeOfTrie(middle, bytes).bytes <= bytes) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  std::vector<uint32_t> lengths = {0};
  const std::vector<uint32_t> depths = PrefixLengths(1, low, kMaxTrieLengths);
  lengths.insert(lengths.end(), depths.begin(), depths.end());
  return lengths;
}

// Lengths from `first` to `last`, at most so many, evenly.
std::vector<uint32_t> CpfprModel::PrefixLengths(uint32_t first, uint32_t last,
                                                size_t most) const {
  std::vector<uint32_t> lengths;
  if (first > last) return lengths;
  const uint32_t range = last - first;
  const size_t count = std::min<size_t>(most, range + 1);
  for (size_t i = 0; i < count; i++) {
    lengths.push_back(
        last -
        static_cast<uint32_t>(
            count == 1 ? 0 : uint64_t{range} * (count - 1 - i) / (count - 1)));
  }
  return lengths;
}

namespace {

// Of equals, those of longer prefixes are better: they resolve more of the
// queries that no sample is like.
template <typename Candidate>
bool IsLonger(const Candidate& a, const Candidate& b) {
  if (a.design.prefix_bits != b.design.prefix_bits) {
    return a.design.prefix_bits > b.design.prefix_bits;
  }
  return a.design.first_bits() > b.design.first_bits();
}

// Keeps the candidates of the least false positive rates, the best one first,
// and after them those of the least costs.
template <typename Candidate>
void KeepBest(size_t most, std::vector<Candidate>* candidates) {
  auto keep = [&](size_t first, const auto& key) {
    const auto begin = candidates->begin() + first;
    const auto end =
        begin + std::min(most, static_cast<size_t>(candidates->end() - begin));
    std::partial_sort(begin, end, candidates->end(),
                      [&key](const Candidate& a, const Candidate& b) {
                        return key(a) != key(b) ? key(a) < key(b)
                                                : IsLonger(a, b);
                      });
    return static_cast<size_t>(end - candidates->begin());
  };
  size_t kept = keep(0, [](const Candidate& c) { return c.fpr; });
  kept = keep(kept, [](const Candidate& c) { return c.Cost(); });
  candidates->resize(kept);
}

}  // namespace

// Series of prefixes for keys of different lengths, in whole bytes.
void CpfprModel::SearchSeries(const std::vector<AmqKind>& kinds, uint64_t bytes,
                              std::vector<Candidate>* found) const {
  constexpr uint32_t kStrides[] = {1, 2, 3, 4, 6, 8};
  const uint32_t longest = statistics_.max_bits() / 8;
  const uint32_t spacing = std::max<uint32_t>(1, longest / 24);
  const size_t step = std::max<size_t>(1, queries_.size() / kSeriesQueries);
  for (uint32_t stride : kStrides) {
    for (uint32_t first = 1; first < longest; first += spacing) {
      Candidate candidate;
      candidate.design.prefix_bits = 8 * first;
      candidate.design.stride_bits = 8 * stride;
      for (AmqKind kind : kinds) {
        candidate.design.amq = kind;
        const PrefixSets sets =
            PlanPrefixSets(candidate.design, statistics_, bytes);
        if (sets.second.false_positive_rate > kUselessRate ||
            sets.second.hashes > MaxHashes(kind) * statistics_.num_keys()) {
          continue;
        }
        candidate.fpr = Average(candidate.design, sets, step);
        candidate.prefixes = kUsualPrefixes;
        found->push_back(candidate);
      }
    }
  }
}

// Pairs of lengths on a grid, then steps from the best ones to better
// neighbours. The paper tries three ways to share the memory.
void CpfprModel::SearchTwoSets(const std::vector<AmqKind>& kinds,
                               uint64_t bytes,
                               std::vector<Candidate>* found) const {
  constexpr double kShares[] = {0.4, 0.5, 0.6};
  constexpr size_t kGrid = 20;
  const size_t step = std::max<size_t>(1, queries_.size() / kTwoSetQueries);
  auto evaluate = [&](Candidate* candidate) {
    candidate->fpr =
        Average(candidate->design,
                PlanPrefixSets(candidate->design, statistics_, bytes), step);
  };
  std::vector<Candidate> grid;
  const std::vector<uint32_t> lengths =
      PrefixLengths(1, statistics_.max_bits(), kGrid);
  for (AmqKind kind : kinds) {
    for (double share : kShares) {
      for (size_t i = 0; i < lengths.size(); i++) {
        for (size_t j = i + 1; j < lengths.size(); j++) {
          Candidate candidate;
          candidate.design.amq = kind;
          candidate.design.first_share = share;
          candidate.design.first_prefix_bits = lengths[i];
          candidate.design.prefix_bits = lengths[j];
          candidate.prefixes = kUsualPrefixes;
          evaluate(&candidate);
          grid.push_back(candidate);
        }
      }
    }
  }
  constexpr size_t kStarts = 4;
  KeepBest(kStarts, &grid);
  for (Candidate best : grid) {
    for (int distance = std::max<int>(1, statistics_.max_bits() / kGrid / 2);
         distance > 0; distance /= 2) {
      for (bool better = true; better;) {
        better = false;
        for (const auto& [d1, d2] :
             {std::pair(-1, 0), {1, 0}, {0, -1}, {0, 1}}) {
          const int first =
              static_cast<int>(best.design.first_prefix_bits) + d1 * distance;
          const int second =
              static_cast<int>(best.design.prefix_bits) + d2 * distance;
          if (first < 1 || second <= first ||
              second > static_cast<int>(statistics_.max_bits())) {
            continue;
          }
          Candidate next = best;
          next.design.first_prefix_bits = static_cast<uint32_t>(first);
          next.design.prefix_bits = static_cast<uint32_t>(second);
          evaluate(&next);
          if (next.fpr < best.fpr) {
            best = next;
            better = true;
          }
        }
      }
    }
    found->push_back(best);
  }
}

ProteusDesign CpfprModel::Choose(DesignSpace space,
                                 const std::vector<AmqKind>& kinds,
                                 uint64_t bytes) const {
  std::vector<Candidate> found;
  const std::vector<uint32_t> tries = space == DesignSpace::kProteus
                                          ? TrieLengths(bytes)
                                          : std::vector<uint32_t>{0};
  const uint32_t max_bits = statistics_.max_bits();
  const std::vector<uint32_t> lengths =
      PrefixLengths(1, max_bits, kMaxPrefixLengths);
  SearchPairs(tries, lengths, kinds, bytes, &found);
  KeepBest(kFinalists, &found);
  if (lengths.size() < max_bits && !found.empty()) {
    // All lengths around the best one.
    const uint32_t spacing =
        max_bits / static_cast<uint32_t>(lengths.size()) + 1;
    const uint32_t best = found.front().design.prefix_bits;
    if (best > 0) {
      SearchPairs(
          tries,
          PrefixLengths(best > spacing ? best - spacing : 1,
                        std::min(best + spacing, max_bits), 2 * spacing + 1),
          kinds, bytes, &found);
    }
  }
  if (space == DesignSpace::kTwoPrefixFilters) {
    SearchTwoSets(kinds, bytes, &found);
  } else if (space == DesignSpace::kProteus &&
             statistics_.longest_key() != statistics_.shortest_key()) {
    SearchSeries(kinds, bytes, &found);
  }
  KeepBest(kFinalists, &found);

  for (Candidate& candidate : found) {
    const uint32_t trie_bits = candidate.design.trie_bits;
    const uint64_t trie =
        trie_bits == 0 ? 0 : statistics_.SizeOfTrie(trie_bits, bytes).bytes;
    candidate.fpr = Evaluate(candidate.design, bytes - trie);
  }
  KeepBest(kFinalists, &found);
  // Too few bytes for anything?
  if (found.empty()) return ProteusDesign();
  const double most = found.front().fpr + kMostForTime;
  const Candidate* best = &found.front();
  for (const Candidate& candidate : found) {
    if (candidate.fpr <= most && candidate.Cost() < best->Cost()) {
      best = &candidate;
    }
  }
  return best->design;
}

void CpfprModel::AddSecondLayer(const std::vector<AmqKind>& kinds,
                                uint64_t set_bytes,
                                ProteusDesign* design) const {
  constexpr uint32_t kNearest = 64;
  const size_t step = std::max<size_t>(1, queries_.size() / kFirstRoundQueries);
  const ProteusDesign alone = *design;
  double best = Average(alone, PrefixSets(), step);
  const uint32_t last =
      std::min(alone.trie_bits + kNearest, statistics_.max_bits());
  for (uint32_t bits = alone.trie_bits + 1; bits <= last; bits++) {
    ProteusDesign candidate = alone;
    candidate.prefix_bits = bits;
    for (AmqKind kind : kinds) {
      candidate.amq = kind;
      const PrefixSets sets = PlanPrefixSets(candidate, statistics_, set_bytes);
      if (sets.second.false_positive_rate > kUselessRate) continue;
      const double fpr = Average(candidate, sets, step);
      if (fpr < best) {
        best = fpr;
        *design = candidate;
      }
    }
  }
}

ProteusDesign DefaultDesign(const KeyStatistics& statistics, AmqKind kind) {
  ProteusDesign design;
  design.amq = kind;
  design.prefix_bits = static_cast<uint32_t>(
      8 * std::min<size_t>(statistics.longest_key(), size_t{1} << 20));
  design.prefix_bits = std::max(design.prefix_bits, uint32_t{8});
  return design;
}

}  // namespace ROCKSDB_NAMESPACE::protean
