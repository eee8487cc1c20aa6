// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/samples/query_queue.h"

#include <algorithm>

#include "filter_policy/bits/bit_util.h"
#include "util/coding.h"
#include "util/hash.h"
#include "util/math.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Numbers start from 1, because an unused slot holds 0.
uint64_t NextQueueNumber() {
  static RelaxedAtomic<uint32_t> last;
  uint32_t number = 0;
  while (number == 0) number = 1 + last.FetchAddRelaxed(1);
  return number;
}

// The memory that a query takes in a queue.
size_t MemoryOf(const SampleQuery& query) {
  size_t bytes = sizeof(query);
  // A short string is in the object. What malloc adds is about that of glibc.
  constexpr size_t kMaxInObject = 22;
  constexpr size_t kMalloc = 16;
  for (const std::string* bound : {&query.lo, &query.hi}) {
    if (bound->capacity() > kMaxInObject) bytes += bound->capacity() + kMalloc;
  }
  return bytes;
}

uint64_t HashOf(const SampleQuery& query) {
  const uint64_t lo = Hash64(query.lo.data(), query.lo.size());
  return Hash64(query.hi.data(), query.hi.size(),
                lo + (query.hi_inclusive ? 1 : 0));
}

}  // namespace

QueryQueue::QueryQueue(size_t capacity, uint32_t sample_every)
    : owner_(NextQueueNumber() << 32), slot_((owner_ >> 32) % kSlots) {
  SetLimits(capacity, sample_every);
}

void QueryQueue::SetLimits(size_t capacity, uint32_t sample_every) {
  capacity_.StoreRelaxed(std::max<size_t>(capacity, 1));
  unsampled_.StoreRelaxed(std::max<uint32_t>(sample_every, 1) - 1);
}

bool QueryQueue::TickSlowly(uint64_t* slot) {
  const uint64_t unsampled = this->unsampled();
  uint64_t skipped = unsampled;  // all, if the count has run out
  if (*slot + 1 != owner_) {
    // This is the thread's first call, or another queue has used the slot
    // since. Multiples of the golden ratio spread the starts evenly, so the
    // share of sampled calls is right even if every call starts over.
    constexpr uint32_t kGoldenRatio = 0x9e3779b9;
    const uint32_t start = kGoldenRatio * starts_.FetchAddRelaxed(1);
    skipped = (uint64_t{start} * (unsampled + 1)) >> 32;
  }
  if (skipped == unsampled) {
    *slot = owner_ + unsampled;
    return true;
  }
  *slot = owner_ + unsampled - skipped - 1;
  return false;
}

void QueryQueue::CountIn(const std::shared_ptr<Cache>& cap) {
  const auto shrink = [this](size_t most) {
    const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock()) return false;
    while (memory_bytes_ > most) PopOldest();
    counted_ = most;
    return true;
  };
  const std::lock_guard<std::mutex> lock(mutex_);
  memory_.reset();
  memory_ = std::make_unique<KeptMemory>(cap, shrink);
  counted_ = 0;
  while (!Count(memory_bytes_, /*wait=*/true)) {
    for (size_t i = queries_.size() / 2 + 1; i > 0; i--) PopOldest();
  }
}

bool QueryQueue::Count(size_t bytes, bool wait) {
  // Few queries make the count change.
  constexpr size_t kStep = 1 << 10;
  const size_t counted = (bytes + kStep - 1) / kStep * kStep;
  if (counted <= counted_ && counted + kStep >= counted_) return true;
  if (memory_ != nullptr && !memory_->Resize(counted, wait)) {
    return counted <= counted_;
  }
  counted_ = counted;
  return true;
}

SampleQuery QueryQueue::PopOldest() {
  SampleQuery oldest = std::move(queries_.front());
  queries_.pop_front();
  bytes_ -= BytesOf(oldest);
  memory_bytes_ -= MemoryOf(oldest);
  hashes_ -= HashOf(oldest);
  size_.StoreRelaxed(queries_.size());
  return oldest;
}

SampleQuery QueryQueue::MakeRoom(size_t bytes) {
  SampleQuery room;
  while (!queries_.empty() &&
         (queries_.size() >= capacity() ||
          bytes_ + bytes > capacity() * kMaxBytesPerQuery)) {
    room = PopOldest();
  }
  // A short query must not keep the memory of a long one.
  if (room.lo.capacity() + room.hi.capacity() > kMaxBytesPerQuery) room = {};
  return room;
}

bool QueryQueue::Push(SampleQuery query, bool wait) {
  const size_t memory = MemoryOf(query);
  if (!Count(memory_bytes_ + memory, wait)) {
    if (memory > counted_) return false;
    while (memory_bytes_ + memory > counted_) PopOldest();
  }
  bytes_ += BytesOf(query);
  memory_bytes_ += memory;
  hashes_ += HashOf(query);
  queries_.push_back(std::move(query));
  size_.StoreRelaxed(queries_.size());
  recorded_.FetchAddRelaxed(1);
  return true;
}

void QueryQueue::Record(const Slice& lo, const Slice& hi, bool hi_inclusive) {
  std::unique_lock<std::mutex> lock(mutex_, std::defer_lock);
  if (lo.size() > kMaxRecordedKey || hi.size() > kMaxRecordedKey ||
      IsInverted(lo, hi, hi_inclusive) || !lock.try_lock()) {
    dropped_.FetchAddRelaxed(1);
    return;
  }
  // The strings of an evicted query are reused, which saves allocations.
  SampleQuery query = MakeRoom(lo.size() + hi.size());
  query.lo.assign(lo.data(), lo.size());
  query.hi.assign(hi.data(), hi.size());
  query.hi_inclusive = hi_inclusive;
  if (!Push(std::move(query), /*wait=*/false)) dropped_.FetchAddRelaxed(1);
}

void QueryQueue::Add(SampleQuery query) {
  const std::lock_guard<std::mutex> lock(mutex_);
  MakeRoom(BytesOf(query));
  if (Push(std::move(query), /*wait=*/true)) added_.FetchAddRelaxed(1);
}

double QueryQueue::QueriesPerKey(uint64_t keys) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return demand_.QueriesPerKey((recorded() + dropped()) * sample_every(), keys);
}

std::vector<SampleQuery> QueryQueue::Snapshot() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return {queries_.begin(), queries_.end()};
}

SamplesOfFile QueryQueue::SnapshotFor(const Slice& smallest,
                                      const Slice& largest, size_t most) const {
  SamplesOfFile samples;
  std::vector<const SampleQuery*> asked;
  const std::lock_guard<std::mutex> lock(mutex_);
  // A file with keys from everywhere is asked most queries, and a part of the
  // queue is enough.
  size_t step =
      std::max<size_t>(1, queries_.size() / std::max(most, size_t{1}));
  for (;; step = (step + 1) / 2) {
    asked.clear();
    size_t looked_at = 0;
    for (size_t i = 0; i < queries_.size(); i += step) {
      looked_at++;
      if (!LiesBeyond(queries_[i], smallest, largest)) {
        asked.push_back(&queries_[i]);
      }
    }
    samples.outside = step * (looked_at - asked.size());
    if (step == 1 || 2 * asked.size() >= most) break;
  }
  samples.per_query = step;
  samples.queries.reserve(asked.size());
  for (const SampleQuery* query : asked) samples.queries.push_back(*query);
  return samples;
}

uint64_t QueryQueue::Fingerprint() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return queries_.size() + hashes_;
}

// ---- Empty queries ----

void GapQueries::Pass(const Slice& key) {
  if (passed_++ % every_ == 0 && passed_ > 1) AddBetween(last_, key);
  last_.assign(key.data(), key.size());
}

void GapQueries::AddBetween(const Slice& low, const Slice& high) {
  const size_t shared = low.difference_offset(high);
  const uint64_t below =
      LoadBigEndian(low.data() + shared, low.size() - shared);
  const uint64_t above =
      LoadBigEndian(high.data() + shared, high.size() - shared);
  if (above < below + 2) return;  // no room within these 8 bytes
  const uint64_t lo = below + 1 + random_.Uniform(above - below - 1);
  // Every other query is a point.
  const uint64_t width = queries_.size() % 2 == 0 ? 0 : (above - below) / 64;
  const uint64_t hi = lo + std::min(width, above - 1 - lo);
  const auto with_number = [&](uint64_t number) {
    std::string key(high.data(), shared);
    PutFixed64(&key, EndianSwapValue(number));
    return key;
  };
  queries_.push_back({with_number(lo), with_number(hi), /*hi_inclusive=*/true});
}

}  // namespace ROCKSDB_NAMESPACE::protean
