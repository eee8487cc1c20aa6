// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/proteus/search/candidates.h"

#include "filter_policy/amq/amq.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Among equal candidates, one with longer prefixes is better: it resolves more
// of the queries that are like none of the samples.
bool IsLonger(const DesignCandidate& a, const DesignCandidate& b) {
  if (a.design.prefix_bits != b.design.prefix_bits) {
    return a.design.prefix_bits > b.design.prefix_bits;
  }
  return a.design.first_bits() > b.design.first_bits();
}

}  // namespace

double DesignCandidate::Nanos() const {
  const AmqType* type = FindAmqType(design.amq);
  double nanos = design.trie_bits > 0 ? kTrieNanos : 0;
  if (type != nullptr) {
    nanos += runs * type->query_nanos + (prefixes - runs) * type->next_nanos;
  }
  return nanos;
}

void KeepBest(size_t most, uint64_t price,
              std::vector<DesignCandidate>* candidates) {
  auto keep = [&](size_t first, const auto& key) {
    const auto begin = candidates->begin() + first;
    const auto end =
        begin + std::min(most, static_cast<size_t>(candidates->end() - begin));
    std::partial_sort(
        begin, end, candidates->end(),
        [&key](const DesignCandidate& a, const DesignCandidate& b) {
          return key(a) != key(b) ? key(a) < key(b) : IsLonger(a, b);
        });
    return static_cast<size_t>(end - candidates->begin());
  };
  size_t kept = keep(0, [](const DesignCandidate& c) { return c.fpr; });
  kept = keep(kept,
              [price](const DesignCandidate& c) { return CostOf(c, price); });
  candidates->resize(kept);
}

}  // namespace ROCKSDB_NAMESPACE::protean
