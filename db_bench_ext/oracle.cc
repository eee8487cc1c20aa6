#include "db_bench_ext/oracle.h"

#include <algorithm>
#include <mutex>
#include <vector>

#include "rocksdb/utilities/object_registry.h"
#include "util/coding.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

using KeyList = std::shared_ptr<const std::vector<std::string>>;

std::mutex key_lists_mutex;

std::vector<KeyList>& KeyLists() {
  static auto* const lists = new std::vector<KeyList>;
  return *lists;
}

class Oracle : public RangeFilter {
 public:
  explicit Oracle(KeyList keys) : keys_(std::move(keys)) {}

  bool KeyMayMatch(const Slice& key) const override {
    return std::binary_search(keys_->begin(), keys_->end(), key, Less());
  }

  bool RangeMayMatch(const Slice& lo, const Slice& hi,
                     bool hi_inclusive) const override {
    const auto first =
        std::lower_bound(keys_->begin(), keys_->end(), lo, Less());
    if (first == keys_->end()) return false;
    const int order = Slice(*first).compare(hi);
    return order < 0 || (order == 0 && hi_inclusive);
  }

  static Status Open(const Slice& payload,
                     std::unique_ptr<RangeFilter>* filter) {
    std::lock_guard<std::mutex> lock(key_lists_mutex);
    if (payload.size() != 8 ||
        DecodeFixed64(payload.data()) >= KeyLists().size()) {
      return Status::NotSupported("oracle: another process wrote this file");
    }
    filter->reset(new Oracle(KeyLists()[DecodeFixed64(payload.data())]));
    return Status::OK();
  }

 private:
  struct Less {
    bool operator()(const Slice& a, const Slice& b) const {
      return a.compare(b) < 0;
    }
  };

  const KeyList keys_;
};

class OracleBuilder : public RangeFilterBuilder {
 public:
  void AddKey(const Slice& key) override { keys_.push_back(key.ToString()); }

  Status Finish(std::string* out) override {
    std::lock_guard<std::mutex> lock(key_lists_mutex);
    PutFixed64(out, KeyLists().size());
    KeyLists().push_back(
        std::make_shared<const std::vector<std::string>>(std::move(keys_)));
    return Status::OK();
  }

  size_t MemoryUsage() const override {
    return keys_.capacity() * sizeof(std::string);
  }
  double ApproximateBitsPerKey() const override { return 1; }

 private:
  std::vector<std::string> keys_;
};

}  // namespace

std::unique_ptr<RangeFilterBuilder> OracleFilterPolicy::NewRangeFilterBuilder()
    const {
  return std::make_unique<OracleBuilder>();
}

void RegisterOracle() {
  static std::once_flag once;
  std::call_once(once, [] {
    RegisterFilterKind(FilterKind::kOracle, {"oracle", Oracle::Open});
    ObjectLibrary::Default()->AddFactory<const FilterPolicy>(
        OracleFilterPolicy::kClassName(),
        [](const std::string& /*uri*/,
           std::unique_ptr<const FilterPolicy>* guard,
           std::string* /*errmsg*/) {
          guard->reset(new OracleFilterPolicy());
          return guard->get();
        });
  });
}

}  // namespace ROCKSDB_NAMESPACE::protean
