// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/filter_kinds.h"

#include "rocksdb/filter_policy.h"
#include "rocksdb/utilities/object_registry.h"

namespace ROCKSDB_NAMESPACE::protean {

const FilterType* FindFilterType(FilterKind kind) {
  for (const FilterType* type : FilterTypes()) {
    if (type->kind == kind) return type;
  }
  return nullptr;
}

void RegisterFilterType(const FilterType* type) {
  FilterTypes().push_back(type);
  RegisterPolicies(*type, ObjectLibrary::Default().get());
}

void RegisterPolicies(const FilterType& type, ObjectLibrary* library) {
  for (const PolicyType& policy : type.policies) {
    const auto make = policy.make;
    library->AddFactory<const FilterPolicy>(
        policy.class_name, [make](const std::string& /*uri*/,
                                  std::unique_ptr<const FilterPolicy>* guard,
                                  std::string* /*errmsg*/) {
          *guard = make();
          return guard->get();
        });
    // Matches anything that begins with the short name, so that the parser can
    // say what is wrong with the rest.
    const auto parse = policy.parse;
    library->AddFactory<const FilterPolicy>(
        ObjectLibrary::PatternEntry(policy.short_name)
            .AddSeparator(":", /*at_least_one=*/false),
        [parse](const std::string& uri,
                std::unique_ptr<const FilterPolicy>* guard,
                std::string* errmsg) -> const FilterPolicy* {
          const Status s = parse(uri, guard);
          if (!s.ok()) *errmsg = s.getState();
          return guard->get();
        });
  }
}

std::string PolicyUsage(bool object_forms) {
  std::string short_forms;
  std::string objects;
  for (const FilterType* type : FilterTypes()) {
    for (const PolicyType& policy : type->policies) {
      if (!short_forms.empty()) short_forms += ", ";
      short_forms += policy.usage;
      objects += std::string(", {id=") + policy.class_name + ";...}";
    }
  }
  return object_forms ? short_forms + objects : short_forms;
}

}  // namespace ROCKSDB_NAMESPACE::protean
