// SPDX-License-Identifier: Apache-2.0

//  All random choices of a run, drawn from its seed: the same seed makes the
//  same run.

#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "rocksdb/rocksdb_namespace.h"

namespace ROCKSDB_NAMESPACE::protean {

// SplitMix64, so that seeds mean the same with every standard library, and
// neighboring seeds make unrelated runs.
class Dice {
 public:
  explicit Dice(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }
  // A number below `end`, or 0.
  size_t Below(size_t end) { return end == 0 ? 0 : Next() % end; }
  bool OneIn(size_t n) { return Below(n) == 0; }
  bool Percent(size_t percent) { return Below(100) < percent; }
  char Byte() { return static_cast<char>(Next()); }

  template <typename T>
  T Of(std::initializer_list<T> choices) {
    return choices.begin()[Below(choices.size())];
  }
  template <typename T>
  const T& In(const std::vector<T>& choices) {
    return choices[Below(choices.size())];
  }

 private:
  uint64_t state_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
