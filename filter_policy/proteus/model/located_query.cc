// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/proteus/model/located_query.h"

#include <string>

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Turns `hi` into the last bits before it, a bound that goes on with ones up to
// `bytes` bytes. False if there are none.
bool MakeInclusive(std::string* hi, size_t bytes) {
  while (!hi->empty() && hi->back() == '\0') hi->pop_back();
  if (hi->empty()) return false;
  hi->back() = static_cast<char>(static_cast<uint8_t>(hi->back()) - 1);
  if (hi->size() < bytes) hi->append(bytes - hi->size(), '\xff');
  return true;
}

}  // namespace

bool LocateQuery(const Slice& lo, const Slice& hi, bool hi_inclusive,
                 const KeyStore& keys, size_t keys_below, size_t next,
                 const KeyStatistics& statistics, LocatedQuery* query) {
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

}  // namespace ROCKSDB_NAMESPACE::protean
