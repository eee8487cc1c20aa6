// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/proteus/model/located_samples.h"

#include <algorithm>
#include <string>

#include "filter_policy/range_filter.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

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

// The samples for which a file of these keys would be asked, in order, and the
// number of those that lie beyond the keys.
std::vector<SortedSample> SortThoseWithin(
    const KeyStore& keys, const std::vector<SampleQuery>& samples,
    uint32_t* outside) {
  const std::string smallest = keys[0];
  const std::string largest = keys[keys.size() - 1];
  std::vector<SortedSample> sorted;
  sorted.reserve(samples.size());
  for (const SampleQuery& sample : samples) {
    if (IsInverted(sample.lo, sample.hi, sample.hi_inclusive)) continue;
    if (LiesBeyond(sample, smallest, largest)) {
      ++*outside;
      continue;
    }
    sorted.push_back({LoadBits64(sample.lo, 0), &sample});
  }
  SortByWords(&sorted);
  return sorted;
}

}  // namespace

LocatedSamples LocateSamples(const KeyStore& keys,
                             const KeyStatistics& statistics,
                             const std::vector<SampleQuery>& samples,
                             bool prefixes_only, double weight) {
  LocatedSamples located;
  if (keys.size() == 0) return located;
  const std::vector<SortedSample> sorted =
      SortThoseWithin(keys, samples, &located.outside);
  located.queries.reserve(sorted.size());
  size_t index = 0;
  SampleQuery scan;
  for (const SortedSample& entry : sorted) {
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
    LocatedQuery query;
    if (LocateQuery(sample.lo, sample.hi, sample.hi_inclusive, keys, index,
                    index, statistics, &query)) {
      query.weight = weight;
      located.queries.push_back(query);
    }
  }
  return located;
}

}  // namespace ROCKSDB_NAMESPACE::protean
