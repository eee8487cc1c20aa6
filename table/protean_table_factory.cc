// SPDX-License-Identifier: Apache-2.0

#include "table/protean_table_factory.h"

#include <mutex>
#include <set>
#include <unordered_map>

#include "filter_policy/option_types.h"
#include "filter_policy/protean_filter_policy.h"
#include "rocksdb/convenience.h"
#include "rocksdb/env.h"
#include "rocksdb/utilities/options_type.h"
#include "table/protean_table_reader.h"
#include "table/rocksdb_internals/versions.h"
#include "table/seek/seek_decision.h"
#include "table/seek/thread_bounds.h"
#include "util/string_util.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// The names of the policies that the program has made in code. RocksDB writes
// such a name to the OPTIONS file and reads it back, but cannot make the policy
// from it unless the program has registered the policy.
std::mutex names_mutex;
std::set<std::string>& NamesMadeInCode() {
  static auto* const names = new std::set<std::string>;
  return *names;
}

void NoteName(const FilterPolicy* policy) {
  // These policies can be made from their names.
  if (policy == nullptr || AsProteanFilterPolicy(policy) != nullptr ||
      IsOfRocksDB(*policy)) {
    return;
  }
  const std::lock_guard<std::mutex> lock(names_mutex);
  NamesMadeInCode().insert(policy->Name());
}
bool IsMadeInCode(const ConfigOptions& config_options,
                  const std::string& filter_policy) {
  std::string id;
  std::unordered_map<std::string, std::string> options;
  const Status s = Customizable::GetOptionsMap(config_options, nullptr,
                                               filter_policy, &id, &options);
  const std::lock_guard<std::mutex> lock(names_mutex);
  return s.ok() && NamesMadeInCode().count(id) > 0;
}

void LogWarning(Logger* log, const std::string& text) {
  Log(InfoLogLevel::WARN_LEVEL, log, "ProteanTable: %s", text.c_str());
}
// There may be no log yet when the DB is opened.
void WarnOnce(std::atomic<bool>* warned, Logger* log, const std::string& text) {
  if (log != nullptr && !warned->exchange(true)) LogWarning(log, text);
}

std::atomic<bool> warned_of_writing_iterators{false};

// A range deletion that an iterator writes may cover keys of files which the
// thread's bounds have hidden from it. The iterator knows bounds in
// ReadOptions. And it must see all deletions.
template <typename CfOptions>
void HideNothingIfIteratorsWrite(const CfOptions& options, Logger* log) {
  if (!IteratorsWrite(options)) return;
  ThreadBounds::Ignore();
  DeletionSkips::are_allowed = false;
  WarnOnce(&warned_of_writing_iterators, log,
           "from now on, this process ignores the bounds of threads, because "
           "min_tombstones_for_range_conversion is set");
}

// RocksDB copies what is written of these options when text changes the factory
// to BlockBasedTable, which does not know them. So defaults are not written.
const std::unordered_map<std::string, OptionTypeInfo>& OwnTypeInfo() {
  using Own = ProteanTableFactory::OwnOptions;
  using Switch = std::shared_ptr<FilterSwitch>;
  static const auto* const info =
      new std::unordered_map<std::string, OptionTypeInfo>{
          {"range_filters",
           TextOption<Switch>(
               offsetof(Own, range_filters), OptionTypeFlags::kMutable,
               [](const ConfigOptions&, const std::string& name,
                  const std::string& text, const Switch* option) {
                 if (text != "true" && text != "false") {
                   return Status::InvalidArgument(
                       "ProteanTable: " + name + "=" + text +
                       " is not allowed; allowed: true, false");
                 }
                 (*option)->wanted = text == "true";
                 return Status::OK();
               },
               [](const Switch& option) -> std::string {
                 return option->wanted ? "" : "false";
               })},
          {"miss_cache_size",
           TextOption<size_t>(
               offsetof(Own, miss_cache_size), OptionTypeFlags::kNone,
               [](const ConfigOptions&, const std::string& name,
                  const std::string& text, size_t* option) {
                 const WholeNumberRange range = {"ProteanTable", name.c_str(),
                                                 0, uint64_t{1} << 40};
                 uint64_t size = 0;
                 const Status s = range.Parse(text, &size);
                 if (s.ok()) *option = size;
                 return s;
               },
               [](const size_t& size) {
                 return size == ProteanTableFactory::kDefaultMissCacheSize
                            ? ""
                            : std::to_string(size);
               })}};
  return *info;
}

}  // namespace

ProteanTableFactory::ProteanTableFactory(const BlockBasedTableOptions& options,
                                         bool range_filters)
    : BlockBasedTableFactory(options) {
  own_.range_filters->wanted = range_filters;
  RegisterOptions("ProteanTableOptions", &own_, &OwnTypeInfo());
  NoteName(options.filter_policy.get());
}

Status ProteanTableFactory::ParseOption(const ConfigOptions& config_options,
                                        const OptionTypeInfo& opt_info,
                                        const std::string& opt_name,
                                        const std::string& opt_value,
                                        void* opt_ptr) {
  if (opt_name != "filter_policy") {
    const FilterPolicy* const policy =
        GetOptions<BlockBasedTableOptions>()->filter_policy.get();
    if (AsProteanFilterPolicy(policy) != nullptr && opt_info.IsCustomizable() &&
        opt_info.AsRawPointer<const FilterPolicy>(opt_ptr) == policy) {
      // SetOptions names an option of a policy that could not be changed in
      // place. Changing it in a copy of the table's options would change it for
      // all who have the policy. Says why it is refused.
      ConfigOptions mutable_only = config_options;
      mutable_only.mutable_options_only = true;
      const Status s = const_cast<FilterPolicy*>(policy)->ConfigureOption(
          mutable_only, opt_name, opt_value);
      return s.IsNotFound() ? CheckOptionNames(*policy, config_options,
                                               {{opt_name, opt_value}})
                            : s;
    }
    return BlockBasedTableFactory::ParseOption(config_options, opt_info,
                                               opt_name, opt_value, opt_ptr);
  }
  ConfigOptions strict = config_options;
  strict.ignore_unsupported_options = false;
  strict.ignore_unknown_options = false;
  Status s =
      TableFactory::ParseOption(strict, opt_info, opt_name, opt_value, opt_ptr);
  if (!s.ok() && !s.IsInvalidArgument() &&
      IsMadeInCode(config_options, opt_value)) {
    // The plain table goes on without a policy, too.
    s = TableFactory::ParseOption(strict, opt_info, opt_name, kNullptrString,
                                  opt_ptr);
  }
  if (!s.ok() && !s.IsInvalidArgument()) {
    s = Status::InvalidArgument(
        "ProteanTable: filter_policy=" + opt_value +
            " cannot be made; allowed: " + PolicyUsage(/*object_forms=*/true) +
            ", or a filter policy of RocksDB",
        s.ToString());
  }
  policy_error_ = s;
  return s;
}

TableBuilder* ProteanTableFactory::NewTableBuilder(
    const TableBuilderOptions& options, WritableFileWriter* file) const {
  if (options.ioptions.optimize_filters_for_hits) {
    WarnOnce(&shared_->warned_of_hits, options.ioptions.logger,
             "optimize_filters_for_hits=true leaves the files of the last "
             "level without filters, so seeks read all of them; set it to "
             "false unless nearly all reads find something");
  }
  // ValidateOptions does not see what SetOptions and CreateColumnFamily set.
  HideNothingIfIteratorsWrite(options.moptions, options.ioptions.logger);
  return NewTableBuilderWithProperties(*this, options, file);
}

Status ProteanTableFactory::ValidateOptions(
    const DBOptions& db_opts, const ColumnFamilyOptions& cf_opts) const {
  if (!policy_error_.ok()) return policy_error_;
  NoteName(GetOptions<BlockBasedTableOptions>()->filter_policy.get());
  shared_->log_period_seconds.store(db_opts.stats_dump_period_sec,
                                    std::memory_order_relaxed);
  HideNothingIfIteratorsWrite(cf_opts, db_opts.info_log.get());
  // Validates the policy too.
  return BlockBasedTableFactory::ValidateOptions(db_opts, cf_opts);
}

FilterUse ProteanTableFactory::UseOf(BlockBasedFile* file) const {
  using FilterState = BlockBasedFile::FilterState;
  const FilterState state = file->filter_state();
  if (state == FilterState::kNone) return FilterUse::kNone;
  // RocksDB's own table has partitioned the filters of a policy of Protean.
  if (AsProteanFilterPolicy(file->filter_policy()) == nullptr ||
      state == FilterState::kPartitioned) {
    return FilterUse::kForeign;
  }
  if (state == FilterState::kUnreadable) {
    const Status& why = file->filter_status();
    LogWarning(file->info_log(),
               file->name() +
                   " is read without its filter, which cannot be read" +
                   (why.ok() ? "" : ": " + why.ToString()));
    return FilterUse::kDamaged;
  }
  const Comparator* comparator = file->user_comparator();
  if (!file->HasOrderOfFilters()) {
    WarnOnce(&shared_->warned_of_comparator, file->info_log(),
             std::string("range filters are off, because they need the "
                         "comparator ") +
                 BytewiseComparator()->Name() + " and this column family has " +
                 comparator->Name());
    // Get may still ask the filter, unless different bytes may be equal keys.
    const Comparator* root = comparator->GetRootComparator();
    if (root != BytewiseComparator() &&
        root->CanKeysWithDifferentByteContentsBeEqual()) {
      file->DropFilter();
    }
    return FilterUse::kComparator;
  }
  if (!file->whole_key_filtering()) {
    WarnOnce(&shared_->warned_of_whole_keys, file->info_log(),
             "range filters are off, because whole_key_filtering=false leaves "
             "the keys out of them");
    return FilterUse::kPartialKeys;
  }
  return FilterUse::kUsed;
}

const ProteanFilterPolicy* ProteanTableFactory::SampledPolicyOf(
    const BlockBasedFile& file, FilterUse use) const {
  if (use == FilterUse::kUsed) {
    return AsProteanFilterPolicy(file.filter_policy());
  }
  const auto* options = GetOptions<BlockBasedTableOptions>();
  const bool gets_filter =
      (use == FilterUse::kNone || use == FilterUse::kForeign) &&
      options->whole_key_filtering && file.HasOrderOfFilters();
  return gets_filter ? AsProteanFilterPolicy(options->filter_policy.get())
                     : nullptr;
}

Status ProteanTableFactory::NewTableReader(
    const ReadOptions& ro, const TableReaderOptions& table_reader_options,
    std::unique_ptr<RandomAccessFileReader>&& file, uint64_t file_size,
    std::unique_ptr<TableReader>* table_reader,
    bool prefetch_index_and_filter_in_cache) const {
  std::unique_ptr<BlockBasedFile> opened;
  const Status s =
      BlockBasedFile::Open({*this, ro, table_reader_options, file_size,
                            prefetch_index_and_filter_in_cache},
                           std::move(file), &opened);
  if (!s.ok()) return s;
  // There is no log yet when the DB's options are validated.
  const FilterSwitch::Variable variable = FilterSwitch::OfProcess();
  if (variable != FilterSwitch::Variable::kOn) {
    WarnOnce(&shared_->warned_of_variable, opened->info_log(),
             std::string("the environment variable ") +
                 FilterSwitch::kVariable +
                 (variable == FilterSwitch::Variable::kOff
                      ? " switches all range filters of this process off"
                      : " is ignored, because it is none of 0, off, false, no, "
                        "1, on, true and yes"));
  }
  const FilterUse use = UseOf(opened.get());
  const ProteanFilterPolicy* const policy = SampledPolicyOf(*opened, use);
  *table_reader = std::make_unique<ProteanTableReader>(
      std::move(opened), use, policy, table_reader_options.cur_db_session_id,
      shared_->log_period_seconds.load(std::memory_order_relaxed),
      own_.range_filters, own_.miss_cache_size);
  return s;
}

Status RequireProteanTable(const char* function, const std::string& owner,
                           const TableFactory* factory) {
  if (factory != nullptr &&
      factory->IsInstanceOf(ProteanTableFactory::kClassName())) {
    return Status::OK();
  }
  return Status::InvalidArgument(
      std::string(function) + " needs the table factory ProteanTable, and " +
      owner + " has " + (factory == nullptr ? "none" : factory->Name()));
}

Status RequireProteanTable(const char* function, DB* db,
                           ColumnFamilyHandle* column_family) {
  const Options options = db->GetOptions(column_family);
  return RequireProteanTable(function,
                             "the column family " + column_family->GetName(),
                             options.table_factory.get());
}

const ProteanFilterPolicy* OwnPolicyOf(const ColumnFamilyOptions& options) {
  const auto* table =
      options.table_factory->GetOptions<BlockBasedTableOptions>();
  return table == nullptr ? nullptr
                          : AsProteanFilterPolicy(table->filter_policy.get());
}

}  // namespace ROCKSDB_NAMESPACE::protean
