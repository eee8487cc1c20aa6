//  Fractions in text that programs read: options, table properties, logs, JSON.
//  They have a point, whatever the process's locale says (LC_NUMERIC), which a
//  JVM sets to that of the user. strtod and printf follow it.

#pragma once

#include <string>

#include "rocksdb/rocksdb_namespace.h"

namespace ROCKSDB_NAMESPACE::protean {

// `number` rounded to so many digits behind the point, such as "12.50" for two.
std::string DecimalText(double number, int digits);

// Reads digits with at most one point among them, at least one digit, and
// nothing else: no sign, no space, no exponent. False if `text` is not that.
// Then `*number` stays as it is.
bool ParseDecimal(const std::string& text, double* number);

}  // namespace ROCKSDB_NAMESPACE::protean
