// SPDX-License-Identifier: Apache-2.0

#include "db_bench_ext/table_layout.h"

#include <cstring>

#include "filter_policy/protean_filter_policy.h"
#include "plugin/protean.h"
#include "rocksdb/convenience.h"
#include "rocksdb/experimental.h"
#include "rocksdb/slice_transform.h"
#include "table/rocksdb_internals/versions.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr size_t kMaxPrefixBytes = 1024;
// Behind the first segment, a key has one more.
constexpr size_t kMaxSegmentBytes = 1 << 20;

using QueryFilters = experimental::SstQueryFilterConfigsManager;

// RocksDB's option is a function, and since 11.12 a pointer to one.
[[maybe_unused]] void SetTableFilter(const FileChoice& files,
                                     FileChoice* option) {
  *option = files;
}
[[maybe_unused]] void SetTableFilter(const FileChoice& files,
                                     const FileChoice** option) {
  *option = &files;
}

// Takes one suffix, without its '+'. `known` says whether it is one.
Status TakeSuffix(const std::string& suffix, const std::string& given,
                  TableLayout* layout, bool* known) {
  *known = true;
  const struct {
    const char* text;
    bool* set;
  } flags[] = {{"first_key", &layout->first_key_index},
               {"partitioned", &layout->partitioned},
               {"decoupled", &layout->decoupled},
               {"trie_index", &layout->trie_index},
               {"no_miss_cache", &layout->no_miss_cache}};
  for (const auto& [text, set] : flags) {
    if (suffix == text) {
      *set = true;
      return Status::OK();
    }
  }
  const struct {
    const char* text;
    size_t* bytes;
  } lengths[] = {{"prefix", &layout->prefix_bytes},
                 {"query_filter", &layout->query_filter_bytes}};
  for (const auto& [text, bytes] : lengths) {
    if (suffix.compare(0, strlen(text), text) != 0) continue;
    const std::string digits = suffix.substr(strlen(text));
    const bool number =
        digits.find_first_not_of("0123456789") == std::string::npos;
    *bytes = number ? strtoul(digits.c_str(), nullptr, 10) : 0;
    return *bytes > 0 && *bytes <= kMaxPrefixBytes
               ? Status::OK()
               : Status::InvalidArgument(
                     "filter " + given + ": +" + text + " has " +
                     (digits.empty() ? "no number of" : digits) +
                     " bytes; allowed: 1 to " +
                     std::to_string(kMaxPrefixBytes));
  }
  *known = false;
  return Status::OK();
}

Status MakeQueryFilter(size_t bytes,
                       std::shared_ptr<QueryFilters::Factory>* filter) {
  experimental::SstQueryFilterConfigs configs;
  configs.extractor = experimental::MakeSharedCappedKeySegmentsExtractor(
      {bytes, kMaxSegmentBytes});
  for (const experimental::FilterInput& input :
       {experimental::FilterInput(experimental::SelectWholeKey()),
        experimental::FilterInput(experimental::SelectKeySegment(0)),
        experimental::FilterInput(experimental::SelectKeySegment(1))}) {
    configs.filters.push_back(
        experimental::MakeSharedBytewiseMinMaxSQFC(input));
  }
  std::shared_ptr<QueryFilters> manager;
  const Status s =
      QueryFilters::MakeShared({{1, {{"protean_bench", configs}}}}, &manager);
  return s.ok() ? manager->MakeSharedFactory("protean_bench", 1, filter) : s;
}

}  // namespace

Status TakeTableLayout(std::string* spec, TableLayout* layout) {
  const std::string given = *spec;
  for (bool known = true; known;) {
    const size_t plus = spec->rfind('+');
    if (plus == std::string::npos) break;
    const Status s = TakeSuffix(spec->substr(plus + 1), given, layout, &known);
    if (!s.ok()) return s;
    if (known) spec->resize(plus);
  }
  const int indexes =
      layout->first_key_index + layout->partitioned + layout->trie_index;
  if (indexes > 1 || (layout->decoupled && !layout->partitioned)) {
    return Status::InvalidArgument(
        "filter " + given +
        " is not allowed; allowed suffixes: +prefixN, +query_filterN, and one "
        "of +first_key, +partitioned, +partitioned+decoupled, +trie_index");
  }
  return Status::OK();
}

Status TableLayoutOptions::Init(const TableLayout& layout,
                                std::shared_ptr<const FilterPolicy> policy) {
  layout_ = layout;
  policy_ = std::move(policy);
  if (layout.query_filter_bytes == 0) return Status::OK();
  std::shared_ptr<QueryFilters::Factory> filter;
  const Status s = MakeQueryFilter(layout.query_filter_bytes, &filter);
  if (!s.ok()) return s;
  query_filter_ = filter;
  files_by_range_ = [filter](const Slice& lo, const Slice& upper_bound) {
    return filter->GetTableFilterForRangeQuery(lo, upper_bound);
  };
  return s;
}

Status TableLayoutOptions::Apply(BlockBasedTableOptions table,
                                 ColumnFamilyOptions* options) const {
  table.filter_policy = policy_;
  if (layout_.first_key_index) {
    table.index_type = BlockBasedTableOptions::kBinarySearchWithFirstKey;
  }
  if (layout_.partitioned) {
    table.index_type = BlockBasedTableOptions::kTwoLevelIndexSearch;
    table.partition_filters = true;
    table.decouple_partitioned_filters = layout_.decoupled;
    table.metadata_block_size = 4096;
    table.pin_top_level_index_and_filter = true;
  }
  ConfigOptions strict;
  strict.ignore_unsupported_options = false;
  if (layout_.trie_index &&
      !GetBlockBasedTableOptionsFromString(
           strict, table,
           "user_defined_index_factory=trie_index;use_udi_as_primary_index="
           "true",
           &table)
           .ok()) {
    return Status::NotSupported("+trie_index: RocksDB " PROTEAN_ROCKSDB_VERSION
                                " has no trie index; 11.8.1 has one");
  }
  if (AsProteanFilterPolicy(policy_.get()) != nullptr) {
    options->table_factory = NewProteanTableFactory(table);
    if (layout_.no_miss_cache) {
      const Status s = options->table_factory->ConfigureOption(
          strict, "miss_cache_size", "0");
      if (!s.ok()) return s;
    }
  } else {
    options->table_factory.reset(NewBlockBasedTableFactory(table));
  }
  if (layout_.prefix_bytes > 0) {
    options->prefix_extractor.reset(
        NewCappedPrefixTransform(layout_.prefix_bytes));
  }
  if (query_filter_ != nullptr) {
    options->table_properties_collector_factories.push_back(query_filter_);
  }
  return Status::OK();
}

SeekOptions::SeekOptions(const TableLayoutOptions& layout, const Slice& lo,
                         const Slice* upper_bound)
    : files_(upper_bound == nullptr ? nullptr
                                    : layout.FilesOf(lo, *upper_bound)) {
  options_.iterate_upper_bound = upper_bound;
  // A filter of prefixes says nothing of ranges that go beyond a prefix.
  options_.auto_prefix_mode = true;
  if (files_) SetTableFilter(files_, &options_.table_filter);
}

}  // namespace ROCKSDB_NAMESPACE::protean
