// SPDX-License-Identifier: Apache-2.0

//  The filter policy that gives every SST file a SuRF.

#pragma once

#include "filter_policy/protean_filter_policy.h"
#include "filter_policy/surf/surf.h"
#include "filter_policy/surf/surf_suffix.h"

namespace ROCKSDB_NAMESPACE::protean {

const FilterType& SurfFilterType();

struct SurfPolicyOptions {
  static const char* kName() { return "SurfPolicyOptions"; }

  // Bits of each key's hash: n bits lower the false positive rate of point
  // queries to 2^-n of the trie's own rate. 0 to 32.
  uint32_t hash_suffix_bits = 0;

  // Bits of each key after its stored prefix, which help point and range
  // queries. 0 to 32.
  uint32_t real_suffix_bits = 8;

  // Bits of hashes of prefixes that are longer than the stored one, which help
  // point queries, scans of a prefix, and ranges whose bounds share a prefix. 0
  // to 16. All suffix bits together are at most 64.
  uint32_t prefix_suffix_bits = 0;
};

class SurfFilterPolicy : public ProteanFilterPolicy {
 public:
  explicit SurfFilterPolicy(const SurfPolicyOptions& options = {});

  static constexpr const char* kClassName() { return "protean.SuRF"; }
  static const char* kNickName() { return "surf"; }
  const char* Name() const override { return kClassName(); }
  const char* NickName() const override { return kNickName(); }

  Status ValidateOptions(const DBOptions& db_opts,
                         const ColumnFamilyOptions& cf_opts) const override;

  FileBuilders NewFileBuilders(const FilterBuildingContext& context, Env* env,
                               uint64_t price) const override;

 private:
  SurfPolicyOptions options_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
