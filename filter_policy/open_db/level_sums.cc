// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/open_db/level_sums.h"

#include "filter_policy/filter_properties.h"
#include "filter_policy/option_types.h"
#include "monitoring/perf_level_imp.h"

namespace ROCKSDB_NAMESPACE::protean {

// ---- Get tally ----

void ThreadPerf::Find() {
  context_ = get_perf_context();
#if defined(NPERF_CONTEXT)
  // RocksDB has been compiled without perf contexts: nothing counts.
  static constexpr PerfLevel kNothing = PerfLevel::kDisable;
  level_ = &kNothing;
#else
  level_ = &perf_level;
#endif
}

GetTally::Row& GetTally::MakeRow() {
  Row* const row = new Row;
  row->tally = this;
  rows_.Reset(row);
  return *row;
}

// RocksDB holds a mutex here and in Fold. If a thread ends while rows are added
// up, they are added up again, so that its row is in the sums once.
void GetTally::EndRow(void* ended) {
  Row* const row = static_cast<Row*>(ended);
  for (size_t i = 0; i < kNumbers; i++) {
    Add(i, row->numbers[i].LoadRelaxed(), &row->tally->ended_);
  }
  row->tally->threads_ended_.fetch_add(1, std::memory_order_release);
  delete row;
}

GetTally::Sums GetTally::SumRows() const {
  Sums sums = {};
  const auto add = [](void* row, void* to) {
    for (size_t i = 0; i < kNumbers; i++) {
      (*static_cast<Sums*>(to))[i] +=
          static_cast<const Row*>(row)->numbers[i].LoadRelaxed();
    }
  };
  for (uint64_t ended = ~uint64_t{0}; ended != threads_ended_;) {
    ended = threads_ended_;
    sums = {};
    add(const_cast<Row*>(&ended_), &sums);
    rows_.Fold(add, &sums);
  }
  return sums;
}

GetCounts GetTally::Load() const {
  const Sums sums = SumRows();
  GetCounts counts;
  counts.unasked = sums[kNoAnswer] + sums[kFound + kNoAnswer];
  counts.negatives = sums[kNegative] + sums[kFound + kNegative];
  counts.positives = sums[kPositive] + sums[kFound + kPositive];
  counts.true_positives = sums[kFound + kPositive] + sums[kFoundLater];
  // Threads count on meanwhile.
  const uint64_t gets =
      counts.positives - std::min(counts.positives, sums[kGetUnknown]);
  const uint64_t gets_from_file = std::min(gets, sums[kGetFromFile]);
  counts.reads = {sums[kSeekFromCache] + gets - gets_from_file,
                  sums[kSeekFromFile] + gets_from_file};
  return counts;
}

void GetTally::CountBatch(const FilterAnswers& answers, size_t keys,
                          size_t found) {
  const uint64_t negatives = answers.negatives();
  const uint64_t positives = answers.positives();
  // Keys for which the filter was not asked, or could not be read.
  const uint64_t unasked =
      keys - std::min<uint64_t>(keys, negatives + positives);
  Row& row = RowOfThread();
  Add(kNoAnswer, unasked, &row);
  Add(kNegative, negatives, &row);
  Add(kPositive, positives, &row);
  // If some keys got an answer and others none, it is unknown which were found.
  Add(kFoundLater, std::min<uint64_t>(found, positives), &row);
  CountGetsFromFile(answers, &row);
}

void GetTally::CountGetsFromFile(const FilterAnswers& answers, Row* row) {
  Add(kGetFromFile, std::min(answers.positives(), answers.blocks()), row);
}

void GetTally::CountBatchOfFilter(const FilterAnswers& answers) {
  Row& row = RowOfThread();
  Add(kNegative, answers.negatives(), &row);
  Add(kPositive, answers.positives(), &row);
  Add(kGetUnknown, answers.positives(), &row);
}

// ---- Level sums ----

namespace {

// The reads that a level's filters have spared, as requests to storage. Without
// any read, a block is taken to be in no cache.
double RequestsSaved(const LevelSums& level) {
  uint64_t spared = level.gets.negatives;
  for (const SeekKind kind : {SeekKind::kClosed, SeekKind::kOpen}) {
    spared += level.counts.seeks(kind, SeekEvent::kNegative) +
              level.counts.seeks(kind, SeekEvent::kPassed);
  }
  const ReadCounts& reads = level.gets.reads;
  return static_cast<double>(spared) *
         static_cast<double>(reads.from_file + 1) /
         static_cast<double>(reads.all() + 1);
}

}  // namespace

void LevelSums::Add(const FileState& file) {
  const TableProperties& properties = *file.properties;
  files++;
  entries += properties.num_entries;
  counts += file.counts;
  if (file.use != FilterUse::kUsed) {
    unused_files[ToString(file.use)]++;
    return;
  }
  used_files++;
  keys += properties.num_filter_entries;
  filter_bytes += properties.filter_size;
  const UserCollectedProperties& of_filter =
      properties.user_collected_properties;
  const double predicted = PredictedFprOf(of_filter);
  const bool has_samples = PropertyNumber(of_filter, kSamplesProperty, 0) > 0;
  files_by_basis[kDesignBases[has_samples ? 0 : predicted >= 0 ? 1 : 2]]++;
  model_micros +=
      static_cast<uint64_t>(PropertyNumber(of_filter, kModelMicrosProperty, 0));
  if (predicted < 0) return;
  const auto file_keys = static_cast<double>(properties.num_filter_entries);
  predicted_positives += predicted * file_keys;
  predicted_keys += file_keys;
}

std::map<int, LevelSums> SumByLevel(const FamilyState& family,
                                    LevelSums* total) {
  std::map<int, LevelSums> levels;
  for (const auto& [number, level] : family.levels) {
    for (LevelSums* sums : {&levels[number], total}) {
      sums->counts += level.closed_files;
      sums->gets += level.gets;
    }
  }
  for (const FileState& file : family.open_files) {
    for (LevelSums* sums : {&levels[file.level], total}) sums->Add(file);
  }
  for (auto& [level, sums] : levels) {
    sums.requests_saved = RequestsSaved(sums);
    total->requests_saved += sums.requests_saved;
  }
  return levels;
}

// The numbers have the names that they have in plugin/filter_statistics.h.
std::string ToLogLine(const std::map<int, LevelSums>& levels) {
  std::string line;
  const auto add = [&line](const std::string& name, const std::string& number) {
    line += (line.back() == ':' ? " " : ", ") + name + " " + number;
  };
  for (const auto& [level, sums] : levels) {
    // A level that is left may have had filters, but no seeks.
    if (sums.files == 0 && sums.counts.seeks.IsZero()) continue;
    line += line.empty() ? " L" : "; L";
    line += (level < 0 ? "?" : std::to_string(level)) + ":";
    add("open_files", std::to_string(sums.files));
    add("used_files", std::to_string(sums.used_files));
    add("bits_per_key", DecimalText(sums.BitsPerKey(), 1));
    for (const auto& [kind, name] :
         {std::make_pair(SeekKind::kClosed, "bounded_seeks."),
          std::make_pair(SeekKind::kOpen, "unbounded_seeks.")}) {
      for (const auto& [event, outcome] :
           {std::make_pair(SeekEvent::kNegative, "negatives"),
            std::make_pair(SeekEvent::kPassed, "passed"),
            std::make_pair(SeekEvent::kTruePositive, "true_positives"),
            std::make_pair(SeekEvent::kFalsePositive, "false_positives")}) {
        add(std::string(name) + outcome,
            std::to_string(sums.counts.seeks(kind, event)));
      }
    }
  }
  return line + ".";
}

}  // namespace ROCKSDB_NAMESPACE::protean
