// SPDX-License-Identifier: Apache-2.0

#include "db_bench_ext/filter_spec.h"

#include <deque>
#include <sstream>

#include "db_bench_ext/arf.h"
#include "db_bench_ext/design_policy.h"
#include "db_bench_ext/fst_steps.h"
#include "db_bench_ext/oracle.h"
#include "db_bench_ext/rosetta.h"
#include "filter_policy/proteus/proteus_policy.h"
#include "rocksdb/convenience.h"
#include "rocksdb/utilities/object_registry.h"

namespace ROCKSDB_NAMESPACE::protean {

std::vector<std::string> SplitList(const std::string& list) {
  std::vector<std::string> parts;
  std::istringstream in(list);
  for (std::string part; std::getline(in, part, ',');) {
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

namespace {

std::string Allowed() {
  RegisterComparisonPolicies();
  return "none, bloom:BITS_PER_KEY, ribbon:BITS_PER_KEY, " +
         PolicyUsage(/*object_forms=*/false) +
         ", prefixbloom:BITS_PER_KEY[:TYPE], prefixbloom2:BITS_PER_KEY[:TYPE]";
}

Status Refuse(const std::string& spec) {
  return Status::InvalidArgument(
      "filter " + spec + " is unknown; allowed: " + Allowed() +
      ", fst:STEP with a step of " + kFstSteps + ", " + DesignForm());
}

// The number after `name` and a colon in `spec`, or a negative number if there
// is none.
double BitsPerKey(const std::string& spec) {
  const std::string digits = spec.substr(spec.find(':') + 1);
  char* end = nullptr;
  const double bits = strtod(digits.c_str(), &end);
  return digits.empty() || *end != '\0' ? -1 : bits;
}

}  // namespace

void RegisterComparisonPolicies() {
  RegisterOracle();
  RegisterRosetta();
  RegisterArf();
  // Filters of Proteus' kind, which is registered; their policies alone are
  // new.
  static const bool registered = [] {
    FilterType type = ProteusFilterType();
    type.policies = {ProteusPolicyType(DesignSpace::kOnePrefixFilter),
                     ProteusPolicyType(DesignSpace::kTwoPrefixFilters)};
    RegisterPolicies(type, ObjectLibrary::Default().get());
    return true;
  }();
  (void)registered;
}

const char* FiltersHelp(const std::string& what) {
  // Flags keep the pointer, so the string lives as long as the process.
  static auto* const helps = new std::deque<std::string>;
  helps->push_back(what + ", comma separated: " + Allowed());
  return helps->back().c_str();
}

Status MakeFilterPolicy(const std::string& spec,
                        std::shared_ptr<const FilterPolicy>* policy) {
  policy->reset();
  const std::string name = spec.substr(0, spec.find(':'));
  if (spec == "none") return Status::OK();
  if (spec == "oracle") {
    RegisterOracle();
    *policy = std::make_shared<OracleFilterPolicy>();
    return Status::OK();
  }
  if (name == "fst") {
    *policy = FstStepsPolicy::Create(spec.substr(name.size() + 1));
    return *policy == nullptr ? Refuse(spec) : Status::OK();
  }
  if (name == "design") {
    *policy = DesignPolicy::Create(spec);
    return *policy == nullptr ? Refuse(spec) : Status::OK();
  }
  if (name == "bloom" || name == "ribbon") {
    const double bits = BitsPerKey(spec);
    if (bits < 1 || bits > 100) return Refuse(spec);
    policy->reset(name == "bloom" ? NewBloomFilterPolicy(bits)
                                  : NewRibbonFilterPolicy(bits));
    return Status::OK();
  }
  RegisterComparisonPolicies();
  ConfigOptions strict;
  strict.ignore_unsupported_options = false;
  const Status s = FilterPolicy::CreateFromString(strict, spec, policy);
  return s.ok() || s.IsInvalidArgument() ? s : Refuse(spec);
}

}  // namespace ROCKSDB_NAMESPACE::protean
