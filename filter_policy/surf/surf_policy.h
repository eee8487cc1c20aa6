// SPDX-License-Identifier: Apache-2.0

//  The filter policy that gives every SST file a SuRF.

#pragma once

#include "filter_policy/protean_filter_policy.h"
#include "filter_policy/surf/surf.h"
#include "filter_policy/surf/surf_suffix.h"

namespace ROCKSDB_NAMESPACE::protean {

const FilterType& SurfFilterType();

class SurfFilterPolicy : public ProteanFilterPolicy {
 public:
  static constexpr SurfSuffix kDefaultSuffix{0, /*real_bits=*/8};

  // The step of the prefix bits does not count.
  explicit SurfFilterPolicy(const SurfSuffix& suffix = kDefaultSuffix);

  static constexpr const char* kClassName() { return "protean.SuRF"; }
  static const char* kNickName() { return "surf"; }
  const char* Name() const override { return kClassName(); }
  const char* NickName() const override { return kNickName(); }

  Status ValidateOptions(const DBOptions& db_opts,
                         const ColumnFamilyOptions& cf_opts) const override;

  FileBuilders NewFileBuilders(const FilterBuildingContext& context, Env* env,
                               uint64_t price) const override;

 private:
  SurfSuffix suffix_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
