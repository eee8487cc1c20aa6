#include "filter_policy/proteus/proteus_policy.h"

#include <cmath>
#include <limits>
#include <unordered_map>

#include "filter_policy/bounded_option.h"
#include "filter_policy/decimal.h"
#include "util/string_util.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

using Options = ProteusPolicyOptions;

constexpr uint32_t kMaxCount = std::numeric_limits<uint32_t>::max();

const std::string kBitsOption = "bits_per_key";
constexpr int kBitsDigits = 6;  // behind the point, as RocksDB writes numbers
const std::string kAmqOption = "amq";
const std::string kLevelBitsOption = "level_bits";
const std::string kCapacityOption = "sample_capacity";
const std::string kEveryOption = "sample_every";
const std::string kSeedOption = "seed_file";
const std::string kSamplesOption = "samples_file";

const std::string kAutoAmq = "auto";
const std::string kAutoLevelBits = "auto";
const std::string kEqualLevelBits = "equal";

// The kinds of sets that a value of the option allows; none if it is unknown.
std::vector<AmqKind> ParseAmq(const std::string& name) {
  std::vector<AmqKind> kinds;
  for (const AmqType* type : AmqTypes()) {
    if (name == type->name || name == kAutoAmq) kinds.push_back(type->kind);
  }
  return kinds;
}

Status RefuseBits(const std::string& owner, const std::string& text) {
  return Status::InvalidArgument(
      owner + ": " + kBitsOption + "=" + text +
      " is not allowed; allowed: numbers from 2 to 64, such as 12 or 10.5");
}

Status CheckBits(const std::string& owner, double bits) {
  if (bits >= Options::kMinBitsPerKey && bits <= Options::kMaxBitsPerKey) {
    return Status::OK();
  }
  return RefuseBits(owner, DecimalText(bits, kBitsDigits));
}

Status ParseBits(const std::string& owner, const std::string& text,
                 double* bits) {
  double number;
  if (!ParseDecimal(text, &number) || !CheckBits(owner, number).ok()) {
    return RefuseBits(owner, text);
  }
  *bits = number;
  return Status::OK();
}

Status CheckAmq(const std::string& owner, const std::string& name) {
  if (!ParseAmq(name).empty()) return Status::OK();
  std::string allowed;
  for (const AmqType* type : AmqTypes()) {
    allowed += std::string(type->name) + ", ";
  }
  return Status::InvalidArgument(owner + ": " + kAmqOption + "=" + name +
                                 " is not allowed; allowed: " + allowed +
                                 kAutoAmq);
}

Status CheckLevelBits(const std::string& owner, const std::string& name) {
  if (name == kAutoLevelBits || name == kEqualLevelBits) return Status::OK();
  return Status::InvalidArgument(owner + ": " + kLevelBitsOption + "=" + name +
                                 " is not allowed; allowed: " + kAutoLevelBits +
                                 ", " + kEqualLevelBits);
}

using TypeInfo = std::unordered_map<std::string, OptionTypeInfo>;

TypeInfo* MakeTypeInfo(const std::string& owner) {
  return new TypeInfo{
      {kBitsOption,
       OptionTypeInfo(offsetof(Options, bits_per_key), OptionType::kDouble)
           .SetParseFunc([owner](const ConfigOptions& /*options*/,
                                 const std::string& /*name*/,
                                 const std::string& text, void* addr) {
             return ParseBits(owner, text, static_cast<double*>(addr));
           })
           .SetSerializeFunc([](const ConfigOptions& /*options*/,
                                const std::string& /*name*/, const void* addr,
                                std::string* text) {
             *text =
                 DecimalText(*static_cast<const double*>(addr), kBitsDigits);
             return Status::OK();
           })},
      {kAmqOption,
       OptionTypeInfo(offsetof(Options, amq), OptionType::kString)
           .SetParseFunc([owner](const ConfigOptions& /*options*/,
                                 const std::string& /*name*/,
                                 const std::string& text, void* addr) {
             const Status s = CheckAmq(owner, text);
             if (s.ok()) *static_cast<std::string*>(addr) = text;
             return s;
           })},
      {kLevelBitsOption,
       OptionTypeInfo(offsetof(Options, level_bits), OptionType::kString)
           .SetParseFunc([owner](const ConfigOptions& /*options*/,
                                 const std::string& /*name*/,
                                 const std::string& text, void* addr) {
             const Status s = CheckLevelBits(owner, text);
             if (s.ok()) *static_cast<std::string*>(addr) = text;
             return s;
           })},
      {kCapacityOption,
       BoundedOption(owner, offsetof(Options, sample_capacity), 1, kMaxCount)},
      {kEveryOption,
       BoundedOption(owner, offsetof(Options, sample_every), 1, kMaxCount)},
      {kSeedOption,
       OptionTypeInfo(offsetof(Options, seed_file), OptionType::kString)},
      {kSamplesOption,
       OptionTypeInfo(offsetof(Options, samples_file), OptionType::kString)},
  };
}

const TypeInfo* TypeInfoOf(DesignSpace space) {
  static const TypeInfo* const infos[] = {
      MakeTypeInfo(ProteusFilterPolicy::ClassName(DesignSpace(0))),
      MakeTypeInfo(ProteusFilterPolicy::ClassName(DesignSpace(1))),
      MakeTypeInfo(ProteusFilterPolicy::ClassName(DesignSpace(2))),
  };
  return infos[static_cast<size_t>(space)];
}

// NAME:BITS_PER_KEY or NAME:BITS_PER_KEY:AMQ
template <DesignSpace kSpace>
Status Parse(const std::string& spec,
             std::unique_ptr<const FilterPolicy>* policy) {
  const std::string owner = ProteusFilterPolicy::ClassName(kSpace);
  const std::string name = ProteusFilterPolicy::ShortName(kSpace);
  const std::vector<std::string> parts = StringSplit(spec, ':');
  if (parts.size() < 2 || parts.size() > 3 || parts[0] != name ||
      spec.back() == ':') {
    return Status::InvalidArgument("filter_policy=" + spec +
                                   " is not allowed; allowed: " + name +
                                   ":BITS_PER_KEY, such as " + name +
                                   ":12, or " + name + ":BITS_PER_KEY:AMQ");
  }
  ProteusPolicyOptions options;
  Status s = ParseBits(owner, parts[1], &options.bits_per_key);
  if (s.ok() && parts.size() == 3) {
    options.amq = parts[2];
    s = CheckAmq(owner, options.amq);
  }
  if (s.ok()) policy->reset(new ProteusFilterPolicy(kSpace, options));
  return s;
}

template <DesignSpace kSpace>
PolicyType TypeOf(const char* usage) {
  return {ProteusFilterPolicy::ClassName(kSpace),
          ProteusFilterPolicy::ShortName(kSpace), usage,
          []() -> std::unique_ptr<const FilterPolicy> {
            return std::make_unique<ProteusFilterPolicy>(kSpace);
          },
          Parse<kSpace>};
}

}  // namespace

const FilterType& ProteusFilterType() {
  static const FilterType type = {
      kProteusKind,
      "Proteus",
      Proteus::Open,
      {TypeOf<DesignSpace::kProteus>("proteus:BITS_PER_KEY[:AMQ]"),
       TypeOf<DesignSpace::kOnePrefixFilter>("prefixbloom:BITS_PER_KEY[:AMQ]"),
       TypeOf<DesignSpace::kTwoPrefixFilters>(
           "prefixbloom2:BITS_PER_KEY[:AMQ]")}};
  return type;
}

ProteusFilterPolicy::ProteusFilterPolicy(DesignSpace space,
                                         const ProteusPolicyOptions& options)
    : space_(space), options_(options) {
  RegisterOptions(&options_, TypeInfoOf(space));
}

const char* ProteusFilterPolicy::ClassName(DesignSpace space) {
  switch (space) {
    case DesignSpace::kOnePrefixFilter:
      return "protean.PrefixBloom";
    case DesignSpace::kTwoPrefixFilters:
      return "protean.TwoPrefixBloom";
    default:
      return "protean.Proteus";
  }
}

const char* ProteusFilterPolicy::ShortName(DesignSpace space) {
  switch (space) {
    case DesignSpace::kOnePrefixFilter:
      return "prefixbloom";
    case DesignSpace::kTwoPrefixFilters:
      return "prefixbloom2";
    default:
      return "proteus";
  }
}

Status ProteusFilterPolicy::CheckOptions() const {
  const std::string owner = Name();
  Status s = CheckBits(owner, options_.bits_per_key);
  if (s.ok()) s = CheckAmq(owner, options_.amq);
  if (s.ok()) s = CheckLevelBits(owner, options_.level_bits);
  if (s.ok()) {
    s = CheckOptionRange(owner, kCapacityOption, options_.sample_capacity, 1,
                         kMaxCount);
  }
  if (s.ok()) {
    s = CheckOptionRange(owner, kEveryOption, options_.sample_every, 1,
                         kMaxCount);
  }
  for (const auto& [name, file] :
       {std::make_pair(kSeedOption, &options_.seed_file),
        std::make_pair(kSamplesOption, &options_.samples_file)}) {
    if (s.ok() && file->find('\\') != std::string::npos) {
      s = Status::InvalidArgument(
          owner + ": " + name + "=" + *file + " is not allowed",
          "RocksDB does not read a backslash as it has written it; allowed: "
          "a path without any");
    }
  }
  return s;
}

Status ProteusFilterPolicy::ValidateOptions(
    const DBOptions& db_opts, const ColumnFamilyOptions& cf_opts) const {
  const Status s = CheckOptions();
  return s.ok() ? RangeFilterPolicy::ValidateOptions(db_opts, cf_opts) : s;
}

std::shared_ptr<SampleStore> ProteusFilterPolicy::Samples() const {
  std::call_once(samples_made_, [this] {
    SampleStoreOptions store;
    store.capacity = options_.sample_capacity;
    store.sample_every = options_.sample_every;
    store.seed_file = options_.seed_file;
    store.samples_file = options_.samples_file;
    samples_ = std::make_shared<SampleStore>(store);
  });
  return samples_;
}

std::unique_ptr<RangeFilterBuilder> ProteusFilterPolicy::NewRangeFilterBuilder(
    const FilterBuildingContext& context, Env* env) const {
  // Whoever writes files without a DB validates nothing: then bad options are
  // the default ones.
  const bool valid = CheckOptions().ok();
  const ProteusPolicyOptions defaults;
  const ProteusPolicyOptions& options = valid ? options_ : defaults;
  ProteusSettings settings;
  settings.space = space_;
  settings.bits_per_key = options.bits_per_key;
  settings.kinds = ParseAmq(options.amq);
  const std::string& column_family = ColumnFamilyOf(context);
  if (options.level_bits == kAutoLevelBits) {
    NewFile file;
    file.level = context.level_at_creation;
    file.is_bottommost = context.is_bottommost;
    settings.bits_of_file =
        [file, filters = filters_, bits_per_key = options.bits_per_key,
         tree = TreeFilters::Tree{context.info_log, column_family}](
            uint64_t keys) mutable {
          file.keys = keys;
          return BitsOfFile(filters->FiltersOf(tree), file, bits_per_key);
        };
  }
  const std::shared_ptr<QueryQueue> queue =
      Samples()->Queue(column_family, env, /*logger=*/nullptr);
  return std::make_unique<ProteusBuilder>(
      std::move(settings), [queue] { return queue->Snapshot(); });
}

}  // namespace ROCKSDB_NAMESPACE::protean
