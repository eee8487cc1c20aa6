// SPDX-License-Identifier: Apache-2.0

//  Decimal fractions in text that programs read: options, table properties,
//  logs, JSON. The separator is always a point. strtod and printf would take it
//  from the process's locale (LC_NUMERIC), which a JVM sets to the user's.

#pragma once

#include <string>

#include "rocksdb/rocksdb_namespace.h"

namespace ROCKSDB_NAMESPACE::protean {

// `number` rounded to `digits` digits after the point, such as "12.50" for two.
std::string DecimalText(double number, int digits);

// Parses decimal digits with at most one point among them: at least one digit,
// no sign, no space, no exponent. Returns false for any other text, and leaves
// `*number` alone.
bool ParseDecimal(const std::string& text, double* number);

}  // namespace ROCKSDB_NAMESPACE::protean
