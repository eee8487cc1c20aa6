//  An exact filter, to show how far any filter could go. It keeps the keys of
//  each file in the process's memory, outside of every cache and budget; the
//  filter block only says where. It works for files that this process wrote.

#pragma once

#include "filter_policy/protean_filter_policy.h"

namespace ROCKSDB_NAMESPACE::protean {

constexpr FilterKind kOracleKind{255};

class OracleFilterPolicy : public RangeFilterPolicy {
 public:
  static const char* kClassName() { return "protean.Oracle"; }
  const char* Name() const override { return kClassName(); }

  FilterKind kind() const override { return kOracleKind; }
  std::unique_ptr<RangeFilterBuilder> NewRangeFilterBuilder(
      const FilterBuildingContext& /*context*/, Env* /*env*/) const override;
};

// Makes the kind and the policy, protean.Oracle or oracle, known to this
// process. Called first.
void RegisterOracle();

}  // namespace ROCKSDB_NAMESPACE::protean
