// SPDX-License-Identifier: Apache-2.0

#include "db_bench_ext/filter_spec.h"

#include <deque>
#include <sstream>

#include "db_bench_ext/design_policy.h"
#include "db_bench_ext/fst_steps.h"
#include "db_bench_ext/oracle.h"
#include "rocksdb/convenience.h"

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
  RegisterOracle();
  return "none, bloom:BITS_PER_KEY, ribbon:BITS_PER_KEY, " +
         PolicyUsage(/*object_forms=*/false);
}

Status Refuse(const std::string& spec) {
  return Status::InvalidArgument(
      "filter " + spec + " is unknown; allowed: " + Allowed() +
      ", fst:STEP with a step of " + kFstSteps + ", " + DesignForm());
}

constexpr char kPrefixSuffix[] = "+prefix";
constexpr size_t kMaxPrefixBytes = 1024;

// The number after `name` and a colon in `spec`, or a negative number if there
// is none.
double BitsPerKey(const std::string& spec) {
  const std::string digits = spec.substr(spec.find(':') + 1);
  char* end = nullptr;
  const double bits = strtod(digits.c_str(), &end);
  return digits.empty() || *end != '\0' ? -1 : bits;
}

}  // namespace

Status TakeTableLayout(std::string* spec, TableLayout* layout) {
  const std::string given = *spec;
  const struct {
    std::string text;
    bool* set;
  } suffixes[] = {{"+first_key", &layout->first_key_index},
                  {"+partitioned", &layout->partitioned},
                  {"+decoupled", &layout->decoupled}};
  for (bool taken = true; taken;) {
    taken = false;
    for (const auto& [text, set] : suffixes) {
      if (spec->size() < text.size() ||
          spec->compare(spec->size() - text.size(), text.size(), text) != 0) {
        continue;
      }
      spec->resize(spec->size() - text.size());
      *set = taken = true;
    }
  }
  const size_t prefix = spec->rfind(kPrefixSuffix);
  if (prefix != std::string::npos) {
    const std::string digits = spec->substr(prefix + strlen(kPrefixSuffix));
    layout->prefix_bytes =
        digits.find_first_not_of("0123456789") == std::string::npos
            ? strtoul(digits.c_str(), nullptr, 10)
            : 0;
    spec->resize(prefix);
    if (layout->prefix_bytes == 0 || layout->prefix_bytes > kMaxPrefixBytes) {
      return Status::InvalidArgument(
          "filter " + given + ": the prefixes have " + digits +
          " bytes; allowed: 1 to " + std::to_string(kMaxPrefixBytes));
    }
  }
  if (layout->partitioned ? layout->first_key_index : layout->decoupled) {
    return Status::InvalidArgument(
        "filter " + given +
        " is not allowed; allowed suffixes: +first_key, +partitioned, "
        "+partitioned+decoupled, and +prefixN in front of these");
  }
  return Status::OK();
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
  ConfigOptions strict;
  strict.ignore_unsupported_options = false;
  const Status s = FilterPolicy::CreateFromString(strict, spec, policy);
  return s.ok() || s.IsInvalidArgument() ? s : Refuse(spec);
}

}  // namespace ROCKSDB_NAMESPACE::protean
