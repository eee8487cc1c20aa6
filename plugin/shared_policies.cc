// SPDX-License-Identifier: Apache-2.0

//  The filter policies of sample groups.

#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "plugin/protean.h"
#include "rocksdb/convenience.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// The policies that are shared, by group and text, as long as someone has them.
class SharedPolicies {
 public:
  // The policy of a group, or nullptr.
  std::shared_ptr<const FilterPolicy> Find(const std::string& group,
                                           const std::string& text) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = policies_.find({group, text});
    return found == policies_.end() ? nullptr : found->second.lock();
  }

  // Adds the policy of a group, unless another thread has been faster; returns
  // the group's policy.
  std::shared_ptr<const FilterPolicy> Share(
      const std::string& group, const std::string& text,
      std::shared_ptr<const FilterPolicy> policy) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (auto other = policies_.begin(); other != policies_.end();) {
      other =
          other->second.expired() ? policies_.erase(other) : std::next(other);
    }
    std::weak_ptr<const FilterPolicy>& shared = policies_[{group, text}];
    if (auto others = shared.lock()) return others;
    shared = policy;
    return policy;
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<std::string, std::string>,
           std::weak_ptr<const FilterPolicy>>
      policies_;
};

SharedPolicies& AllSharedPolicies() {
  static auto* const all = new SharedPolicies;
  return *all;
}

}  // namespace

Status GetSharedFilterPolicy(const std::string& group,
                             const std::string& policy,
                             std::shared_ptr<const FilterPolicy>* shared) {
  if (group.empty()) {
    return Status::InvalidArgument(
        "the sample group is empty; allowed: any other name");
  }
  if (auto found = AllSharedPolicies().Find(group, policy)) {
    *shared = std::move(found);
    return Status::OK();
  }
  ConfigOptions config;
  config.ignore_unsupported_options = false;
  std::shared_ptr<const FilterPolicy> created;
  const Status s = FilterPolicy::CreateFromString(config, policy, &created);
  if (!s.ok()) return s;
  *shared = created == nullptr
                ? nullptr
                : AllSharedPolicies().Share(group, policy, std::move(created));
  return s;
}

}  // namespace ROCKSDB_NAMESPACE::protean
