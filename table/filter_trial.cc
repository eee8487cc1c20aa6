#include "table/filter_trial.h"

#include "db/dbformat.h"
#include "rocksdb/slice_transform.h"
#include "rocksdb/table_properties.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// The filter that the file has, if it is a full one.
AskedFilter FilterOf(const BlockBasedFile& file) {
  if (file.filter_state() != BlockBasedFile::FilterState::kFull) {
    return AskedFilter();
  }
  return AskedFilter(file.GetPinnedFilter(),
                     AsProteanFilterPolicy(file.filter_policy()) != nullptr);
}

// As a file's keys come, so RocksDB gives them to the builder of its filter.
void AddKey(const Slice& key, const SliceTransform* prefix_extractor,
            FilterBitsBuilder* builder) {
  if (prefix_extractor != nullptr && prefix_extractor->InDomain(key)) {
    builder->AddKeyAndAlt(key, prefix_extractor->Transform(key));
  } else {
    builder->AddKey(key);
  }
}

}  // namespace

AskedFilter::AskedFilter(FilterBitsReader* reader, bool by_protean)
    : reader_(reader) {
  if (reader != nullptr && by_protean) {
    block_ = &static_cast<const ProteanFilterBitsReader*>(reader)->block();
  }
}

bool AskedFilter::MayMatch(const SampleQuery& query) const {
  if (query.lo == query.hi) {
    return reader_ == nullptr || reader_->MayMatch(query.lo);
  }
  return block_ == nullptr ||
         block_->RangeMayMatch(query.lo, query.hi, query.hi_inclusive);
}

std::string AskedFilter::Describe() const {
  if (reader_ == nullptr) return "none";
  if (block_ == nullptr) return "RocksDB's";
  if (!block_->status().ok()) return "damaged";
  if (!block_->CanFilter()) return "none, for these keys";
  const FilterType* type = FindFilterType(block_->header().kind);
  // All policies of a type make the same kind of filter.
  return type->policies.front().short_name +
         (": " + block_->filter()->Report().design);
}

FilterTrial::FilterTrial(std::unique_ptr<SeparateFile>&& separate)
    : separate_(std::move(separate)),
      file_(separate_->file()),
      old_filter_(FilterOf(file_)) {}

Status FilterTrial::Open(const Options& options, const std::string& path,
                         std::unique_ptr<FilterTrial>* trial) {
  std::unique_ptr<SeparateFile> separate;
  const Status s = SeparateFile::Open(options, path, &separate);
  if (s.ok()) trial->reset(new FilterTrial(std::move(separate)));
  return s;
}

uint64_t FilterTrial::opened_bytes() const {
  const auto properties = file_.table()->GetTableProperties();
  return properties == nullptr
             ? 0
             : properties->filter_size + properties->index_size;
}

Status FilterTrial::Build(
    const Place& place, const std::function<bool(const Slice& key)>& on_entry) {
  const auto& table_options =
      *place.options.table_factory->GetOptions<BlockBasedTableOptions>();
  // What is built here is not logged, since it is not written.
  FilterBuildingContext context(table_options);
  context.column_family_name = place.column_family;
  context.compaction_style = place.options.compaction_style;
  context.num_levels = place.options.num_levels;
  context.level_at_creation = place.level;
  context.reason = TableFileCreationReason::kCompaction;
  std::shared_ptr<const FilterPolicy> policy = table_options.filter_policy;
  const ProteanFilterPolicy* own = AsProteanFilterPolicy(policy.get());
  if (own != nullptr) own->ForLevel(place.level, &policy);
  const std::unique_ptr<FilterBitsBuilder> builder(
      policy == nullptr ? nullptr : policy->GetBuilderWithContext(context));
  if (builder == nullptr) return Status::NotSupported("no filter is built");

  ReadOptions read_options(/*_verify_checksums=*/true, /*_fill_cache=*/false);
  read_options.total_order_seek = true;
  read_options.readahead_size = 2 << 20;
  const std::unique_ptr<InternalIterator> it(file_.table()->NewIterator(
      read_options, /*prefix_extractor=*/nullptr, /*arena=*/nullptr,
      /*skip_filters=*/true, TableReaderCaller::kUncategorized,
      /*compaction_readahead_size=*/0, /*allow_unprepared_value=*/true));
  const size_t timestamp_size = file_.user_comparator()->timestamp_size();
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    const Slice key =
        ExtractUserKeyAndStripTimestamp(it->key(), timestamp_size);
    if (!on_entry(key)) return Status::Incomplete("reading was stopped");
    AddKey(key, place.options.prefix_extractor.get(), builder.get());
  }
  Status s = it->status();
  if (!s.ok()) return s;
  const Slice block = builder->Finish(&new_block_, &s);
  if (!s.ok()) return s;
  new_reader_.reset(policy->GetFilterBitsReader(block));
  new_filter_ = AskedFilter(new_reader_.get(),
                            AsProteanFilterPolicy(policy.get()) != nullptr);
  return s;
}

}  // namespace ROCKSDB_NAMESPACE::protean
