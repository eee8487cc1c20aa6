// SPDX-License-Identifier: Apache-2.0

//  Under sanitizers, tests of damage take many times as long: they try every
//  Nth damage there, if the variable PROTEAN_DAMAGE_STRIDE is N.

#pragma once

#include <cstdlib>

#include "rocksdb/rocksdb_namespace.h"

namespace ROCKSDB_NAMESPACE::protean {

class DamageStride {
 public:
  // Whether the next damage is to be tried.
  bool TryNext() { return count_++ % stride_ == 0; }
  int stride() const { return stride_; }

 private:
  static int Chosen() {
    const char* const chosen = getenv("PROTEAN_DAMAGE_STRIDE");
    return chosen == nullptr || atoi(chosen) < 1 ? 1 : atoi(chosen);
  }

  const int stride_ = Chosen();
  int count_ = 0;
};

}  // namespace ROCKSDB_NAMESPACE::protean
