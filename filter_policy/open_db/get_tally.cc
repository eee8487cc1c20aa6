// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/open_db/get_tally.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "monitoring/perf_level_imp.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Where RocksDB keeps this thread's perf level, unless RocksDB has been
// compiled without perf contexts: then nothing counts.
const PerfLevel* PerfLevelOfThread() {
#if defined(NPERF_CONTEXT)
  static constexpr PerfLevel kNothing = PerfLevel::kDisable;
  return &kNothing;
#else
  return &perf_level;
#endif
}

}  // namespace

void ThreadPerf::Find() {
  context_ = get_perf_context();
  level_ = PerfLevelOfThread();
}

// The counters of all threads. Never destroyed, since threads may end late.
class ThreadRows {
 public:
  static ThreadRows& Instance() {
    static auto* const instance = new ThreadRows;
    return *instance;
  }

  // Returns the first counter of a row that no other level has.
  size_t TakeRow() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (free_rows_.empty()) return ThreadGets::kRow * rows_++;
    const size_t row = free_rows_.back();
    free_rows_.pop_back();
    return row;
  }
  void ReturnRow(size_t first_counter) {
    const std::lock_guard<std::mutex> lock(mutex_);
    free_rows_.push_back(first_counter);
  }

  GetCounts Sum(size_t first_counter) const {
    const Row row = SumRow(first_counter);
    constexpr size_t kFound = ThreadGets::kFound;
    GetCounts counts;
    counts.unasked =
        row[ThreadGets::kNoAnswer] + row[kFound + ThreadGets::kNoAnswer];
    counts.negatives =
        row[ThreadGets::kNegative] + row[kFound + ThreadGets::kNegative];
    counts.true_positives =
        row[kFound + ThreadGets::kPositive] + row[ThreadGets::kFoundLater];
    counts.positives =
        row[ThreadGets::kPositive] + row[kFound + ThreadGets::kPositive];
    return counts;
  }
  ReadCounts SumReads(size_t first_counter) const {
    const Row row = SumRow(first_counter);
    // Threads count on meanwhile.
    uint64_t gets = row[ThreadGets::kPositive] +
                    row[ThreadGets::kFound + ThreadGets::kPositive];
    gets -= std::min(gets, row[ThreadGets::kGetUnknown]);
    const uint64_t gets_from_file =
        std::min(gets, row[ThreadGets::kGetFromFile]);
    return {row[ThreadGets::kSeekFromCache] + gets - gets_from_file,
            row[ThreadGets::kSeekFromFile] + gets_from_file};
  }

  // Makes room for a counter of this thread.
  void Grow(ThreadGets::ThreadCounters* here, size_t counter) {
    const std::lock_guard<std::mutex> lock(mutex_);
    Counters& counters = threads_[here];
    counters.Grow(std::max(counter + 1, ThreadGets::kRow * rows_));
    here->counters = counters.numbers.get();
    here->size = counters.size;
  }
  // This thread ends.
  void End(ThreadGets::ThreadCounters* here) {
    here->size = 0;
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto thread = threads_.find(here);
    if (thread == threads_.end()) return;
    const Counters& counters = thread->second;
    ended_.Grow(counters.size);
    for (size_t i = 0; i < counters.size; i++) {
      ended_.numbers[i].fetch_add(
          counters.numbers[i].load(std::memory_order_relaxed),
          std::memory_order_relaxed);
    }
    threads_.erase(thread);
  }
  // Counts for a thread that has ended, but for what its own destructors do.
  void AddEnded(size_t counter, uint64_t times) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ended_.Grow(counter + 1);
    ended_.numbers[counter].fetch_add(times, std::memory_order_relaxed);
  }

 private:
  struct Counters {
    // Makes the numbers at least `least`; new ones are 0.
    void Grow(size_t least) {
      if (least <= size) return;
      size_t larger = std::max<size_t>(2 * size, 8 * ThreadGets::kRow);
      larger = std::max(larger, least);
      std::unique_ptr<std::atomic<uint64_t>[]> copy(
          new std::atomic<uint64_t>[larger]);
      for (size_t i = 0; i < larger; i++) {
        copy[i].store(i < size ? numbers[i].load(std::memory_order_relaxed) : 0,
                      std::memory_order_relaxed);
      }
      numbers = std::move(copy);
      size = larger;
    }

    std::unique_ptr<std::atomic<uint64_t>[]> numbers;
    size_t size = 0;
  };

  using Row = std::array<uint64_t, ThreadGets::kRow>;

  // The sums of the counters of a row, over all threads.
  Row SumRow(size_t first_counter) const {
    Row row = {};
    const auto add = [&](const Counters& counters) {
      for (size_t i = 0; i < ThreadGets::kRow; i++) {
        if (first_counter + i >= counters.size) break;
        row[i] +=
            counters.numbers[first_counter + i].load(std::memory_order_relaxed);
      }
    };
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [id, counters] : threads_) add(counters);
    add(ended_);
    return row;
  }

  mutable std::mutex mutex_;
  std::map<const ThreadGets::ThreadCounters*, Counters> threads_;
  Counters ended_;  // the sums of threads that have ended
  size_t rows_ = 0;
  std::vector<size_t> free_rows_;  // by their first counters
};

namespace {

// Hands the counters of a thread over when it ends.
struct Ending {
  ~Ending() { function(); }
  void (*function)();
};

}  // namespace

GetCounts& GetCounts::operator+=(const GetCounts& other) {
  unasked += other.unasked;
  negatives += other.negatives;
  positives += other.positives;
  true_positives += other.true_positives;
  return *this;
}

GetTally::GetTally()
    : first_counter_(ThreadRows::Instance().TakeRow()),
      before_(ThreadRows::Instance().Sum(first_counter_)),
      reads_before_(ThreadRows::Instance().SumReads(first_counter_)) {}

GetTally::~GetTally() { ThreadRows::Instance().ReturnRow(first_counter_); }

GetCounts GetTally::Load() const {
  GetCounts counts = ThreadRows::Instance().Sum(first_counter_);
  counts.unasked -= before_.unasked;
  counts.negatives -= before_.negatives;
  counts.positives -= before_.positives;
  counts.true_positives -= before_.true_positives;
  return counts;
}

ReadCounts GetTally::LoadReads() const {
  return ThreadRows::Instance().SumReads(first_counter_).Since(reads_before_);
}

void ThreadGets::CountSlowly(size_t counter, uint64_t times) {
  static thread_local bool ended = false;
  static thread_local const Ending ending = {[] {
    ended = true;
    ThreadRows::Instance().End(&thread_counters_);
  }};
  (void)ending;
  if (ended) return ThreadRows::Instance().AddEnded(counter, times);
  ThreadRows::Instance().Grow(&thread_counters_, counter);
  Add(counter, times);
}

void ThreadGets::CountBatch(size_t first_counter, const FilterAnswers& answers,
                            size_t keys, size_t found) {
  const uint64_t negatives = answers.negatives();
  const uint64_t positives = answers.positives();
  // Keys for which the filter was not asked, or could not be read.
  const uint64_t unasked =
      keys - std::min<uint64_t>(keys, negatives + positives);
  // If some keys got an answer and others none, it is unknown which were found.
  const uint64_t true_positives = std::min<uint64_t>(found, positives);
  Add(first_counter + kNoAnswer, unasked);
  Add(first_counter + kNegative, negatives);
  Add(first_counter + kPositive, positives - true_positives);
  Add(first_counter + kFound + kPositive, true_positives);
  CountGetFromFile(first_counter, answers);
}

void ThreadGets::CountGetFromFile(size_t first_counter,
                                  const FilterAnswers& answers) {
  Add(first_counter + kGetFromFile,
      std::min(answers.positives(), answers.blocks()));
}

void ThreadGets::CountBatchOfFilter(size_t first_counter,
                                    const FilterAnswers& answers) {
  Add(first_counter + kNegative, answers.negatives());
  Add(first_counter + kPositive, answers.positives());
  Add(first_counter + kGetUnknown, answers.positives());
}

void ThreadGets::CountFound(size_t first_counter, size_t found) {
  Add(first_counter + kFoundLater, found);
}

}  // namespace ROCKSDB_NAMESPACE::protean
