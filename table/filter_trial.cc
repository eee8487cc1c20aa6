// SPDX-License-Identifier: Apache-2.0

#include "table/filter_trial.h"

#include <algorithm>
#include <list>

#include "filter_policy/building/file_filter_builder.h"
#include "filter_policy/filter_properties.h"
#include "rocksdb/advanced_cache.h"
#include "rocksdb/comparator.h"
#include "rocksdb/metadata.h"
#include "rocksdb/slice_transform.h"

namespace ROCKSDB_NAMESPACE::protean {

FilterReport ReportOf(const BlockBasedFile& file) {
  FilterReport report = ReportOf(file.properties()->user_collected_properties);
  const FilterBlock& block = *file.GetHeldBlock();
  // The first part tells more of the design.
  if (block.filter() != nullptr && block.directory().parts().size() == 1) {
    report.design = block.filter()->Report().design;
  }
  return report;
}

namespace {

// A cache that remembers the most that it was charged for at a time.
class PeakCache : public CacheWrapper {
 public:
  PeakCache() : CacheWrapper(NewLRUCache(kRoom, /*num_shard_bits=*/0)) {}
  const char* Name() const override { return "protean.PeakCache"; }

  Status Insert(const Slice& key, ObjectPtr value,
                const CacheItemHelper* helper, size_t charge, Handle** handle,
                Priority priority, const Slice& compressed,
                CompressionType type) override {
    const Status s = target_->Insert(key, value, helper, charge, handle,
                                     priority, compressed, type);
    peak_ = std::max(peak_, GetUsage());
    return s;
  }

  size_t peak() const { return peak_; }

 private:
  static constexpr size_t kRoom = size_t{1} << 40;

  size_t peak_ = 0;
};

// A filter that a policy builds. A cache of its own is charged for the memory.
struct FilterInWork {
  FilterInWork(const BlockBasedTableOptions& given, BuiltFilter* its_result)
      : result(its_result), table(given) {
    // RocksDB's own filters let the same keys through in parts.
    table.partition_filters = false;
    table.block_cache = cache;
    table.cache_usage_options
        .options_overrides[CacheEntryRole::kFilterConstruction]
        .charged = CacheEntryRoleOptions::Decision::kEnabled;
  }

  BuiltFilter* const result;
  const std::shared_ptr<PeakCache> cache = std::make_shared<PeakCache>();
  BlockBasedTableOptions table;
  // The policy of the level; nullptr if there is to be no filter.
  const FilterPolicy* policy;
  std::shared_ptr<FinishedFilter> finished;  // if the policy is Protean's
  std::unique_ptr<FilterBitsBuilder> builder;
};

// What a policy is told about the filter of a file that a compaction writes.
// There is no log: these filters are not written.
FilterBuildingContext ContextOf(const FilePlace& place,
                                const BlockBasedTableOptions& table) {
  FilterBuildingContext context(table);
  context.column_family_name = place.column_family;
  context.compaction_style = place.options.compaction_style;
  context.num_levels = place.options.num_levels;
  context.level_at_creation = place.level;
  context.reason = TableFileCreationReason::kCompaction;
  return context;
}

}  // namespace

AskedFilter::AskedFilter(FilterBitsReader* reader,
                         const FinishedFilter* finished,
                         const SliceTransform* prefixes)
    : reader_(reader), prefixes_(reader == nullptr ? nullptr : prefixes) {
  if (reader != nullptr && finished != nullptr) {
    block_ = &static_cast<const ProteanFilterBitsReader*>(reader)->block();
    report_ = ReportOf(finished->properties);
  }
}

AskedFilter AskedFilter::Of(const BlockBasedFile& file,
                            const SliceTransform* extractor) {
  using FilterState = BlockBasedFile::FilterState;
  AskedFilter asked;
  asked.has_keys_ = file.whole_key_filtering();
  if (file.filter_state() == FilterState::kFull) {
    asked.reader_ = file.GetHeldFilter();
  } else if (file.filter_state() == FilterState::kPartitioned) {
    asked.in_parts_ = &file;
  } else {
    return asked;
  }
  if (extractor != nullptr) asked.prefixes_ = file.prefix_extractor();
  if (asked.has_keys_) asked.block_ = file.GetHeldBlock();
  if (asked.block_ != nullptr) asked.report_ = ReportOf(file);
  return asked;
}

std::optional<bool> AskedFilter::PrefixMayMatch(const Slice& lo,
                                                const Slice& hi) const {
  if (prefixes_ == nullptr || !prefixes_->InDomain(lo) ||
      !prefixes_->InDomain(hi)) {
    return std::nullopt;
  }
  const Slice prefix = prefixes_->Transform(lo);
  size_t full_length = 0;
  // FilterBlockReaderCommon::IsFilterCompatible of RocksDB has this rule.
  if (prefix != prefixes_->Transform(hi) &&
      !(prefixes_->FullLengthEnabled(&full_length) &&
        hi.size() == full_length &&
        BytewiseComparator()->IsSameLengthImmediateSuccessor(prefix, hi))) {
    return std::nullopt;
  }
  return in_parts_ != nullptr
             ? in_parts_->PartsMayMatch(ReadOptions(), lo, &prefix)
             : reader_->MayMatch(prefix);
}

bool AskedFilter::MayMatch(const SampleQuery& query) const {
  if (query.lo == query.hi) {
    if (!has_keys_) return true;
    if (in_parts_ != nullptr) {
      return in_parts_->PartsMayMatch(ReadOptions(), query.lo);
    }
    return reader_ == nullptr || reader_->MayMatch(query.lo);
  }
  const FileRangeFilter* const filter = range_filter();
  return filter == nullptr ||
         filter->RangeMayMatch(query.lo, query.hi, query.hi_inclusive);
}

std::string AskedFilter::Describe() const {
  if (!has_keys_ || (in_parts_ == nullptr && reader_ == nullptr)) return "none";
  if (block_ == nullptr) return "RocksDB's";
  if (!block_->status().ok()) return "damaged";
  const FilterKind kind = block_->header().kind;
  if (kind == FilterKind::kAlwaysTrue) return "none, for these keys";
  const FilterType* type = FindFilterType(kind);
  // All policies of a type make the same kind of filter.
  return type->policies.front().short_name + (": " + Report().design);
}

bool FilterHasFormOf(const BlockBasedFile& file, const Options& options) {
  const auto properties = file.properties();
  const auto& table =
      *options.table_factory->GetOptions<BlockBasedTableOptions>();
  const std::string prefixes = options.prefix_extractor == nullptr
                                   ? "nullptr"
                                   : options.prefix_extractor->AsString();
  if (properties->prefix_extractor_name != prefixes) return false;
  // A filter of prefixes alone counts as a whole one of RocksDB's.
  if (!file.whole_key_filtering()) return !table.partition_filters;
  const FilterBlock* const block = file.GetHeldBlock();
  if (block == nullptr) {
    return (file.filter_state() == BlockBasedFile::FilterState::kPartitioned) ==
           table.partition_filters;
  }
  const uint64_t size = properties->filter_size;
  const uint64_t large = 2 * table.metadata_block_size;
  const bool is_cut = block->directory().parts().size() * large > size;
  return block->status().ok() && (size < large || is_cut == CutsFilters(table));
}

bool FilterIsLikeThatOf(const BlockBasedFile& file,
                        const FilterPolicy* rocksdb_policy,
                        const FilePlace& place) {
  const auto& table =
      *place.options.table_factory->GetOptions<BlockBasedTableOptions>();
  std::unique_ptr<FilterBitsBuilder> builder;
  if (rocksdb_policy != nullptr) {
    builder.reset(
        rocksdb_policy->GetBuilderWithContext(ContextOf(place, table)));
  }
  if (builder == nullptr || !file.HasFilter()) {
    return builder == nullptr && !file.HasFilter();
  }
  if (AsProteanFilterPolicy(file.filter_policy()) != nullptr ||
      !FilterHasFormOf(file, place.options)) {
    return false;
  }
  const auto properties = file.properties();
  // Filters are rounded to cache lines, or to what the allocator gives.
  constexpr uint64_t kLine = 128;
  const uint64_t slack = properties->filter_size / 10 + kLine;
  const uint64_t entries = properties->num_filter_entries;
  return builder->ApproximateNumEntries(properties->filter_size + slack) >=
             entries &&
         (properties->filter_size <= slack ||
          builder->ApproximateNumEntries(properties->filter_size - slack) <=
              entries);
}

Status TryPolicies(const BlockBasedFile& file, const FilePlace& place,
                   const std::vector<const FilterPolicy*>& policies,
                   const std::function<bool(const Slice& key)>& on_entry,
                   std::vector<BuiltFilter>* built) {
  built->clear();
  built->resize(policies.size());
  const auto& table =
      *place.options.table_factory->GetOptions<BlockBasedTableOptions>();
  std::list<FilterInWork> filters;
  for (size_t i = 0; i < policies.size(); i++) {
    FilterInWork& filter = filters.emplace_back(table, &(*built)[i]);
    filter.policy = policies[i];
    const ProteanFilterPolicy* own = AsProteanFilterPolicy(policies[i]);
    if (own != nullptr) {
      filter.policy = own->ForLevel(place.level);
      own = AsProteanFilterPolicy(filter.policy);
    }
    if (filter.policy == nullptr) continue;
    const FilterBuildingContext context = ContextOf(place, filter.table);
    if (own != nullptr) filter.finished = std::make_shared<FinishedFilter>();
    filter.builder.reset(own == nullptr
                             ? filter.policy->GetBuilderWithContext(context)
                             : own->NewBuilder(context, place.options.env,
                                               place.price, filter.finished));
  }
  // Each builder gets many keys at a time, so that its CPU time can be told
  // from the others'. RocksDB adds keys so when it writes a file.
  SystemClock& clock = *SystemClock::Default();
  const SliceTransform* const extractor = place.options.prefix_extractor.get();
  constexpr size_t kMaxKeys = 1000;
  constexpr size_t kMaxBytes = 64 << 10;
  KeyList batch;
  const auto feed = [&] {
    for (const FilterInWork& filter : filters) {
      if (filter.builder == nullptr) continue;
      const uint64_t begin = clock.CPUNanos();
      for (size_t k = 0; k < batch.size(); k++) {
        const Slice key = batch[k];
        if (extractor != nullptr && extractor->InDomain(key)) {
          filter.builder->AddKeyAndAlt(key, extractor->Transform(key));
        } else {
          filter.builder->AddKey(key);
        }
      }
      filter.result->build_nanos += clock.CPUNanos() - begin;
    }
    batch.Clear();
  };

  Status s = ReadKeys(file, [&](const Slice& key) {
    if (!on_entry(key)) return false;
    batch.Add(key);
    if (batch.size() >= kMaxKeys || batch.bytes() >= kMaxBytes) feed();
    return true;
  });
  if (!s.ok()) return s;
  feed();
  for (FilterInWork& filter : filters) {
    if (filter.builder == nullptr) continue;
    BuiltFilter& result = *filter.result;
    const uint64_t begin = clock.CPUNanos();
    const Slice block = filter.builder->Finish(&result.block, &s);
    result.bytes = block.size();
    filter.builder.reset();
    result.build_memory = filter.cache->peak();
    result.build_nanos += clock.CPUNanos() - begin;
    result.reader.reset(filter.policy->GetFilterBitsReader(block));
    result.filter =
        AskedFilter(result.reader.get(), filter.finished.get(), extractor);
    if (!s.ok()) break;
  }
  return s;
}

// ---- Rewriting ----

Status RewriteFile(DB* db, ColumnFamilyHandle* column_family,
                   const std::string& name) {
  const Options options = db->GetOptions(column_family);
  const std::vector<DbPath>& paths =
      options.cf_paths.empty() ? options.db_paths : options.cf_paths;
  Status s;
  for (int tried = -1;;) {
    // These are what CompactFiles sees. GetColumnFamilyMetaData would show what
    // readers see, which is a moment older.
    std::vector<LiveFileMetaData> files;
    db->GetLiveFilesMetaData(&files);
    const auto file =
        std::find_if(files.begin(), files.end(), [&](const auto& live) {
          return live.relative_filename == name &&
                 live.column_family_name == column_family->GetName();
        });
    if (file == files.end()) return Status::NotFound();
    if (file->level == tried) return s;
    tried = file->level;
    CompactionOptions compaction;
    // The file becomes one file. If the next file is compacted, too, the two
    // should not become one.
    compaction.output_file_size_limit = file->size + file->size / 4;
    compaction.max_subcompactions = 1;
    // RocksDB does not choose one of several paths itself.
    const auto path = std::find_if(
        paths.begin(), paths.end(),
        [&](const DbPath& p) { return p.path == file->directory; });
    s = db->CompactFiles(
        compaction, column_family, {name}, file->level,
        path == paths.end() ? 0 : static_cast<int>(path - paths.begin()));
    // RocksDB returns InvalidArgument, as for other errors, for a file that has
    // gone since, and for one that was moved to another level.
    if (!s.IsInvalidArgument()) return s;
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
