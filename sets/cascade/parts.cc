// SPDX-License-Identifier: Apache-2.0

#include "sets/cascade/parts.h"

#include <utility>

namespace ROCKSDB_NAMESPACE::protean {

CascadeParts::AllStripes::AllStripes(StripeMutexes* mutexes)
    : mutexes_(mutexes) {
  for (std::mutex& mutex : *mutexes_) mutex.lock();
}
CascadeParts::AllStripes::~AllStripes() {
  for (std::mutex& mutex : *mutexes_) mutex.unlock();
}

void CascadeParts::Open(std::unique_ptr<MemoryTable> active, Runs runs) {
  active_ = std::move(active);
  auto sealed = std::make_shared<SealedParts>();
  sealed->runs = std::move(runs);
  sealed_ = std::move(sealed);
}

const MemoryTable* CascadeParts::Change(uint64_t fingerprint,
                                        TableChange change) {
  // All tables have the same stripes.
  std::lock_guard<std::mutex> lock(stripe_mutexes_[MemoryTable::StripeOf(
      fingerprint, store_->fingerprint_bits())]);
  return (active_.get()->*change)(fingerprint) ? nullptr : active_.get();
}

bool CascadeParts::MayContain(uint64_t fingerprint) {
  Entry newer;
  std::shared_ptr<const SealedParts> sealed;
  {
    std::lock_guard<std::mutex> lock(stripe_mutexes_[MemoryTable::StripeOf(
        fingerprint, store_->fingerprint_bits())]);
    newer = active_->Find(fingerprint);
    if (newer.inserts > 0) return true;
    sealed = sealed_;
  }
  // Once there is a copy, nothing older can take it away.
  for (const auto& table : sealed->full_tables) {
    newer = Combine(table->Find(fingerprint), newer);
    if (newer.inserts > 0) return true;
  }
  for (const auto& run : sealed->runs) {
    Entry entry;
    switch (run->Find(fingerprint, &reads_, &entry)) {
      case FlashRun::Found::kUnreadable:
        return true;
      case FlashRun::Found::kEntry:
        newer = Combine(entry, newer);
        if (newer.inserts > 0) return true;
        break;
      case FlashRun::Found::kNothing:
        break;
    }
  }
  return false;
}

bool CascadeParts::Seal(const MemoryTable* seen,
                        std::unique_ptr<MemoryTable> active) {
  AllStripes lock(&stripe_mutexes_);
  if (active_.get() != seen) return false;
  auto sealed = std::make_shared<SealedParts>(*sealed_);
  sealed->full_tables.insert(sealed->full_tables.begin(), std::move(active_));
  sealed_ = std::move(sealed);
  active_ = std::move(active);
  return true;
}

Status CascadeParts::Install(const std::function<void(SealedParts*)>& change,
                             bool* may_be_listed) {
  std::lock_guard<std::mutex> install_lock(install_mutex_);
  // The runs are changed by this function alone, so that they are still the
  // same below; full tables may have come.
  SealedParts listed = *sealed();
  change(&listed);
  Status s = store_->List(listed.runs, may_be_listed);
  if (!s.ok()) return s;
  // A list that no lookup uses any more is freed after the locks are.
  std::shared_ptr<const SealedParts> replaced;
  AllStripes lock(&stripe_mutexes_);
  auto changed = std::make_shared<SealedParts>(*sealed_);
  change(changed.get());
  replaced = std::exchange(sealed_, std::move(changed));
  return s;
}

std::shared_ptr<const SealedParts> CascadeParts::sealed() const {
  std::lock_guard<std::mutex> lock(stripe_mutexes_[0]);
  return sealed_;
}

const MemoryTable* CascadeParts::active() const {
  std::lock_guard<std::mutex> lock(stripe_mutexes_[0]);
  return active_.get();
}

uint64_t CascadeParts::EntriesOfActive() const {
  AllStripes lock(&stripe_mutexes_);
  return active_->entries();
}

size_t CascadeParts::MemoryUsage() const {
  AllStripes lock(&stripe_mutexes_);
  size_t bytes = active_->MemoryUsage();
  for (const auto& table : sealed_->full_tables) bytes += table->MemoryUsage();
  for (const auto& run : sealed_->runs) bytes += run->MemoryUsage();
  return bytes;
}

}  // namespace ROCKSDB_NAMESPACE::protean
