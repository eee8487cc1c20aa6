// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/proteus/proteus_policy.h"

#include <algorithm>
#include <limits>
#include <map>
#include <unordered_map>

#include "rocksdb/convenience.h"
#include "util/string_util.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

using Options = ProteusPolicyOptions;

constexpr char kBudgetOption[] = "filter_budget_bytes";
constexpr char kWholeKeysOption[] = "point_lookups_use_whole_keys";
constexpr char kSeedOption[] = "seed_file";
constexpr char kSamplesOption[] = "samples_file";

// The policies, which differ only in the designs that they search.
struct Variant {
  DesignSpace space;
  const char* class_name;
  const char* short_name;
};
constexpr Variant kVariants[] = {
    {DesignSpace::kProteus, "protean.Proteus", "proteus"},
    {DesignSpace::kOnePrefixFilter, "protean.PrefixBloom", "prefixbloom"},
    {DesignSpace::kTwoPrefixFilters, "protean.TwoPrefixBloom", "prefixbloom2"},
};

const Variant& VariantOf(DesignSpace space) {
  return *std::find_if(
      std::begin(kVariants), std::end(kVariants),
      [space](const Variant& variant) { return variant.space == space; });
}

// The kinds of sets that a value of prefix_filter_type allows: all, or the one
// of that number.
std::vector<AmqKind> KindsOf(uint32_t prefix_filter_type) {
  std::vector<AmqKind> kinds;
  for (size_t i = 0; i < AmqTypes().size(); i++) {
    if (prefix_filter_type == Options::kAutoType ||
        prefix_filter_type == i + 1) {
      kinds.push_back(AmqTypes()[i]->kind);
    }
  }
  return kinds;
}

// The allowed values of options; `owner` is the policy's name in messages.
DecimalRange BitsRange(const char* owner) {
  return {owner, "bits_per_key", Options::kMinBitsPerKey,
          Options::kMaxBitsPerKey, "12 or 10.5"};
}
Choices TypeChoices(const char* owner) {
  return {owner, "prefix_filter_type", [] {
            std::vector<std::string> names = {"kAuto"};
            for (const AmqType* type : AmqTypes()) {
              std::string name = type->name;
              name[0] = static_cast<char>(toupper(name[0]));
              names.push_back("k" + name);
            }
            return names;
          }};
}

// Calls visit(member, allowed) for each option that does not allow any value of
// its type.
template <class Visit>
void ForEachOption(const char* owner, const Visit& visit) {
  using Count = WholeNumberRange;
  constexpr uint64_t kMaxCount = std::numeric_limits<uint32_t>::max();
  visit(&Options::bits_per_key, BitsRange(owner));
  visit(&Options::filter_budget_bytes,
        Count{owner, kBudgetOption, Options::kMinFilterBudget,
              Options::kMaxFilterBudget, /*examples=*/"", /*or_zero=*/true});
  visit(&Options::prefix_filter_type, TypeChoices(owner));
  visit(&Options::level_bits,
        Choices{owner, "level_bits", [] {
                  return std::vector<std::string>{"kAuto", "kEqual"};
                }});
  visit(&Options::false_positive_cost_micros,
        Count{owner, "false_positive_cost_micros", 0, Options::kMaxCostMicros});
  visit(&Options::queries_per_key,
        DecimalRange{owner, "queries_per_key", kFewQueriesPerKey,
                     kManyQueriesPerKey, "0.1 or 0.05", /*or_zero=*/true});
  visit(&Options::sample_capacity,
        Count{owner, "sample_capacity", 1, kMaxCount});
  visit(&Options::sample_every, Count{owner, "sample_every", 1, kMaxCount});
}

using TypeInfo = std::unordered_map<std::string, OptionTypeInfo>;

const TypeInfo* TypeInfoOf(DesignSpace space) {
  static const auto* const infos = [] {
    auto* all = new std::map<DesignSpace, TypeInfo>;
    for (const Variant& variant : kVariants) {
      TypeInfo& info = (*all)[variant.space];
      info = {
          {kWholeKeysOption,
           {offsetof(Options, point_lookups_use_whole_keys),
            OptionType::kBoolean}},
          {kSeedOption, {offsetof(Options, seed_file), OptionType::kString}},
          {"seeds", {offsetof(Options, seeds), OptionType::kString}},
          {kSamplesOption,
           {offsetof(Options, samples_file), OptionType::kString}},
      };
      // (SampleStoreOptions lie where the options begin.)
      ForEachOption(variant.class_name, [&](auto member, const auto& allowed) {
        info.emplace(allowed.option, Described(member, allowed));
      });
    }
    return all;
  }();
  return &infos->at(space);
}

std::string UsageOf(const Variant& variant) {
  return variant.short_name + std::string("[:BITS_PER_KEY[:TYPE]]");
}

// Parses NAME, NAME:BITS_PER_KEY or NAME:BITS_PER_KEY:TYPE.
Status Parse(const Variant& variant, const std::string& spec,
             std::unique_ptr<const FilterPolicy>* policy) {
  const char* const owner = variant.class_name;
  const std::string name = variant.short_name;
  const std::vector<std::string> parts = StringSplit(spec, ':');
  if (parts.empty() || parts.size() > 3 || parts[0] != name ||
      spec.back() == ':') {
    return Status::InvalidArgument(
        "filter_policy=" + spec +
        " is not allowed; allowed: " + UsageOf(variant) + ", such as " + name +
        ":12 or " + name + ":12:kBloom");
  }
  Options options;
  double bits = options.bits_per_key;
  size_t type = options.prefix_filter_type;
  Status s;
  if (parts.size() > 1) s = BitsRange(owner).Parse(parts[1], &bits);
  if (!s.ok() &&
      parts[1].find_first_not_of("0123456789.") != std::string::npos) {
    s = Status::InvalidArgument(std::string(s.getState()) +
                                "; a size of all filters together is {id=" +
                                owner + ";" + kBudgetOption + "=2G}");
  }
  if (s.ok() && parts.size() > 2) {
    s = TypeChoices(owner).Parse(parts[2], &type);
  }
  if (!s.ok()) return s;
  options.bits_per_key = bits;
  options.prefix_filter_type = static_cast<uint32_t>(type);
  policy->reset(new ProteusFilterPolicy(variant.space, options));
  return s;
}

}  // namespace

PolicyType ProteusPolicyType(DesignSpace space) {
  const Variant& variant = VariantOf(space);
  return {variant.class_name, variant.short_name, UsageOf(variant),
          [space] { return std::make_unique<ProteusFilterPolicy>(space); },
          [&variant](const std::string& spec,
                     std::unique_ptr<const FilterPolicy>* policy) {
            return Parse(variant, spec, policy);
          }};
}

const FilterType& ProteusFilterType() {
  static const auto* const type =
      new FilterType{kProteusKind,
                     "Proteus",
                     Proteus::Open,
                     {ProteusPolicyType(DesignSpace::kProteus)},
                     /*may_be_loose=*/true};
  return *type;
}

ProteusFilterPolicy::ProteusFilterPolicy(DesignSpace space,
                                         const ProteusPolicyOptions& options)
    : space_(space), options_(options) {
  RegisterOptions(&options_, TypeInfoOf(space));
}

const char* ProteusFilterPolicy::ClassName(DesignSpace space) {
  return VariantOf(space).class_name;
}

const char* ProteusFilterPolicy::NickName() const {
  return VariantOf(space_).short_name;
}

Status ProteusFilterPolicy::CheckOptions() const {
  const char* const owner = Name();
  Status s;
  ForEachOption(owner, [&](auto member, const auto& allowed) {
    if (s.ok()) s = allowed.Check(options_.*member);
  });
  if (!s.ok()) return s;
  if (options_.point_lookups_use_whole_keys &&
      space_ == DesignSpace::kTwoPrefixFilters) {
    // The place of the set of whole keys is taken.
    return Status::InvalidArgument(std::string(owner) + ": " +
                                   kWholeKeysOption +
                                   "=true is not allowed; allowed: false");
  }
  for (const auto& [name, file] :
       {std::make_pair(kSeedOption, &options_.seed_file),
        std::make_pair(kSamplesOption, &options_.samples_file)}) {
    if (file->find('\\') != std::string::npos) {
      return Status::InvalidArgument(
          std::string(owner) + ": " + name + "=" + *file + " is not allowed",
          "RocksDB does not read a backslash as it has written it; allowed: "
          "a path without any");
    }
  }
  return Status::OK();
}

Status ProteusFilterPolicy::ValidateOptions(
    const DBOptions& db_opts, const ColumnFamilyOptions& cf_opts) const {
  const Status s = CheckOptions();
  if (s.ok() && options_.point_lookups_use_whole_keys &&
      cf_opts.prefix_extractor != nullptr) {
    return Status::InvalidArgument(
        std::string(Name()) + ": " + kWholeKeysOption +
            "=true is not allowed with a prefix extractor",
        "RocksDB then does not say whether it asks for a key or for a prefix, "
        "which a set of whole keys does not hold");
  }
  return s.ok() ? ProteanFilterPolicy::ValidateOptions(db_opts, cf_opts) : s;
}

std::shared_ptr<SampleStore> ProteusFilterPolicy::Samples() const {
  std::call_once(samples_made_once_, [this] {
    SetSamples(std::make_shared<SampleStore>(options_));
    samples_made_.store(samples_.get(), std::memory_order_release);
  });
  return samples_;
}

void ProteusFilterPolicy::SetSamples(
    const std::shared_ptr<SampleStore>& samples) const {
  samples_ = samples;
  // A DB that is closed leaves no designs. The store may outlive the policy.
  samples->WhenClosed([designs = std::weak_ptr<DesignMemories>(designs_)](
                          const std::string& column_family) {
    if (const auto kept = designs.lock()) kept->Forget(column_family);
  });
}

std::string ProteusFilterPolicy::DesignOptions() const {
  ProteusPolicyOptions options = options_;
  static_cast<SampleStoreOptions&>(options) = SampleStoreOptions();
  return ProteusFilterPolicy(space_, options).ToString(ConfigOptions());
}

Status ProteusFilterPolicy::ParseOption(const ConfigOptions& config,
                                        const OptionTypeInfo& info,
                                        const std::string& name,
                                        const std::string& value,
                                        void* option) {
  const Status s =
      ProteanFilterPolicy::ParseOption(config, info, name, value, option);
  SampleStore* const samples = samples_made_.load(std::memory_order_acquire);
  if (s.ok() && samples != nullptr) {
    samples->SetLimits(options_.sample_capacity, options_.sample_every);
  }
  return s;
}

uint64_t ProteusFilterPolicy::PriceFor(uint64_t price) const {
  // Values that are not allowed leave the price alone.
  const uint32_t micros = options_.false_positive_cost_micros;
  constexpr uint64_t kNanosPerMicro = 1000;
  return micros == 0 || micros > Options::kMaxCostMicros
             ? price
             : kNanosPerMicro * micros;
}

FileBuilders ProteusFilterPolicy::NewFileBuilders(
    const FilterBuildingContext& context, Env* env, uint64_t price) const {
  // A writer of files without a DB validates nothing. Invalid options are then
  // the default ones.
  const ProteusPolicyOptions options =
      CheckOptions().ok() ? options_ : ProteusPolicyOptions();
  ProteusSettings settings;
  settings.space = space_;
  settings.bits_per_key = options.bits_per_key;
  settings.kinds = KindsOf(options.prefix_filter_type);
  settings.keys_alone = options.point_lookups_use_whole_keys;
  settings.demand.price = PriceFor(price);
  const bool has_budget = options.filter_budget_bytes > 0;
  // Files that are written outside of a DB are in no tree.
  if (has_budget ? context.level_at_creation >= 0
                 : options.level_bits == Options::kAutoLevelBits) {
    // The groups of a file share it.
    settings.bits_of_file = std::make_shared<FileBits>(
        filters_, Samples(), options.filter_budget_bytes, options.bits_per_key,
        context, env);
    if (!has_budget) {
      settings.max_bits_of_file =
          options.bits_per_key + (context.is_bottommost ? 0 : kMaxTaken);
    } else if (context.level_at_creation > 0) {
      // RocksDB cuts the files of a compaction by the sizes that it is told
      // before the bits of the file are known.
      settings.bits_per_key = settings.bits_of_file->AverageBits(
          Options::kMinBitsPerKey, Options::kMaxBitsPerKey);
      settings.max_bits_of_file = settings.bits_per_key + kMaxTaken;
    }
  }
  // Filters on trial, which have no log, and files that are written outside of
  // a DB get the best designs.
  const bool keeps_designs =
      context.level_at_creation >= 0 && context.info_log != nullptr;
  settings.memory =
      keeps_designs ? designs_->Of(context.info_log, ColumnFamilyOf(context),
                                   CapOf(context.table_options),
                                   &settings.memory_is_shared)
                    : std::make_shared<DesignMemory>();
  const std::shared_ptr<QueryQueue> queue =
      Samples()->Queue(ColumnFamilyOf(context), env, /*logger=*/nullptr);
  if (options.queries_per_key > 0) {
    settings.demand.queries_per_key = options.queries_per_key;
  } else if (keeps_designs && settings.memory_is_shared) {
    // Not in a refresh, which searches all designs anew.
    const double least =
        context.is_bottommost ? kFewQueriesInLastLevel : kFewQueriesPerKey;
    settings.queries_per_key = [queue, least](uint64_t num_keys) {
      return std::max(least, queue->QueriesPerKey(num_keys));
    };
  }
  FileBuilders builders;
  builders.kind = kProteusKind;
  builders.make = [settings, queue](const FilterTask& task) {
    return std::make_unique<ProteusBuilder>(
        settings,
        [queue](const Slice& smallest, const Slice& largest, size_t most) {
          return queue->SnapshotFor(smallest, largest, most);
        },
        task);
  };
  builders.keep_range = has_budget;
  builders.tell_lengths = !settings.keys_alone;
  return builders;
}

}  // namespace ROCKSDB_NAMESPACE::protean
