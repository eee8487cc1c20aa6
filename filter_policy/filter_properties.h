// SPDX-License-Identifier: Apache-2.0

//  Facts about the filter of an SST file, as text among the user-collected
//  properties of the file, where RocksDB's tools show them.
//  docs/internals/file_format.md says what each is, and when it is absent.

#pragma once

#include <string>

#include "filter_policy/range_filter.h"
#include "rocksdb/table_properties.h"

namespace ROCKSDB_NAMESPACE::protean {

inline constexpr char kKindProperty[] = "protean.kind";  // FilterType::name
inline constexpr char kBitsPerKeyProperty[] = "protean.bits_per_key";
// The fields of the filter's FilterReport, if it reports them.
inline constexpr char kDesignProperty[] = "protean.design";
inline constexpr char kBasisProperty[] = "protean.basis";
inline constexpr char kSamplesProperty[] = "protean.samples";
inline constexpr char kModelMicrosProperty[] = "protean.model_micros";
inline constexpr char kPredictedFprProperty[] = "protean.predicted_fpr";
inline constexpr char kPriceProperty[] = "protean.false_positive_price";
inline constexpr char kQueriesPerKeyProperty[] = "protean.queries_per_key";
inline constexpr char kKeptDesignProperty[] = "protean.kept_design";
// HashOfOptions and DesignInputsHash of protean_filter_policy.h.
inline constexpr char kOptionsProperty[] = "protean.options";
inline constexpr char kDesignInputsProperty[] = "protean.design_inputs";
inline constexpr char kSmallestProperty[] = "protean.smallest";
inline constexpr char kLargestProperty[] = "protean.largest";
inline constexpr size_t kMaxRangeBytes = 64;  // of each of these two keys

UserCollectedProperties MakeFilterProperties(const char* kind,
                                             double bits_per_key,
                                             const FilterReport& report);

// The text of a property; empty if there is none.
std::string PropertyText(const UserCollectedProperties& properties,
                         const char* name);
// The number of a property; `otherwise` if there is none.
double PropertyNumber(const UserCollectedProperties& properties,
                      const char* name, double otherwise);
FilterReport ReportOf(const UserCollectedProperties& properties);
// The price of a false positive that the filter was designed for.
uint64_t PriceOf(const UserCollectedProperties& properties);
// Negative if there is no model, or no filter of Protean.
double PredictedFprOf(const UserCollectedProperties& properties);

// Adds the range of a file's keys to its properties.
void AddKeyRange(const Slice& smallest, const Slice& largest,
                 UserCollectedProperties* properties);
// Stores the range of the file's keys; leaves both alone if it is unknown.
void GetKeyRange(const UserCollectedProperties& properties,
                 std::string* smallest, std::string* largest);

}  // namespace ROCKSDB_NAMESPACE::protean
