// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/bounded_option.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {
Status Refuse(const std::string& owner, const std::string& name,
              const std::string& text, uint64_t min, uint64_t max) {
  return Status::InvalidArgument(
      owner + ": " + name + "=" + text +
      " is not allowed; allowed: whole numbers from " + std::to_string(min) +
      " to " + std::to_string(max));
}
}  // namespace

Status CheckOptionRange(const std::string& owner, const std::string& name,
                        uint64_t value, uint64_t min, uint64_t max) {
  if (value >= min && value <= max) return Status::OK();
  return Refuse(owner, name, std::to_string(value), min, max);
}

Status ParseBoundedOption(const std::string& owner, const std::string& name,
                          const std::string& text, uint64_t min, uint64_t max,
                          uint32_t* value) {
  constexpr size_t kMaxDigits = 10;
  const bool digits = !text.empty() && text.size() <= kMaxDigits &&
                      text.find_first_not_of("0123456789") == std::string::npos;
  const uint64_t number = digits ? std::stoull(text) : 0;
  if (!digits || number < min || number > max) {
    return Refuse(owner, name, text, min, max);
  }
  *value = static_cast<uint32_t>(number);
  return Status::OK();
}

OptionTypeInfo BoundedOption(const std::string& owner, int offset, uint64_t min,
                             uint64_t max) {
  return OptionTypeInfo(offset, OptionType::kUInt32T)
      .SetParseFunc([owner, min, max](const ConfigOptions& /*options*/,
                                      const std::string& name,
                                      const std::string& text, void* addr) {
        return ParseBoundedOption(owner, name, text, min, max,
                                  static_cast<uint32_t*>(addr));
      });
}

}  // namespace ROCKSDB_NAMESPACE::protean
