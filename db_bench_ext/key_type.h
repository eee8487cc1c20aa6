// SPDX-License-Identifier: Apache-2.0

//  The kinds of keys of the benchmarks (key_source.h), and what a kind consists
//  of: how a key is drawn, and a range over such keys.

#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <string>

#include "rocksdb/rocksdb_namespace.h"

namespace ROCKSDB_NAMESPACE::protean {

using Rng = std::mt19937_64;

enum class KeyType {
  kU64,
  kNormal,
  kBooks,
  kFacebook,
  kDense,
  kTimeseries,
  kText,
  kUrl,
  kDomain,
  kName,
  kPath,
  kHost,
  kUserTime,
  kUserWindow,
  kSensorTime,
  kHostTime,
  kSession,
  kTenantTime,
  kDeviceTime,
  kLogTime,
  kUuid1,
  kUuid6,
  kUuid7,
  kUuid7Bytes,
  kUlid,
  kEdge,
  kEdgeText,
  kPackage,
  kProject,
  kOrder,
};

// Draws keys of one kind. A draw may depend on the draws before it.
using KeyMaker = std::function<std::string(Rng*)>;

// A range, closed unless it excludes its end, as iterate_upper_bound does; a
// point query if lo == hi.
struct Query {
  std::string lo;
  std::string hi;
  bool hi_inclusive = true;
};

// The lengths of windows of time, in milliseconds; 0: those that are usual for
// the keys.
struct WindowLengths {
  uint64_t least_ms = 0;
  uint64_t most_ms = 0;
};

struct KeySource {
  KeyMaker draw;
  size_t key_bytes = 0;  // length of every key; 0 if it varies
  // The last bytes of every key that ranges of numbers do not count in: a range
  // covers all their values (the sensors of a time).
  size_t suffix_bytes = 0;
  // Makes the range that an application asks for, given a key of its kind.
  // Empty: ranges of numbers, or to the last byte + 1.
  std::function<Query(const std::string& key, Rng*)> range = {};
};

}  // namespace ROCKSDB_NAMESPACE::protean
