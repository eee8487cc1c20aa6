// SPDX-License-Identifier: Apache-2.0

//  When the parts of a SuRF with updates are merged, and who waits for whom.
//  What they consist of is in filter_policy/dynamic_surf/.

#include "sets/experimental/dynamic_surf.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "filter_policy/samples/files.h"
#include "sets/dynamic_surf/fair_mutex.h"
#include "sets/dynamic_surf/saved_surf.h"
#include "sets/dynamic_surf/surf_merge.h"
#include "sets/dynamic_surf/surf_parts.h"
#include "sets/dynamic_surf/surf_rebuilder.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr uint32_t kMaxMergeRatio = 1000;
// A SuRF of as many keys as it can number, with two or three bytes each.
constexpr uint64_t kMaxSavedBytes = uint64_t{16} << 30;
constexpr uint64_t kMinRecords = 4096;
// Writers wait when the active front has this many times the records that make
// a merge due.
constexpr uint64_t kMaxFronts = 8;
// A merge is due when one of this many leaves is removed.
constexpr uint64_t kRemovedRatio = 4;

Status ValidateBits(const char* name, uint32_t bits, uint32_t max) {
  if (bits <= max) return Status::OK();
  return Status::InvalidArgument(name + ("=" + std::to_string(bits)),
                                 "must be 0 to " + std::to_string(max));
}

Status Validate(const DynamicSurfOptions& options) {
  if (options.env == nullptr) {
    return Status::InvalidArgument("env", "must not be nullptr");
  }
  if (options.source == nullptr) {
    return Status::InvalidArgument("source", "must be given");
  }
  if (options.merge_ratio == 0 || options.merge_ratio > kMaxMergeRatio) {
    return Status::InvalidArgument(
        "merge_ratio=" + std::to_string(options.merge_ratio),
        "must be 1 to " + std::to_string(kMaxMergeRatio));
  }
  const Status s = ValidateBits("hash_suffix_bits", options.hash_suffix_bits,
                                SurfSuffix::kMaxHashBits);
  return s.ok() ? ValidateBits("real_suffix_bits", options.real_suffix_bits,
                               SurfSuffix::kMaxRealBits)
                : s;
}

Status NewSource(const DynamicSurfOptions& options,
                 std::unique_ptr<Iterator>* source) {
  *source = options.source();
  return *source != nullptr
             ? Status::OK()
             : Status::InvalidArgument("source", "gave no iterator");
}

// The number of records of the active front that makes a merge due.
uint64_t EnoughRecords(const SurfPart& bottom, uint32_t merge_ratio) {
  return std::max<uint64_t>(kMinRecords,
                            bottom.surf().fst().num_leaves() / merge_ratio);
}

bool MergeIsDue(const SurfParts& parts, uint32_t merge_ratio) {
  const SurfPart& bottom = parts.bottom();
  const uint64_t removed = bottom.removed().size();
  return parts.active().size() >= EnoughRecords(bottom, merge_ratio) ||
         parts.active().IsFull() ||
         (removed >= kMinRecords &&
          removed * kRemovedRatio >= bottom.surf().fst().num_leaves());
}

// Returns true if writers wait for a merge.
bool IsCrowded(const SurfParts& parts, uint32_t merge_ratio) {
  return parts.active().IsFull() ||
         parts.active().size() >=
             kMaxFronts * EnoughRecords(parts.bottom(), merge_ratio);
}

class DynamicSurfImpl final : public DynamicSurf {
 public:
  DynamicSurfImpl(const DynamicSurfOptions& options, const FilterSalt& salt,
                  std::unique_ptr<SurfPart> bottom,
                  std::unique_ptr<Front> front)
      : options_(options),
        salt_(salt),
        parts_(std::move(bottom), std::move(front)) {
    options_.env->IncBackgroundThreadsIfNeeded(1, Env::LOW);
  }
  ~DynamicSurfImpl() override;

  Status Insert(const Slice& key) override {
    return Change(key, &SurfParts::Insert);
  }
  Status Delete(const Slice& key) override {
    return Change(key, &SurfParts::Delete);
  }
  bool MayContain(const Slice& key) const override {
    const ReadLock lock(mutex_);
    return parts_.KeyMayMatch(key);
  }
  bool RangeMayContain(const Range& range) const override {
    const ReadLock lock(mutex_);
    return parts_.RangeMayMatch(range.start, range.limit);
  }
  bool LowerBound(const Slice& target, std::string* bound) const override {
    const ReadLock lock(mutex_);
    return parts_.LowerBound(target, bound);
  }
  DynamicSurfCount Count(const Range& range) const override {
    DynamicSurfCount count;
    const ReadLock lock(mutex_);
    parts_.Count(range.start, range.limit, &count.least, &count.most);
    return count;
  }
  Status Merge() override;
  Status WaitForMerge() override;
  Status Save(const std::string& file) const override;
  DynamicSurfStatistics GetStatistics() const override;

 private:
  using ReadLock = std::shared_lock<FairSharedMutex>;
  using WriteLock = std::unique_lock<FairSharedMutex>;
  using JobLock = std::unique_lock<std::mutex>;

  Status Change(const Slice& key, void (SurfParts::*change)(const Slice&));
  // Waits until the active front is another one, or there is an error.
  Status WaitForRoom();
  void ScheduleMerge(const JobLock& lock);
  static void RunScheduledMerge(void* filter);
  static void CancelScheduledMerge(void* filter);
  // Merges. Only the thread that has set is_merging_ calls it.
  Status MergeParts();
  void EndMerge(const Status& s);

  const DynamicSurfOptions options_;
  const FilterSalt salt_;

  // Protects the parts. What a merge reads of them does not change meanwhile.
  mutable FairSharedMutex mutex_;
  SurfParts parts_;

  // Protects all that follows. No thread that holds it waits for mutex_.
  mutable std::mutex jobs_mutex_;
  std::condition_variable changed_;
  // Whether a merge waits for a thread or runs. Writers read it without a lock.
  std::atomic<bool> is_merging_{false};
  std::atomic<bool> is_closing_{false};
  Status error_;  // of the last merge
  DynamicSurfStatistics sums_;
};

DynamicSurfImpl::~DynamicSurfImpl() {
  is_closing_ = true;
  // A merge that waits behind jobs of others is not waited for.
  options_.env->UnSchedule(/*tag=*/this, Env::LOW);
  JobLock lock(jobs_mutex_);
  changed_.wait(lock, [&] { return !is_merging_; });
}

// ---- Writers ----

Status DynamicSurfImpl::Change(const Slice& key,
                               void (SurfParts::*change)(const Slice&)) {
  if (key.size() > Front::kMaxKeySize) {
    return Status::InvalidArgument(
        "key", "is longer than " + std::to_string(Front::kMaxKeySize));
  }
  bool is_due;
  for (;;) {
    WriteLock lock(mutex_);
    if (!IsCrowded(parts_, options_.merge_ratio)) {
      (parts_.*change)(key);
      is_due = MergeIsDue(parts_, options_.merge_ratio);
      break;
    }
    lock.unlock();
    const Status s = WaitForRoom();
    if (!s.ok()) return s;
  }
  if (is_due && !is_merging_.load(std::memory_order_relaxed)) {
    ScheduleMerge(JobLock(jobs_mutex_));
  }
  return Status::OK();
}

Status DynamicSurfImpl::WaitForRoom() {
  JobLock lock(jobs_mutex_);
  ScheduleMerge(lock);
  sums_.waits++;
  changed_.wait(lock, [&] { return !is_merging_; });
  return error_;
}

void DynamicSurfImpl::ScheduleMerge(const JobLock& /*lock*/) {
  if (is_merging_ || is_closing_ || !error_.ok()) return;
  is_merging_ = true;
  options_.env->Schedule(&RunScheduledMerge, this, Env::LOW, /*tag=*/this,
                         &CancelScheduledMerge);
}

// ---- Merges ----

void DynamicSurfImpl::RunScheduledMerge(void* filter) {
  auto* self = static_cast<DynamicSurfImpl*>(filter);
  self->EndMerge(self->MergeParts());
}

void DynamicSurfImpl::CancelScheduledMerge(void* filter) {
  static_cast<DynamicSurfImpl*>(filter)->EndMerge(Status::ShutdownInProgress());
}

Status DynamicSurfImpl::Merge() {
  JobLock lock(jobs_mutex_);
  changed_.wait(lock, [&] { return !is_merging_; });
  error_ = Status::OK();
  is_merging_ = true;
  lock.unlock();
  const Status s = MergeParts();
  EndMerge(s);
  return s;
}

Status DynamicSurfImpl::WaitForMerge() {
  JobLock lock(jobs_mutex_);
  changed_.wait(lock, [&] { return !is_merging_; });
  return error_;
}

Status DynamicSurfImpl::MergeParts() {
  const uint64_t begin = options_.env->NowMicros();
  std::unique_ptr<Iterator> source;
  {
    const WriteLock lock(mutex_);
    if (parts_.active().size() == 0 && parts_.bottom().removed().size() == 0) {
      return Status::OK();
    }
    // What is deleted from now on may be gone from the source, but not from the
    // iterator.
    const Status s = NewSource(options_, &source);
    if (!s.ok()) return s;
    parts_.Freeze();
  }
  std::unique_ptr<SurfPart> bottom;
  SurfMergeCounts counts;
  const Status s = MergeSurf(parts_.bottom(), salt_, *parts_.frozen(),
                             source.get(), is_closing_, &bottom, &counts);
  // The old parts are freed without the lock.
  std::unique_ptr<Front> front;
  {
    const WriteLock lock(mutex_);
    if (!s.ok()) {
      parts_.Unfreeze();
      return s;
    }
    bottom = parts_.Install(std::move(bottom), &front);
  }
  const JobLock lock(jobs_mutex_);
  sums_.merges++;
  sums_.merge_micros += options_.env->NowMicros() - begin;
  sums_.keys_sought += counts.sought;
  sums_.keys_not_found += counts.not_found;
  sums_.keys_extra += counts.extra;
  return s;
}

void DynamicSurfImpl::EndMerge(const Status& s) {
  const JobLock lock(jobs_mutex_);
  is_merging_ = false;
  if (!s.IsShutdownInProgress()) error_ = s;
  // The filter may be gone as soon as the lock is given back.
  changed_.notify_all();
}

// ---- The whole filter ----

Status DynamicSurfImpl::Save(const std::string& file) const {
  std::string contents;
  {
    const ReadLock lock(mutex_);
    Front front;
    if (parts_.frozen() != nullptr) AddRecords(*parts_.frozen(), &front);
    AddRecords(parts_.active(), &front);
    contents = EncodeDynamicSurf(salt_, parts_.bottom(), front);
  }
  return ReplaceFile(options_.env, file, contents);
}

DynamicSurfStatistics DynamicSurfImpl::GetStatistics() const {
  JobLock jobs(jobs_mutex_);
  DynamicSurfStatistics statistics = sums_;
  jobs.unlock();
  const ReadLock lock(mutex_);
  const SurfPart& bottom = parts_.bottom();
  statistics.keys_in_surf = bottom.surf().fst().num_leaves();
  statistics.keys_deleted = bottom.removed().size();
  statistics.surf_bytes = bottom.MemoryUsage();
  for (const Front* front : {&parts_.active(), parts_.frozen()}) {
    if (front == nullptr) continue;
    statistics.keys_in_front += front->size();
    statistics.front_bytes += front->MemoryUsage();
  }
  return statistics;
}

}  // namespace

Status DynamicSurf::Build(const DynamicSurfOptions& options,
                          std::unique_ptr<DynamicSurf>* filter) {
  filter->reset();
  Status s = Validate(options);
  std::unique_ptr<Iterator> source;
  if (s.ok()) s = NewSource(options, &source);
  if (!s.ok()) return s;
  SurfSuffix suffix;
  suffix.hash_bits = options.hash_suffix_bits;
  suffix.real_bits = options.real_suffix_bits;
  const FilterSalt salt = FilterSalt::Draw();
  SurfRebuilder builder(suffix, salt);
  for (source->SeekToFirst(); source->Valid(); source->Next()) {
    builder.AddWhole(source->key());
  }
  s = source->status();
  std::string payload;
  uint64_t size = 0;
  if (s.ok()) s = builder.FinishPayload(&payload, &size);
  std::unique_ptr<SurfPart> bottom;
  if (s.ok()) s = SurfPart::Create(std::move(payload), size, salt, &bottom);
  if (!s.ok()) return s;
  *filter = std::make_unique<DynamicSurfImpl>(options, salt, std::move(bottom),
                                              std::make_unique<Front>());
  return s;
}

Status DynamicSurf::Load(const DynamicSurfOptions& options,
                         const std::string& file,
                         std::unique_ptr<DynamicSurf>* filter) {
  filter->reset();
  Status s = Validate(options);
  std::string contents;
  if (s.ok()) s = ReadPlainFile(options.env, file, kMaxSavedBytes, &contents);
  FilterSalt salt;
  std::unique_ptr<SurfPart> bottom;
  auto front = std::make_unique<Front>();
  if (s.ok()) s = DecodeDynamicSurf(contents, &salt, &bottom, front.get());
  if (!s.ok()) return s;
  *filter = std::make_unique<DynamicSurfImpl>(options, salt, std::move(bottom),
                                              std::move(front));
  return s;
}

}  // namespace ROCKSDB_NAMESPACE::protean
