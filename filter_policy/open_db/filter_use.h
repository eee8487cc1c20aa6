// SPDX-License-Identifier: Apache-2.0

//  Whether seeks ask the filter of a file.

#pragma once

#include <cstddef>
#include <cstdint>

#include "rocksdb/rocksdb_namespace.h"

namespace ROCKSDB_NAMESPACE::protean {

// kUsed if seeks ask the filter of a file; otherwise the reason why not.
enum class FilterUse : uint8_t {
  kUsed,
  kNone,         // no filter, or none that the column family's policy knows
  kForeign,      // RocksDB built the filter; it still answers Get
  kComparator,   // keys are not in the order that the filters need
  kPartialKeys,  // whole_key_filtering=false
  kUnheld,       // the filter could not hold the file's keys and knows nothing
  kDamaged,      // the filter is damaged or could not be read
};
inline constexpr size_t kFilterUses = 7;

// A few words, such as "no filter"; "used" for kUsed.
inline const char* ToString(FilterUse use) {
  switch (use) {
    case FilterUse::kUsed:
      return "used";
    case FilterUse::kNone:
      return "no filter";
    case FilterUse::kForeign:
      return "filter of RocksDB";
    case FilterUse::kComparator:
      return "other comparator";
    case FilterUse::kPartialKeys:
      return "no whole keys";
    case FilterUse::kUnheld:
      return "keys not held";
    case FilterUse::kDamaged:
      return "damaged";
  }
  return "unknown";
}

}  // namespace ROCKSDB_NAMESPACE::protean
