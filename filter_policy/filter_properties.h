//  The facts of a file's filter among the user-collected properties of the SST
//  file, where RocksDB's own tools and calls show them (sst_dump
//  --show_properties, DB::GetPropertiesOfAllTables). All values are text.

#pragma once

#include "filter_policy/range_filter.h"
#include "rocksdb/table_properties.h"

namespace ROCKSDB_NAMESPACE::protean {

// The kind of filter (FilterType::name).
inline constexpr char kKindProperty[] = "protean.kind";
// The size of the filter block.
inline constexpr char kBitsPerKeyProperty[] = "protean.bits_per_key";
// What it says of itself (FilterReport); absent where it says nothing.
inline constexpr char kDesignProperty[] = "protean.design";
inline constexpr char kBasisProperty[] = "protean.basis";
inline constexpr char kSamplesProperty[] = "protean.samples";
inline constexpr char kModelMicrosProperty[] = "protean.model_micros";
inline constexpr char kPredictedFprProperty[] = "protean.predicted_fpr";

// The properties of a filter.
UserCollectedProperties MakeFilterProperties(const char* kind,
                                             double bits_per_key,
                                             const FilterReport& report);

}  // namespace ROCKSDB_NAMESPACE::protean
