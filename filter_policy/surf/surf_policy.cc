#include "filter_policy/surf/surf_policy.h"

#include <unordered_map>

#include "filter_policy/bounded_option.h"
#include "filter_policy/surf/surf.h"
#include "util/string_util.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

const std::string kHashOption = "hash_suffix_bits";
const std::string kRealOption = "real_suffix_bits";

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
      };
  return *info;
}

}  // namespace

SurfFilterPolicy::SurfFilterPolicy(const SurfPolicyOptions& options)
    : options_(options) {
  RegisterOptions(&options_, &SurfTypeInfo());
}

Status SurfFilterPolicy::CreateFromShortForm(
    const std::string& spec, std::unique_ptr<const FilterPolicy>* policy) {
  const std::vector<std::string> parts = StringSplit(spec, ':');
  if (parts.size() != 3 || parts[0] != kNickName() || spec.back() == ':') {
    return Status::InvalidArgument(
        "filter_policy=" + spec +
        " is not allowed; allowed: surf:HASH_BITS:REAL_BITS, such as surf:0:8");
  }
  SurfPolicyOptions options;
  Status s =
      ParseBoundedOption(kClassName(), kHashOption, parts[1], 0,
                         SurfSuffix::kMaxHashBits, &options.hash_suffix_bits);
  if (s.ok()) {
    s = ParseBoundedOption(kClassName(), kRealOption, parts[2], 0,
                           SurfSuffix::kMaxRealBits, &options.real_suffix_bits);
  }
  if (s.ok()) policy->reset(new SurfFilterPolicy(options));
  return s;
}

Status SurfFilterPolicy::ValidateOptions(
    const DBOptions& db_opts, const ColumnFamilyOptions& cf_opts) const {
  Status s =
      CheckOptionRange(kClassName(), kHashOption, options_.hash_suffix_bits, 0,
                       SurfSuffix::kMaxHashBits);
  if (s.ok()) {
    s = CheckOptionRange(kClassName(), kRealOption, options_.real_suffix_bits,
                         0, SurfSuffix::kMaxRealBits);
  }
  return s.ok() ? ProteanFilterPolicy::ValidateOptions(db_opts, cf_opts) : s;
}

std::unique_ptr<RangeFilterBuilder> SurfFilterPolicy::NewRangeFilterBuilder(
    const std::string& /*column_family*/) const {
  SurfSuffix suffix;
  suffix.hash_bits = options_.hash_suffix_bits;
  suffix.real_bits = options_.real_suffix_bits;
  return std::make_unique<SurfBuilder>(suffix);
}

}  // namespace ROCKSDB_NAMESPACE::protean
