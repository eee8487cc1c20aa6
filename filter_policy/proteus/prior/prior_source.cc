// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/proteus/prior/prior_source.h"

#include "filter_policy/samples/query_queue.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Locates a query above the first `keys_below` keys, and below that of index
// `next` and those after it.
bool LocateIfEmpty(const Slice& lo, const Slice& hi, bool hi_inclusive,
                   size_t keys_below, size_t next, const PriorSource& source,
                   LocatedQuery* query) {
  const KeyStore& keys = source.keys;
  if (IsInverted(lo, hi, hi_inclusive)) return false;
  if (keys_below > 0 && keys.Compare(keys_below - 1, lo) >= 0) return false;
  if (next < keys.size()) {
    const int order = keys.Compare(next, hi);
    if (order < 0 || (order == 0 && hi_inclusive)) return false;
  }
  return LocateQuery(lo, hi, hi_inclusive, keys, keys_below, next,
                     source.statistics, query);
}

}  // namespace

PriorSource::PriorSource(const KeyStore& its_keys,
                         const KeyStatistics& its_statistics,
                         bool asks_prefixes_only)
    : keys(its_keys),
      statistics(its_statistics),
      prefixes_only(asks_prefixes_only),
      form(KeyFormOf(keys, statistics)),
      alphabets(form == KeyForm::kDigits ? CharactersOf(keys)
                                         : std::vector<std::string>()),
      windows(form == KeyForm::kNumber
                  ? std::nullopt
                  : TimeWindows::Find(keys, statistics.NeighbourBits() / 8)),
      random(keys.size()) {}

bool LocateInPlaceOf(size_t index, const Slice& lo, const Slice& hi,
                     bool hi_inclusive, const PriorSource& source,
                     LocatedQuery* query) {
  return LocateIfEmpty(lo, hi, hi_inclusive, index, index + 1, source, query);
}

bool LocateAnywhere(const Slice& lo, const Slice& hi, bool hi_inclusive,
                    const PriorSource& source, LocatedQuery* query) {
  const size_t index = source.keys.LowerBound(lo, 0, source.keys.size());
  return index > 0 && index < source.keys.size() &&
         LocateIfEmpty(lo, hi, hi_inclusive, index, index, source, query);
}

}  // namespace ROCKSDB_NAMESPACE::protean
