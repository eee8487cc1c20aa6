//  Numeric options with a range, refused with a message that says what was
//  given and what is allowed.

#pragma once

#include <string>

#include "rocksdb/utilities/options_type.h"

namespace ROCKSDB_NAMESPACE::protean {

// InvalidArgument unless min <= value <= max. `owner` is the object that the
// option belongs to, such as "protean.SuRF".
Status CheckOptionRange(const std::string& owner, const std::string& name,
                        uint64_t value, uint64_t min, uint64_t max);

// Parses a decimal number from `text` into `*value`. InvalidArgument if it is
// not one, or out of range.
Status ParseBoundedOption(const std::string& owner, const std::string& name,
                          const std::string& text, uint64_t min, uint64_t max,
                          uint32_t* value);

// The description of a uint32_t option at `offset` in its struct that is parsed
// by ParseBoundedOption.
OptionTypeInfo BoundedOption(const std::string& owner, int offset, uint64_t min,
                             uint64_t max);

}  // namespace ROCKSDB_NAMESPACE::protean
