// SPDX-License-Identifier: Apache-2.0

//  Values of one size, all different but cheap to make: cut from random bytes.
//  The first half of compressible ones is zero (Proteus paper, section 6.2).

#pragma once

#include <string>

#include "db_bench_ext/key_arithmetic.h"
#include "db_bench_ext/key_source.h"

namespace ROCKSDB_NAMESPACE::protean {

class Values {
 public:
  Values(size_t size, Rng* rng, bool compressible = false)
      : size_(size), zeros_(compressible ? size / 2 : 0) {
    while (random_bytes_.size() < size + (32 << 10)) {
      random_bytes_ += BigEndianKey((*rng)());
    }
  }

  size_t size() const { return size_; }

  // The value that belongs to `number`.
  void Fill(uint64_t number, std::string* value) const {
    value->assign(random_bytes_, number % (random_bytes_.size() - size_),
                  size_);
    value->replace(0, zeros_, zeros_, '\0');
  }

 private:
  const size_t size_;
  const size_t zeros_;
  std::string random_bytes_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
