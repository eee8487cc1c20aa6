// SPDX-License-Identifier: Apache-2.0

//  The list of the kinds of filters that this library has (filter_kinds.h).

#include "filter_policy/filter_kinds.h"
#include "filter_policy/levels_policy.h"
#include "filter_policy/proteus/proteus_policy.h"
#include "filter_policy/surf/surf_policy.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Blocks of this kind have no parts.
Status OpenAlwaysTrue(const PartContents& /*part*/,
                      std::unique_ptr<RangeFilter>* /*filter*/) {
  return Status::NotSupported("no filter could hold the keys");
}

}  // namespace

std::vector<const FilterType*>& FilterTypes() {
  // The policy of levels:... chooses among others and builds no filters itself.
  static const auto& always_true = *new FilterType{
      FilterKind::kAlwaysTrue, "none", OpenAlwaysTrue, {LevelsPolicyType()}};
  static auto* const types = new std::vector<const FilterType*>{
      &always_true, &ProteusFilterType(), &SurfFilterType()};
  return *types;
}

}  // namespace ROCKSDB_NAMESPACE::protean
