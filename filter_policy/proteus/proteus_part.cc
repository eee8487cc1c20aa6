// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/proteus/proteus_part.h"

#include <algorithm>
#include <string>
#include <vector>

namespace ROCKSDB_NAMESPACE::protean {

bool ProteusPart::BuildTrie(const ProteusDesign& design) {
  const uint32_t bits = design.trie_bits;
  const uint32_t lead = design.trie_lead;
  trie_ = std::make_unique<UniformTrieBuilder>(bits + lead);
  std::string prefix(TriePrefixBytes(design), '\0');
  size_t shared = 0;
  bool first = true;
  Slice last;
  keys_.ForEach(begin_, end_, [&](const Slice& key, size_t known_shared) {
    if (first) {
      CopyTriePrefix(key, design, prefix.data());
      first = false;
    } else {
      const uint32_t next_shared_bits = SharedBits(last, key, known_shared);
      if (next_shared_bits < bits) {
        const size_t next_shared = (next_shared_bits + lead) / 8;
        trie_->Add(prefix.data(), shared, next_shared);
        CopyTriePrefix(key, design, prefix.data());
        shared = next_shared;
      }
    }
    last = key;
  });
  trie_->AddLast(prefix.data(), shared);
  return trie_->Prepare(&trie_size_);
}

void ProteusPart::PlanSets(const ProteusHeader& header,
                           const KeyStatistics& statistics) {
  header_size_ = header.Size();
  sets_ = PlanPrefixSets(header.design, statistics,
                         bytes_ - std::min(bytes_, header_size_ + trie_size_));
}

// Adds the prefixes of all keys.
void ProteusPart::AddPrefixes(uint32_t bits, const FilterSalt& salt,
                              AmqBuilder* set) const {
  const PrefixLength length(bits, salt);
  if (bits <= 64) {
    const unsigned unused = 64 - bits;
    bool first = true;
    uint64_t last = 0;
    keys_.ForEach(begin_, end_, [&](const Slice& key) {
      const uint64_t prefix = LoadBits64(key, 0) >> unused;
      if (prefix == last && !first) return;
      set->Add(HashWordPrefix(prefix << unused, length));
      last = prefix;
      first = false;
    });
    return;
  }
  Slice last;
  bool first = true;
  keys_.ForEach(begin_, end_, [&](const Slice& key, size_t known_shared) {
    if (first || SharedBits(last, key, known_shared) < bits) {
      set->Add(HashPrefix(key, length));
    }
    last = key;
    first = false;
  });
}

// Adds the prefixes of the series but for the first one: those that a key has
// and the previous key has not. One pass over the keys adds them, so that a
// single long key costs no more than its own prefixes.
void ProteusPart::AddSeries(const ProteusDesign& design, const FilterSalt& salt,
                            AmqBuilder* set) const {
  const uint32_t stride = design.stride_bits;
  const uint32_t begin = design.prefix_bits + stride;
  std::vector<PrefixLength> lengths;
  // The number of lengths up to one of `bytes` bytes.
  const auto count = [&](size_t bytes) {
    const auto bits =
        static_cast<uint32_t>(std::min<size_t>(8 * bytes, kMaxSeriesBits));
    return bits < begin ? 0 : (bits - begin) / stride + 1;
  };
  Slice last;
  keys_.ForEach(begin_, end_, [&](const Slice& key, size_t known_shared) {
    const size_t shared =
        SharedBytes(last.data(), key.data(), std::min(last.size(), key.size()),
                    known_shared);
    last = key;
    const uint32_t end = count(key.size());
    while (lengths.size() < end) {
      const auto next = static_cast<uint32_t>(lengths.size());
      lengths.emplace_back(begin + next * stride, salt);
    }
    for (uint32_t i = count(shared); i < end; i++) {
      set->Add(HashPrefix(key, lengths[i]));
    }
  });
}

void ProteusPart::Write(const ProteusHeader& header, const FilterSalt& salt,
                        char* payload) {
  const ProteusHeader::SetHeaders headers = header.EncodeTo(payload);
  char* out = payload + headers.end;
  if (trie_ != nullptr) {
    trie_->Write(out);
    out += trie_size_;
    trie_.reset();
  }
  const ProteusDesign& design = header.design;
  if (header.HasFirstSet()) {
    AmqBuilder set(sets_.first, payload + headers.first, out);
    if (design.key_set) {
      keys_.ForEach(begin_, end_,
                    [&](const Slice& key) { set.Add(HashKey(key, salt)); });
    } else {
      AddPrefixes(design.first_prefix_bits, salt, &set);
    }
    set.Finish();
    out += sets_.first.bytes;
  }
  if (!header.HasSecondSet()) return;
  AmqBuilder set(sets_.second, payload + headers.second, out);
  AddPrefixes(design.prefix_bits, salt, &set);
  if (design.stride_bits > 0) AddSeries(design, salt, &set);
  set.Finish();
}

size_t ProteusPart::MemoryUsage() const {
  return (trie_ == nullptr ? 0 : trie_->MemoryUsage()) +
         std::max(AmqBuilder::MemoryUsage(sets_.first),
                  AmqBuilder::MemoryUsage(sets_.second));
}

}  // namespace ROCKSDB_NAMESPACE::protean
