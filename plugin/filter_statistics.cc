#include "plugin/filter_statistics.h"

#include <algorithm>
#include <chrono>
#include <tuple>

#include "filter_policy/protean_filter_policy.h"
#include "filter_policy/samples/db_session.h"
#include "rocksdb/statistics.h"
#include "rocksdb/table.h"
#include "table/rocksdb_internals/column_family.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

FilterSeeks SeeksOf(const SeekCounts& counts, SeekKind kind) {
  FilterSeeks seeks;
  seeks.negatives = counts(kind, SeekEvent::kNegative);
  seeks.passed = counts(kind, SeekEvent::kPassed);
  seeks.true_positives = counts(kind, SeekEvent::kTruePositive);
  seeks.false_positives = counts(kind, SeekEvent::kFalsePositive);
  seeks.reached = counts(kind, SeekEvent::kReached);
  return seeks;
}

void Add(const FilterSeeks& seeks, FilterSeeks* sum) {
  sum->negatives += seeks.negatives;
  sum->passed += seeks.passed;
  sum->true_positives += seeks.true_positives;
  sum->false_positives += seeks.false_positives;
  sum->reached += seeks.reached;
}

FileFilterStatistics StatisticsOf(const FilterRegistry::File& file) {
  FileFilterStatistics statistics;
  statistics.path = file.path;
  statistics.level = std::max(file.level, -1);
  if (file.use != FilterUse::kUsed) statistics.unused = ToString(file.use);
  statistics.entries = file.properties->num_entries;
  statistics.keys = file.properties->num_filter_entries;
  statistics.filter_bytes = file.properties->filter_size;
  GetFilterProperties(*file.properties, &statistics.filter);
  statistics.closed = SeeksOf(file.seeks, SeekKind::kClosed);
  statistics.open = SeeksOf(file.seeks, SeekKind::kOpen);
  return statistics;
}

// Sums in the making.
struct Summing {
  FilterSums sums;
  double predicted = 0;  // rate times keys
  double keys = 0;       // of files with a predicted rate

  void Add(const FileFilterStatistics& file) {
    sums.files++;
    sums.entries += file.entries;
    protean::Add(file.closed, &sums.closed);
    protean::Add(file.open, &sums.open);
    if (!file.unused.empty()) {
      sums.unused[file.unused]++;
      return;
    }
    sums.keys += file.keys;
    sums.filter_bytes += file.filter_bytes;
    if (file.filter.predicted_fpr < 0) return;
    keys += static_cast<double>(file.keys);
    predicted += file.filter.predicted_fpr * static_cast<double>(file.keys);
  }
  void Add(const SeekCounts& closed_files) {
    protean::Add(SeeksOf(closed_files, SeekKind::kClosed), &sums.closed);
    protean::Add(SeeksOf(closed_files, SeekKind::kOpen), &sums.open);
  }
  FilterSums Result() const {
    FilterSums result = sums;
    if (keys > 0) result.predicted_fpr = predicted / keys;
    return result;
  }
};

FilterRegistry::Contents ContentsOf(DB* db, ColumnFamilyHandle* column_family) {
  const DBOptions options = db->GetDBOptions();
  std::string id;
  std::shared_ptr<DBSession> session;
  if (db->GetDbSessionId(id).ok()) session = DBSession::Find(id);
  if (session == nullptr) {
    session = DBSession::Find(DBSession::IdOf("", options.info_log.get()));
  }
  return session == nullptr ? FilterRegistry::Contents()
                            : session->filters()->Of(FamilyOf(column_family));
}

void AddFiles(const FilterRegistry::Contents& contents,
              FilterStatistics* statistics) {
  std::map<int, Summing> levels;
  Summing total;
  for (const auto& [level, seeks] : contents.closed) {
    levels[std::max(level, -1)].Add(seeks);
    total.Add(seeks);
  }
  for (const FilterRegistry::File& file : contents.files) {
    statistics->files.push_back(StatisticsOf(file));
    levels[statistics->files.back().level].Add(statistics->files.back());
    total.Add(statistics->files.back());
  }
  std::sort(statistics->files.begin(), statistics->files.end(),
            [](const FileFilterStatistics& a, const FileFilterStatistics& b) {
              return std::tie(a.level, a.path) < std::tie(b.level, b.path);
            });
  for (const auto& [level, summing] : levels) {
    statistics->levels.push_back({level, summing.Result()});
  }
  statistics->total = total.Result();
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

FilterGets GetsOf(const Statistics* tickers) {
  FilterGets gets;
  if (tickers == nullptr) return gets;
  gets.known = true;
  gets.negatives = tickers->getTickerCount(BLOOM_FILTER_USEFUL);
  gets.positives = tickers->getTickerCount(BLOOM_FILTER_FULL_POSITIVE);
  gets.true_positives =
      tickers->getTickerCount(BLOOM_FILTER_FULL_TRUE_POSITIVE);
  return gets;
}

SampleQueueStatistics SamplesOf(const Options& options, Env* env,
                                const std::string& column_family) {
  SampleQueueStatistics samples;
  const auto* table =
      options.table_factory->GetOptions<BlockBasedTableOptions>();
  const ProteanFilterPolicy* policy =
      table == nullptr ? nullptr
                       : AsProteanFilterPolicy(table->filter_policy.get());
  const std::shared_ptr<SampleStore> store =
      policy == nullptr ? nullptr : policy->Samples();
  if (store == nullptr) return samples;
  const std::shared_ptr<QueryQueue> queue =
      store->Queue(column_family, env, options.info_log.get());
  samples.exists = true;
  samples.held = queue->size();
  samples.capacity = queue->capacity();
  samples.sample_every = queue->sample_every();
  samples.recorded = queue->recorded();
  samples.sampled = queue->sampled();
  samples.dropped = queue->dropped();
  const std::chrono::duration<double> age =
      std::chrono::steady_clock::now() - queue->created();
  samples.age_seconds = age.count();
  return samples;
}

}  // namespace

double FilterSeeks::FalsePositiveRate() const {
  const uint64_t useless = spared() + false_positives;
  return useless == 0 ? -1
                      : static_cast<double>(false_positives) /
                            static_cast<double>(useless);
}

uint64_t FilterSums::used() const {
  uint64_t count = files;
  for (const auto& [reason, unused_files] : unused) count -= unused_files;
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
  AddFiles(ContentsOf(db, column_family), statistics);
  statistics->gets = GetsOf(options.statistics.get());
  statistics->samples =
      SamplesOf(options, db->GetEnv(), statistics->column_family);
  return Status::OK();
}

FilterSums GetFilterSums(const std::string& folder) {
  std::string begin = folder;
  while (!begin.empty() && begin.back() == '/') begin.pop_back();
  begin.push_back('/');
  Summing total;
  for (const auto& filters : DBSession::AllFilters()) {
    for (const auto& contents : filters->OfFolder(begin)) {
      for (const auto& [level, seeks] : contents.closed) total.Add(seeks);
      for (const FilterRegistry::File& file : contents.files) {
        total.Add(StatisticsOf(file));
      }
    }
  }
  return total.Result();
}

}  // namespace ROCKSDB_NAMESPACE::protean
