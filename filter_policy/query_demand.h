// SPDX-License-Identifier: Apache-2.0

//  The demand for a filter: how many queries it will be asked, and what each of
//  its false positives costs. A filter that lets fewer queries through often
//  takes longer to build. That pays if the file lives long enough to be asked.
//
//  The time to build counts for each key, and so do queries: those that find
//  nothing in a file, over its whole life, for each of its keys. A level of n
//  keys, into which b keys are written each second, keeps a key for n / b
//  seconds. Of the q queries that it is asked each second, a key has q / n. So
//  a key is asked q / b times in its life, however large the level is. All
//  levels are asked about as often, and b differs between them by their write
//  amplification alone. So one number serves a column family, and it can be
//  measured: files that were asked, by keys that filters were built for.
//
//  Where that is wanted (queries_per_key=0), a family that is only written to
//  gets filters that are built fast, and one that is read gets those that let
//  the fewest queries through. A file of the last level may live long, whatever
//  has been asked so far, so it counts with kFewQueriesInLastLevel at least.
//
//  The price of a false positive is the time of the read that it causes, in
//  nanoseconds (docs/internals/proteus.md). It comes from what reads of the
//  file's level have cost lately, and is one of a few classes, a factor of 10
//  apart. So a cost that fluctuates neither makes each file search for a design
//  of its own nor makes refreshes rewrite files.

#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "rocksdb/rocksdb_namespace.h"

namespace ROCKSDB_NAMESPACE::protean {

// ---- Price of a false positive ----

// A read of an SSD: the price where nothing is known.
inline constexpr uint64_t kUsualPrice = 200 * 1000;
// A block in the block cache.
inline constexpr uint64_t kCachedPrice = 2 * 1000;
// The limits of prices that options may set.
inline constexpr uint64_t kMinPrice = 1000;
inline constexpr uint64_t kMaxPrice = uint64_t{10} * 1000 * 1000 * 1000;

// Reads of a level's files that a filter has let through.
struct ReadCounts {
  uint64_t from_cache = 0;
  uint64_t from_file = 0;

  uint64_t all() const { return from_cache + from_file; }
  ReadCounts& operator+=(const ReadCounts& other) {
    from_cache += other.from_cache;
    from_file += other.from_file;
    return *this;
  }
  // The reads since an earlier count. While threads read, a read may be counted
  // as one from the cache first, so that either number may seem to fall.
  ReadCounts Since(const ReadCounts& before) const {
    return {from_cache - std::min(from_cache, before.from_cache),
            from_file - std::min(from_file, before.from_file)};
  }
};

// Fewer reads tell nothing of what a read costs.
constexpr uint64_t kMinReadsForPrice = 64;

// The mean cost of one of the reads; kUsualPrice if they are too few. A read
// from a file counts with `file_micros`, within 20 us and 10 s, or with
// kUsualPrice if that is 0, which is unknown.
double PriceOfFalsePositive(const ReadCounts& reads, double file_micros);

// The class of prices for reads that cost `price` on average: 2 us, ten times
// as much, and so on up to 2 s. `before` is the class until now, or 0. It stays
// until the price is twice as far from it as where the nearest class changes.
uint64_t PriceClassOf(double price, uint64_t before);

// The part of false positives that may be added to save time, at this price:
// .002 at the usual one, more where they are cheaper, but at most .02.
double MaxRateForTime(uint64_t price);

// A price as text, such as "2us" or "1.5ms".
std::string PriceText(uint64_t price);
// Parses a number with the unit us or ms, from kMinPrice to kMaxPrice. Returns
// false for anything else.
bool ParsePrice(const std::string& text, uint64_t* price);

// ---- Queries for each key ----

// Limits of the number of queries for each key. With the highest one, the time
// to build hardly counts: it is taken where nothing is measured.
inline constexpr double kManyQueriesPerKey = 1000;
inline constexpr double kFewQueriesPerKey = 0.002;
inline constexpr double kFewQueriesInLastLevel = 0.01;

struct FilterDemand {
  // The price of a false positive, in nanoseconds.
  uint64_t price = kUsualPrice;
  double queries_per_key = kManyQueriesPerKey;
  bool is_measured = false;

  // Returns true if queries were found to be so few that building counts.
  bool WasFoundLow() const { return is_measured && queries_per_key < 1; }
  // The cost of building for this time per key, in false positives per query.
  double CostOfBuilding(double nanos_per_key) const {
    return nanos_per_key / (queries_per_key * static_cast<double>(price));
  }
  // The part of false positives that may be added to save time, in queries and
  // in building.
  double MaxRateForTime() const {
    // No design takes longer for a key.
    constexpr double kMaxNanosPerKey = 2000;
    return protean::MaxRateForTime(price) + CostOfBuilding(kMaxNanosPerKey);
  }
};

// Queries and keys of a column family, which tell how often keys of its new
// files will be asked for. Not thread safe.
class DemandCounts {
 public:
  // Returns the queries for each key, after all `queries` that were ever
  // counted and all keys so far. Then adds `keys` for which a filter is built.
  double QueriesPerKey(uint64_t queries, uint64_t keys);

 private:
  // The first files count as if this number of keys had been written before,
  // and three queries asked for each hundred of them.
  static constexpr double kFirstKeys = 16 << 10;
  static constexpr double kFirstQueriesPerKey = 0.03;
  // After this number of keys, what was counted until then counts half.
  static constexpr double kRecentKeys = 16 << 20;

  double keys_ = 0;
  double forgotten_queries_ = 0;
};

}  // namespace ROCKSDB_NAMESPACE::protean
