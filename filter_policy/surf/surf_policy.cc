// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/surf/surf_policy.h"

#include <unordered_map>

#include "filter_policy/option_types.h"
#include "filter_policy/surf/surf.h"
#include "util/string_util.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

const char kUsage[] = "surf[:HASH_BITS:REAL_BITS[:PREFIX_BITS]]";

// The options, in the order of the short form.
struct BitsOption {
  uint32_t SurfSuffix::*bits;
  WholeNumberRange range;
};
constexpr BitsOption kBitsOptions[] = {
    {&SurfSuffix::hash_bits,
     {SurfFilterPolicy::kClassName(), "hash_suffix_bits", 0,
      SurfSuffix::kMaxHashBits}},
    {&SurfSuffix::real_bits,
     {SurfFilterPolicy::kClassName(), "real_suffix_bits", 0,
      SurfSuffix::kMaxRealBits}},
    {&SurfSuffix::prefix_bits,
     {SurfFilterPolicy::kClassName(), "prefix_suffix_bits", 0,
      SurfSuffix::kMaxPrefixBits}},
};

const std::unordered_map<std::string, OptionTypeInfo>& SurfTypeInfo() {
  static const auto* const info = [] {
    auto* const types = new std::unordered_map<std::string, OptionTypeInfo>;
    for (const BitsOption& option : kBitsOptions) {
      types->emplace(option.range.option, Described(option.bits, option.range));
    }
    return types;
  }();
  return *info;
}

Status Check(const SurfSuffix& suffix) {
  uint32_t sum = 0;
  for (const BitsOption& option : kBitsOptions) {
    const Status s = option.range.Check(suffix.*option.bits);
    if (!s.ok()) return s;
    sum += suffix.*option.bits;
  }
  if (sum <= SurfSuffix::kMaxBits) return Status::OK();
  return Status::InvalidArgument(
      std::string(SurfFilterPolicy::kClassName()) +
      ": hash_suffix_bits, real_suffix_bits and prefix_suffix_bits are " +
      std::to_string(sum) + " in all; allowed: up to " +
      std::to_string(SurfSuffix::kMaxBits));
}

// Parses surf, or surf:HASH_BITS:REAL_BITS, perhaps with :PREFIX_BITS.
Status Parse(const std::string& spec,
             std::unique_ptr<const FilterPolicy>* policy) {
  const std::vector<std::string> parts = StringSplit(spec, ':');
  if (parts.empty() || parts.size() == 2 || parts.size() > 4 ||
      parts[0] != SurfFilterPolicy::kNickName() || spec.back() == ':') {
    return Status::InvalidArgument("filter_policy=" + spec +
                                   " is not allowed; allowed: " + kUsage +
                                   ", such as surf:0:8 or surf:0:0:8");
  }
  SurfSuffix suffix = SurfFilterPolicy::kDefaultSuffix;
  Status s;
  for (size_t i = 1; i < parts.size() && s.ok(); i++) {
    const BitsOption& option = kBitsOptions[i - 1];
    uint64_t number = 0;
    s = option.range.Parse(parts[i], &number);
    suffix.*option.bits = static_cast<uint32_t>(number);
  }
  if (s.ok()) s = Check(suffix);
  if (s.ok()) policy->reset(new SurfFilterPolicy(suffix));
  return s;
}

}  // namespace

const FilterType& SurfFilterType() {
  static const auto* const type = new FilterType{
      kSurfKind,
      "SuRF",
      [](const PartContents& part, std::unique_ptr<RangeFilter>* filter) {
        return Surf::Open(part.payload, part.salt, filter);
      },
      {{SurfFilterPolicy::kClassName(), SurfFilterPolicy::kNickName(), kUsage,
        [] { return std::make_unique<SurfFilterPolicy>(); }, Parse}}};
  return *type;
}

SurfFilterPolicy::SurfFilterPolicy(const SurfSuffix& suffix) : suffix_(suffix) {
  RegisterOptions("SurfPolicyOptions", &suffix_, &SurfTypeInfo());
}

Status SurfFilterPolicy::ValidateOptions(
    const DBOptions& db_opts, const ColumnFamilyOptions& cf_opts) const {
  const Status s = Check(suffix_);
  return s.ok() ? ProteanFilterPolicy::ValidateOptions(db_opts, cf_opts) : s;
}

FileBuilders SurfFilterPolicy::NewFileBuilders(
    const FilterBuildingContext& /*context*/, Env* /*env*/,
    uint64_t /*price*/) const {
  // A writer of files without a DB validates nothing. Invalid options are then
  // the default ones.
  const SurfSuffix suffix = Check(suffix_).ok() ? suffix_ : kDefaultSuffix;
  return {kSurfKind, [suffix](const FilterTask& task) {
            return std::make_unique<SurfBuilder>(suffix, FstOptions(), task);
          }};
}

}  // namespace ROCKSDB_NAMESPACE::protean
