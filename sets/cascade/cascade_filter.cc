// SPDX-License-Identifier: Apache-2.0

//  What a cascade filter does and when: full tables are written, runs are
//  merged, and writers wait. What it consists of is in filter_policy/cascade/.

#include "sets/experimental/cascade_filter.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "filter_policy/bits/checksum.h"
#include "sets/cascade/merge_choice.h"
#include "sets/cascade/parts.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr uint32_t kDefaultBits = 44;
constexpr uint32_t kMaxMerges = 64;
constexpr uint64_t kMinMemory = 64 << 10;

// While merges do not keep up, the writers wait for kDelayMicros after each
// kInsertsPerDelay inserts of all of them, so that memory fills slowly.
constexpr int kDelayMicros = 500;
constexpr uint64_t kInsertsPerDelay = 256;

Status Validate(const CascadeFilterOptions& options) {
  if (options.env == nullptr) {
    return Status::InvalidArgument("env", "must not be nullptr");
  }
  if (options.fingerprint_bits != 0 &&
      (options.fingerprint_bits < kMinFingerprintBits ||
       options.fingerprint_bits > kMaxFingerprintBits)) {
    return Status::InvalidArgument(
        "fingerprint_bits=" + std::to_string(options.fingerprint_bits),
        "must be 0 or " + std::to_string(kMinFingerprintBits) + " to " +
            std::to_string(kMaxFingerprintBits));
  }
  if (options.memory < kMinMemory) {
    return Status::InvalidArgument(
        "memory=" + std::to_string(options.memory),
        "must be at least " + std::to_string(kMinMemory));
  }
  if (options.max_background_merges == 0 ||
      options.max_background_merges > kMaxMerges) {
    return Status::InvalidArgument(
        "max_background_merges=" +
            std::to_string(options.max_background_merges),
        "must be 1 to " + std::to_string(kMaxMerges));
  }
  return Status::OK();
}

RunFiles FilesOf(const CascadeFilterOptions& options) {
  RunFiles files;
  files.fs = options.env->GetFileSystem();
  files.options.use_direct_reads = options.use_direct_io;
  files.options.use_direct_writes = options.use_direct_io;
  files.fingerprint_bits = options.fingerprint_bits;
  return files;
}

template <class T>
bool Contains(const std::vector<T>& list, const T& wanted) {
  return std::find(list.begin(), list.end(), wanted) != list.end();
}

// Slows writers down. Thread safe.
class WriterBrake {
 public:
  void Set(WriterPace pace) { pace_ = pace; }
  bool IsHalted() const { return pace_ == WriterPace::kHalted; }
  // Returns true if a writer has to wait for kDelayMicros before its next
  // insert.
  bool IsDelayDue() {
    return pace_.load(std::memory_order_relaxed) != WriterPace::kFree &&
           delayed_inserts_.fetch_add(1, std::memory_order_relaxed) %
                   kInsertsPerDelay ==
               0;
  }

 private:
  std::atomic<WriterPace> pace_{WriterPace::kFree};
  std::atomic<uint64_t> delayed_inserts_{0};
};

// The error of the last job that failed. Its users have a lock, but for
// MayBeSet.
class JobError {
 public:
  const Status& status() const { return status_; }
  void Set(const Status& status) {
    status_ = status;
    is_set_ = !status.ok();
  }
  bool MayBeSet() const { return is_set_.load(std::memory_order_relaxed); }

 private:
  Status status_;
  std::atomic<bool> is_set_{false};
};

// The jobs that wait for a thread or run.
struct Jobs {
  bool is_flushing = false;
  uint32_t merges_running = 0;
  Runs merging;

  bool IsIdle() const { return !is_flushing && merges_running == 0; }
};

// What the decisions about merges need to know of the runs.
std::vector<RunState> StatesOf(const Runs& runs, const Runs& merging) {
  std::vector<RunState> states;
  for (const auto& run : runs) {
    states.push_back(
        {run->entries(), run->is_damaged() || Contains(merging, run)});
  }
  return states;
}

class CascadeFilterImpl final : public CascadeFilter {
 public:
  CascadeFilterImpl(const CascadeFilterOptions& options,
                    const std::string& folder)
      : options_(options),
        store_(FilesOf(options), folder, options.page_cache),
        parts_(&store_) {}
  ~CascadeFilterImpl() override { Close().PermitUncheckedError(); }

  Status Start();

  Status Insert(const Slice& key) override {
    return Change(key, &MemoryTable::Insert);
  }
  Status Delete(const Slice& key) override {
    return Change(key, &MemoryTable::Delete);
  }
  bool MayContain(const Slice& key) override {
    return parts_.MayContain(Fingerprint(key));
  }
  void MayContainEach(const std::vector<Slice>& keys,
                      std::vector<bool>* may_contain) override;
  Status Flush() override;
  Status WaitForMerges() override;
  CascadeFilterStatistics GetStatistics() const override;
  Status Close() override;

 private:
  using Lock = std::unique_lock<std::mutex>;

  // A merge that waits for a thread or runs.
  struct Merge {
    CascadeFilterImpl* filter;
    Runs runs;  // the newest first
    bool reaches_oldest;
  };

  uint64_t Fingerprint(const Slice& key) const {
    return HashBytes(key.data(), key.size(), store_.salt()) >>
           (64 - store_.fingerprint_bits());
  }
  Status NewTable(std::unique_ptr<MemoryTable>* table) const {
    return MemoryTable::Create(store_.fingerprint_bits(), options_.memory / 2,
                               table);
  }

  Status Change(const Slice& key, CascadeParts::TableChange change);
  void DelayWriter();

  // Functions that take a lock are called with mutex_ held by it.

  Status FlushOnce(Lock* lock);
  // Waits until there is room, and makes the active table a full one if it is
  // still `seen`.
  Status SealWhenRoom(Lock* lock, const MemoryTable* seen);
  // Starts the jobs that are due.
  void ScheduleJobs(const Lock& lock);
  void ScheduleMerges(const Runs& runs);
  void EndJob(Lock* lock, const Status& s);

  static void RunFlush(void* filter);
  static void RunMerge(void* merge);
  static void CancelMerge(void* merge);
  void EndMerge(Merge* merge, const Status& s);
  Status FlushOldestTable();
  Status MergeRuns(const Merge& merge);
  // CascadeParts::Install, which deletes the run that was written if it fails.
  Status Install(const std::shared_ptr<FlashRun>& written,
                 const std::function<void(SealedParts*)>& change);

  const CascadeFilterOptions options_;
  RunStore store_;
  CascadeParts parts_;
  size_t max_full_tables_ = 1;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Jobs jobs_;
  JobError error_;
  WriterBrake brake_;
  // Ends merges early, and starts no more.
  std::atomic<bool> is_closing_{false};
  CascadeFilterStatistics sums_;
};

// ---- Writers ----

Status CascadeFilterImpl::Start() {
  Runs runs;
  Status s = store_.Open(options_.create_if_missing, kDefaultBits, &runs);
  std::unique_ptr<MemoryTable> active;
  if (s.ok()) s = NewTable(&active);
  if (!s.ok()) {
    is_closing_ = true;
    return s;
  }
  parts_.Open(std::move(active), std::move(runs));
  // While one table is written, another one fills. If there is memory for more
  // than two tables, more can wait to be written.
  const uint64_t table_bytes =
      MemoryTable::BytesOf(store_.fingerprint_bits(), options_.memory / 2);
  max_full_tables_ = std::max<uint64_t>(options_.memory / table_bytes, 2) - 1;
  options_.env->IncBackgroundThreadsIfNeeded(1, Env::HIGH);
  options_.env->IncBackgroundThreadsIfNeeded(
      static_cast<int>(options_.max_background_merges), Env::LOW);
  ScheduleJobs(Lock(mutex_));
  return s;
}

Status CascadeFilterImpl::Change(const Slice& key,
                                 CascadeParts::TableChange change) {
  const uint64_t fingerprint = Fingerprint(key);
  if (brake_.IsDelayDue()) DelayWriter();
  for (;;) {
    if (error_.MayBeSet()) {
      Lock lock(mutex_);
      if (!error_.status().ok()) return error_.status();
    }
    const MemoryTable* full = parts_.Change(fingerprint, change);
    if (full == nullptr) return Status::OK();
    Lock lock(mutex_);
    Status s = SealWhenRoom(&lock, full);
    if (!s.ok()) return s;
  }
}

void CascadeFilterImpl::MayContainEach(const std::vector<Slice>& keys,
                                       std::vector<bool>* may_contain) {
  std::vector<std::pair<uint64_t, size_t>> in_order;
  in_order.reserve(keys.size());
  for (size_t i = 0; i < keys.size(); i++) {
    in_order.emplace_back(Fingerprint(keys[i]), i);
  }
  std::sort(in_order.begin(), in_order.end());
  may_contain->resize(keys.size());
  for (const auto& [fingerprint, i] : in_order) {
    (*may_contain)[i] = parts_.MayContain(fingerprint);
  }
}

void CascadeFilterImpl::DelayWriter() {
  options_.env->SleepForMicroseconds(kDelayMicros);
  Lock lock(mutex_);
  sums_.delays++;
}

Status CascadeFilterImpl::SealWhenRoom(Lock* lock, const MemoryTable* seen) {
  const auto has_room = [&] {
    return !error_.status().ok() || parts_.active() != seen ||
           (!brake_.IsHalted() &&
            parts_.sealed()->full_tables.size() < max_full_tables_);
  };
  if (!has_room()) {
    const uint64_t begin = options_.env->NowMicros();
    changed_.wait(*lock, has_room);
    sums_.stalls++;
    sums_.stall_micros += options_.env->NowMicros() - begin;
  }
  if (!error_.status().ok()) return error_.status();
  if (parts_.active() != seen) return Status::OK();
  std::unique_ptr<MemoryTable> table;
  Status s = NewTable(&table);
  if (s.ok() && parts_.Seal(seen, std::move(table))) ScheduleJobs(*lock);
  return s;
}

Status CascadeFilterImpl::Flush() {
  Lock lock(mutex_);
  Status s = FlushOnce(&lock);
  // A job that began before this call may have failed for a reason that is
  // gone.
  return s.ok() ? s : FlushOnce(&lock);
}

Status CascadeFilterImpl::FlushOnce(Lock* lock) {
  if (!error_.status().ok()) {
    // No job begins while there is an error.
    changed_.wait(*lock, [&] { return jobs_.IsIdle(); });
    error_.Set(Status::OK());
  }
  ScheduleJobs(*lock);
  if (parts_.EntriesOfActive() > 0) {
    Status s = SealWhenRoom(lock, parts_.active());
    if (!s.ok()) return s;
  }
  // The oldest table is written first. The pointer keeps a later table from the
  // address of this one.
  std::shared_ptr<const MemoryTable> newest;
  if (const auto sealed = parts_.sealed(); !sealed->full_tables.empty()) {
    newest = sealed->full_tables.front();
  }
  const auto is_written = [&] {
    return newest == nullptr || !Contains(parts_.sealed()->full_tables, newest);
  };
  changed_.wait(*lock, [&] { return !error_.status().ok() || is_written(); });
  return is_written() ? Status::OK() : error_.status();
}

Status CascadeFilterImpl::WaitForMerges() {
  Lock lock(mutex_);
  changed_.wait(lock, [&] { return !error_.status().ok() || jobs_.IsIdle(); });
  return error_.status();
}

Status CascadeFilterImpl::Close() {
  if (is_closing_) return Status::OK();
  const Status s = Flush();
  is_closing_ = true;
  // Merges that wait behind jobs of others are not waited for.
  options_.env->UnSchedule(/*tag=*/this, Env::LOW);
  Lock lock(mutex_);
  changed_.wait(lock, [&] { return jobs_.IsIdle(); });
  store_.Unlock();
  return s;
}

CascadeFilterStatistics CascadeFilterImpl::GetStatistics() const {
  const std::shared_ptr<const SealedParts> sealed = parts_.sealed();
  Lock lock(mutex_);
  CascadeFilterStatistics statistics = sums_;
  lock.unlock();
  statistics.entries_in_memory = parts_.EntriesOfActive();
  for (const auto& table : sealed->full_tables) {
    statistics.entries_in_memory += table->entries();
  }
  statistics.entries = statistics.entries_in_memory;
  statistics.runs = sealed->runs.size();
  for (const auto& run : sealed->runs) {
    statistics.entries += run->entries();
    statistics.flash_bytes += run->file_bytes();
    statistics.damaged_runs += run->is_damaged();
  }
  statistics.memory_bytes = parts_.MemoryUsage();
  const RunReadCounts& reads = parts_.reads();
  statistics.pages_read = reads.pages_read;
  statistics.pages_in_cache = reads.pages_in_cache;
  statistics.unreadable_pages = reads.unreadable_pages;
  statistics.bytes_written = store_.bytes_written();
  return statistics;
}

// ---- Jobs ----

void CascadeFilterImpl::ScheduleJobs(const Lock& /*lock*/) {
  if (is_closing_ || !error_.status().ok()) return;
  const std::shared_ptr<const SealedParts> parts = parts_.sealed();
  if (!jobs_.is_flushing && !parts->full_tables.empty()) {
    jobs_.is_flushing = true;
    options_.env->Schedule(&RunFlush, this, Env::HIGH);
  }
  ScheduleMerges(parts->runs);
}

void CascadeFilterImpl::ScheduleMerges(const Runs& runs) {
  while (jobs_.merges_running < options_.max_background_merges) {
    const std::optional<MergeChoice> choice =
        ChooseMerge(StatesOf(runs, jobs_.merging));
    if (!choice.has_value()) break;
    auto merge = std::make_unique<Merge>();
    merge->filter = this;
    merge->runs.assign(runs.begin() + choice->begin,
                       runs.begin() + choice->end);
    merge->reaches_oldest = choice->end == runs.size();
    jobs_.merging.insert(jobs_.merging.end(), merge->runs.begin(),
                         merge->runs.end());
    jobs_.merges_running++;
    options_.env->Schedule(&RunMerge, merge.release(), Env::LOW, /*tag=*/this,
                           &CancelMerge);
  }
  brake_.Set(
      ChoosePace(StatesOf(runs, jobs_.merging), jobs_.merges_running > 0));
}

void CascadeFilterImpl::EndJob(Lock* lock, const Status& s) {
  if (!s.ok() && !s.IsShutdownInProgress() && !s.IsIncomplete()) {
    error_.Set(s);
  }
  ScheduleJobs(*lock);
  // The filter may be gone as soon as the lock is given back.
  changed_.notify_all();
}

void CascadeFilterImpl::RunFlush(void* filter) {
  auto* self = static_cast<CascadeFilterImpl*>(filter);
  const Status s = self->FlushOldestTable();
  Lock lock(self->mutex_);
  self->jobs_.is_flushing = false;
  self->sums_.flushes += s.ok();
  self->EndJob(&lock, s);
}

Status CascadeFilterImpl::FlushOldestTable() {
  const std::shared_ptr<const SealedParts> parts = parts_.sealed();
  const std::shared_ptr<const MemoryTable> table = parts->full_tables.back();
  std::vector<std::unique_ptr<EntryStream>> streams;
  streams.push_back(table->NewStream());
  const std::unique_ptr<EntryStream> entries =
      MergeStreams(std::move(streams), /*drop_deletes=*/parts->runs.empty());
  std::shared_ptr<FlashRun> run;
  // Closing waits for what was inserted, so that it does not stop a flush.
  const std::atomic<bool> never{false};
  Status s = store_.Write(entries.get(), table->entries(), never, &run);
  if (!s.ok()) return s;
  return Install(run, [&](SealedParts* changed) {
    changed->full_tables.pop_back();
    if (run != nullptr) changed->runs.insert(changed->runs.begin(), run);
  });
}

Status CascadeFilterImpl::Install(
    const std::shared_ptr<FlashRun>& written,
    const std::function<void(SealedParts*)>& change) {
  bool may_be_listed = false;
  const Status s = parts_.Install(change, &may_be_listed);
  // What no manifest can list would fill the disk.
  if (!s.ok() && !may_be_listed && written != nullptr) written->MakeObsolete();
  return s;
}

void CascadeFilterImpl::RunMerge(void* merge) {
  const std::unique_ptr<Merge> owned(static_cast<Merge*>(merge));
  Status s = owned->filter->MergeRuns(*owned);
  // Runs that cannot be read stay as they are, and the others are merged.
  if (s.IsCorruption() &&
      std::any_of(owned->runs.begin(), owned->runs.end(),
                  [](const auto& run) { return run->is_damaged(); })) {
    s = Status::Incomplete();
  }
  owned->filter->EndMerge(owned.get(), s);
}

// Takes a merge out of the queue that no thread has begun.
void CascadeFilterImpl::CancelMerge(void* merge) {
  const std::unique_ptr<Merge> owned(static_cast<Merge*>(merge));
  owned->filter->EndMerge(owned.get(), Status::ShutdownInProgress());
}

void CascadeFilterImpl::EndMerge(Merge* merge, const Status& s) {
  Lock lock(mutex_);
  for (const auto& run : merge->runs) {
    jobs_.merging.erase(
        std::find(jobs_.merging.begin(), jobs_.merging.end(), run));
  }
  // Deleting the files takes time, which no writer should wait for. Close
  // waits, since the merge counts as running.
  lock.unlock();
  merge->runs.clear();
  lock.lock();
  jobs_.merges_running--;
  sums_.merges += s.ok();
  EndJob(&lock, s);
}

Status CascadeFilterImpl::MergeRuns(const Merge& merge) {
  std::vector<std::unique_ptr<EntryStream>> streams;
  uint64_t entries = 0;
  for (const auto& run : merge.runs) {
    streams.push_back(run->NewStream());
    entries += run->entries();
  }
  const std::unique_ptr<EntryStream> merged =
      MergeStreams(std::move(streams), merge.reaches_oldest);
  std::shared_ptr<FlashRun> result;
  Status s = store_.Write(merged.get(), entries, is_closing_, &result);
  if (!s.ok()) return s;
  s = Install(result, [&](SealedParts* changed) {
    Runs& runs = changed->runs;
    const auto begin = std::find(runs.begin(), runs.end(), merge.runs.front());
    const auto after =
        runs.erase(begin, begin + static_cast<ptrdiff_t>(merge.runs.size()));
    if (result != nullptr) runs.insert(after, result);
  });
  if (s.ok()) {
    for (const auto& run : merge.runs) run->MakeObsolete();
  }
  return s;
}

}  // namespace

Status CascadeFilter::Open(const CascadeFilterOptions& options,
                           const std::string& folder,
                           std::unique_ptr<CascadeFilter>* filter) {
  filter->reset();
  Status s = Validate(options);
  if (!s.ok()) return s;
  auto opened = std::make_unique<CascadeFilterImpl>(options, folder);
  s = opened->Start();
  if (s.ok()) *filter = std::move(opened);
  return s;
}

Status CascadeFilter::Destroy(Env* env, const std::string& folder) {
  return DestroyCascade(env->GetFileSystem().get(), folder);
}

}  // namespace ROCKSDB_NAMESPACE::protean
