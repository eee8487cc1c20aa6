//  The data sets of the Proteus paper, sections 5 and 7.2: distributions that
//  keys, and the left bounds of queries, are drawn from.
//
//  Numbers, 64 bits, big endian:
//    uniform   any number
//    normal    around 2^63 with a standard deviation of 0.01 * 2^64
//    books     in place of SOSD's Amazon sales ranks, heavily skewed to low
//              values: log-normal with a median of 2^56, its logarithm to base
//              2 with a standard deviation of 3
//    facebook  in place of SOSD's user ids, dense in a narrow part of the key
//              space: one of 200 million ids, each at a random place in its own
//              384 numbers
//  Strings:
//    uniform, normal  random bytes, of which the first 64 bits are as above
//    domain, text     of varying length, as KeyType::kDomain and kText
//  Or the keys of a file, each as likely as any other.

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "db_bench_ext/workload.h"
#include "rocksdb/status.h"

namespace ROCKSDB_NAMESPACE::protean {

struct KeySource {
  KeyMaker draw;
  size_t key_bytes = 0;  // of every key; 0 if the length varies
};

struct KeySourceOptions {
  bool strings = false;  // else numbers
  std::string distribution = "uniform";
  size_t key_bytes = 25;  // of strings, uniform or normal; at least 8
  std::string file;       // if not empty, in place of the distribution
};

// InvalidArgument if there is no such distribution; an error of ReadKeys.
Status MakeKeySource(const KeySourceOptions& options, KeySource* source);

// Draws `num` distinct keys, sorted. They lie one after the other in memory.
// InvalidArgument if the source seems not to have that many.
Status DrawKeys(const KeySource& source, uint64_t num, Rng* rng,
                std::vector<std::string>* keys);

}  // namespace ROCKSDB_NAMESPACE::protean
