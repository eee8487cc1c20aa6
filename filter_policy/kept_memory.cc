// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/kept_memory.h"

#include <algorithm>
#include <limits>
#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "cache/cache_key.h"
#include "rocksdb/advanced_cache.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// The parts of a limit that holders which cannot give back take, at most.
constexpr double kMaxFixed = 0.75;
constexpr double kMaxOfTables = 0.5;

// A cache is charged in entries of this size. A cache has shards, down to half
// a megabyte, of which RocksDB's own entries of 256 KB fill one by chance.
constexpr size_t kChargeStep = 16 << 10;

// The part of a cache that is charged at most.
size_t ShareOf(const Cache& cache) { return cache.GetCapacity() / 8; }

}  // namespace

// The memory that holders have taken together.
struct KeptMemory::Sum {
  size_t bytes = 0;
  size_t fixed = 0;    // the part of those that cannot give back
  size_t elastic = 0;  // the number of other holders with any memory

  size_t FixedLeft(size_t most) const { return most - std::min(most, fixed); }
};

std::shared_ptr<Cache> CapOf(const BlockBasedTableOptions& options) {
  const auto& roles = options.cache_usage_options.options_overrides;
  const auto readers = roles.find(CacheEntryRole::kBlockBasedTableReader);
  const bool counts =
      options.cache_index_and_filter_blocks ||
      (readers != roles.end() &&
       readers->second.charged == CacheEntryRoleOptions::Decision::kEnabled);
  return counts ? options.block_cache : nullptr;
}

// The holders with one cap, or with none.
struct KeptMemory::Account {
  explicit Account(const std::shared_ptr<Cache>& of) : cache(of) {}

  // Returns false if the cache has no room.
  bool ChargeFor(size_t all_bytes) {
    if (cache == nullptr) return true;
    const size_t count = std::min(all_bytes, ShareOf(*cache)) / kChargeStep;
    while (charges.size() > count) {
      cache->Release(charges.back(), /*erase_if_last_ref=*/true);
      charges.pop_back();
    }
    while (charges.size() < count) {
      Cache::Handle* handle = nullptr;
      const CacheKey key = CacheKey::CreateUniqueForCacheLifetime(cache.get());
      if (!cache
               ->Insert(key.AsSlice(), nullptr, &kNoopCacheItemHelper,
                        kChargeStep, &handle)
               .ok()) {
        return false;
      }
      charges.push_back(handle);
    }
    return true;
  }

  const std::shared_ptr<Cache> cache;
  std::vector<Cache::Handle*> charges;
  size_t holders = 0;
  Sum sum;
};

struct KeptMemory::All {
  std::mutex mutex;
  size_t max_bytes = kMaxOfProcess;
  Sum sum;
  std::map<const Cache*, std::unique_ptr<Account>> accounts;
  std::set<KeptMemory*> elastic;

  // A cache of no capacity caps nothing.
  static bool Counts(const Cache* cache) {
    return cache != nullptr && cache->GetCapacity() > 0;
  }
  size_t LimitOf(const Cache* cache) const {
    return cache == nullptr
               ? max_bytes
               : std::min(max_bytes, std::max(kMinOfCache, ShareOf(*cache)));
  }
  bool Fits(const Account& account, size_t more) const {
    return sum.bytes + more <= max_bytes &&
           account.sum.bytes + more <= LimitOf(account.cache.get());
  }
  // How much is left of `part` of the limits for holders that cannot give back.
  size_t FixedLeft(const Account& account, double part) const {
    const auto left = [part](const Sum& of, size_t limit) {
      return of.FixedLeft(
          static_cast<size_t>(part * static_cast<double>(limit)));
    };
    return std::min(left(sum, max_bytes),
                    left(account.sum, LimitOf(account.cache.get())));
  }

  void Set(KeptMemory* holder, size_t bytes) {
    for (Sum* const of : {&sum, &holder->account_->sum}) {
      of->bytes = of->bytes - holder->bytes_ + bytes;
      if (holder->shrink_ == nullptr) {
        of->fixed = of->fixed - holder->bytes_ + bytes;
      } else {
        of->elastic += bytes > 0 ? 1 : 0;
        of->elastic -= holder->bytes_ > 0 ? 1 : 0;
      }
    }
    holder->bytes_ = bytes;
  }

  // Makes others that have more than their shares give room to a holder that is
  // to have `bytes`. Returns false if there is none.
  bool MakeRoomFor(const KeptMemory& holder, size_t bytes) {
    const size_t more = bytes - holder.bytes_;
    const bool gives = holder.shrink_ != nullptr;
    // A share in what is left of a limit, if the limit is exceeded.
    const auto share_of = [&](const Sum& of, size_t limit) {
      if (of.bytes + more <= limit) return std::numeric_limits<size_t>::max();
      const size_t holders = of.elastic + (gives && holder.bytes_ == 0 ? 1 : 0);
      const size_t left = of.FixedLeft(limit);
      return (left - std::min(left, gives ? 0 : more)) /
             std::max<size_t>(1, holders);
    };
    const Account* const account = holder.account_;
    const size_t of_all = share_of(sum, max_bytes);
    const size_t of_account =
        std::min(of_all, share_of(account->sum, LimitOf(account->cache.get())));
    if (gives && bytes > of_account) return false;
    for (KeptMemory* const other : elastic) {
      const size_t share = other->account_ == account ? of_account : of_all;
      if (other != &holder && other->bytes_ > share && other->shrink_(share)) {
        Set(other, share);
      }
    }
    return Fits(*account, more);
  }

  static All& Instance() {
    static auto* const all = new All;
    return *all;
  }
};

KeptMemory::KeptMemory(const std::shared_ptr<Cache>& cap, Shrink shrink)
    : shrink_(std::move(shrink)) {
  All& all = All::Instance();
  const std::lock_guard<std::mutex> lock(all.mutex);
  const bool counts = all.Counts(cap.get());
  auto& account = all.accounts[counts ? cap.get() : nullptr];
  if (account == nullptr) {
    account = std::make_unique<Account>(counts ? cap : nullptr);
  }
  account_ = account.get();
  account_->holders++;
  if (shrink_ != nullptr) all.elastic.insert(this);
}

KeptMemory::~KeptMemory() {
  All& all = All::Instance();
  std::unique_ptr<Account> unused;  // destroyed without the lock
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.elastic.erase(this);
  all.Set(this, 0);
  account_->ChargeFor(account_->sum.bytes);
  if (--account_->holders > 0) return;
  const auto account = all.accounts.find(account_->cache.get());
  unused = std::move(account->second);
  all.accounts.erase(account);
}

bool KeptMemory::Resize(size_t bytes, bool wait) {
  All& all = All::Instance();
  std::unique_lock<std::mutex> lock(all.mutex, std::defer_lock);
  if (wait) {
    lock.lock();
  } else if (!lock.try_lock()) {
    return false;
  }
  const size_t before = bytes_;
  if (bytes > before) {
    const size_t more = bytes - before;
    if (shrink_ == nullptr && more > all.FixedLeft(*account_, kMaxFixed)) {
      return false;
    }
    if (!all.Fits(*account_, more) && !all.MakeRoomFor(*this, bytes)) {
      return false;
    }
  }
  all.Set(this, bytes);
  if (account_->ChargeFor(account_->sum.bytes) || bytes <= before) return true;
  all.Set(this, before);
  account_->ChargeFor(account_->sum.bytes);
  return false;
}

size_t KeptMemory::RoomForTable() const {
  All& all = All::Instance();
  const std::lock_guard<std::mutex> lock(all.mutex);
  return all.FixedLeft(*account_, kMaxOfTables) / 2;
}

KeptMemoryUsage KeptMemory::UsageOf(const Cache* cap) {
  All& all = All::Instance();
  const std::lock_guard<std::mutex> lock(all.mutex);
  if (!all.Counts(cap)) return {all.sum.bytes, all.max_bytes};
  const auto account = all.accounts.find(cap);
  return {account == all.accounts.end() ? 0 : account->second->sum.bytes,
          all.LimitOf(cap)};
}

void KeptMemory::SetMaxOfProcess(size_t bytes) {
  All& all = All::Instance();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.max_bytes = bytes;
}

}  // namespace ROCKSDB_NAMESPACE::protean
