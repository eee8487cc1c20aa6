// SPDX-License-Identifier: Apache-2.0

#include "table/seek/run_search.h"

#include <array>
#include <mutex>
#include <unordered_map>

#include "util/hash.h"

namespace ROCKSDB_NAMESPACE::protean {

// The searches of all user iterators, by the address of their ReadOptions. A
// search is registered as long as a member holds it, and members do not outlive
// the ReadOptions. One thread after the other may use an iterator.
class RunSearch::Registry {
 public:
  static Registry& Instance() {
    static Registry& instance = *new Registry;  // outlives all iterators
    return instance;
  }

  // nullptr if there is none.
  std::shared_ptr<RunSearch> Find(const ReadOptions* read_options) {
    Shard& shard = ShardOf(read_options);
    std::lock_guard<std::mutex> lock(shard.mutex);
    const auto known = shard.searches.find(read_options);
    return known == shard.searches.end() ? nullptr : known->second.lock();
  }
  void Add(const ReadOptions* read_options,
           const std::shared_ptr<RunSearch>& search) {
    Shard& shard = ShardOf(read_options);
    std::lock_guard<std::mutex> lock(shard.mutex);
    shard.searches[read_options] = search;
  }
  // A search with these ReadOptions has ended. Another one may have begun.
  void Forget(const ReadOptions* read_options) {
    Shard& shard = ShardOf(read_options);
    std::lock_guard<std::mutex> lock(shard.mutex);
    const auto known = shard.searches.find(read_options);
    if (known != shard.searches.end() && known->second.expired()) {
      shard.searches.erase(known);
    }
  }

 private:
  // Enough for threads rarely to wait for each other.
  static constexpr size_t kShards = 64;
  struct alignas(64) Shard {
    std::mutex mutex;
    std::unordered_map<const ReadOptions*, std::weak_ptr<RunSearch>> searches;
  };

  Shard& ShardOf(const ReadOptions* read_options) {
    return shards_[GetSliceHash64(
                       Slice(reinterpret_cast<const char*>(&read_options),
                             sizeof(read_options))) %
                   kShards];
  }

  std::array<Shard, kShards> shards_;
};

std::shared_ptr<RunSearch> RunSearch::Of(const ReadOptions& read_options) {
  Registry& registry = Registry::Instance();
  std::shared_ptr<RunSearch> search = registry.Find(&read_options);
  if (search == nullptr) {
    search.reset(new RunSearch(&read_options));
    registry.Add(&read_options, search);
  }
  return search;
}

RunSearch::~RunSearch() {
  assert(runs_.size() == 0);
  Registry::Instance().Forget(read_options_);
}

void SearchHandle::Leave() {
  if (!IsJoined()) return;
  // A file that was part of an earlier round only makes room for another one.
  if (search_->sampler_.IsWatching() && round == search_->rounds_.current()) {
    search_->sampler_.Finish(search_->runs_);
  }
  Unlist();
}

void SearchHandle::Unlist() {
  search_->sampler_.Forget(this);
  search_->runs_.Remove(this);
  search_.reset();
}

}  // namespace ROCKSDB_NAMESPACE::protean
