//  The kinds of filters that a block can hold. A new filter is a folder of its
//  own and one line in filter_kinds.cc.

#pragma once

#include <cstdint>
#include <memory>

#include "filter_policy/range_filter.h"

namespace ROCKSDB_NAMESPACE::protean {

// Stored in filter blocks: never reuse a number.
enum class FilterKind : uint8_t {
  kAlwaysTrue = 0,  // no filter: the keys could not be held
  kSurf = 1,
  kProteus = 2,   // and 1PBF and 2PBF
  kOracle = 255,  // benchmarks only: exact, held in the process's memory
};

// Opens a payload of one kind in place. The payload outlives the filter and is
// followed by kReadPadding readable bytes. Corruption if it is damaged.
using OpenFilterFunction = Status (*)(const Slice& payload,
                                      std::unique_ptr<RangeFilter>* filter);

// The open function of a kind, or nullptr if this version does not know it.
OpenFilterFunction FindFilterKind(FilterKind kind);

// Makes a kind known that is not part of the library. Called before any filter
// of that kind is read; not thread safe.
void RegisterFilterKind(FilterKind kind, OpenFilterFunction open);

}  // namespace ROCKSDB_NAMESPACE::protean
