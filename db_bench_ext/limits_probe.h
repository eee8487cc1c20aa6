// SPDX-License-Identifier: Apache-2.0

//  Common parts of the cases of protean_limits: memory and time of a piece of
//  work, keys, DBs, and queries of absent keys.

#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "db_bench_ext/own_flags.h"
#include "rocksdb/db.h"
#include "rocksdb/options.h"
#include "util/coding.h"
#include "util/math.h"

namespace ROCKSDB_NAMESPACE::protean {

struct LimitsOptions {
  std::vector<std::string> policies;
  std::string dir;
  uint64_t max_keys = 0;       // of the largest file
  uint64_t max_key_bytes = 0;  // of the largest key
  uint64_t files = 0;
  uint64_t families = 0;
  uint64_t iterators = 0;
};

// Ends the program, saying why, if there is a fault.
void Check(bool right, const char* what);

struct Cost {
  double seconds = 0;
  double peak_mib = 0;  // above the memory in use before
  double kept_mib = 0;  // part of the peak that is still in use afterwards
};
Cost Measure(const std::function<void()>& work);

// The bytes in which keys differ: early ones, or the last one in pairs.
enum class Differ { kEarly, kInPairs };

// Ascending keys of `size` bytes, spread evenly over the key space. The first 8
// bytes, or all if there are fewer, are random; the rest is the same for all
// keys. In pairs, two keys share all but their last byte.
class SpreadKeys {
 public:
  SpreadKeys(uint64_t count, size_t size, Differ differ = Differ::kEarly)
      : in_pairs_(differ == Differ::kInPairs),
        part_(~uint64_t{0} / (in_pairs_ ? (count + 1) / 2 : count)),
        key_(size, 'k') {}

  // Key number i. Valid until the next call.
  Slice Make(uint64_t i) {
    if (in_pairs_) key_.back() = i % 2 == 0 ? 'a' : 'b';
    return Put(Number(i));
  }
  // An absent key near number i, and a bound above it with no key in between.
  // REQUIRES: keys of at least 8 bytes
  Slice MakeAbsent(uint64_t i, std::string* end) {
    if (in_pairs_) key_.back() = 'a';
    const uint64_t number = Number(i);
    uint64_t absent = Begin(i) + Mix(~Place(i)) % part_;
    if (absent == number) absent++;
    const uint64_t after =
        absent < number ? number : Begin(i) + part_;  // the next key
    *end = Put(absent + std::min(part_ / 8 + 1, after - absent)).ToString();
    return Put(absent);
  }

 private:
  // Each key, or pair, has an equal part of the space of 8 bytes, and lies in
  // the first half of its part.
  uint64_t Place(uint64_t i) const { return in_pairs_ ? i / 2 : i; }
  uint64_t Begin(uint64_t i) const { return part_ * Place(i); }
  uint64_t Number(uint64_t i) const {
    return Begin(i) + Mix(Place(i)) % (part_ / 2 + 1);
  }
  static uint64_t Mix(uint64_t number) {
    uint64_t mixed = (number + 1) * 0x9e3779b97f4a7c15u;
    mixed = (mixed ^ mixed >> 29) * 0xbf58476d1ce4e5b9u;
    return mixed ^ mixed >> 32;
  }
  Slice Put(uint64_t number) {
    char head[8];
    EncodeFixed64(head, EndianSwapValue(number));
    memcpy(key_.data(), head, std::min(key_.size(), sizeof(head)));
    return key_;
  }

  const bool in_pairs_;
  const uint64_t part_;
  std::string key_;
};

// Options of a DB with this filter policy. RocksDB's own policy, bloomfilter,
// goes with RocksDB's table.
Options OptionsOf(const std::string& policy);

// Asks for absent keys, points and ranges in turn. Returns the percentage of
// queries that read data.
double ShareRead(DB* db, SpreadKeys* keys, uint64_t count, uint64_t queries);

}  // namespace ROCKSDB_NAMESPACE::protean
