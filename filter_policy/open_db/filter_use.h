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

// The name of a reason, such as "no_filter"; "used" for kUsed.
inline const char* ToString(FilterUse use) {
  switch (use) {
    case FilterUse::kUsed:
      return "used";
    case FilterUse::kNone:
      return "no_filter";
    case FilterUse::kForeign:
      return "rocksdb_filter";
    case FilterUse::kComparator:
      return "other_comparator";
    case FilterUse::kPartialKeys:
      return "no_whole_keys";
    case FilterUse::kUnheld:
      return "keys_not_held";
    case FilterUse::kDamaged:
      return "damaged";
  }
  return "unknown";
}

}  // namespace ROCKSDB_NAMESPACE::protean
