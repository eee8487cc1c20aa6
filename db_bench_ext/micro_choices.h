// SPDX-License-Identifier: Apache-2.0

//  The subjects of the micro-benchmarks: kinds of keys, and filters.

#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "db_bench_ext/key_source.h"
#include "filter_policy/surf/surf_policy.h"

namespace ROCKSDB_NAMESPACE::protean {

struct KeyChoice {
  std::string name;
  KeyType type;
  uint64_t num;
};

struct FilterChoice {
  std::string spec;
  std::shared_ptr<const FilterPolicy> policy;

  bool IsSurf() const {
    return policy != nullptr &&
           policy->IsInstanceOf(SurfFilterPolicy::kClassName());
  }
};

}  // namespace ROCKSDB_NAMESPACE::protean
