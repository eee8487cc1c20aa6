// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/proteus/proteus_policy.h"

#include <algorithm>
#include <limits>
#include <map>
#include <unordered_map>

#include "filter_policy/bounded_option.h"
#include "filter_policy/decimal.h"
#include "rocksdb/convenience.h"
#include "util/string_util.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

using Options = ProteusPolicyOptions;

constexpr uint32_t kMaxCount = std::numeric_limits<uint32_t>::max();

constexpr char kBitsOption[] = "bits_per_key";
constexpr int kBitsDigits = 6;  // after the point, as RocksDB writes numbers
constexpr char kAmqOption[] = "amq";
constexpr char kLevelBitsOption[] = "level_bits";
constexpr char kPointsOption[] = "points";
constexpr char kMemoryOption[] = "filter_memory";
constexpr char kPriceOption[] = "false_positive_price";
constexpr char kCapacityOption[] = "sample_capacity";
constexpr char kEveryOption[] = "sample_every";
constexpr char kSeedOption[] = "seed_file";
constexpr char kSamplesOption[] = "samples_file";
constexpr char kSeedsOption[] = "seeds";

constexpr char kAuto[] = "auto";  // of several options
constexpr char kEqualLevelBits[] = "equal";
constexpr char kKeysForPoints[] = "keys";

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

// The kinds of sets that a value of the option allows; none if the value is
// unknown.
std::vector<AmqKind> ParseAmq(const std::string& name) {
  std::vector<AmqKind> kinds;
  for (const AmqType* type : AmqTypes()) {
    if (name == kAuto || name == type->name) {
      kinds.push_back(type->kind);
    }
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

Status RefuseMemory(const std::string& owner, const std::string& text) {
  return Status::InvalidArgument(
      owner + ": " + kMemoryOption + "=" + text +
      " is not allowed; allowed: 0, or a size from 1K to 2^60 bytes, such as "
      "2G or 512M, which all filters together may take");
}

Status CheckMemory(const std::string& owner, uint64_t bytes) {
  if (bytes == 0 || (bytes >= Options::kMinFilterMemory &&
                     bytes <= Options::kMaxFilterMemory)) {
    return Status::OK();
  }
  return RefuseMemory(owner, std::to_string(bytes));
}

// Parses a number of bytes, or of units that are powers of 1,024: 2G, 2GB or
// 2GiB, in any case.
bool ParseSize(const std::string& text, uint64_t* bytes) {
  const size_t digits =
      std::min(text.find_first_not_of("0123456789"), text.size());
  constexpr size_t kMaxDigits = 19;
  if (digits == 0 || digits > kMaxDigits) return false;
  uint64_t number = std::stoull(text.substr(0, digits));
  std::string unit;
  for (const char c : text.substr(digits)) {
    unit += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  }
  if (!unit.empty() && unit != "b") {
    const size_t power = std::string("kmgt").find(unit[0]);
    const std::string rest = unit.substr(1);
    if (power == std::string::npos ||
        (!rest.empty() && rest != "b" && rest != "ib")) {
      return false;
    }
    const auto shift = static_cast<int>(10 * (power + 1));
    if (number > Options::kMaxFilterMemory >> shift) return false;
    number <<= shift;
  }
  *bytes = number;
  return true;
}

Status ParseMemory(const std::string& owner, const std::string& text,
                   uint64_t* bytes) {
  uint64_t size;
  if (!ParseSize(text, &size) || !CheckMemory(owner, size).ok()) {
    return RefuseMemory(owner, text);
  }
  *bytes = size;
  return Status::OK();
}

Status CheckPrice(const std::string& owner, const std::string& text) {
  uint64_t price;
  if (text == kAuto || ParsePrice(text, &price)) return Status::OK();
  return Status::InvalidArgument(
      owner + ": " + kPriceOption + "=" + text +
      " is not allowed; allowed: auto, or a time from 1us to 100ms, such as "
      "2us or 0.2ms");
}

// Checks an option whose value is one of a few words, or a price.
Status CheckWord(const std::string& owner, const std::string& option,
                 const std::string& word) {
  if (option == kPriceOption) return CheckPrice(owner, word);
  std::vector<std::string> allowed;
  if (option == kAmqOption) {
    for (const AmqType* type : AmqTypes()) allowed.push_back(type->name);
    allowed.push_back(kAuto);
  } else if (option == kPointsOption) {
    allowed = {kAuto};
    // In 2PBF, the place of the set of whole keys is taken.
    if (owner != VariantOf(DesignSpace::kTwoPrefixFilters).class_name) {
      allowed.push_back(kKeysForPoints);
    }
  } else {
    allowed = {kAuto, kEqualLevelBits};
  }
  std::string list;
  for (const std::string& candidate : allowed) {
    if (word == candidate) return Status::OK();
    list += (list.empty() ? "" : ", ") + candidate;
  }
  return Status::InvalidArgument(owner + ": " + option + "=" + word +
                                 " is not allowed; allowed: " + list);
}

std::pair<const std::string, OptionTypeInfo> WordOption(
    const std::string& owner, const std::string& option, int offset) {
  return {option, OptionTypeInfo(offset, OptionType::kString)
                      .SetParseFunc(
                          [owner, option](const ConfigOptions& /*options*/,
                                          const std::string& /*name*/,
                                          const std::string& text, void* addr) {
                            const Status s = CheckWord(owner, option, text);
                            if (s.ok()) *static_cast<std::string*>(addr) = text;
                            return s;
                          })};
}

using TypeInfo = std::unordered_map<std::string, OptionTypeInfo>;

TypeInfo MakeTypeInfo(const std::string& owner) {
  return {
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
      {kMemoryOption,
       OptionTypeInfo(offsetof(Options, filter_memory), OptionType::kUInt64T)
           .SetParseFunc([owner](const ConfigOptions& /*options*/,
                                 const std::string& /*name*/,
                                 const std::string& text, void* addr) {
             return ParseMemory(owner, text, static_cast<uint64_t*>(addr));
           })},
      WordOption(owner, kAmqOption, offsetof(Options, amq)),
      WordOption(owner, kLevelBitsOption, offsetof(Options, level_bits)),
      WordOption(owner, kPointsOption, offsetof(Options, points)),
      WordOption(owner, kPriceOption, offsetof(Options, false_positive_price)),
      {kCapacityOption,
       BoundedOption(owner, offsetof(Options, sample_capacity), 1, kMaxCount)},
      {kEveryOption,
       BoundedOption(owner, offsetof(Options, sample_every), 1, kMaxCount)},
      {kSeedOption,
       OptionTypeInfo(offsetof(Options, seed_file), OptionType::kString)},
      {kSeedsOption,
       OptionTypeInfo(offsetof(Options, seeds), OptionType::kString)},
      {kSamplesOption,
       OptionTypeInfo(offsetof(Options, samples_file), OptionType::kString)},
  };
}

const TypeInfo* TypeInfoOf(DesignSpace space) {
  static const auto* const infos = [] {
    auto* all = new std::map<DesignSpace, TypeInfo>;
    for (const Variant& variant : kVariants) {
      (*all)[variant.space] = MakeTypeInfo(variant.class_name);
    }
    return all;
  }();
  return &infos->at(space);
}

// Parses NAME:BITS_PER_KEY or NAME:BITS_PER_KEY:AMQ. A size with its unit, such
// as 2G, is a filter_memory.
Status Parse(const Variant& variant, const std::string& spec,
             std::unique_ptr<const FilterPolicy>* policy) {
  const std::string owner = variant.class_name;
  const std::string name = variant.short_name;
  const std::vector<std::string> parts = StringSplit(spec, ':');
  if (parts.size() < 2 || parts.size() > 3 || parts[0] != name ||
      spec.back() == ':') {
    return Status::InvalidArgument("filter_policy=" + spec +
                                   " is not allowed; allowed: " + name +
                                   ":BITS_PER_KEY, such as " + name +
                                   ":12, or " + name + ":BITS_PER_KEY:AMQ");
  }
  ProteusPolicyOptions options;
  const bool is_memory =
      ParseSize(parts[1], &options.filter_memory) &&
      parts[1].find_first_not_of("0123456789") != std::string::npos;
  if (!is_memory) options.filter_memory = 0;
  Status s = is_memory ? ParseMemory(owner, parts[1], &options.filter_memory)
                       : ParseBits(owner, parts[1], &options.bits_per_key);
  if (s.ok() && parts.size() == 3) {
    options.amq = parts[2];
    s = CheckWord(owner, kAmqOption, options.amq);
  }
  if (s.ok()) policy->reset(new ProteusFilterPolicy(variant.space, options));
  return s;
}

}  // namespace

const FilterType& ProteusFilterType() {
  static const auto* const type = [] {
    auto* made = new FilterType{
        kProteusKind, "Proteus", Proteus::Open, {}, /*may_be_loose=*/true};
    for (const Variant& variant : kVariants) {
      made->policies.push_back(
          {variant.class_name, variant.short_name,
           variant.short_name + std::string(":BITS_PER_KEY[:AMQ]"),
           [&variant] {
             return std::make_unique<ProteusFilterPolicy>(variant.space);
           },
           [&variant](const std::string& spec,
                      std::unique_ptr<const FilterPolicy>* policy) {
             return Parse(variant, spec, policy);
           }});
    }
    return made;
  }();
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

const char* ProteusFilterPolicy::ShortName(DesignSpace space) {
  return VariantOf(space).short_name;
}

Status ProteusFilterPolicy::CheckOptions() const {
  const std::string owner = Name();
  Status s = CheckBits(owner, options_.bits_per_key);
  if (s.ok()) s = CheckMemory(owner, options_.filter_memory);
  if (s.ok()) s = CheckWord(owner, kAmqOption, options_.amq);
  if (s.ok()) s = CheckWord(owner, kLevelBitsOption, options_.level_bits);
  if (s.ok()) s = CheckWord(owner, kPointsOption, options_.points);
  if (s.ok()) s = CheckPrice(owner, options_.false_positive_price);
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
  if (s.ok() && options_.points == kKeysForPoints &&
      cf_opts.prefix_extractor != nullptr) {
    return Status::InvalidArgument(
        std::string(Name()) + ": " + kPointsOption + "=" + kKeysForPoints +
            " is not allowed with a prefix extractor",
        "RocksDB then does not say whether it asks for a key or for a prefix, "
        "which a set of whole keys does not hold");
  }
  return s.ok() ? RangeFilterPolicy::ValidateOptions(db_opts, cf_opts) : s;
}

std::shared_ptr<SampleStore> ProteusFilterPolicy::Samples() const {
  std::call_once(samples_made_, [this] {
    SampleStoreOptions store;
    store.capacity = options_.sample_capacity;
    store.sample_every = options_.sample_every;
    store.seed_file = options_.seed_file;
    store.seeds = options_.seeds;
    store.samples_file = options_.samples_file;
    samples_ = std::make_shared<SampleStore>(store);
  });
  return samples_;
}

std::string ProteusFilterPolicy::DesignOptions() const {
  std::call_once(design_options_made_, [this] {
    const ProteusPolicyOptions defaults;
    ProteusPolicyOptions options = options_;
    options.sample_capacity = defaults.sample_capacity;
    options.sample_every = defaults.sample_every;
    options.seed_file.clear();
    options.seeds.clear();
    options.samples_file.clear();
    design_options_ =
        ProteusFilterPolicy(space_, options).ToString(ConfigOptions());
  });
  return design_options_;
}

namespace {

using BitsOfFileFunction = decltype(ProteusSettings::bits_of_file);

// The rule of level_bits.h for a file.
BitsOfFileFunction BitsByLevel(std::shared_ptr<TreeFilters> filters,
                               const FilterBuildingContext& context,
                               double bits_per_key) {
  NewFile file;
  file.level = context.level_at_creation;
  file.is_bottommost = context.is_bottommost;
  return [file, filters = std::move(filters), bits_per_key,
          tree = TreeFilters::Tree{context.info_log, ColumnFamilyOf(context)},
          bits = 0.0](uint64_t keys, bool more_follow,
                      const Slice& /*smallest*/,
                      const Slice& /*largest*/) mutable {
    // Looking at the tree takes time. Groups look again only when the keys have
    // become twice as many.
    if (bits == 0 || keys >= 2 * file.keys) {
      const std::vector<FileFilter> others = filters->FiltersOf(tree);
      file.keys =
          more_follow ? std::max(keys, UsualKeys(others, file.level)) : keys;
      bits = BitsOfFile(others, file, bits_per_key);
    }
    return bits;
  };
}

}  // namespace

uint64_t ProteusFilterPolicy::PriceFor(uint64_t price) const {
  // "auto" and invalid values leave the price alone.
  ParsePrice(options_.false_positive_price, &price);
  return price;
}

FileBuilders ProteusFilterPolicy::NewFileBuilders(
    const FilterBuildingContext& context, Env* env, uint64_t price) const {
  // A writer of files without a DB validates nothing. Invalid options are then
  // the default ones.
  const bool valid = CheckOptions().ok();
  const ProteusPolicyOptions defaults;
  const ProteusPolicyOptions& options = valid ? options_ : defaults;
  ProteusSettings settings;
  settings.space = space_;
  settings.bits_per_key = options.bits_per_key;
  settings.kinds = ParseAmq(options.amq);
  settings.keys_alone = options.points == kKeysForPoints;
  settings.price = PriceFor(price);
  BitsOfFileFunction bits_of_file;
  // Files that are written outside of a DB are in no tree.
  if (options.filter_memory > 0 && context.level_at_creation >= 0) {
    const auto budget = std::make_shared<FileBudget>(
        filters_, budget_log_, Samples(), options.filter_memory, context, env);
    // RocksDB cuts the files of a compaction by the sizes that it is told
    // before the bits of the file are known.
    if (context.level_at_creation > 0) {
      settings.bits_per_key =
          budget->AverageBits(options.bits_per_key, Options::kMinBitsPerKey,
                              Options::kMaxBitsPerKey);
      settings.max_bits_of_file = settings.bits_per_key + kMaxTaken;
    }
    bits_of_file = [budget](uint64_t keys, bool more_follow,
                            const Slice& smallest, const Slice& largest) {
      return budget->BitsFor(keys, more_follow, smallest, largest);
    };
  } else if (options.filter_memory == 0 && options.level_bits == kAuto) {
    bits_of_file = BitsByLevel(filters_, context, options.bits_per_key);
    settings.max_bits_of_file =
        options.bits_per_key + (context.is_bottommost ? 0 : kMaxTaken);
  }
  // Filters on trial, which have no log, and files that are written outside of
  // a DB get the best designs.
  const bool keeps_designs =
      context.level_at_creation >= 0 && context.info_log != nullptr;
  settings.memory =
      keeps_designs ? designs_->Of(context.info_log, ColumnFamilyOf(context),
                                   &settings.memory_is_shared)
                    : std::make_shared<DesignMemory>();
  if (bits_of_file != nullptr) {
    // Asks for the keys of the file so far, of which each group knows its own.
    struct KeysOfFile {
      uint64_t count = 0;
      std::string smallest;
    };
    const auto asked =
        std::make_shared<std::pair<KeysOfFile, BitsOfFileFunction>>(
            KeysOfFile(), std::move(bits_of_file));
    settings.bits_of_file = [asked](uint64_t keys, bool more_follow,
                                    const Slice& smallest,
                                    const Slice& largest) {
      KeysOfFile& file = asked->first;
      if (file.count == 0) file.smallest = smallest.ToString();
      file.count += keys;
      return asked->second(file.count, more_follow, file.smallest, largest);
    };
  }
  const std::shared_ptr<QueryQueue> queue =
      Samples()->Queue(ColumnFamilyOf(context), env, /*logger=*/nullptr);
  FileBuilders builders;
  builders.make = [settings, queue](const FilterTask& task) {
    return std::make_unique<ProteusBuilder>(
        settings,
        [queue](const Slice& smallest, const Slice& largest, size_t most) {
          return queue->SnapshotFor(smallest, largest, most);
        },
        task);
  };
  builders.keep_range = options.filter_memory > 0;
  builders.tell_lengths = !settings.keys_alone;
  return builders;
}

}  // namespace ROCKSDB_NAMESPACE::protean
