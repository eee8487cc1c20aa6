// SPDX-License-Identifier: Apache-2.0

//  A Bloom filter as textbooks have it and as the quotient filter's paper
//  compares with: the bits of a hash are anywhere in one array, and their
//  number is the best one for the size.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "util/fastrange.h"

namespace ROCKSDB_NAMESPACE::protean {

class TextbookBloom {
 public:
  // A filter for that many hashes, with that rate of false positives.
  TextbookBloom(uint64_t hashes, double false_positive_rate)
      : probes_(std::max(
            1, static_cast<int>(std::lround(-std::log2(false_positive_rate))))),
        bits_(std::max<uint64_t>(
            64, static_cast<uint64_t>(
                    std::ceil(-std::log2(false_positive_rate) / std::log(2.0) *
                              static_cast<double>(hashes))))),
        words_((bits_ + 63) / 64) {}

  void Insert(uint64_t hash) {
    for (int i = 0; i < probes_; i++, hash = Next(hash)) {
      const uint64_t bit = FastRange64(hash, bits_);
      words_[bit / 64] |= uint64_t{1} << (bit % 64);
    }
  }
  bool Contains(uint64_t hash) const {
    for (int i = 0; i < probes_; i++, hash = Next(hash)) {
      const uint64_t bit = FastRange64(hash, bits_);
      if ((words_[bit / 64] >> (bit % 64) & 1) == 0) return false;
    }
    return true;
  }

  int probes() const { return probes_; }
  size_t bytes() const { return 8 * words_.size(); }

 private:
  // The hash for the next bit: an odd factor permutes the hashes.
  static uint64_t Next(uint64_t hash) { return hash * 0x9fb21c651e98df25u; }

  const int probes_;
  const uint64_t bits_;
  std::vector<uint64_t> words_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
