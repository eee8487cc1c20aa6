// SPDX-License-Identifier: Apache-2.0

//  Numbers of levels as text, such as 0,1,6.

#pragma once

#include <string>
#include <vector>

#include "rocksdb/rocksdb_namespace.h"

namespace ROCKSDB_NAMESPACE::protean {

inline std::string LevelsText(const std::vector<int>& levels) {
  std::string text;
  for (const int level : levels) {
    text += (text.empty() ? "" : ",") + std::to_string(level);
  }
  return text;
}

// Appends the level that is given by one to three digits. Returns false for any
// other text.
inline bool AddLevel(const std::string& text, std::vector<int>* levels) {
  constexpr size_t kMaxDigits = 3;
  if (text.empty() || text.size() > kMaxDigits ||
      text.find_first_not_of("0123456789") != std::string::npos) {
    return false;
  }
  levels->push_back(std::stoi(text));
  return true;
}

}  // namespace ROCKSDB_NAMESPACE::protean
