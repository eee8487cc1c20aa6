// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/proteus/proteus_part.h"

#include <algorithm>
#include <string>
#include <vector>

#include "filter_policy/filter_block.h"

namespace ROCKSDB_NAMESPACE::protean {

bool ProteusPart::BuildTrie(const Layer& layer) {
  const uint32_t bits = layer.bits;
  const uint32_t lead = layer.lead;
  trie_ = std::make_unique<UniformTrieBuilder>(bits + lead);
  std::string prefix(TriePrefixBytes(layer), '\0');
  size_t shared = 0;
  bool first = true;
  keys_.ForEach(begin_, end_, [&](const Slice& key, uint32_t next_shared_bits) {
    if (next_shared_bits >= bits) return;
    if (!first) {
      const size_t next_shared = (next_shared_bits + lead) / 8;
      trie_->Add(prefix.data(), shared, next_shared);
      shared = next_shared;
    }
    first = false;
    CopyTriePrefix(key, layer, prefix.data());
  });
  trie_->AddLast(prefix.data(), shared);
  return trie_->Prepare(&trie_size_);
}

namespace {

// A set of printed prefixes has the alphabets of as many places as ranges count
// through, unless the sets are so small that these would take a good part of
// them. The smallest sets are a line of a Bloom filter, which would be lost.
size_t NumAlphabets(const Layer& layer, const KeyStatistics& statistics,
                    uint64_t set_bytes) {
  constexpr size_t kSizeRatio = 64;
  if (layer.kind != Layer::Kind::kPrefixes) return 0;
  const size_t end = BytesForBits(layer.bits);
  const size_t count = std::min(end, kMaxAlphabets);
  const bool any = statistics.alphabets().Within(end - count, end).AreAny();
  return any || 2 * kSizeRatio * count > set_bytes ? 0 : count;
}

}  // namespace

void ProteusPart::PlanSets(const ProteusDesign& design,
                           const KeyStatistics& statistics,
                           uint64_t min_of_units, PlannedPart* plan) {
  design_ = design;
  const size_t headers = design.num_sets() * Amq::kHeaderSize;
  const uint64_t bytes = bytes_ - std::min<uint64_t>(bytes_, headers);
  const uint64_t for_sets = bytes - std::min(bytes, trie_size_);
  size_t alphabets = 0;
  for (size_t i = 0; i < design.size(); i++) {
    alphabets_[i] = NumAlphabets(design[i], statistics, for_sets);
    alphabets += alphabets_[i];
  }
  // The bytes of the alphabets and of the sets' headers, which each unit has.
  const uint64_t overhead = headers + alphabets;
  const bool in_units = headers > 0 && for_sets - alphabets >= min_of_units;
  uint64_t others = trie_size_ + alphabets;
  if (in_units) others += FilterDirectory::kUnitOverhead + 1 + overhead;
  const LayerPlans all = PlanLayers(design, statistics, bytes, others);
  sets_[0] = in_units ? UnitOf(all, false) : all;
  plan->payload_size = trie_size_ + overhead + sets_[0].bytes();
  if (!in_units) return;
  sets_[1] = UnitOf(all, true);
  plan->second_size = overhead + sets_[1].bytes();
}

// Adds the prefixes of all keys, and writes the codes of their alphabets.
void ProteusPart::AddPrefixes(uint32_t bits, const FilterSalt& salt,
                              size_t alphabets, AmqBuilder* set,
                              char* codes) const {
  const PrefixLength length(bits, salt, set->TakesNeighbours());
  // What the last places of the prefixes have.
  std::vector<BytesSeen> seen(alphabets);
  const auto see = [&seen, bits](const Slice& key) {
    size_t place = BytesForBits(bits) - seen.size();
    for (BytesSeen& bytes : seen) {
      bytes[place < key.size() ? static_cast<uint8_t>(key[place]) : 0] = true;
      place++;
    }
  };
  // Sorted neighbors often share the head.
  uint64_t head = length.no_head;
  keys_.ForEach(begin_, end_, [&](const Slice& key, uint32_t shared) {
    if (shared >= bits) return;
    if (shared < 8 * length.head_bytes) head = HashHead(key, length);
    set->Add(HashWindow(LoadBits64(key, length.head_bytes), head, length));
    see(key);
  });
  for (const BytesSeen& bytes : seen) *codes++ = AlphabetCodeOf(bytes);
}

// Adds the prefixes of the series but for the first one: those that a key has
// and the previous key has not. One pass over the keys adds them, so that a
// single long key costs no more than its own prefixes.
void ProteusPart::AddSeries(const Layer& layer, const FilterSalt& salt,
                            AmqBuilder* set) const {
  const uint32_t stride = layer.stride;
  const uint32_t begin = layer.bits + stride;
  // A length, and the factor of the head of the last key that has it.
  struct Member {
    PrefixLength length;
    uint64_t head;
  };
  std::vector<Member> members;
  // The number of lengths up to one of `bytes` bytes.
  const auto count = [&](size_t bytes) {
    const auto bits =
        static_cast<uint32_t>(std::min<size_t>(8 * bytes, kMaxSeriesBits));
    return bits < begin ? 0 : (bits - begin) / stride + 1;
  };
  size_t last_size = 0;
  uint32_t last_end = 0;
  keys_.ForEach(begin_, end_, [&](const Slice& key, uint32_t shared_bits) {
    // Beyond their ends, keys share zeros.
    const size_t shared =
        std::min<size_t>({shared_bits / 8, last_size, key.size()});
    last_size = key.size();
    const uint32_t end = count(key.size());
    while (members.size() < end) {
      const auto next = static_cast<uint32_t>(members.size());
      members.push_back(
          {PrefixLength(begin + next * stride, salt, set->TakesNeighbours()),
           0});
    }
    for (uint32_t i = count(shared); i < end; i++) {
      Member& member = members[i];
      const PrefixLength& length = member.length;
      // The last key has hashed the head, if it is that long and shares it.
      if (i >= last_end || length.head_bytes > shared) {
        member.head = HashHead(key, length);
      }
      set->Add(
          HashWindow(LoadBits64(key, length.head_bytes), member.head, length));
    }
    last_end = end;
  });
}

void ProteusPart::Write(bool second_unit, const FilterSalt& salt,
                        char* payload) {
  const LayerPlans& sets = sets_[second_unit ? 1 : 0];
  char* header = payload;
  char* out = payload + design_.num_sets() * Amq::kHeaderSize;
  // Only the first unit has a trie.
  if (trie_ != nullptr) {
    trie_->Write(out);
    out += trie_size_;
    trie_.reset();
  }
  char* codes = out + sets.bytes();
  for (size_t i = 0; i < design_.size(); i++) {
    const Layer& layer = design_[i];
    if (!layer.is_set()) continue;
    AmqBuilder set(sets.of[i], second_unit, header, out);
    if (layer.kind == Layer::Kind::kKeys) {
      keys_.ForEach(begin_, end_, [&](const Slice& key) {
        set.Add(HashKey(key, LoadBits64(key, 0), salt));
      });
    } else {
      AddPrefixes(layer.bits, salt, alphabets_[i], &set, codes);
    }
    if (layer.kind == Layer::Kind::kSeries) AddSeries(layer, salt, &set);
    set.Finish();
    header[ProteusHeader::kSetAlphabets] = static_cast<char>(alphabets_[i]);
    header += Amq::kHeaderSize;
    codes += alphabets_[i];
    out += sets.of[i].bytes;
  }
}

size_t ProteusPart::MemoryUsage() const {
  size_t most = 0;
  for (const LayerPlans& sets : sets_) {
    for (const AmqPlan& set : sets.of) {
      most = std::max(most, AmqBuilder::MemoryUsage(set));
    }
  }
  return (trie_ == nullptr ? 0 : trie_->MemoryUsage()) + most;
}

}  // namespace ROCKSDB_NAMESPACE::protean
