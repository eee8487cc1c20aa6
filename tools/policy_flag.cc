// SPDX-License-Identifier: Apache-2.0

#include "tools/policy_flag.h"

#include "filter_policy/filter_kinds.h"
#include "rocksdb/convenience.h"
#include "util/string_util.h"

namespace ROCKSDB_NAMESPACE::protean {

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

}  // namespace ROCKSDB_NAMESPACE::protean
