// SPDX-License-Identifier: Apache-2.0

//  Values of one size, all different but cheap to make: cut from random bytes.

#pragma once

#include <string>

#include "db_bench_ext/key_arithmetic.h"
#include "db_bench_ext/key_source.h"

namespace ROCKSDB_NAMESPACE::protean {

class Values {
 public:
  Values(size_t size, Rng* rng) : size_(size) {
    while (random_bytes_.size() < size + (32 << 10)) {
      random_bytes_ += BigEndianKey((*rng)());
    }
  }

  size_t size() const { return size_; }

  // The value that belongs to `number`.
  void Fill(uint64_t number, std::string* value) const {
    value->assign(random_bytes_, number % (random_bytes_.size() - size_),
                  size_);
  }

 private:
  const size_t size_;
  std::string random_bytes_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
