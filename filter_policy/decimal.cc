// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/decimal.h"

#include <algorithm>
#include <iomanip>
#include <locale>
#include <sstream>

namespace ROCKSDB_NAMESPACE::protean {

std::string DecimalText(double number, int digits) {
  std::ostringstream text;
  text.imbue(std::locale::classic());
  text << std::fixed << std::setprecision(digits) << number;
  return text.str();
}

bool ParseDecimal(const std::string& text, double* number) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto digits = std::count_if(text.begin(), text.end(), is_digit);
  const auto points = std::count(text.begin(), text.end(), '.');
  if (digits == 0 || points > 1 ||
      static_cast<size_t>(digits + points) != text.size()) {
    return false;
  }
  std::istringstream stream(text);
  stream.imbue(std::locale::classic());
  double parsed;
  if (!(stream >> parsed)) return false;  // too large
  *number = parsed;
  return true;
}

}  // namespace ROCKSDB_NAMESPACE::protean
