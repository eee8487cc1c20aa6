// SPDX-License-Identifier: Apache-2.0

//  Numeric options with an allowed range. A value outside of it is refused with
//  a message that names the value and the range.

#pragma once

#include <string>

#include "rocksdb/utilities/options_type.h"

namespace ROCKSDB_NAMESPACE::protean {

// Returns InvalidArgument unless min <= value <= max. `owner` is the object
// that the option belongs to, such as "protean.SuRF".
Status CheckOptionRange(const std::string& owner, const std::string& name,
                        uint64_t value, uint64_t min, uint64_t max);

// Parses a decimal number from `text` into `*value`. Returns InvalidArgument if
// `text` is not a number, or out of range.
Status ParseBoundedOption(const std::string& owner, const std::string& name,
                          const std::string& text, uint64_t min, uint64_t max,
                          uint32_t* value);

// Describes a uint32_t option at `offset` in its struct, parsed by
// ParseBoundedOption.
OptionTypeInfo BoundedOption(const std::string& owner, int offset, uint64_t min,
                             uint64_t max);

}  // namespace ROCKSDB_NAMESPACE::protean
