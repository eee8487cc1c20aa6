// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/surf/surf_policy.h"

#include <unordered_map>

#include "filter_policy/option_types.h"
#include "filter_policy/surf/surf.h"
#include "util/string_util.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

const char kUsage[] = "surf[:HASH_BITS:REAL_BITS[:PREFIX_BITS]]";
constexpr char kHashOption[] = "hash_suffix_bits";
constexpr char kRealOption[] = "real_suffix_bits";
constexpr char kPrefixOption[] = "prefix_suffix_bits";

WholeNumberRange BitsRange(const char* option) {
  const uint64_t most = option == kHashOption   ? SurfSuffix::kMaxHashBits
                        : option == kRealOption ? SurfSuffix::kMaxRealBits
                                                : SurfSuffix::kMaxPrefixBits;
  return {SurfFilterPolicy::kClassName(), option, 0, most};
}

const std::unordered_map<std::string, OptionTypeInfo>& SurfTypeInfo() {
  using Options = SurfPolicyOptions;
  static const auto* const info =
      new std::unordered_map<std::string, OptionTypeInfo>{
          {kHashOption,
           Described(&Options::hash_suffix_bits, BitsRange(kHashOption))},
          {kRealOption,
           Described(&Options::real_suffix_bits, BitsRange(kRealOption))},
          {kPrefixOption,
           Described(&Options::prefix_suffix_bits, BitsRange(kPrefixOption))},
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
  SurfPolicyOptions options;
  uint32_t* const bits[] = {&options.hash_suffix_bits,
                            &options.real_suffix_bits,
                            &options.prefix_suffix_bits};
  const char* const names[] = {kHashOption, kRealOption, kPrefixOption};
  Status s;
  for (size_t i = 1; i < parts.size() && s.ok(); i++) {
    uint64_t number = 0;
    s = BitsRange(names[i - 1]).Parse(parts[i], &number);
    *bits[i - 1] = static_cast<uint32_t>(number);
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
  Status s = BitsRange(kHashOption).Check(options_.hash_suffix_bits);
  if (s.ok()) s = BitsRange(kRealOption).Check(options_.real_suffix_bits);
  if (s.ok()) s = BitsRange(kPrefixOption).Check(options_.prefix_suffix_bits);
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
