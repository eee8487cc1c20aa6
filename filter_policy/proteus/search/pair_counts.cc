// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/proteus/search/pair_counts.h"

#include <algorithm>

#include "filter_policy/proteus/model/prefix_counts.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

static_assert(kMaxPrefixProbes < 1 << (PairCounts::kBins - 1));

size_t BinOf(uint64_t prefixes) {
  return 64 - static_cast<size_t>(__builtin_clzll(prefixes));
}

// The number of lengths of at most `bits` bits.
size_t EndOf(const std::vector<uint32_t>& lengths, uint32_t bits) {
  return static_cast<size_t>(
      std::upper_bound(lengths.begin(), lengths.end(), bits) - lengths.begin());
}

}  // namespace

PairCounts::PairCounts(const QuerySample& sample,
                       const ByteAlphabets& alphabets,
                       const std::vector<uint32_t>& first_lengths,
                       const std::vector<uint32_t>& lengths)
    : num_lengths_(lengths.size()),
      bins_((first_lengths.size() + 1) * num_lengths_ * kBins),
      single_((first_lengths.size() + 1) * row_size()),
      too_many_((first_lengths.size() + 1) * row_size()) {
  for (size_t c = 0; c < sample.num_before_points; c++) {
    const QueryClass& alike = sample.classes[c];
    const LocatedQuery& any = sample.queries[alike.begin];
    const size_t begin_length = EndOf(lengths, any.shared());
    const size_t end_single =
        std::max(begin_length, EndOf(lengths, any.bounds_shared));
    const size_t end_first = EndOf(first_lengths, any.shared());
    // While both bounds are below one prefix of the first length, that length
    // does not matter.
    const size_t end_common =
        std::min(end_first, EndOf(first_lengths, any.bounds_shared));
    Enter({0, end_common}, begin_length, end_single, alike.weight, &single_);
    for (size_t q = alike.begin; q < alike.end; q++) {
      const LocatedQuery& query = sample.queries[q];
      if (end_common > 0) {
        CountFrom({0, end_common}, end_single, query.weight, [&](size_t j) {
          return CountAll(query, alphabets, lengths[j]);
        });
      }
      for (size_t i = end_common; i < end_first; i++) {
        CountFrom({i, i + 1},
                  std::max(end_single, EndOf(lengths, first_lengths[i])),
                  query.weight, [&](size_t j) {
                    return CountTested(query, alphabets, first_lengths[i],
                                       lengths[j]);
                  });
      }
    }
  }
  SumUp(first_lengths.size());
}

void PairCounts::Count(Rows rows, size_t length, double weight,
                       uint64_t prefixes) {
  if (prefixes == 0) return;
  const size_t number = BinOf(prefixes);
  const double all = weight * static_cast<double>(prefixes);
  Bin& enter = bins_[(rows.begin * num_lengths_ + length) * kBins + number];
  enter.prefixes += all;
  enter.queries += weight;
  Bin& leave = bins_[(rows.end * num_lengths_ + length) * kBins + number];
  leave.prefixes -= all;
  leave.queries -= weight;
}

void PairCounts::Enter(Rows rows, size_t begin, size_t end, double weight,
                       std::vector<double>* sums) const {
  double* const first = &(*sums)[rows.begin * row_size()];
  double* const past = &(*sums)[rows.end * row_size()];
  first[begin] += weight;
  first[end] -= weight;
  past[begin] -= weight;
  past[end] += weight;
}

template <typename NumberOf>
void PairCounts::CountFrom(Rows rows, size_t begin, double weight,
                           const NumberOf& number_of) {
  for (size_t j = begin; j < num_lengths_; j++) {
    const uint64_t prefixes = number_of(j);
    if (prefixes > kMaxPrefixProbes) {
      Enter(rows, j, num_lengths_, weight, &too_many_);
      return;
    }
    Count(rows, j, weight, prefixes);
  }
}

// Adds to each first length what was entered at those before it and, in the two
// vectors of sums, to each length what was entered at the shorter ones.
void PairCounts::SumUp(size_t num_first) {
  const size_t row_of_bins = num_lengths_ * kBins;
  for (size_t k = row_of_bins; k < num_first * row_of_bins; k++) {
    bins_[k].prefixes += bins_[k - row_of_bins].prefixes;
    bins_[k].queries += bins_[k - row_of_bins].queries;
  }
  for (std::vector<double>* sums : {&single_, &too_many_}) {
    for (size_t k = row_size(); k < num_first * row_size(); k++) {
      (*sums)[k] += (*sums)[k - row_size()];
    }
    for (size_t i = 0; i < num_first; i++) {
      double* const row = &(*sums)[i * row_size()];
      for (size_t j = 1; j < num_lengths_; j++) row[j] += row[j - 1];
    }
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
