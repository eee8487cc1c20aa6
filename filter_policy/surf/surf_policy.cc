// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/surf/surf_policy.h"

#include <unordered_map>

#include "filter_policy/bounded_option.h"
#include "filter_policy/surf/surf.h"
#include "util/string_util.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

const char kUsage[] = "surf:HASH_BITS:REAL_BITS[:PREFIX_BITS]";
constexpr char kHashOption[] = "hash_suffix_bits";
constexpr char kRealOption[] = "real_suffix_bits";
constexpr char kPrefixOption[] = "prefix_suffix_bits";

const std::unordered_map<std::string, OptionTypeInfo>& SurfTypeInfo() {
  static const auto* const info =
      new std::unordered_map<std::string, OptionTypeInfo>{
          {kHashOption,
           BoundedOption(SurfFilterPolicy::kClassName(),
                         offsetof(SurfPolicyOptions, hash_suffix_bits), 0,
                         SurfSuffix::kMaxHashBits)},
          {kRealOption,
           BoundedOption(SurfFilterPolicy::kClassName(),
                         offsetof(SurfPolicyOptions, real_suffix_bits), 0,
                         SurfSuffix::kMaxRealBits)},
          {kPrefixOption,
           BoundedOption(SurfFilterPolicy::kClassName(),
                         offsetof(SurfPolicyOptions, prefix_suffix_bits), 0,
                         SurfSuffix::kMaxPrefixBits)},
      };
  return *info;
}

Status CheckSum(const SurfPolicyOptions& options) {
  const uint32_t bits = options.hash_suffix_bits + options.real_suffix_bits +
                        options.prefix_suffix_bits;
  if (bits <= SurfSuffix::kMaxBits) return Status::OK();
  return Status::InvalidArgument(
      std::string(SurfFilterPolicy::kClassName()) + ": " + kHashOption + ", " +
      kRealOption + " and " + kPrefixOption + " are " + std::to_string(bits) +
      " in all; allowed: up to " + std::to_string(SurfSuffix::kMaxBits));
}

// Parses surf:HASH_BITS:REAL_BITS, perhaps with :PREFIX_BITS.
Status Parse(const std::string& spec,
             std::unique_ptr<const FilterPolicy>* policy) {
  const char* const owner = SurfFilterPolicy::kClassName();
  std::vector<std::string> parts = StringSplit(spec, ':');
  if (parts.size() < 3 || parts.size() > 4 ||
      parts[0] != SurfFilterPolicy::kNickName() || spec.back() == ':') {
    return Status::InvalidArgument("filter_policy=" + spec +
                                   " is not allowed; allowed: " + kUsage +
                                   ", such as surf:0:8 or surf:0:0:8");
  }
  parts.resize(4, "0");
  SurfPolicyOptions options;
  Status s =
      ParseBoundedOption(owner, kHashOption, parts[1], 0,
                         SurfSuffix::kMaxHashBits, &options.hash_suffix_bits);
  if (s.ok()) {
    s = ParseBoundedOption(owner, kRealOption, parts[2], 0,
                           SurfSuffix::kMaxRealBits, &options.real_suffix_bits);
  }
  if (s.ok()) {
    s = ParseBoundedOption(owner, kPrefixOption, parts[3], 0,
                           SurfSuffix::kMaxPrefixBits,
                           &options.prefix_suffix_bits);
  }
  if (s.ok()) s = CheckSum(options);
  if (s.ok()) policy->reset(new SurfFilterPolicy(options));
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
        []() -> std::unique_ptr<const FilterPolicy> {
          return std::make_unique<SurfFilterPolicy>();
        },
        Parse}}};
  return *type;
}

SurfFilterPolicy::SurfFilterPolicy(const SurfPolicyOptions& options)
    : options_(options) {
  RegisterOptions(&options_, &SurfTypeInfo());
}

Status SurfFilterPolicy::CheckOptions() const {
  Status s =
      CheckOptionRange(kClassName(), kHashOption, options_.hash_suffix_bits, 0,
                       SurfSuffix::kMaxHashBits);
  if (s.ok()) {
    s = CheckOptionRange(kClassName(), kRealOption, options_.real_suffix_bits,
                         0, SurfSuffix::kMaxRealBits);
  }
  if (s.ok()) {
    s = CheckOptionRange(kClassName(), kPrefixOption,
                         options_.prefix_suffix_bits, 0,
                         SurfSuffix::kMaxPrefixBits);
  }
  return s.ok() ? CheckSum(options_) : s;
}

Status SurfFilterPolicy::ValidateOptions(
    const DBOptions& db_opts, const ColumnFamilyOptions& cf_opts) const {
  const Status s = CheckOptions();
  return s.ok() ? RangeFilterPolicy::ValidateOptions(db_opts, cf_opts) : s;
}

std::unique_ptr<RangeFilterBuilder> SurfFilterPolicy::NewRangeFilterBuilder(
    const FilterBuildingContext& /*context*/, Env* /*env*/,
    const FilterTask& task) const {
  // A writer of files without a DB validates nothing. Invalid options are then
  // the default ones.
  const SurfPolicyOptions options =
      CheckOptions().ok() ? options_ : SurfPolicyOptions();
  SurfSuffix suffix;
  suffix.hash_bits = options.hash_suffix_bits;
  suffix.real_bits = options.real_suffix_bits;
  suffix.prefix_bits = options.prefix_suffix_bits;
  return std::make_unique<SurfBuilder>(suffix, FstOptions(), task);
}

}  // namespace ROCKSDB_NAMESPACE::protean
