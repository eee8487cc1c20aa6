// SPDX-License-Identifier: Apache-2.0

#include "plugin/filter_statistics.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <tuple>

#include "filter_policy/filter_properties.h"
#include "filter_policy/open_db/open_families.h"
#include "filter_policy/protean_filter_policy.h"
#include "plugin/refresh_run.h"
#include "rocksdb/statistics.h"
#include "rocksdb/table.h"
#include "table/protean_table_factory.h"
#include "table/rocksdb_internals/handles.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Negative for a share of nothing.
double RateOf(uint64_t part, uint64_t all) {
  return all == 0 ? -1 : static_cast<double>(part) / static_cast<double>(all);
}

// What is left of a sum. Another thread may be between counting it and the
// part.
uint64_t Without(uint64_t all, uint64_t part) {
  return all - std::min(all, part);
}

double SecondsSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
      .count();
}

FilterSeeks SeeksOf(const SeekCounts& counts, SeekKind kind) {
  return {counts(kind, SeekEvent::kNegative),
          counts(kind, SeekEvent::kPassed),
          counts(kind, SeekEvent::kTruePositive),
          counts(kind, SeekEvent::kFalsePositive),
          counts(kind, SeekEvent::kReached),
          counts(kind, SeekEvent::kDeletionsSkipped)};
}

FilterLookups LookupsOf(const GetCounts& counts) {
  return {counts.unasked, counts.negatives, counts.true_positives,
          Without(counts.positives, counts.true_positives)};
}

FilterBuilds BuildsOf(const BuildCounts& counts) {
  constexpr uint64_t kNanosPerMicro = 1000;
  return {counts.filters, counts.keys, counts.bytes,
          counts.model_nanos / kNanosPerMicro,
          Without(counts.nanos, counts.model_nanos) / kNanosPerMicro};
}

FilterCounts CountsOf(const FileCounts& counts) {
  return {counts.loads.blocks, counts.loads.bytes, counts.loads.failed,
          SeeksOf(counts.seeks, SeekKind::kClosed),
          SeeksOf(counts.seeks, SeekKind::kOpen)};
}

FileFilterStatistics StatisticsOf(const FileState& file) {
  FileFilterStatistics statistics;
  static_cast<FilterCounts&>(statistics) = CountsOf(file.counts);
  statistics.path = file.path;
  statistics.level = file.level;
  if (file.use != FilterUse::kUsed) statistics.unused = ToString(file.use);
  statistics.entries = file.properties->num_entries;
  statistics.keys = file.properties->num_filter_entries;
  statistics.filter_bytes = file.properties->filter_size;
  GetFilterProperties(*file.properties, &statistics.filter);
  return statistics;
}

FilterSums StatisticsOf(const LevelSums& sums) {
  FilterSums statistics;
  static_cast<FilterCounts&>(statistics) = CountsOf(sums.counts);
  statistics.open_files = sums.files;
  statistics.entries = sums.entries;
  statistics.unused_files = sums.unused_files;
  statistics.files_by_basis = sums.files_by_basis;
  statistics.model_micros = sums.model_micros;
  statistics.keys = sums.keys;
  statistics.filter_bytes = sums.filter_bytes;
  statistics.predicted_fpr = sums.PredictedFpr();
  statistics.gets = LookupsOf(sums.gets);
  statistics.reads_from_cache = sums.gets.reads.from_cache;
  statistics.reads_from_storage = sums.gets.reads.from_file;
  statistics.requests_saved =
      static_cast<uint64_t>(std::llround(sums.requests_saved));
  return statistics;
}

RefreshStatistics StatisticsOf(const RefreshCounts& counts) {
  RefreshStatistics refresh;
  refresh.runs = counts.runs;
  refresh.failures = counts.failures;
  refresh.last_end_unix_time = static_cast<uint64_t>(counts.last_end);
  refresh.files_rewritten = counts.files_rewritten;
  refresh.bytes_read = counts.bytes_read;
  refresh.bytes_rewritten = counts.bytes_rewritten;
  refresh.running = counts.running > 0;
  if (!refresh.running) return refresh;
  refresh.bytes = counts.bytes;
  refresh.bytes_decided = std::min(counts.bytes_decided, counts.bytes);
  refresh.running_seconds = SecondsSince(counts.began);
  if (refresh.bytes_decided > 0) {
    refresh.seconds_left =
        refresh.running_seconds *
        static_cast<double>(refresh.bytes - refresh.bytes_decided) /
        static_cast<double>(refresh.bytes_decided);
  }
  return refresh;
}

void AddFiles(const FamilyState& family, FilterStatistics* statistics) {
  for (const FileState& file : family.open_files) {
    statistics->files.push_back(StatisticsOf(file));
  }
  std::sort(statistics->files.begin(), statistics->files.end(),
            [](const FileFilterStatistics& a, const FileFilterStatistics& b) {
              return std::tie(a.level, a.path) < std::tie(b.level, b.path);
            });
  LevelSums total;
  for (const auto& [level, sums] : SumByLevel(family, &total)) {
    statistics->levels.push_back({level, StatisticsOf(sums)});
  }
  statistics->total = StatisticsOf(total);
}

uint64_t LiveFiles(DB* db, ColumnFamilyHandle* column_family) {
  uint64_t files = 0;
  for (int level = 0; level < db->NumberLevels(column_family); level++) {
    std::string count;
    if (db->GetProperty(
            column_family,
            DB::Properties::kNumFilesAtLevelPrefix + std::to_string(level),
            &count)) {
      files += strtoull(count.c_str(), nullptr, 10);
    }
  }
  return files;
}

TickerGets GetsOf(const Statistics* tickers) {
  if (tickers == nullptr) return {};
  const uint64_t true_positives =
      tickers->getTickerCount(BLOOM_FILTER_FULL_TRUE_POSITIVE);
  return {/*known=*/true, tickers->getTickerCount(BLOOM_FILTER_USEFUL),
          true_positives,
          Without(tickers->getTickerCount(BLOOM_FILTER_FULL_POSITIVE),
                  true_positives)};
}

SampleQueueStatistics SamplesOf(const Options& options, Env* env,
                                const std::string& column_family) {
  const ProteanFilterPolicy* const policy = OwnPolicyOf(options);
  const std::shared_ptr<SampleStore> store =
      policy == nullptr ? nullptr : policy->Samples();
  if (store == nullptr) return {};
  const std::shared_ptr<QueryQueue> queue =
      store->Queue(column_family, env, options.info_log.get());
  return {/*exists=*/true,   queue->size(),
          queue->capacity(), queue->sample_every(),
          queue->recorded(), queue->sampled(),
          queue->dropped(),  SecondsSince(queue->created())};
}

// All paths to a folder give one text, with a slash at its end. What is not
// in the operating system's file system stays as it is spelled.
std::string CanonicalFolder(const std::string& folder) {
  std::error_code failed;
  std::string path =
      std::filesystem::weakly_canonical(folder.empty() ? "." : folder, failed)
          .string();
  if (failed) path = folder;
  while (!path.empty() && path.back() == '/') path.pop_back();
  return path + '/';
}

}  // namespace

double FilterSeeks::fpr() const {
  return RateOf(false_positives, avoided() + false_positives);
}

double FilterLookups::fpr() const {
  return RateOf(false_positives, negatives + false_positives);
}

uint64_t FilterSums::used_files() const {
  uint64_t count = open_files;
  for (const auto& [reason, files] : unused_files) count -= files;
  return count;
}

double FilterSums::bits_per_key() const {
  return keys == 0 ? 0
                   : 8 * static_cast<double>(filter_bytes) /
                         static_cast<double>(keys);
}

Status GetFilterStatistics(DB* db, ColumnFamilyHandle* column_family,
                           FilterStatistics* statistics) {
  if (db == nullptr || column_family == nullptr) {
    return Status::InvalidArgument("no DB or no column family");
  }
  *statistics = FilterStatistics();
  const Options options = db->GetOptions(column_family);
  statistics->db = db->GetName();
  statistics->column_family = column_family->GetName();
  statistics->live_files = LiveFiles(db, column_family);
  if (const std::shared_ptr<DBSession> open = SessionOf(db); open != nullptr) {
    const FamilyState state = open->StateOf(FamilyOf(column_family));
    AddFiles(state, statistics);
    statistics->refresh = StatisticsOf(state.refreshes);
    statistics->builds = BuildsOf(state.builds);
    if (const MissCache* const misses = open->misses()) {
      statistics->miss_cache = {misses->bytes(), misses->stored(),
                                misses->hits()};
    }
  }
  statistics->ticker_gets = GetsOf(options.statistics.get());
  statistics->samples =
      SamplesOf(options, db->GetEnv(), statistics->column_family);
  if (const auto* table =
          options.table_factory->GetOptions<BlockBasedTableOptions>()) {
    const KeptMemoryUsage kept = KeptMemory::UsageOf(CapOf(*table).get());
    statistics->kept_memory = {kept.bytes, kept.max_bytes};
  }
  return Status::OK();
}

FilterSums GetFilterSums(const std::string& folder) {
  const std::string wanted = CanonicalFolder(folder);
  // A DB has many files in few folders.
  std::map<std::string, bool> is_below;
  const auto selects = [&](const std::string& path) {
    const std::string of_file = path.substr(0, path.rfind('/') + 1);
    const auto [found, is_new] = is_below.emplace(of_file, false);
    if (is_new) {
      found->second =
          CanonicalFolder(of_file).compare(0, wanted.size(), wanted) == 0;
    }
    return found->second;
  };
  LevelSums total;
  for (const FamilyState& family : DBSession::StatesIn(selects)) {
    SumByLevel(family, &total);
  }
  return StatisticsOf(total);
}

// ---- Filter properties ----

bool GetFilterProperties(const TableProperties& properties,
                         FilterProperties* filter) {
  const UserCollectedProperties& all = properties.user_collected_properties;
  if (all.count(kKindProperty) == 0) return false;
  const FilterReport report = ReportOf(all);
  *filter = {PropertyText(all, kKindProperty),
             report.design,
             report.basis,
             PropertyNumber(all, kBitsPerKeyProperty, 0),
             report.predicted_fpr,
             report.samples,
             report.model_micros};
  return true;
}

Status GetFilterProperties(DB* db, ColumnFamilyHandle* column_family,
                           std::map<std::string, FilterProperties>* files) {
  files->clear();
  TablePropertiesCollection tables;
  const Status s = db->GetPropertiesOfAllTables(column_family, &tables);
  if (!s.ok()) return s;
  for (const auto& [path, properties] : tables) {
    FilterProperties filter;
    if (GetFilterProperties(*properties, &filter)) {
      (*files)[path] = std::move(filter);
    }
  }
  return s;
}

}  // namespace ROCKSDB_NAMESPACE::protean
