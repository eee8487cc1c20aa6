// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/levels_policy.h"

#include <algorithm>
#include <unordered_map>

#include "filter_policy/option_types.h"
#include "rocksdb/convenience.h"
#include "rocksdb/table.h"
#include "util/defer.h"
#include "util/string_util.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

using Options = LevelsPolicyOptions;

const char kListInList[] = "a list cannot be part of a list";

bool IsList(const FilterPolicy& policy) {
  return policy.IsInstanceOf(LevelsFilterPolicy::kClassName());
}

Status Refuse(const std::string& list, const std::string& why) {
  return Status::InvalidArgument(
      std::string(LevelsFilterPolicy::kClassName()) + ": policies=" + list +
      " is not allowed: " + why +
      "; allowed: filter policies from level 0 on, with commas between them, "
      "such as bloomfilter:10,proteus:12");
}

// Returns the number of braces that are open after each character.
std::vector<int> DepthsOf(const std::string& text) {
  std::vector<int> depths;
  depths.reserve(text.size());
  int depth = 0;
  for (const char c : text) {
    depth += c == '{' ? 1 : c == '}' ? -1 : 0;
    depths.push_back(depth);
  }
  return depths;
}

// Returns the list without braces around all of it. Some versions of RocksDB
// remove them from a value before they pass it on, others do not. The braces of
// a single policy with options stay.
std::string WithoutBraces(const std::string& list) {
  const std::vector<int> depths = DepthsOf(list);
  if (list.empty() || list[0] != '{' ||
      std::find(depths.begin(), depths.end(), 0) != depths.end() - 1) {
    return list;
  }
  for (size_t i = 0; i < list.size(); i++) {
    if (list[i] == '=' && depths[i] == 1) return list;
  }
  return list.substr(1, list.size() - 2);
}

// RocksDB accepts an object whose braces do not match, but cannot read it back
// once it is written as a part of other options.
bool BracesMatch(const std::string& text) {
  const std::vector<int> depths = DepthsOf(text);
  return depths.empty() ||
         (depths.back() == 0 &&
          *std::min_element(depths.begin(), depths.end()) == 0);
}

// Escapes # as RocksDB does in strings, since it begins a comment in an OPTIONS
// file.
std::string WithHashesEscaped(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    const bool is_escaped = !escaped.empty() && escaped.back() == '\\';
    if (c == '#' && !is_escaped) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

// True while the thread makes the policies of a list. A policy that is a list
// itself is refused before it makes its own policies, so nesting goes no
// deeper.
thread_local bool list_is_being_made = false;

Status ParseList(const ConfigOptions& config, const std::string& /*name*/,
                 const std::string& value, Options* options) {
  if (list_is_being_made) return Status::InvalidArgument(kListInList);
  const SaveAndRestore<bool> making(&list_is_being_made, true);
  const std::string list = WithoutBraces(trim(value));
  ConfigOptions strict = config;
  strict.ignore_unknown_options = false;
  strict.ignore_unsupported_options = false;
  std::vector<Options::Entry> policies;
  for (const std::string& part : SplitPolicies(list)) {
    // RocksDB trims white space as well, but not after braces.
    const std::string text = trim(part);
    Options::Entry entry;
    entry.text = WithHashesEscaped(text);
    const Status s =
        text.empty() ? Status::InvalidArgument("a policy is missing")
        : !BracesMatch(text)
            ? Status::InvalidArgument("the braces of " + text + " do not match")
            : FilterPolicy::CreateFromString(strict, text, &entry.policy);
    if (!s.ok()) return Refuse(list, s.ToString());
    // An empty list has no policies to make, and is found only here.
    if (entry.policy != nullptr && IsList(*entry.policy)) {
      return Refuse(list, kListInList);
    }
    policies.push_back(std::move(entry));
  }
  options->policies = std::move(policies);
  return Status::OK();
}

std::string ListOf(const Options& options) {
  std::string list;
  for (const Options::Entry& entry : options.policies) {
    if (!list.empty()) list += ',';
    list += entry.text;
  }
  return list;
}

const std::unordered_map<std::string, OptionTypeInfo>& TypeInfo() {
  // The policies may have options of their own, so the list is in braces.
  static const auto* const info =
      new std::unordered_map<std::string, OptionTypeInfo>{
          {"policies", TextOption<Options>(0, OptionTypeFlags::kNone, ParseList,
                                           [](const Options& options) {
                                             return "{" + ListOf(options) + "}";
                                           })}};
  return *info;
}

// levels:POLICY,POLICY,...
Status Parse(const std::string& spec,
             std::unique_ptr<const FilterPolicy>* policy) {
  const size_t colon = spec.find(':');
  Options options;
  const Status s = ParseList(
      ConfigOptions(), "policies",
      colon == std::string::npos ? "" : spec.substr(colon + 1), &options);
  if (s.ok()) policy->reset(new LevelsFilterPolicy(std::move(options)));
  return s;
}

}  // namespace

std::vector<std::string> SplitPolicies(const std::string& list) {
  const std::vector<int> depths = DepthsOf(list);
  std::vector<std::string> parts(1);
  for (size_t i = 0; i < list.size(); i++) {
    if (list[i] == ',' && depths[i] == 0) {
      parts.emplace_back();
    } else {
      parts.back() += list[i];
    }
  }
  return parts;
}

std::string TextOf(const FilterPolicy* policy) {
  if (policy == nullptr) return "nullptr";
  ConfigOptions config;
  config.delimiter = ";";  // all on one line
  const std::string text = policy->ToString(config);
  return text.find('=') == std::string::npos ? text : "{" + text + "}";
}

PolicyType LevelsPolicyType() {
  return {LevelsFilterPolicy::kClassName(), LevelsFilterPolicy::kNickName(),
          "levels:POLICY,POLICY,...",
          [] { return std::make_unique<LevelsFilterPolicy>(); }, Parse};
}

LevelsFilterPolicy::LevelsFilterPolicy(LevelsPolicyOptions options)
    : options_(std::move(options)) {
  RegisterOptions(&options_, &TypeInfo());
}

Status LevelsFilterPolicy::ValidateOptions(
    const DBOptions& db_opts, const ColumnFamilyOptions& cf_opts) const {
  const auto refuse = [this](const std::string& why) {
    return Refuse(ListOf(options_), why);
  };
  if (options_.policies.empty()) return refuse("no policy is named");
  const bool any_policy = cf_opts.table_factory != nullptr &&
                          cf_opts.table_factory->IsInstanceOf("ProteanTable");
  Samples();
  int budgets = 0;
  for (const Options::Entry& entry : options_.policies) {
    const ProteanFilterPolicy* own = AsProteanFilterPolicy(entry.policy.get());
    if (own != nullptr && own->FilterMemory() > 0 && ++budgets > 1) {
      return refuse(
          "filter_budget_bytes is for the filters of all levels, so only one "
          "of the policies can have it");
    }
    if (own == nullptr && !any_policy) {
      return refuse(entry.text + " needs table_factory=ProteanTable");
    }
    if (entry.policy == nullptr) continue;
    if (IsList(*entry.policy)) return refuse(kListInList);
    const Status s = entry.policy->ValidateOptions(db_opts, cf_opts);
    if (!s.ok()) return s;
  }
  return ProteanFilterPolicy::ValidateOptions(db_opts, cf_opts);
}

std::vector<const ProteanFilterPolicy*> LevelsFilterPolicy::Own() const {
  std::vector<const ProteanFilterPolicy*> own;
  for (const Options::Entry& entry : options_.policies) {
    const auto* policy = AsProteanFilterPolicy(entry.policy.get());
    if (policy != nullptr) own.push_back(policy);
  }
  return own;
}

const ProteanFilterPolicy* LevelsFilterPolicy::Budgeted() const {
  for (const ProteanFilterPolicy* own : Own()) {
    if (own->FilterMemory() > 0) return own;
  }
  return nullptr;
}

std::shared_ptr<TreeFilters> LevelsFilterPolicy::Filters() const {
  const ProteanFilterPolicy* const budgeted = Budgeted();
  return budgeted == nullptr ? nullptr : budgeted->Filters();
}

std::shared_ptr<void> LevelsFilterPolicy::SearchAllDesigns() const {
  const auto all = std::make_shared<std::vector<std::shared_ptr<void>>>();
  for (const ProteanFilterPolicy* own : Own()) {
    all->push_back(own->SearchAllDesigns());
  }
  return all;
}

uint64_t LevelsFilterPolicy::FilterMemory() const {
  const ProteanFilterPolicy* const budgeted = Budgeted();
  return budgeted == nullptr ? 0 : budgeted->FilterMemory();
}

const FilterPolicy* LevelsFilterPolicy::ForLevel(int level) const {
  const std::vector<Options::Entry>& policies = options_.policies;
  Samples();
  if (policies.empty()) return nullptr;
  const size_t last = policies.size() - 1;
  return policies[level < 0 ? last : std::min<size_t>(level, last)]
      .policy.get();
}

FileBuilders LevelsFilterPolicy::NewFileBuilders(
    const FilterBuildingContext& context, Env* env, uint64_t price) const {
  const ProteanFilterPolicy* own =
      AsProteanFilterPolicy(ForLevel(context.level_at_creation));
  return own == nullptr ? FileBuilders()
                        : own->NewFileBuilders(context, env, price);
}

std::shared_ptr<SampleStore> LevelsFilterPolicy::Samples() const {
  std::call_once(samples_shared_, [this] {
    for (const ProteanFilterPolicy* own : Own()) {
      if (samples_ != nullptr) {
        own->ShareSamples(samples_);
      } else {
        samples_ = own->Samples();
      }
    }
  });
  return samples_;
}

}  // namespace ROCKSDB_NAMESPACE::protean
