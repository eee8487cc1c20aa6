// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/samples/empty_queries.h"

#include <algorithm>

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// The 8 bytes of `key` from `begin` on as a big-endian number, with zeros for
// missing bytes.
uint64_t NumberAt(const Slice& key, size_t begin) {
  uint64_t number = 0;
  for (size_t i = begin; i < begin + 8; i++) {
    number = number << 8 | (i < key.size() ? static_cast<uint8_t>(key[i]) : 0);
  }
  return number;
}

std::string WithNumber(const Slice& prefix, uint64_t number) {
  std::string key = prefix.ToString();
  for (int shift = 56; shift >= 0; shift -= 8) {
    key += static_cast<char>(number >> shift);
  }
  return key;
}

}  // namespace

void GapQueries::Pass(const Slice& key) {
  if (passed_++ % every_ == 0 && passed_ > 1) AddBetween(last_, key);
  last_.assign(key.data(), key.size());
}

void GapQueries::AddBetween(const Slice& low, const Slice& high) {
  const size_t shared = low.difference_offset(high);
  const uint64_t below = NumberAt(low, shared);
  const uint64_t above = NumberAt(high, shared);
  if (above < below + 2) return;  // no room within these 8 bytes
  const uint64_t lo = below + 1 + random_.Uniform(above - below - 1);
  // Every other query is a point.
  const uint64_t width = queries_.size() % 2 == 0 ? 0 : (above - below) / 64;
  const uint64_t hi = lo + std::min(width, above - 1 - lo);
  const Slice prefix(high.data(), shared);
  queries_.push_back({WithNumber(prefix, lo), WithNumber(prefix, hi),
                      /*hi_inclusive=*/true});
}

}  // namespace ROCKSDB_NAMESPACE::protean
