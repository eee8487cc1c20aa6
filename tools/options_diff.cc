// SPDX-License-Identifier: Apache-2.0

#include "tools/options_diff.h"

#include <algorithm>
#include <sstream>

namespace ROCKSDB_NAMESPACE::protean {

namespace {

using Lines = std::vector<std::string>;

Lines LinesOf(const std::string& text) {
  Lines lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// Removes the lines that both begin with.
void DropCommonBegin(Lines* a, Lines* b) {
  const auto [in_a, in_b] =
      std::mismatch(a->begin(), a->end(), b->begin(), b->end());
  a->erase(a->begin(), in_a);
  b->erase(b->begin(), in_b);
}

void DropCommonEnd(Lines* a, Lines* b) {
  while (!a->empty() && !b->empty() && a->back() == b->back()) {
    a->pop_back();
    b->pop_back();
  }
}

}  // namespace

std::vector<std::string> DifferentLines(const std::string& old_text,
                                        const std::string& new_text) {
  Lines before = LinesOf(old_text);
  Lines after = LinesOf(new_text);
  DropCommonBegin(&before, &after);
  DropCommonEnd(&before, &after);

  // The length of the longest common subsequence of what begins at these lines.
  std::vector<std::vector<size_t>> common(
      before.size() + 1, std::vector<size_t>(after.size() + 1, 0));
  for (size_t i = before.size(); i-- > 0;) {
    for (size_t j = after.size(); j-- > 0;) {
      common[i][j] = before[i] == after[j]
                         ? common[i + 1][j + 1] + 1
                         : std::max(common[i + 1][j], common[i][j + 1]);
    }
  }
  Lines lines;
  size_t i = 0;
  size_t j = 0;
  while (i < before.size() || j < after.size()) {
    if (i < before.size() && j < after.size() && before[i] == after[j]) {
      i++;
      j++;
    } else if (j == after.size() ||
               (i < before.size() && common[i + 1][j] >= common[i][j + 1])) {
      lines.push_back("- " + before[i++]);
    } else {
      lines.push_back("+ " + after[j++]);
    }
  }
  return lines;
}

}  // namespace ROCKSDB_NAMESPACE::protean
