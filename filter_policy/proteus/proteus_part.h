// SPDX-License-Identifier: Apache-2.0

//  Builds the trie and the sets of one part of a filter, after a design, from a
//  range of the keys in a key store.

#pragma once

#include <array>
#include <memory>

#include "filter_policy/proteus/key_store.h"
#include "filter_policy/proteus/model/prefix_counts.h"
#include "filter_policy/proteus/proteus.h"

namespace ROCKSDB_NAMESPACE::protean {

class ProteusPart {
 public:
  // The part has the keys of the indexes in [begin, end). Its payload may take
  // `bytes` bytes.
  ProteusPart(const KeyStore& keys, size_t begin, size_t end, uint64_t bytes)
      : keys_(keys), begin_(begin), end_(end), bytes_(bytes) {}

  uint64_t bytes() const { return bytes_; }
  KeyStatistics Statistics() const {
    return KeyStatistics(keys_, begin_, end_);
  }

  // Builds the trie of a design that has this one. Returns false if the keys
  // are too many for a trie.
  bool BuildTrie(const Layer& layer);
  void DropTrie() {
    trie_.reset();
    trie_size_ = 0;
  }
  // The size of the trie in bytes; 0 if there is none.
  uint64_t trie_size() const { return trie_size_; }

  // Plans the sets of the part's design, whose trie has been built and leaves
  // room for them, and tells the plan the sizes of the payloads. The statistics
  // are those of this part's keys. Sets of at least `min_of_units` bytes are in
  // two units.
  void PlanSets(const ProteusDesign& design, const KeyStatistics& statistics,
                uint64_t min_of_units, PlannedPart* plan);

  // Writes the payload of the first unit that has been planned, or then of the
  // second one.
  void Write(bool second, const FilterSalt& salt, char* payload);

  size_t MemoryUsage() const;

 private:
  void AddPrefixes(uint32_t bits, const FilterSalt& salt, size_t alphabets,
                   AmqBuilder* set, char* codes) const;
  void AddSeries(const Layer& layer, const FilterSalt& salt,
                 AmqBuilder* set) const;

  const KeyStore& keys_;
  const size_t begin_;
  const size_t end_;
  const uint64_t bytes_;
  std::unique_ptr<UniformTrieBuilder> trie_;
  uint64_t trie_size_ = 0;
  ProteusDesign design_;
  std::array<LayerPlans, 2> sets_;  // of the first unit, and of the second one
  // The numbers of alphabets of each layer.
  std::array<size_t, ProteusDesign::kMaxLayers> alphabets_ = {};
};

}  // namespace ROCKSDB_NAMESPACE::protean
