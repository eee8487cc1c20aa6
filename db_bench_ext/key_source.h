// SPDX-License-Identifier: Apache-2.0

//  The generator of keys of all benchmarks. The kinds of keys, by their names
//  in --key_type and --key_dist:
//
//  Numbers, 64 bits, big endian:
//    u64, uniform  any number
//    normal        around 2^63 with a standard deviation of 0.01 * 2^64
//    books         in place of SOSD's Amazon sales ranks, heavily skewed to low
//                  values: log-normal with a median of 2^56, its logarithm to
//                  base 2 with a standard deviation of 3
//    facebook      in place of SOSD's user ids, dense in a narrow part of the
//                  key space: one of 200 million ids, each at a random place in
//                  its own 384 numbers
//    dense         ascending, with gaps of up to 15
//    timeseries    ascending times in ns, each followed by a 64-bit sensor
//  Strings:
//    uniform, normal  random bytes, the first 64 bits of which are as above
//    text             emails, host first: com.example.mail@jane.doe12
//    url              http://www.HOST/products/category-N/item-WORD-N.html
//    domain           many hosts of few names each: com.foo.bar@word12
//    name             package-like names: react-query-devtools, pymolix2
//    path             file paths: /usr/lib/python3/dist-packages/...
//    host             hosts, top domain first: com.velox-tools.api.eu-west-3
//    user_time        a user and a time: user:000123|2026-01-02T03:04:05.678Z
//
//  Composite keys and time-ordered ids: field_keys.h.
//
//  Data sets after the SuRF paper, section 4.2, take their keys by --key_type;
//  the workloads ranges and strings, after the Proteus paper, sections 5 and
//  7.2, take theirs by --key_dist, or from a file, whose keys are equally
//  likely.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "db_bench_ext/key_type.h"
#include "rocksdb/status.h"

namespace ROCKSDB_NAMESPACE::protean {

// The type that --key_type calls `name`. InvalidArgument if there is none.
Status ParseKeyType(const std::string& name, KeyType* type);

// Keys of one type, 8 bytes if they are numbers. The ranges that are windows of
// time have these lengths.
KeySource SourceOf(KeyType type, const WindowLengths& windows = {});

// Whether the keys start with a 64-bit number that ranges count in.
bool IsNumeric(KeyType type);

struct KeySourceOptions {
  bool strings = false;  // else numbers
  std::string distribution = "uniform";
  size_t key_bytes = 25;  // length of uniform and normal strings; at least 8
  std::string file;       // if not empty, in place of the distribution
};

// InvalidArgument if there is no such distribution; an error of ReadKeys.
Status MakeKeySource(const KeySourceOptions& options, KeySource* source);

// Reads the keys of a file: in SOSD format or, if `text`, one key a line. Sorts
// them and drops duplicates.
Status ReadKeys(const std::string& file, bool text,
                std::vector<std::string>* keys);

// Draws `num` distinct keys, or as many as the source seems to have. They are
// sorted, and scattered in memory.
std::vector<std::string> DrawDistinct(const KeyMaker& draw, uint64_t num,
                                      Rng* rng);

// Draws `num` distinct keys, sorted. They lie one after the other in memory.
// InvalidArgument if the source seems to have fewer.
Status DrawKeys(const KeySource& source, uint64_t num, Rng* rng,
                std::vector<std::string>* keys);

}  // namespace ROCKSDB_NAMESPACE::protean
