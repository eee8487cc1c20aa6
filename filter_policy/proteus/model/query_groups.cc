// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/proteus/model/query_groups.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <utility>

#include "filter_policy/proteus/model/prefix_counts.h"
#include "filter_policy/proteus/model/tested_prefixes.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Adds up the weights of groups.
class GroupFinder {
 public:
  GroupFinder() { memset(usual_, 0xff, sizeof(usual_)); }

  // Adds queries that test alike: one of them, and the weight of all.
  void Add(const LocatedQuery& query, const TestedPrefixes& tested,
           uint32_t sum, double weight) {
    QueryGroup group;
    group.lengths = static_cast<uint32_t>(
        std::min<size_t>(tested.lengths, RunRates::kLengths));
    group.tested =
        static_cast<uint32_t>(std::min(tested.prefixes, kManyPrefixes));
    group.sum = sum;
    group.is_point = query.is_point();
    group.weight = 0;
    const size_t index = IndexOf(group);
    if (index == groups_.size()) groups_.push_back(group);
    groups_[index].weight += weight;
  }

  std::vector<QueryGroup> TakeGroups() { return std::move(groups_); }

 private:
  static constexpr uint32_t kNone = ~uint32_t{0};

  // The index of a group, or the number of groups if it is new.
  size_t IndexOf(const QueryGroup& group) {
    const size_t next = groups_.size();
    if (group.tested <= 1) {
      uint32_t& known = usual_[group.lengths][group.tested][group.sum]
                              [group.is_point ? 1 : 0];
      if (known == kNone) known = static_cast<uint32_t>(next);
      return known;
    }
    const uint64_t key = uint64_t{group.tested} << 32 | group.lengths << 8 |
                         group.sum << 1 | (group.is_point ? 1 : 0);
    return others_.try_emplace(key, next).first->second;
  }

  std::vector<QueryGroup> groups_;
  // The indexes of the groups that test one prefix or none, which most queries
  // do, by all that tells them apart; and those of the others.
  uint32_t usual_[RunRates::kLengths + 1][2][kNumSums][2];
  std::unordered_map<uint64_t, size_t> others_;
};

}  // namespace

QueryGroups MakeQueryGroups(const CpfprModel& model, const QuerySample& sample,
                            const ProteusDesign& design) {
  QueryGroups found;
  found.step = sample.step;
  const size_t end =
      design.stride_bits > 0 ? sample.classes.size() : sample.num_before_points;
  if (end == 0) return found;
  const ByteAlphabets& alphabets = AlphabetsOf(design, model.statistics());
  GroupFinder finder;
  for (size_t i = 0; i < end; i++) {
    const QueryClass& alike = sample.classes[i];
    const LocatedQuery& any = sample.queries[alike.begin];
    TestedPrefixes tested = {};
    if (PrefixesTestedByAll(any, design, &tested)) {
      finder.Add(any, tested, alike.sum, alike.weight);
      continue;
    }
    for (size_t j = alike.begin; j < alike.end; j++) {
      const LocatedQuery& query = sample.queries[j];
      finder.Add(query, PrefixesTestedBy(query, design, alphabets), alike.sum,
                 query.weight);
    }
  }
  found.groups = finder.TakeGroups();
  return found;
}

}  // namespace ROCKSDB_NAMESPACE::protean
