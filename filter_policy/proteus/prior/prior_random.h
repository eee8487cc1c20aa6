// SPDX-License-Identifier: Apache-2.0

//  The random numbers of a prior, which are the same ones for equal keys.

#pragma once

#include <algorithm>
#include <cstdint>
#include <random>

#include "rocksdb/rocksdb_namespace.h"

namespace ROCKSDB_NAMESPACE::protean {

class PriorRandom {
 public:
  explicit PriorRandom(uint64_t seed) : random_(seed) {}

  // Any 64 bits.
  uint64_t Word() { return random_(); }
  // A number in [0, bound); bound > 0.
  uint64_t Uniform(uint64_t bound) { return random_() % bound; }
  // A number in [0, 1).
  double Fraction() {
    return static_cast<double>(random_() >> 11) / (uint64_t{1} << 53);
  }
  // An index in a part of [0, size), of `parts` equal ones; size > 0.
  size_t IndexIn(size_t part, size_t parts, size_t size) {
    const double place = (static_cast<double>(part) + Fraction()) /
                         static_cast<double>(parts) * static_cast<double>(size);
    return std::min(static_cast<size_t>(place), size - 1);
  }

 private:
  // The standard defines the numbers of this generator.
  std::mt19937_64 random_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
