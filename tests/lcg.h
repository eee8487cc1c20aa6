// SPDX-License-Identifier: Apache-2.0

//  Random keys that are the same on every platform, for golden blocks.

#pragma once

#include <cstdint>
#include <string>

#include "rocksdb/rocksdb_namespace.h"

namespace ROCKSDB_NAMESPACE::protean {

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
