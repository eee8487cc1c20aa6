// SPDX-License-Identifier: Apache-2.0

#include "plugin/protean.h"

#include <atomic>

#include "filter_policy/filter_kinds.h"
#include "filter_policy/levels_policy.h"
#include "filter_policy/proteus/proteus_policy.h"
#include "filter_policy/surf/surf_policy.h"
#include "plugin/is_registered.h"
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

std::string NameOf(ProteusOptions::Amq amq) {
  switch (amq) {
    case ProteusOptions::Amq::kBloom:
      return "bloom";
    case ProteusOptions::Amq::kRibbon:
      return "ribbon";
    case ProteusOptions::Amq::kAuto:
      break;
  }
  return "auto";
}

std::string NameOf(ProteusOptions::LevelBits level_bits) {
  return level_bits == ProteusOptions::LevelBits::kEqual ? "equal" : "auto";
}

std::string NameOf(ProteusOptions::Points points) {
  return points == ProteusOptions::Points::kWholeKeys ? "keys" : "auto";
}

std::atomic<bool> registered{false};

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

bool IsRegistered() { return registered; }

std::shared_ptr<const FilterPolicy> NewProteusFilterPolicy(
    const ProteusOptions& options) {
  ProteusPolicyOptions named;
  named.bits_per_key = options.bits_per_key;
  named.filter_memory = options.filter_memory;
  named.amq = NameOf(options.amq);
  named.level_bits = NameOf(options.level_bits);
  named.points = NameOf(options.points);
  if (options.false_positive_micros > 0) {
    named.false_positive_price =
        PriceText(uint64_t{1000} * options.false_positive_micros);
  }
  named.sample_capacity = options.sample_capacity;
  named.sample_every = options.sample_every;
  named.seed_file = options.seed_file;
  named.samples_file = options.samples_file;
  return std::make_shared<ProteusFilterPolicy>(DesignSpace::kProteus, named);
}

std::shared_ptr<const FilterPolicy> NewProteusFilterPolicy(
    double bits_per_key) {
  ProteusOptions options;
  options.bits_per_key = bits_per_key;
  return NewProteusFilterPolicy(options);
}

std::shared_ptr<const FilterPolicy> NewSurfFilterPolicy(
    const SurfOptions& options) {
  SurfPolicyOptions bits;
  bits.hash_suffix_bits = options.hash_suffix_bits;
  bits.real_suffix_bits = options.real_suffix_bits;
  bits.prefix_suffix_bits = options.prefix_suffix_bits;
  return std::make_shared<SurfFilterPolicy>(bits);
}

std::shared_ptr<const FilterPolicy> NewSurfFilterPolicy(
    uint32_t hash_suffix_bits, uint32_t real_suffix_bits,
    uint32_t prefix_suffix_bits) {
  SurfOptions options;
  options.hash_suffix_bits = hash_suffix_bits;
  options.real_suffix_bits = real_suffix_bits;
  options.prefix_suffix_bits = prefix_suffix_bits;
  return NewSurfFilterPolicy(options);
}

std::shared_ptr<const FilterPolicy> NewLevelsFilterPolicy(
    const std::vector<std::shared_ptr<const FilterPolicy>>& policies) {
  LevelsPolicyOptions options;
  for (const std::shared_ptr<const FilterPolicy>& policy : policies) {
    options.policies.push_back({TextOf(policy.get()), policy});
  }
  return std::make_shared<LevelsFilterPolicy>(std::move(options));
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
  registered = true;
  size_t num_types;
  return static_cast<int>(library.GetFactoryCount(&num_types));
}
