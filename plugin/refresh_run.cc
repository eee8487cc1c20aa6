// SPDX-License-Identifier: Apache-2.0

#include "plugin/refresh_run.h"

#include <algorithm>
#include <atomic>
#include <chrono>

#include "filter_policy/protean_filter_policy.h"
#include "rocksdb/comparator.h"
#include "rocksdb/filter_policy.h"
#include "table/filter_trial.h"
#include "table/rocksdb_internals/block_based_file.h"
#include "table/rocksdb_internals/handles.h"

namespace ROCKSDB_NAMESPACE::protean {

std::shared_ptr<DBSession> SessionOf(DB* db) {
  std::string id;
  std::shared_ptr<DBSession> open;
  if (db->GetDbSessionId(id).ok()) open = DBSession::Find(id);
  if (open != nullptr) return open;
  const DBOptions options = db->GetDBOptions();
  return DBSession::Find(DBSession::IdOf("", options.info_log.get()));
}

namespace {

using Outcome = RefreshOutcome;

// Returns true if the options select a file.
bool IsSelected(const RefreshOptions& options, const Comparator& order,
                const SstFileMetaData& file, int level) {
  const std::vector<int>& levels = options.levels;
  if (!levels.empty() && std::count(levels.begin(), levels.end(), level) == 0) {
    return false;
  }
  const auto compare = [&order](const std::string& key,
                                const std::string& bound) {
    return order.CompareWithoutTimestamp(key, /*a_has_ts=*/true, bound,
                                         /*b_has_ts=*/false);
  };
  return (!options.start || compare(file.largestkey, *options.start) >= 0) &&
         (!options.limit || compare(file.smallestkey, *options.limit) < 0);
}

// Returns true if the file would get no filter. RocksDB decides so when it
// writes a file, if nothing that is older than the file overlaps it, and in
// level 0 if nothing is older.
bool IsUnfiltered(const Comparator& order, const ColumnFamilyMetaData& metadata,
                  const SstFileMetaData& file, int level) {
  const auto overlaps = [&](const SstFileMetaData& other) {
    return level == 0 || (order.CompareWithoutTimestamp(
                              other.largestkey, file.smallestkey) >= 0 &&
                          order.CompareWithoutTimestamp(other.smallestkey,
                                                        file.largestkey) <= 0);
  };
  for (const LevelMetaData& other : metadata.levels) {
    auto first = other.files.begin();
    if (other.level == level) {
      // In level 0 the newest file comes first.
      first += level == 0 ? &file - other.files.data() + 1
                          : static_cast<ptrdiff_t>(other.files.size());
    }
    if (other.level >= level &&
        std::any_of(first, other.files.end(), overlaps)) {
      return false;
    }
  }
  return true;
}

}  // namespace

RefreshRun::RefreshRun(DB* its_db, ColumnFamilyHandle* its_column_family,
                       const RefreshOptions& its_options,
                       RefreshResult* its_result)
    : db(its_db),
      column_family(its_column_family),
      options(its_options),
      result(its_result),
      family_options(db->GetOptions(column_family)),
      session(SessionOf(db)) {
  Enter([](RefreshCounts* counts) {
    counts->running++;
    counts->began = std::chrono::steady_clock::now();
    counts->bytes = 0;
    counts->bytes_decided = 0;
  });
  if (options.bytes_per_second > 0) {
    // The rate limiter refills in tenths of a second.
    limiter_.reset(NewGenericRateLimiter(
        static_cast<int64_t>(std::max<uint64_t>(options.bytes_per_second, 10)),
        /*refill_period_us=*/100 * 1000, /*fairness=*/10,
        RateLimiter::Mode::kAllIo));
  }
}

RefreshRun::~RefreshRun() {
  Enter([this](RefreshCounts* counts) {
    counts->running--;
    counts->runs++;
    if (failed) counts->failures++;
    counts->last_end = std::chrono::duration_cast<std::chrono::seconds>(
                           std::chrono::system_clock::now().time_since_epoch())
                           .count();
  });
}

void RefreshRun::Enter(const std::function<void(RefreshCounts*)>& change) {
  if (session == nullptr || options.dry_run) return;
  session->WithRefreshes(
      FamilyOf(column_family),
      [&](RefreshCounts* counts, RefreshMemory*) { change(counts); });
}

void RefreshRun::EnterProgress() {
  Enter([&](RefreshCounts* counts) {
    counts->bytes = progress_.bytes;
    counts->bytes_decided = progress_.bytes_decided;
  });
}

Status RefreshRun::CheckWritable() const {
  if (options.dry_run) return Status::OK();
  // Not every read-only instance refuses CompactFiles (one crashes), but all of
  // them refuse this call, which does nothing.
  std::atomic<bool> canceled{true};
  CompactRangeOptions nothing;
  nothing.canceled = &canceled;
  const Status s = db->CompactRange(nothing, column_family, nullptr, nullptr);
  return s.IsNotSupported() ? s : Status::OK();
}

ColumnFamilyMetaData RefreshRun::ListFiles() {
  const Comparator& order = *family_options.comparator;
  ColumnFamilyMetaData metadata;
  db->GetColumnFamilyMetaData(column_family, &metadata);
  for (const LevelMetaData& level : metadata.levels) {
    for (const SstFileMetaData& file : level.files) {
      RefreshedFile& listed = result->files.emplace_back();
      listed.name = file.relative_filename;
      listed.level = level.level;
      listed.bytes = file.size;
      listed.entries = file.num_entries;
      progress_.files++;
      progress_.bytes += file.size;
      if (!IsSelected(options, order, file, level.level)) {
        Decide(&listed, Outcome::kNotSelected);
      } else if (family_options.optimize_filters_for_hits &&
                 IsUnfiltered(order, metadata, file, level.level)) {
        Decide(&listed, Outcome::kUnfiltered);
      }
    }
  }
  return metadata;
}

void RefreshRun::Decide(RefreshedFile* file, Outcome outcome,
                        const Status& status) {
  file->outcome = outcome;
  file->status = status;
  progress_.files_decided++;
  progress_.bytes_decided += file->bytes;
}

void RefreshRun::DecideUnreadable(RefreshedFile* file, const Status& status) {
  const bool is_gone = status.IsNotFound() || status.IsPathNotFound();
  Decide(file,
         is_gone                 ? Outcome::kGone
         : status.IsCorruption() ? Outcome::kDamaged
                                 : Outcome::kFailed,
         status);
}

Status RefreshRun::GoOn(uint64_t bytes) {
  EnterProgress();
  if (limiter_ == nullptr) bytes = 0;
  do {
    if (bytes > 0) {
      const uint64_t part = std::min(
          bytes, static_cast<uint64_t>(limiter_->GetSingleBurstBytes()));
      limiter_->Request(static_cast<int64_t>(part), Env::IO_LOW,
                        /*stats=*/nullptr, RateLimiter::OpType::kRead);
      bytes -= part;
    }
    if (options.progress && !options.progress(progress_)) {
      return Status::Incomplete("RefreshFilters was told to end");
    }
  } while (bytes > 0);
  return Status::OK();
}

void RefreshRun::CountRead(uint64_t bytes) {
  progress_.bytes_read += bytes;
  Enter([bytes](RefreshCounts* counts) { counts->bytes_read += bytes; });
}

Status RefreshRun::Rewrite(RefreshedFile* file) {
  if (ExceedsLimit(*file)) {
    Decide(file, Outcome::kLimitReached);
    return Status::OK();
  }
  if (options.dry_run) {
    Decide(file, Outcome::kWouldRewrite);
    CountRewritten(*file);
    return Status::OK();
  }
  Status s = GoOn(file->bytes);
  if (!s.ok()) return s;
  const bool is_parallel = options.max_parallel_rewrites > 1;
  // A deferred rewrite is made in this thread, when its status is asked for.
  in_work_.push_back(
      {file,
       std::async(is_parallel ? std::launch::async : std::launch::deferred,
                  [this, file] {
                    return RewriteFile(db, column_family, file->name);
                  })});
  bytes_in_work_ += file->bytes;
  const size_t most = is_parallel ? options.max_parallel_rewrites : 1;
  // With one rewrite at a time, none is left in work.
  if (in_work_.size() < most) return Status::OK();
  return EndFirstRewrite();
}

Status RefreshRun::EndFirstRewrite() {
  RewriteInWork first = std::move(in_work_.front());
  in_work_.pop_front();
  Status s = first.status.get();
  bytes_in_work_ -= first.file->bytes;
  Status others;
  if (s.IsAborted() && options.max_parallel_rewrites > 1) {
    // Perhaps another of these rewrites was in the way.
    while (!in_work_.empty()) {
      const Status ended = EndFirstRewrite();
      if (others.ok()) others = ended;
    }
    s = RewriteFile(db, column_family, first.file->name);
  }
  if (s.ok()) {
    Decide(first.file, Outcome::kRewritten);
    CountRewritten(*first.file);
  } else if (s.IsNotFound()) {
    Decide(first.file, Outcome::kGone, s);
  } else if (s.IsAborted()) {
    Decide(first.file, Outcome::kBeingCompacted);
  } else {
    if (!s.IsIncomplete()) Decide(first.file, Outcome::kFailed, s);
    // Goes on after these errors: a smaller file may find room, and other files
    // may be free to compact.
    const bool goes_on = s.IsCompactionTooLarge() || s.IsInvalidArgument();
    if (!goes_on && others.ok()) return s;
  }
  return others;
}

void RefreshRun::CountRewritten(const RefreshedFile& file) {
  progress_.bytes_rewritten += file.bytes;
  result->files_rewritten++;
  result->saved_reads_per_second += std::max(file.saved_reads_per_second, 0.0);
  Enter([&file](RefreshCounts* counts) {
    counts->files_rewritten++;
    counts->bytes_rewritten += file.bytes;
  });
}

Status RefreshRun::Finish(Status status) {
  while (!in_work_.empty()) {
    const Status ended = EndFirstRewrite();
    if (status.ok()) status = ended;
  }
  EnterProgress();
  result->bytes_read = progress_.bytes_read;
  result->bytes_rewritten = progress_.bytes_rewritten;
  Log(InfoLogLevel::INFO_LEVEL, family_options.info_log,
      "Protean: %s of column family %s: %llu of %zu files%s, %llu bytes, by "
      "%zu samples: %s",
      options.dry_run ? "trial refresh" : "refresh",
      column_family->GetName().c_str(),
      static_cast<unsigned long long>(result->files_rewritten),
      result->files.size(), options.dry_run ? " to rewrite" : " rewritten",
      static_cast<unsigned long long>(result->bytes_rewritten),
      static_cast<size_t>(result->samples), status.ToString().c_str());
  return status;
}

// ---- Replace filters ----

namespace {

Status Check(const RefreshRun& run) {
  const auto invalid = [&run](const std::string& why) {
    return Status::InvalidArgument("RefreshFilters needs " + why +
                                   " in column family " +
                                   run.column_family->GetName());
  };
  const BlockBasedTableOptions& table = run.table();
  if (table.filter_policy == nullptr || !IsOfRocksDB(*table.filter_policy)) {
    return invalid("a filter policy of Protean, or one of RocksDB's own,");
  }
  FilterBuildingContext context(table);
  const std::unique_ptr<FilterBitsBuilder> builder(
      table.filter_policy->GetBuilderWithContext(context));
  if (builder == nullptr || (!table.whole_key_filtering &&
                             run.family_options.prefix_extractor == nullptr)) {
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
  const std::unique_ptr<InternalIterator> it =
      file.NewIterator(options, /*keys_only=*/false);
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

// Decides about a file that needs no new filter, or that cannot be read.
Status Screen(RefreshRun* run, const std::string& path, RefreshedFile* file) {
  std::unique_ptr<BlockBasedFile> opened;
  Status unreadable =
      BlockBasedFile::OpenApart(run->family_options, path, &opened);
  if (unreadable.ok()) {
    const Outcome outcome = OutcomeOf(*opened);
    if (outcome != Outcome::kNotReached) {
      run->Decide(file, outcome);
    } else if (!run->options.dry_run && !run->ExceedsLimit(*file)) {
      const Status s = ReadEntries(run, *opened, *file, &unreadable);
      if (!s.ok()) return s;
    }
  }
  if (!unreadable.ok()) run->DecideUnreadable(file, unreadable);
  return file->outcome == Outcome::kNotReached ? Status::OK() : run->GoOn();
}

}  // namespace

Status ReplaceFilters(RefreshRun* run) {
  Status s = Check(*run);
  if (!s.ok()) return s;
  const ColumnFamilyMetaData metadata = run->ListFiles();
  RefreshedFile* file = run->result->files.data();
  for (const LevelMetaData& level : metadata.levels) {
    for (const SstFileMetaData& listed : level.files) {
      const std::string path =
          listed.directory + "/" + listed.relative_filename;
      const auto is_undecided = [&] {
        return s.ok() && file->outcome == Outcome::kNotReached;
      };
      if (is_undecided()) s = Screen(run, path, file);
      if (is_undecided()) s = run->Rewrite(file);
      file++;
    }
  }
  return run->Finish(s);
}

}  // namespace ROCKSDB_NAMESPACE::protean
