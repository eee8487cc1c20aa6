//  Facts about the filter of an SST file, stored among the user-collected
//  properties of the file, where RocksDB's own tools and calls show them
//  (sst_dump --show_properties, DB::GetPropertiesOfAllTables). All values are
//  text.

#pragma once

#include "filter_policy/range_filter.h"
#include "rocksdb/table_properties.h"

namespace ROCKSDB_NAMESPACE::protean {

// The kind of filter (FilterType::name).
inline constexpr char kKindProperty[] = "protean.kind";
// The size of the filter block, in bits per key.
inline constexpr char kBitsPerKeyProperty[] = "protean.bits_per_key";
// The fields of the filter's FilterReport; a field that the filter does not
// report is absent.
inline constexpr char kDesignProperty[] = "protean.design";
inline constexpr char kBasisProperty[] = "protean.basis";
inline constexpr char kSamplesProperty[] = "protean.samples";
inline constexpr char kModelMicrosProperty[] = "protean.model_micros";
inline constexpr char kPredictedFprProperty[] = "protean.predicted_fpr";

// Returns the properties of a filter.
UserCollectedProperties MakeFilterProperties(const char* kind,
                                             double bits_per_key,
                                             const FilterReport& report);

}  // namespace ROCKSDB_NAMESPACE::protean
