// SPDX-License-Identifier: Apache-2.0

//  Numbers, spelled alike in all formats of FilterStatistics.

#pragma once

#include <string>

#include "filter_policy/decimal.h"

namespace ROCKSDB_NAMESPACE::protean {

// A level of FilterStatistics, or "unknown".
inline std::string StatisticsLevelText(int level) {
  return level < 0 ? "unknown" : std::to_string(level);
}

// A rate or a time, with enough digits for any rate.
inline std::string StatisticsDecimalText(double number) {
  return DecimalText(number, 6);
}

}  // namespace ROCKSDB_NAMESPACE::protean
