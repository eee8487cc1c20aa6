// SPDX-License-Identifier: Apache-2.0

#include "tools/policy_flag.h"

#include <algorithm>

#include "filter_policy/filter_kinds.h"
#include "filter_policy/samples/query_file.h"
#include "rocksdb/convenience.h"
#include "util/string_util.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {
constexpr char kSeeds[] = "seeds";
}  // namespace

Status MakePolicy(const std::string& flag, const std::string& spec,
                  std::shared_ptr<const FilterPolicy>* policy) {
  policy->reset();
  if (spec == "none" || spec == kNullptrString) return Status::OK();
  ConfigOptions strict;
  strict.ignore_unsupported_options = false;
  strict.ignore_unknown_options = false;
  const bool braces = spec.size() > 1 && spec[0] == '{' && spec.back() == '}';
  const Status s = FilterPolicy::CreateFromString(
      strict, braces ? spec.substr(1, spec.size() - 2) : spec, policy);
  if (s.ok() && *policy != nullptr) return s;
  if (s.IsInvalidArgument() && s.getState() != nullptr) {
    return Status::InvalidArgument(flag + ": " + std::string(s.getState()));
  }
  return Status::InvalidArgument(
      flag + "=" + spec + " is unknown; allowed: none, " +
      PolicyUsage(/*object_forms=*/true) +
      ", bloomfilter:BITS_PER_KEY, ribbonfilter:BITS_PER_KEY");
}

Status PutSeedsInto(const std::vector<SampleQuery>& seeds,
                    std::shared_ptr<const FilterPolicy>* policy) {
  const ConfigOptions config;
  std::string file;
  if (!(*policy)->GetOption(config, "seed_file", &file).ok()) {
    return Status::OK();
  }
  std::shared_ptr<const FilterPolicy> changed;
  Status s = FilterPolicy::CreateFromString(config, (*policy)->ToString(config),
                                            &changed);
  // No other code has this object yet.
  if (s.ok()) {
    s = const_cast<FilterPolicy*>(changed.get())
            ->ConfigureFromMap(config,
                               {{"seed_file", ""}, {kSeeds, SeedsText(seeds)}});
  }
  if (s.ok()) *policy = std::move(changed);
  return s;
}

std::string WithoutSeeds(std::string text) {
  const std::string option = std::string(kSeeds) + "=";
  for (size_t begin = 0; (begin = text.find(option, begin)) != text.npos;) {
    begin += option.size();
    const size_t end = std::min(text.find_first_of(";}", begin), text.size());
    if (begin == end) continue;
    const auto queries =
        1 + std::count(text.begin() + begin, text.begin() + end, ',');
    text.replace(begin, end - begin,
                 "(" + std::to_string(queries) + " queries)");
  }
  return text;
}

}  // namespace ROCKSDB_NAMESPACE::protean
