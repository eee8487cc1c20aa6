// SPDX-License-Identifier: Apache-2.0

//  Builds the filters of proteus.h: keeps the keys of a file until all have
//  come, then chooses the design that suits the keys and the sample queries,
//  and builds it.

#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "filter_policy/proteus/design_search.h"
#include "filter_policy/proteus/proteus.h"

namespace ROCKSDB_NAMESPACE::protean {

struct ProteusSettings {
  DesignSpace space = DesignSpace::kProteus;
  // The size of the whole filter, its envelope included.
  double bits_per_key = 12;
  // If set, gives the bits per key instead, when all keys have come.
  std::function<double(uint64_t num_keys)> bits_of_file;
  // The kinds of sets that may be chosen.
  std::vector<AmqKind> kinds = {kBloomAmq, kRibbonAmq};
  // If set, the design to build for any queries.
  std::optional<ProteusDesign> forced;
};

class ProteusBuilder : public RangeFilterBuilder {
 public:
  // `samples` is called once, when all keys have come.
  using Samples = std::function<std::vector<SampleQuery>()>;
  ProteusBuilder(ProteusSettings settings, Samples samples)
      : settings_(std::move(settings)), samples_(std::move(samples)) {}

  void Write(char* payload) override;
  double ApproximateBitsPerKey() const override {
    return settings_.bits_per_key;
  }
  FilterReport Report() const override { return header_.Report(); }

 protected:
  void Add(const Slice& key, size_t, size_t) override { keys_.Append(key); }
  void AddLast(const Slice& key, size_t) override { keys_.Append(key); }
  Status Prepare(uint64_t* payload_size) override;
  size_t Memory() const override;
  bool HasHashes() const override {
    return sets_.first.bytes > 0 || sets_.second.bytes > 0;
  }

 private:
  Status Design(uint64_t bytes);
  bool BuildChosen(const CpfprModel& model, const KeyStatistics& statistics,
                   uint64_t bytes);
  bool BuildTrie();
  void AddPrefixes(uint32_t bits, AmqBuilder* set) const;
  void AddSeries(AmqBuilder* set) const;

  const ProteusSettings settings_;
  const Samples samples_;
  KeyStore keys_;
  ProteusHeader header_;
  std::unique_ptr<UniformTrieBuilder> trie_;
  uint64_t trie_size_ = 0;
  std::chrono::nanoseconds trie_time_{0};
  PrefixSets sets_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
