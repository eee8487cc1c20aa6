// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/filter_kinds.h"

#include <array>

#include "rocksdb/filter_policy.h"
#include "rocksdb/utilities/object_registry.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

struct TypeList {
  std::vector<const FilterType*> all;
  std::array<const FilterType*, 256> by_kind{};

  void Add(const FilterType* type) {
    all.push_back(type);
    by_kind[static_cast<uint8_t>(type->kind)] = type;
  }
};

TypeList& Types() {
  static TypeList* const types = [] {
    auto* list = new TypeList;
    for (const FilterType* type : OwnFilterTypes()) list->Add(type);
    return list;
  }();
  return *types;
}

}  // namespace

const std::vector<const FilterType*>& FilterTypes() { return Types().all; }

const FilterType* FindFilterType(FilterKind kind) {
  return Types().by_kind[static_cast<uint8_t>(kind)];
}

void RegisterFilterType(const FilterType* type) {
  Types().Add(type);
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
