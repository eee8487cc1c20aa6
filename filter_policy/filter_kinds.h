//  What a kind of filter consists of. A new filter is a folder of its own that
//  describes itself by a FilterType, and one line in filter_kinds.cc: what
//  opens blocks, registers policies, explains errors and prints help goes
//  through the list of all types.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "filter_policy/range_filter.h"

namespace ROCKSDB_NAMESPACE {
class FilterPolicy;
class ObjectLibrary;
}  // namespace ROCKSDB_NAMESPACE

namespace ROCKSDB_NAMESPACE::protean {

// Stored in filter blocks: never reuse a number. Each kind's own is beside its
// FilterType.
enum class FilterKind : uint8_t {
  kAlwaysTrue = 0,  // no filter: the keys could not be held
};

// Opens a payload of one kind in place, which was built with that salt. The
// payload outlives the filter and is followed by kReadPadding readable bytes.
// Corruption if it is damaged.
using OpenFilterFunction = Status (*)(const Slice& payload,
                                      const FilterSalt& salt,
                                      std::unique_ptr<RangeFilter>* filter);

// A filter policy that options can name, in an object form {id=CLASS;...} or in
// a short form NAME:....
struct PolicyType {
  const char* class_name;  // such as protean.SuRF
  const char* short_name;  // such as surf
  const char* usage;  // of the short form, such as surf:HASH_BITS:REAL_BITS

  // A policy with default options.
  std::unique_ptr<const FilterPolicy> (*make)();
  // A policy by its short form. InvalidArgument, with what is allowed, if
  // `spec`, which begins with the short name, is anything else.
  Status (*parse)(const std::string& spec,
                  std::unique_ptr<const FilterPolicy>* policy);
};

struct FilterType {
  FilterKind kind;
  const char* name;  // for people
  OpenFilterFunction open;
  std::vector<PolicyType> policies;  // that build filters of this kind
};

// All types.
const std::vector<const FilterType*>& FilterTypes();
// The type with that number, or nullptr if this version does not know it.
const FilterType* FindFilterType(FilterKind kind);
// Adds a type that is not part of the library, and its policies. Called before
// any filter of that kind is read; not thread safe. `type` must live as long as
// the process.
void RegisterFilterType(const FilterType* type);

// Makes the policies of a type known to `library`.
void RegisterPolicies(const FilterType& type, ObjectLibrary* library);

// What filter_policy may be, for messages: all short forms, then, if
// `object_forms`, all object forms.
std::string PolicyUsage(bool object_forms);

}  // namespace ROCKSDB_NAMESPACE::protean
