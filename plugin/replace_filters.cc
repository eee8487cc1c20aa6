// SPDX-License-Identifier: Apache-2.0

#include "plugin/replace_filters.h"

#include <memory>
#include <string>

#include "filter_policy/protean_filter_policy.h"
#include "rocksdb/filter_policy.h"
#include "table/rocksdb_internals/separate_file.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

using Outcome = RefreshOutcome;

Status Check(const RefreshRun& run) {
  const auto invalid = [&run](const std::string& why) {
    return Status::InvalidArgument("RefreshFilters needs " + why +
                                   " in column family " +
                                   run.column_family()->GetName());
  };
  const BlockBasedTableOptions& table = run.table();
  if (table.filter_policy == nullptr || !IsOfRocksDB(*table.filter_policy)) {
    return invalid("a filter policy of Protean, or one of RocksDB's own,");
  }
  FilterBuildingContext context(table);
  const std::unique_ptr<FilterBitsBuilder> builder(
      table.filter_policy->GetBuilderWithContext(context));
  if (builder == nullptr ||
      (!table.whole_key_filtering &&
       run.family_options().prefix_extractor == nullptr)) {
    return invalid("a filter policy that builds filters");
  }
  return run.CheckWritable();
}

// The outcome for a file that needs no new filter, or else kNotReached.
Outcome OutcomeOf(const BlockBasedFile& file) {
  const bool has_filter =
      file.filter_state() != BlockBasedFile::FilterState::kNone;
  if (has_filter && AsProteanFilterPolicy(file.filter_policy()) == nullptr) {
    return Outcome::kHasFilter;
  }
  const auto properties = file.table()->GetTableProperties();
  // Filters hold no range deletions, and without keys there is no filter.
  const bool has_keys =
      properties == nullptr ||
      properties->num_entries > properties->num_range_deletions;
  return has_keys ? Outcome::kNotReached : Outcome::kUnfiltered;
}

// Reads all entries of the file. A compaction that comes upon a damaged block
// would stop all writes to the DB.
Status ReadEntries(RefreshRun* run, const BlockBasedFile& file,
                   const RefreshedFile& listed, Status* damage) {
  constexpr uint64_t kEntriesPerReport = 4096;
  ReadOptions options;
  options.fill_cache = false;
  options.readahead_size = 2 << 20;
  const std::unique_ptr<InternalIterator> it(file.table()->NewIterator(
      options, /*prefix_extractor=*/nullptr, /*arena=*/nullptr,
      /*skip_filters=*/true, TableReaderCaller::kUncategorized));
  uint64_t entries = 0;
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    if (++entries % kEntriesPerReport != 0) continue;
    const Status s = run->GoOn();
    if (!s.ok()) return s;
  }
  *damage = it->status();
  run->CountRead(listed.bytes);
  return Status::OK();
}

Status Replace(RefreshRun* run, const std::string& path, RefreshedFile* file) {
  Outcome outcome = Outcome::kNotReached;
  {
    std::unique_ptr<SeparateFile> opened;
    Status s = SeparateFile::Open(run->family_options(), path, &opened);
    if (!s.ok()) {
      run->DecideUnreadable(file, s);
      return run->GoOn();
    }
    outcome = OutcomeOf(opened->file());
    if (outcome == Outcome::kNotReached && !run->options().dry_run &&
        !run->ExceedsLimit(*file)) {
      Status damage;
      s = ReadEntries(run, opened->file(), *file, &damage);
      if (!s.ok()) return s;
      if (!damage.ok()) {
        run->DecideUnreadable(file, damage);
        return run->GoOn();
      }
    }
  }
  if (outcome == Outcome::kNotReached) return run->Rewrite(file);
  run->Decide(file, outcome);
  return run->GoOn();
}

}  // namespace

Status ReplaceFilters(RefreshRun* run) {
  Status s = Check(*run);
  if (!s.ok()) return s;
  const ColumnFamilyMetaData metadata = run->ListFiles();
  RefreshedFile* file = run->result()->files.data();
  for (const LevelMetaData& level : metadata.levels) {
    for (const SstFileMetaData& listed : level.files) {
      if (s.ok() && file->outcome == Outcome::kNotReached) {
        s = Replace(run, listed.directory + "/" + listed.relative_filename,
                    file);
      }
      file++;
    }
  }
  return run->Finish(s);
}

}  // namespace ROCKSDB_NAMESPACE::protean
