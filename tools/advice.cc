// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <iterator>

#include "tools/filter_replay.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// The blocks that each bit per key saves from one result to another, which has
// more bits.
double SavingPerBit(const ReplayResult& from, const ReplayResult& to) {
  const double more = to.all.BitsPerKey() - from.all.BitsPerKey();
  return more <= 0 ? 0 : (from.blocks_per_read - to.blocks_per_read) / more;
}

}  // namespace

const ReplayKind* AbsentGets(const ReplayResult& result) {
  for (const ReplayKind& kind : result.kinds) {
    if (kind.name == kGetsOfAbsentKeys) return &kind;
  }
  return nullptr;
}

LimitUse TightestLimit(const ReplayResult& result, const AdviceLimits& limits) {
  const ReplayKind* const gets = AbsentGets(result);
  const double blocks = gets == nullptr ? 0 : gets->BlocksPerRead();
  const double bytes = result.all.filter_bytes;
  const double seconds = result.all.build_nanos * 1e-9;
  const double memory = limits.filter_memory == 0
                            ? AdviceLimits::kNoLimit
                            : static_cast<double>(limits.filter_memory);
  const LimitUse uses[] = {
      {"max_get_blocks", blocks, limits.get_blocks,
       Format("needs %.4f blocks for a Get of an absent key, but "
              "--max_get_blocks=%g",
              blocks, limits.get_blocks)},
      {"max_filter_memory", bytes, memory,
       "takes " + PrintedBytes(bytes) +
           " of filters, but --max_filter_memory is " + PrintedBytes(memory)},
      {"max_build_cpu", seconds, limits.build_cpu,
       Format("takes %.3g seconds of CPU to build, but --max_build_cpu=%g",
              seconds, limits.build_cpu)}};
  return *std::max_element(std::begin(uses), std::end(uses),
                           [](const LimitUse& a, const LimitUse& b) {
                             return a.Share() < b.Share();
                           });
}

std::vector<double> SavedPerBit(const std::vector<ReplayResult>& results) {
  // Policies of one kind with ascending sizes are successive budgets, unless
  // their sizes count as equal.
  const auto kind_of = [&](size_t i) {
    return results[i].name.substr(0, results[i].name.find_first_of(":;"));
  };
  std::vector<double> saved(results.size(), -1);
  for (size_t i = kNoFilters + 1; i < results.size(); i++) {
    const double bits = results[i].all.BitsPerKey();
    size_t smaller = kNoFilters;
    for (size_t j = kNoFilters + 1; j < results.size(); j++) {
      const double other = results[j].all.BitsPerKey();
      if (kind_of(j) == kind_of(i) && kAsGood * other < bits &&
          other > results[smaller].all.BitsPerKey()) {
        smaller = j;
      }
    }
    if (bits <= results[smaller].all.BitsPerKey()) continue;
    saved[i] = SavingPerBit(results[smaller], results[i]);
  }
  return saved;
}

size_t Recommend(const std::vector<ReplayResult>& results,
                 const AdviceLimits& limits, double min_saving) {
  std::vector<double> shares;  // of what the tightest limit allows
  for (const ReplayResult& result : results) {
    shares.push_back(TightestLimit(result, limits).Share());
  }
  const auto nearest =
      std::min_element(shares.begin() + kNoFilters, shares.end());
  if (*nearest > 1) return static_cast<size_t>(nearest - shares.begin());
  const double worth = min_saving / 100 * results[kNoFilters].blocks_per_read;
  double least = shares[kNoFilters] > 1 ? -AdviceLimits::kNoLimit : worth;
  for (size_t best = kNoFilters;;) {
    size_t next = best;
    for (size_t i = kNoFilters + 1; i < results.size(); i++) {
      const double saving = SavingPerBit(results[best], results[i]);
      if (shares[i] <= 1 && saving > least) {
        least = saving;
        next = i;
      }
    }
    if (next == best) return best;
    best = next;
    least = worth;
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
