// SPDX-License-Identifier: Apache-2.0

//  Facts about the filter of an SST file, stored among the user-collected
//  properties of the file, where RocksDB's own tools and calls show them
//  (sst_dump --show_properties, DB::GetPropertiesOfAllTables). All values are
//  text.

#pragma once

#include <string>

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

// The text of a property; empty if there is none.
std::string PropertyText(const UserCollectedProperties& properties,
                         const char* name);

// The number of a property; `otherwise` if there is none. Numbers may have a
// decimal comma, because earlier versions wrote them as the process's locale
// says.
double PropertyNumber(const UserCollectedProperties& properties,
                      const char* name, double otherwise);

// The false positive rate that the filter's model predicts. Negative if there
// is no model, or no filter of Protean.
double PredictedFprOf(const UserCollectedProperties& properties);

}  // namespace ROCKSDB_NAMESPACE::protean
