// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/open_db/get_tally.h"

#include "monitoring/perf_level_imp.h"

namespace ROCKSDB_NAMESPACE::protean {

GetCounts& GetCounts::operator+=(const GetCounts& other) {
  unasked += other.unasked;
  negatives += other.negatives;
  positives += other.positives;
  true_positives += other.true_positives;
  return *this;
}

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
    Add(i, row->numbers[i].load(std::memory_order_relaxed),
        &row->tally->ended_);
  }
  row->tally->threads_ended_.fetch_add(1, std::memory_order_release);
  delete row;
}

GetTally::Sums GetTally::SumRows() const {
  Sums sums = {};
  const auto add = [](void* row, void* to) {
    for (size_t i = 0; i < kNumbers; i++) {
      (*static_cast<Sums*>(to))[i] +=
          static_cast<const Row*>(row)->numbers[i].load(
              std::memory_order_relaxed);
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
  return counts;
}

ReadCounts GetTally::LoadReads() const {
  const Sums sums = SumRows();
  // Threads count on meanwhile.
  uint64_t gets = sums[kPositive] + sums[kFound + kPositive];
  gets -= std::min(gets, sums[kGetUnknown]);
  const uint64_t gets_from_file = std::min(gets, sums[kGetFromFile]);
  return {sums[kSeekFromCache] + gets - gets_from_file,
          sums[kSeekFromFile] + gets_from_file};
}

void GetTally::CountBatch(const FilterAnswers& answers, size_t keys,
                          size_t found) {
  const uint64_t negatives = answers.negatives();
  const uint64_t positives = answers.positives();
  // Keys for which the filter was not asked, or could not be read.
  const uint64_t unasked =
      keys - std::min<uint64_t>(keys, negatives + positives);
  // If some keys got an answer and others none, it is unknown which were found.
  const uint64_t true_positives = std::min<uint64_t>(found, positives);
  Row& row = RowOfThread();
  Add(kNoAnswer, unasked, &row);
  Add(kNegative, negatives, &row);
  Add(kPositive, positives - true_positives, &row);
  Add(kFound + kPositive, true_positives, &row);
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

}  // namespace ROCKSDB_NAMESPACE::protean
