// SPDX-License-Identifier: Apache-2.0

//  What a false positive costs: the time of the read that it causes. A read of
//  an SSD takes about 100 us, a block in the block cache about 2 us, and an
//  object in a store across the network tens of milliseconds. Where reads are
//  cheap, a design that asks fewer prefixes is better than one that lets fewer
//  queries through.
//
//  The price comes from what reads of the file's level have cost lately. It is
//  one of a few classes, a factor of 10 apart, and the class changes only when
//  the cost has left it clearly. So a cost that fluctuates neither makes each
//  file search for a design of its own nor makes refreshes rewrite files.
//
//  Prices are in nanoseconds.

#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "rocksdb/rocksdb_namespace.h"

namespace ROCKSDB_NAMESPACE::protean {

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
// from a file takes `file_micros` on average, perhaps from the operating
// system's cache; it counts with 20 us to 10 s, or with kUsualPrice if that is
// 0, which is unknown.
double PriceOfFalsePositive(const ReadCounts& reads, double file_micros);

// The class of prices for reads that cost `price` on average: 2 us, ten times
// as much, and so on up to 2 s. `before` is the class until now, or 0 if there
// is none, which counts as kUsualPrice. The class is the nearest one, but
// `before` stays until the price is twice as far from it as where the nearest
// one changes.
uint64_t PriceClassOf(double price, uint64_t before);

// The part of false positives that may be added to save time, at this price:
// .002 at the usual one, more where they are cheaper, but at most .02.
double MaxRateForTime(uint64_t price);

// A price as text, such as "2us" or "1.5ms".
std::string PriceText(uint64_t price);
// Parses a number with the unit us or ms, from kMinPrice to kMaxPrice. Returns
// false for anything else.
bool ParsePrice(const std::string& text, uint64_t* price);

}  // namespace ROCKSDB_NAMESPACE::protean
