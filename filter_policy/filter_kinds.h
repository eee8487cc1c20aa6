// SPDX-License-Identifier: Apache-2.0

//  The kinds of filters. A new kind is a folder of its own, which describes
//  itself by a FilterType, and one line in own_filter_types.cc. What opens
//  blocks, registers policies and prints help goes through the list of types.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "filter_policy/range_filter.h"

namespace ROCKSDB_NAMESPACE {
class FilterPolicy;
class ObjectLibrary;
}  // namespace ROCKSDB_NAMESPACE

namespace ROCKSDB_NAMESPACE::protean {

// The kind of a filter, as stored in its block: never reuse a number. Each
// kind's number is defined next to its FilterType.
enum class FilterKind : uint8_t {
  kAlwaysTrue = 0,  // no filter could hold the keys
};

// A unit of a part of a filter block (filter_block.h).
struct PartContents {
  Slice payload;  // followed by kReadPadding readable bytes
  bool is_second = false;
  // If not empty, the payload of the second unit, which is opened together with
  // `payload`, the first one's.
  Slice second;
  Slice design;  // what it has in common with other parts
  FilterSalt salt;
  // The first 8 bytes of its keys, as numbers, lie between these.
  uint64_t smallest = 0;
  uint64_t largest = ~uint64_t{0};
};

// A filter policy that options can name, in an object form {id=CLASS;...} or in
// a short form NAME:....
struct PolicyType {
  const char* class_name;  // such as protean.SuRF
  const char* short_name;  // such as surf
  std::string usage;  // of the short form, such as surf:HASH_BITS:REAL_BITS

  // A policy with default options.
  std::function<std::unique_ptr<const FilterPolicy>()> make;
  // Parses the short form of a policy: `spec` begins with the short name.
  // Returns InvalidArgument, with what is allowed, if the rest is wrong.
  std::function<Status(const std::string& spec,
                       std::unique_ptr<const FilterPolicy>* policy)>
      parse;
};

struct FilterType {
  FilterKind kind;
  const char* name;  // in messages
  // Opens a part in place. The payload outlives the filter; the design need
  // not. Returns Corruption if it is damaged.
  Status (*open)(const PartContents& part,
                 std::unique_ptr<RangeFilter>* filter);
  std::vector<PolicyType> policies;  // that build filters of this kind
  bool may_be_loose = false;         // RangeFilter::LowerBoundIsLoose
};

// All registered types: those of this library first. RegisterFilterType alone
// adds to them.
std::vector<const FilterType*>& FilterTypes();
// The type of a kind, or nullptr if this version does not know the kind.
const FilterType* FindFilterType(FilterKind kind);
// Adds a type that is not part of the library, and its policies, before any
// filter is read. Not thread safe. `type` lives as long as the process.
void RegisterFilterType(const FilterType* type);

// Makes the policies of a type known to `library`.
void RegisterPolicies(const FilterType& type, ObjectLibrary* library);

// The allowed values of filter_policy, for messages: all short forms, then, if
// `object_forms`, all object forms.
std::string PolicyUsage(bool object_forms);

}  // namespace ROCKSDB_NAMESPACE::protean
