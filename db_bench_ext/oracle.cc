// SPDX-License-Identifier: Apache-2.0

#include "db_bench_ext/oracle.h"

#include <algorithm>
#include <mutex>
#include <vector>

#include "util/coding.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// The keys of a file. Their first 8 bytes, which are compared first, lie
// together.
class SortedKeys {
 public:
  void Add(const Slice& key) {
    heads_.push_back(Head(key));
    keys_.push_back(key.ToString());
  }

  // The first key that is at least `key`, or nullptr.
  const std::string* LowerBound(const Slice& key) const {
    const auto same_head =
        std::equal_range(heads_.begin(), heads_.end(), Head(key));
    const auto end = keys_.begin() + (same_head.second - heads_.begin());
    const auto found = std::lower_bound(
        keys_.begin() + (same_head.first - heads_.begin()), end, key,
        [](const std::string& a, const Slice& b) { return b.compare(a) > 0; });
    return found != keys_.end() ? &*found : nullptr;
  }

  // The number of keys below `key`, including `key` itself if `inclusive`.
  size_t CountBelow(const Slice& key, bool inclusive) const {
    const std::string* first = LowerBound(key);
    if (first == nullptr) return keys_.size();
    const auto below = static_cast<size_t>(first - keys_.data());
    return below + (inclusive && key == *first ? 1 : 0);
  }

  size_t MemoryUsage() const {
    return keys_.capacity() * (sizeof(std::string) + sizeof(uint64_t));
  }

 private:
  static uint64_t Head(const Slice& key) {
    uint64_t head = 0;
    for (size_t i = 0; i < 8; i++) {
      head = head << 8 | (i < key.size() ? static_cast<uint8_t>(key[i]) : 0);
    }
    return head;
  }

  std::vector<uint64_t> heads_;
  std::vector<std::string> keys_;
};

using KeyList = std::shared_ptr<const SortedKeys>;

std::mutex key_lists_mutex;

std::vector<KeyList>& KeyLists() {
  static auto* const lists = new std::vector<KeyList>;
  return *lists;
}

class Oracle : public RangeFilter {
 public:
  explicit Oracle(KeyList keys) : keys_(std::move(keys)) {}

  bool KeyMayMatch(const Slice& key) const override {
    const std::string* first = keys_->LowerBound(key);
    return first != nullptr && key == *first;
  }

  bool RangeMayMatch(const Slice& lo, const Slice& hi,
                     bool hi_inclusive) const override {
    const std::string* first = keys_->LowerBound(lo);
    if (first == nullptr) return false;
    const int order = Slice(*first).compare(hi);
    return order < 0 || (order == 0 && hi_inclusive);
  }

  bool LowerBound(const Slice& target, std::string* bound) const override {
    const std::string* first = keys_->LowerBound(target);
    if (first == nullptr) return false;
    *bound = *first;
    return true;
  }

  bool CountRange(const Slice& lo, const Slice& hi, bool hi_inclusive,
                  RangeCount* count) const override {
    *count = RangeCount();
    count->count = keys_->CountBelow(hi, hi_inclusive);
    const size_t below = keys_->CountBelow(lo, /*inclusive=*/false);
    count->count -= std::min<uint64_t>(below, count->count);
    return true;
  }

  static Status Open(const PartContents& part,
                     std::unique_ptr<RangeFilter>* filter) {
    const Slice& payload = part.payload;
    std::lock_guard<std::mutex> lock(key_lists_mutex);
    if (payload.size() != 8 ||
        DecodeFixed64(payload.data()) >= KeyLists().size()) {
      return Status::NotSupported("oracle: another process wrote this file");
    }
    filter->reset(new Oracle(KeyLists()[DecodeFixed64(payload.data())]));
    return Status::OK();
  }

 private:
  const KeyList keys_;
};

class OracleBuilder : public RangeFilterBuilder {
 public:
  using RangeFilterBuilder::RangeFilterBuilder;

  void Write(size_t /*part*/, char* payload) override {
    std::lock_guard<std::mutex> lock(key_lists_mutex);
    EncodeFixed64(payload, KeyLists().size());
    KeyLists().push_back(std::make_shared<const SortedKeys>(std::move(keys_)));
  }
  double ApproximateBitsPerKey() const override { return 1; }
  uint64_t MaxSize() const override { return 64; }

 protected:
  void Add(const Slice& key, size_t, size_t) override { keys_.Add(key); }
  Status Plan(const KeysEnd& /*end*/,
              std::vector<PlannedPart>* parts) override {
    parts->resize(1);
    parts->front().num_keys = num_keys();
    parts->front().payload_size = 8;
    return Status::OK();
  }
  size_t Memory() const override { return keys_.MemoryUsage(); }

 private:
  SortedKeys keys_;
};

}  // namespace

FileBuilders OracleFilterPolicy::NewFileBuilders(
    const FilterBuildingContext& /*context*/, Env* /*env*/,
    uint64_t /*price*/) const {
  return {kOracleKind, [](const FilterTask& task) {
            return std::make_unique<OracleBuilder>(task);
          }};
}

void RegisterOracle() {
  static const auto make = []() -> std::unique_ptr<const FilterPolicy> {
    return std::make_unique<OracleFilterPolicy>();
  };
  static const FilterType type = {
      kOracleKind,
      "oracle",
      Oracle::Open,
      {{OracleFilterPolicy::kClassName(), "oracle", "oracle", make,
        [](const std::string& spec,
           std::unique_ptr<const FilterPolicy>* policy) {
          if (spec != "oracle") {
            return Status::InvalidArgument("filter_policy=" + spec +
                                           " is not allowed; allowed: oracle");
          }
          *policy = make();
          return Status::OK();
        }}}};
  static std::once_flag once;
  std::call_once(once, [] { RegisterFilterType(&type); });
}

}  // namespace ROCKSDB_NAMESPACE::protean
