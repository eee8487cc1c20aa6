// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/proteus/prior/anchor.h"

#include <algorithm>

#include "filter_policy/proteus/prior/characters.h"

namespace ROCKSDB_NAMESPACE::protean {

bool Anchor::Find(const Slice& key, size_t* start) const {
  switch (from) {
    case From::kBegin:
      *start = distance;
      return distance < key.size();
    case From::kEnd:
      *start = key.size() - distance;
      return distance > 0 && distance <= key.size();
    case From::kSeparator:
      break;
  }
  size_t left = distance;
  for (size_t i = 0; i < key.size(); i++) {
    if (key[i] == separator && --left == 0) {
      *start = i + 1;
      return true;
    }
  }
  return false;
}

std::vector<Anchor> AnchorsOf(const std::string& key, size_t start,
                              bool one_length) {
  std::vector<Anchor> anchors = {{Anchor::From::kBegin, start}};
  if (one_length) return anchors;
  anchors.push_back({Anchor::From::kEnd, key.size() - start});
  if (start > 0 && IsSeparator(key[start - 1])) {
    const char separator = key[start - 1];
    const auto before = static_cast<size_t>(
        std::count(key.begin(), key.begin() + start, separator));
    anchors.push_back({Anchor::From::kSeparator, before, separator});
  }
  return anchors;
}

}  // namespace ROCKSDB_NAMESPACE::protean
