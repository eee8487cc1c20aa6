// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/proteus/model/located_queries.h"

#include <string>

#include "filter_policy/range_filter.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

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
  *index = keys.LowerBound(target, begin, std::min(end, keys.size()));
}

}  // namespace

bool LocateQuery(const Slice& lo, const Slice& hi, bool hi_inclusive,
                 const KeyStore& keys, size_t keys_below, size_t next,
                 const KeyStatistics& statistics, LocatedQuery* query) {
  Slice last = hi;
  std::string inclusive;
  if (!hi_inclusive && EndsBefore(hi, statistics.shortest_key())) {
    // The last bits before `hi` go on with ones.
    inclusive = WithoutZeros(hi).ToString();
    if (inclusive.empty()) return false;
    inclusive.back() = static_cast<char>(inclusive.back() - 1);
    inclusive.resize(std::max({inclusive.size(), lo.size() + 8,
                               statistics.longest_key() + 8}),
                     '\xff');
    last = inclusive;
  }
  *query = {};
  // keys_below - 1 is above all indexes if there is no key below.
  for (size_t neighbour : {keys_below - 1, next}) {
    if (neighbour >= keys.size()) continue;
    const Slice key = keys[neighbour];
    query->lo_shared = std::max(query->lo_shared, SharedBits(lo, key));
    query->hi_shared = std::max(query->hi_shared, SharedBits(last, key));
  }
  query->bytes =
      static_cast<uint32_t>(lo == hi ? lo.size() : LongestWithoutZeros(lo, hi));
  query->weight = 1;
  query->bounds_shared = SharedBits(lo, last);
  if (query->bounds_shared != kAllBits) {
    query->lo_rest = LoadBits64(lo, query->bounds_shared / 8);
    query->hi_rest = LoadBits64(last, query->bounds_shared / 8);
  }
  return true;
}

std::vector<LocatedQuery> LocateSamples(const KeyStore& keys,
                                        const KeyStatistics& statistics,
                                        const std::vector<SampleQuery>& samples,
                                        bool prefixes_only, double weight) {
  std::vector<LocatedQuery> located;
  if (keys.size() == 0) return located;
  // The samples for which the file would be asked, in order.
  const Slice smallest = keys[0];
  const Slice largest = keys[keys.size() - 1];
  std::vector<std::pair<uint64_t, const SampleQuery*>> sorted;
  sorted.reserve(samples.size());
  for (const SampleQuery& sample : samples) {
    if (!IsInverted(sample.lo, sample.hi, sample.hi_inclusive) &&
        !LiesBeyond(sample, smallest, largest)) {
      sorted.emplace_back(LoadBits64(sample.lo, 0), &sample);
    }
  }
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    // The first bytes mostly decide.
    return a.first != b.first ? a.first < b.first
                              : Slice(a.second->lo).compare(b.second->lo) < 0;
  });
  located.reserve(sorted.size());
  size_t index = 0;
  SampleQuery scan;
  for (const auto& [word, asked] : sorted) {
    const bool is_scan = prefixes_only && asked->lo == asked->hi;
    if (is_scan) {
      scan.lo = asked->lo;
      scan.hi_inclusive = false;
      if (!FirstAfterPrefix(scan.lo, &scan.hi)) continue;
    }
    const SampleQuery& sample = is_scan ? scan : *asked;
    GallopTo(keys, sample.lo, &index);
    if (index < keys.size()) {
      const int to_hi = keys[index].compare(sample.hi);
      if (to_hi < 0 || (to_hi == 0 && sample.hi_inclusive)) continue;
    }
    LocatedQuery query;
    if (LocateQuery(sample.lo, sample.hi, sample.hi_inclusive, keys, index,
                    index, statistics, &query)) {
      query.weight = weight;
      located.push_back(query);
    }
  }
  return located;
}

}  // namespace ROCKSDB_NAMESPACE::protean
