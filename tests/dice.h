// SPDX-License-Identifier: Apache-2.0

//  Random numbers that are the same on every platform: all choices of a run,
//  drawn from its seed, and keys of golden blocks.

#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
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

// Knuth's linear congruential generator, its upper bits: what golden blocks
// hold must not change with a library.
class Lcg {
 public:
  explicit Lcg(uint64_t seed) : state_(seed) { Next(1); }

  // A number below `end`.
  uint64_t Next(uint64_t end) {
    state_ = state_ * 6364136223846793005 + 1442695040888963407;
    return (state_ >> 33) % end;
  }
  std::string Bytes(size_t length) {
    std::string bytes(length, '\0');
    for (char& c : bytes) c = static_cast<char>(Next(256));
    return bytes;
  }
  // A word of `least` to `most` letters out of `letters`.
  std::string Word(const std::string& letters, size_t least, size_t most) {
    std::string word(least + Next(most - least + 1), '\0');
    for (char& c : word) c = letters[Next(letters.size())];
    return word;
  }

 private:
  uint64_t state_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
