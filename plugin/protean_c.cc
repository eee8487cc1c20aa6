// SPDX-License-Identifier: Apache-2.0

#include "plugin/protean_c.h"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plugin/approximate_count.h"
#include "plugin/build_info.h"
#include "plugin/checked_registration.h"
#include "plugin/facts.h"
#include "plugin/filter_statistics.h"
#include "plugin/may_exist.h"
#include "plugin/protean.h"
#include "plugin/refresh_filters.h"
#include "plugin/search_bounds.h"
#include "plugin/sst_file_filter.h"
#include "rocksdb/convenience.h"
#include "rocksdb/filter_policy.h"
#include "table/protean_table_factory.h"
#include "table/rocksdb_internals/handles.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

char* CopyOf(const std::string& text) { return strdup(text.c_str()); }

Status SetSampleGroup(const std::string& group, Options* options) {
  Status s = RequireProteanTable("a sample group", "the Options object",
                                 options->table_factory.get());
  if (!s.ok()) return s;
  BlockBasedTableOptions shared =
      *options->table_factory->GetOptions<BlockBasedTableOptions>();
  if (shared.filter_policy == nullptr) {
    return Status::InvalidArgument(
        "a sample group needs ProteanTable with a filter policy; these options "
        "have it without one");
  }
  s = GetSharedFilterPolicy(group,
                            shared.filter_policy->ToString(ConfigOptions()),
                            &shared.filter_policy);
  if (s.ok()) options->table_factory = NewProteanTableFactory(shared);
  return s;
}

// Stores an error, if there is one, as RocksDB's C API does. Returns whether
// there is none.
bool Succeeded(const Status& s, char** errptr) {
  if (s.ok()) return true;
  free(*errptr);
  *errptr = CopyOf(s.ToString());
  return false;
}

// A key that may be missing.
class OptionalKey {
 public:
  OptionalKey(const char* key, size_t size)
      : has_key_(key != nullptr), key_(has_key_ ? Slice(key, size) : Slice()) {}

  const Slice* get() const { return has_key_ ? &key_ : nullptr; }

 private:
  const bool has_key_;
  const Slice key_;
};

// An array of C's truth values, which are as large as those of C++.
bool* Flags(unsigned char* flags) {
  static_assert(sizeof(bool) == sizeof(unsigned char));
  return reinterpret_cast<bool*>(flags);
}

bool StatisticsOf(rocksdb_t* db, rocksdb_column_family_handle_t* column_family,
                  FilterStatistics* statistics, char** errptr) {
  return Succeeded(CheckHandles(), errptr) &&
         Succeeded(GetFilterStatistics(
                       DBOf(db), ColumnFamilyOf(db, column_family), statistics),
                   errptr);
}

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean

using namespace ROCKSDB_NAMESPACE;
using namespace ROCKSDB_NAMESPACE::protean;

struct protean_record_t {
  Record rep;
};

struct protean_sst_file_filter_t {
  std::unique_ptr<SstFileFilter> rep;
};

struct protean_search_bounds_scope_t {
  SearchBoundsScope rep;
};

struct protean_refresh_options_t {
  RefreshOptions rep;
};

struct protean_filter_refresher_t {
  FilterRefresher rep;
};

extern "C" {

void protean_register(char** errptr) { Succeeded(RegisterOnce(), errptr); }

const char* protean_version(void) { return GetBuildInfo().version; }

const char* protean_rocksdb_version(void) {
  return GetBuildInfo().rocksdb_version;
}

char* protean_build_info(void) { return CopyOf(GetBuildInfo().ToString()); }

void protean_free(void* string) { free(string); }

void protean_block_based_options_set_filter_policy(
    rocksdb_block_based_table_options_t* table_options, const char* policy,
    char** errptr) {
  if (!Succeeded(CheckHandles(), errptr)) return;
  ConfigOptions config;
  config.ignore_unsupported_options = false;
  std::shared_ptr<const FilterPolicy> created;
  if (Succeeded(FilterPolicy::CreateFromString(config, policy, &created),
                errptr)) {
    TableOptionsOf(table_options)->filter_policy = std::move(created);
  }
}

void protean_options_set_table_factory(
    rocksdb_options_t* options,
    rocksdb_block_based_table_options_t* table_options, char** errptr) {
  if (!Succeeded(CheckHandles(), errptr)) return;
  OptionsOf(options)->table_factory = NewProteanTableFactory(
      table_options == nullptr ? BlockBasedTableOptions()
                               : *TableOptionsOf(table_options));
}

void protean_options_set_sample_group(rocksdb_options_t* options,
                                      const char* sample_group, char** errptr) {
  if (!Succeeded(CheckHandles(), errptr)) return;
  Succeeded(SetSampleGroup(sample_group, OptionsOf(options)), errptr);
}

unsigned char protean_record_get(const protean_record_t* record,
                                 const char* name, double* value) {
  const FactValue* const found = record->rep.Find(name);
  const std::optional<double> number =
      found == nullptr ? std::nullopt : NumberOf(*found);
  if (number) *value = *number;
  return number ? 1 : 0;
}

char* protean_record_text(const protean_record_t* record, const char* name) {
  const FactValue* const found = record->rep.Find(name);
  return found == nullptr || std::holds_alternative<std::monostate>(*found)
             ? nullptr
             : CopyOf(TextOf(*found));
}

size_t protean_record_size(const protean_record_t* record) {
  return record->rep.values().size();
}

const char* protean_record_name(const protean_record_t* record, size_t index) {
  return index < record->rep.values().size()
             ? record->rep.values()[index].first.c_str()
             : nullptr;
}

size_t protean_record_list_size(const protean_record_t* record,
                                const char* list) {
  return record->rep.List(list).size();
}

const protean_record_t* protean_record_list_get(const protean_record_t* record,
                                                const char* list,
                                                size_t index) {
  const std::vector<Record>& records = record->rep.List(list);
  // A protean_record_t is a Record.
  return index < records.size()
             ? reinterpret_cast<const protean_record_t*>(&records[index])
             : nullptr;
}

char* protean_record_json(const protean_record_t* record) {
  return CopyOf(record->rep.ToJson());
}

void protean_record_destroy(protean_record_t* record) { delete record; }

protean_record_t* protean_statistics(
    rocksdb_t* db, rocksdb_column_family_handle_t* column_family,
    char** errptr) {
  FilterStatistics statistics;
  return StatisticsOf(db, column_family, &statistics, errptr)
             ? new protean_record_t{RecordOf(statistics)}
             : nullptr;
}

protean_record_t* protean_statistics_of_folder(const char* folder) {
  return new protean_record_t{RecordOf(GetFilterSums(folder))};
}

unsigned char protean_statistics_fact(size_t index, const char** name,
                                      const char** help, const char** type,
                                      const char** scope) {
  const std::vector<StatisticsFact>& facts = StatisticsFacts();
  if (index >= facts.size()) return 0;
  *name = facts[index].name.c_str();
  *help = facts[index].help.c_str();
  *type = facts[index].is_counter ? "counter" : "gauge";
  *scope = facts[index].scope.c_str();
  return 1;
}

char* protean_statistics_text(rocksdb_t* db,
                              rocksdb_column_family_handle_t* column_family,
                              char** errptr) {
  FilterStatistics statistics;
  return StatisticsOf(db, column_family, &statistics, errptr)
             ? CopyOf(statistics.ToString())
             : nullptr;
}

char* protean_statistics_prometheus(
    rocksdb_t* db, rocksdb_column_family_handle_t* const* column_families,
    size_t num_column_families, char** errptr) {
  std::vector<rocksdb_column_family_handle_t*> families(
      column_families, column_families + num_column_families);
  if (families.empty()) families.push_back(nullptr);
  std::vector<FilterStatistics> statistics(families.size());
  for (size_t i = 0; i < families.size(); i++) {
    if (!StatisticsOf(db, families[i], &statistics[i], errptr)) return nullptr;
  }
  return CopyOf(ToPrometheus(statistics));
}

protean_record_t* protean_approximate_count(
    rocksdb_t* db, const rocksdb_readoptions_t* read_options,
    rocksdb_column_family_handle_t* column_family, const char* start_key,
    size_t start_key_len, const char* limit_key, size_t limit_key_len,
    char** errptr) {
  if (!Succeeded(CheckHandles(), errptr)) return nullptr;
  const OptionalKey start(start_key, start_key_len);
  const OptionalKey limit(limit_key, limit_key_len);
  CountResult result;
  const Status s = ApproximateCount(DBOf(db), ReadOptionsOf(read_options),
                                    ColumnFamilyOf(db, column_family),
                                    {start.get(), limit.get()}, &result);
  return Succeeded(s, errptr) ? new protean_record_t{RecordOf(result)}
                              : nullptr;
}

void protean_keys_may_exist(rocksdb_t* db,
                            const rocksdb_readoptions_t* read_options,
                            rocksdb_column_family_handle_t* column_family,
                            size_t num_keys, const char* const* keys_list,
                            const size_t* keys_list_sizes,
                            unsigned char* may_exist, char** errptr) {
  memset(may_exist, 1, num_keys);
  if (!Succeeded(CheckHandles(), errptr)) return;
  std::vector<Slice> keys;
  for (size_t i = 0; i < num_keys; i++) {
    keys.emplace_back(keys_list[i], keys_list_sizes[i]);
  }
  Succeeded(KeysMayExist(DBOf(db), ReadOptionsOf(read_options),
                         ColumnFamilyOf(db, column_family), num_keys,
                         keys.data(), Flags(may_exist)),
            errptr);
}

void protean_ranges_may_exist(
    rocksdb_t* db, const rocksdb_readoptions_t* read_options,
    rocksdb_column_family_handle_t* column_family, size_t num_ranges,
    const char* const* range_start_key, const size_t* range_start_key_len,
    const char* const* range_limit_key, const size_t* range_limit_key_len,
    unsigned char* may_exist, char** errptr) {
  memset(may_exist, 1, num_ranges);
  if (!Succeeded(CheckHandles(), errptr)) return;
  std::vector<OptionalKey> keys;
  keys.reserve(2 * num_ranges);
  std::vector<RangePtr> ranges;
  for (size_t i = 0; i < num_ranges; i++) {
    keys.emplace_back(range_start_key[i], range_start_key_len[i]);
    keys.emplace_back(range_limit_key[i], range_limit_key_len[i]);
    ranges.emplace_back(keys[2 * i].get(), keys[2 * i + 1].get());
  }
  Succeeded(RangesMayExist(DBOf(db), ReadOptionsOf(read_options),
                           ColumnFamilyOf(db, column_family), num_ranges,
                           ranges.data(), Flags(may_exist)),
            errptr);
}

protean_sst_file_filter_t* protean_sst_file_filter_open(
    rocksdb_options_t* options, const char* path, char** errptr) {
  if (!Succeeded(CheckHandles(), errptr)) return nullptr;
  auto filter = std::make_unique<protean_sst_file_filter_t>();
  const Status s = SstFileFilter::Open(*OptionsOf(options), path, &filter->rep);
  return Succeeded(s, errptr) ? filter.release() : nullptr;
}

unsigned char protean_sst_file_filter_key_may_exist(
    const protean_sst_file_filter_t* filter, const char* key, size_t key_len) {
  return filter->rep->KeyMayExist(Slice(key, key_len)) ? 1 : 0;
}

unsigned char protean_sst_file_filter_range_may_exist(
    const protean_sst_file_filter_t* filter, const char* start_key,
    size_t start_key_len, const char* limit_key, size_t limit_key_len) {
  const OptionalKey start(start_key, start_key_len);
  const OptionalKey limit(limit_key, limit_key_len);
  return filter->rep->RangeMayExist({start.get(), limit.get()}) ? 1 : 0;
}

void protean_sst_file_filter_destroy(protean_sst_file_filter_t* filter) {
  delete filter;
}

protean_search_bounds_scope_t* protean_search_bounds_scope_create(
    const char* lower_key, size_t lower_key_len, const char* upper_key,
    size_t upper_key_len) {
  const OptionalKey lower(lower_key, lower_key_len);
  const OptionalKey upper(upper_key, upper_key_len);
  return new protean_search_bounds_scope_t{
      SearchBoundsScope(lower.get(), upper.get())};
}

void protean_search_bounds_scope_destroy(protean_search_bounds_scope_t* scope) {
  delete scope;
}

protean_refresh_options_t* protean_refresh_options_create(void) {
  return new protean_refresh_options_t;
}

void protean_refresh_options_destroy(protean_refresh_options_t* options) {
  delete options;
}

void protean_refresh_options_set(protean_refresh_options_t* options,
                                 const char* name, const char* value,
                                 char** errptr) {
  Succeeded(options->rep.Set(name, value), errptr);
}

void protean_refresh_options_parse(protean_refresh_options_t* options,
                                   const char* text, char** errptr) {
  Succeeded(options->rep.Parse(text), errptr);
}

char* protean_refresh_options_text(const protean_refresh_options_t* options) {
  return CopyOf(options->rep.ToString());
}

void protean_refresh_options_set_progress(
    protean_refresh_options_t* options, void* state,
    unsigned char (*progress)(void* state, const protean_record_t* progress)) {
  options->rep.progress = [state, progress](const RefreshProgress& so_far) {
    const protean_record_t record{RecordOf(so_far)};
    return progress(state, &record) != 0;
  };
}

protean_record_t* protean_refresh_filters(
    rocksdb_t* db, rocksdb_column_family_handle_t* column_family,
    const protean_refresh_options_t* options, char** errptr) {
  RefreshResult result;
  if (Succeeded(CheckHandles(), errptr)) {
    Succeeded(RefreshFilters(DBOf(db), ColumnFamilyOf(db, column_family),
                             options->rep, &result),
              errptr);
  }
  return new protean_record_t{RecordOf(result)};
}

protean_filter_refresher_t* protean_filter_refresher_create(
    rocksdb_t* db, rocksdb_column_family_handle_t* column_family,
    const protean_refresh_options_t* options, uint64_t period_seconds,
    const char* socket, void* state,
    void (*report)(void* state, const char* error,
                   const protean_record_t* result),
    char** errptr) {
  if (!Succeeded(CheckHandles(), errptr)) return nullptr;
  FilterRefresher::Report told;
  if (report != nullptr) {
    told = [state, report](const Status& s, const RefreshResult& result) {
      const protean_record_t record{RecordOf(result)};
      report(state, s.ok() ? nullptr : s.ToString().c_str(), &record);
    };
  }
  auto made = std::unique_ptr<protean_filter_refresher_t>(
      new protean_filter_refresher_t{FilterRefresher(
          DBOf(db), ColumnFamilyOf(db, column_family), options->rep,
          period_seconds, std::move(told), socket == nullptr ? "" : socket)});
  if (!Succeeded(made->rep.socket_status(), errptr)) return nullptr;
  return made.release();
}

void protean_filter_refresher_destroy(protean_filter_refresher_t* refresher) {
  delete refresher;
}
}
