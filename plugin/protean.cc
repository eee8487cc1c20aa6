// SPDX-License-Identifier: Apache-2.0

#include "plugin/protean.h"

#include "filter_policy/filter_kinds.h"
#include "filter_policy/proteus/proteus_policy.h"
#include "filter_policy/surf/surf_policy.h"
#include "table/protean_table_factory.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

BlockBasedTableOptions WithRecommendedPolicy(BlockBasedTableOptions options) {
  if (options.filter_policy == nullptr) {
    options.filter_policy =
        NewProteusFilterPolicy(ProteusPolicyOptions().bits_per_key);
  }
  return options;
}

void RegisterTableFactory(ObjectLibrary& library) {
  library.AddFactory<TableFactory>(
      ProteanTableFactory::kClassName(),
      [](const std::string& /*uri*/, std::unique_ptr<TableFactory>* guard,
         std::string* /*errmsg*/) {
        // Later options may name another policy, or nullptr.
        guard->reset(new ProteanTableFactory(
            WithRecommendedPolicy(BlockBasedTableOptions())));
        return guard->get();
      });
}

}  // namespace

std::shared_ptr<const FilterPolicy> NewProteusFilterPolicy(
    double bits_per_key) {
  ProteusPolicyOptions options;
  options.bits_per_key = bits_per_key;
  return std::make_shared<ProteusFilterPolicy>(DesignSpace::kProteus, options);
}

std::shared_ptr<const FilterPolicy> NewSurfFilterPolicy(
    uint32_t hash_suffix_bits, uint32_t real_suffix_bits,
    uint32_t prefix_suffix_bits) {
  SurfPolicyOptions options;
  options.hash_suffix_bits = hash_suffix_bits;
  options.real_suffix_bits = real_suffix_bits;
  options.prefix_suffix_bits = prefix_suffix_bits;
  return std::make_shared<SurfFilterPolicy>(options);
}

std::shared_ptr<TableFactory> NewProteanTableFactory(
    const BlockBasedTableOptions& options) {
  return std::make_shared<ProteanTableFactory>(WithRecommendedPolicy(options));
}

std::shared_ptr<TableFactory> NewProteanTableFactoryWithoutFilters(
    const BlockBasedTableOptions& options) {
  BlockBasedTableOptions none = options;
  none.filter_policy = nullptr;
  return std::make_shared<ProteanTableFactory>(none);
}

}  // namespace ROCKSDB_NAMESPACE::protean

int register_protean(ROCKSDB_NAMESPACE::ObjectLibrary& library,
                     const std::string& /*arg*/) {
  using namespace ROCKSDB_NAMESPACE::protean;
  for (const FilterType* type : FilterTypes()) {
    RegisterPolicies(*type, &library);
  }
  RegisterTableFactory(library);
  size_t num_types;
  return static_cast<int>(library.GetFactoryCount(&num_types));
}
