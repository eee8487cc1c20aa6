// SPDX-License-Identifier: Apache-2.0

//  An exact filter, to show what any filter could gain at best. It keeps the
//  keys of each file in the process's memory, outside of every cache and
//  budget; the filter block only says where. It works for files that this
//  process wrote.

#pragma once

#include "filter_policy/protean_filter_policy.h"

namespace ROCKSDB_NAMESPACE::protean {

constexpr FilterKind kOracleKind{255};

class OracleFilterPolicy : public ProteanFilterPolicy {
 public:
  static const char* kClassName() { return "protean.Oracle"; }
  const char* Name() const override { return kClassName(); }

  FileBuilders NewFileBuilders(const FilterBuildingContext& context, Env* env,
                               uint64_t price) const override;
};

// Registers the kind and the policy, protean.Oracle or oracle, in this process.
// Must be called before the policy is used.
void RegisterOracle();

}  // namespace ROCKSDB_NAMESPACE::protean
