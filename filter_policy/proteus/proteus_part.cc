// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/proteus/proteus_part.h"

#include <algorithm>
#include <string>
#include <vector>

#include "filter_policy/filter_block.h"

namespace ROCKSDB_NAMESPACE::protean {

bool ProteusPart::BuildTrie(const ProteusDesign& design) {
  const uint32_t bits = design.trie_bits;
  const uint32_t lead = design.trie_lead;
  trie_ = std::make_unique<UniformTrieBuilder>(bits + lead);
  std::string prefix(TriePrefixBytes(design), '\0');
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
    CopyTriePrefix(key, design, prefix.data());
  });
  trie_->AddLast(prefix.data(), shared);
  return trie_->Prepare(&trie_size_);
}

// A set of printed prefixes has the alphabets of as many places as ranges count
// through, unless the sets are so small that these would take a good part of
// them. The smallest sets are a line of a Bloom filter, which would be lost.
ProteusPart::Alphabets ProteusPart::PlanAlphabets(
    const ProteusDesign& design, const KeyStatistics& statistics,
    uint64_t set_bytes) {
  constexpr size_t kSizeRatio = 64;
  const auto plan = [&](uint32_t bits) -> size_t {
    const size_t end = BytesForBits(bits);
    const size_t count = std::min(end, kMaxAlphabets);
    const bool any = statistics.alphabets().Within(end - count, end).AreAny();
    return any || 2 * kSizeRatio * count > set_bytes ? 0 : count;
  };
  if (design.stride_bits > 0) return {};
  return {plan(design.first_prefix_bits), plan(design.prefix_bits)};
}

void ProteusPart::PlanSets(const ProteusHeader& header,
                           const KeyStatistics& statistics,
                           uint64_t min_of_units) {
  headers_size_ = header.SetHeadersSize();
  uint64_t set_bytes = bytes_ - std::min(bytes_, headers_size_ + trie_size_);
  alphabets_ = PlanAlphabets(header.design, statistics, set_bytes);
  set_bytes -= alphabets_.first + alphabets_.second;
  in_units_ = headers_size_ > 0 && set_bytes >= min_of_units;
  if (in_units_) {
    set_bytes -= FilterDirectory::kUnitOverhead + 1 + headers_size_ +
                 alphabets_.first + alphabets_.second;
  }
  sets_ = PlanPrefixSets(header.design, statistics, set_bytes);
  if (in_units_) {
    const PrefixSets both = sets_;
    sets_ = FirstUnitOf(both);
    second_sets_ = SecondUnitOf(both, sets_);
  }
}

namespace {

// The alphabets of the last `count` places of the prefixes of some keys.
class AlphabetsOfPrefixes {
 public:
  AlphabetsOfPrefixes(size_t count, uint32_t bits)
      : begin_(BytesForBits(bits) - count), seen_(count) {}

  void Add(const Slice& key) {
    for (size_t i = 0; i < seen_.size(); i++) {
      const size_t place = begin_ + i;
      const char c = place < key.size() ? key[place] : '\0';
      seen_[i][static_cast<uint8_t>(c)] = true;
    }
  }
  void WriteTo(char** out) const {
    for (const BytesSeen& seen : seen_) *(*out)++ = AlphabetCodeOf(seen);
  }

 private:
  const size_t begin_;
  std::vector<BytesSeen> seen_;
};

}  // namespace

// Adds the prefixes of all keys, and writes the codes of their alphabets.
void ProteusPart::AddPrefixes(uint32_t bits, const FilterSalt& salt,
                              size_t alphabets, AmqBuilder* set,
                              char** codes) const {
  const PrefixLength length(bits, salt, set->TakesNeighbours());
  AlphabetsOfPrefixes seen(alphabets, bits);
  if (bits <= 64) {
    keys_.ForEach(begin_, end_, [&](const Slice& key, uint32_t shared) {
      if (shared >= bits) return;
      set->Add(HashWord(HighBits(LoadBits64(key, 0), bits), length));
      seen.Add(key);
    });
  } else {
    // Sorted neighbors often share the head.
    uint64_t head = 0;
    keys_.ForEach(begin_, end_, [&](const Slice& key, uint32_t shared) {
      if (shared >= bits) return;
      if (shared < 8 * length.head_bytes) head = HashHead(key, length);
      set->Add(HashWindow(LoadBits64(key, length.head_bytes), head, length));
      seen.Add(key);
    });
  }
  seen.WriteTo(codes);
}

// Adds the prefixes of the series but for the first one: those that a key has
// and the previous key has not. One pass over the keys adds them, so that a
// single long key costs no more than its own prefixes.
void ProteusPart::AddSeries(const ProteusDesign& design, const FilterSalt& salt,
                            AmqBuilder* set) const {
  const uint32_t stride = design.stride_bits;
  const uint32_t begin = design.prefix_bits + stride;
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
      set->Add(HashOwnBytes(key, member.head, length));
    }
    last_end = end;
  });
}

void ProteusPart::Write(const ProteusHeader& header, bool second_unit,
                        const FilterSalt& salt, char* payload) {
  const PrefixSets& sets = second_unit ? second_sets_ : sets_;
  char* const second = payload + header.SecondSetOffset();
  char* out = payload + headers_size_;
  // Only the first unit has a trie.
  if (trie_ != nullptr) {
    trie_->Write(out);
    out += trie_size_;
    trie_.reset();
  }
  const ProteusDesign& design = header.design;
  char* codes = out + sets.first.bytes + sets.second.bytes;
  if (header.HasFirstSet()) {
    AmqBuilder set(sets.first, second_unit, payload, out);
    if (design.key_set) {
      keys_.ForEach(begin_, end_,
                    [&](const Slice& key) { set.Add(HashKey(key, salt)); });
    } else {
      AddPrefixes(design.first_prefix_bits, salt, alphabets_.first, &set,
                  &codes);
    }
    set.Finish();
    payload[ProteusHeader::kSetMarks] =
        static_cast<char>(design.keys_alone ? 1 : alphabets_.first);
    out += sets.first.bytes;
  }
  if (!header.HasSecondSet()) return;
  AmqBuilder set(sets.second, second_unit, second, out);
  AddPrefixes(design.prefix_bits, salt, alphabets_.second, &set, &codes);
  if (design.stride_bits > 0) AddSeries(design, salt, &set);
  set.Finish();
  second[ProteusHeader::kSetMarks] = static_cast<char>(alphabets_.second);
}

size_t ProteusPart::MemoryUsage() const {
  return (trie_ == nullptr ? 0 : trie_->MemoryUsage()) +
         std::max({AmqBuilder::MemoryUsage(sets_.first),
                   AmqBuilder::MemoryUsage(sets_.second),
                   AmqBuilder::MemoryUsage(second_sets_.first),
                   AmqBuilder::MemoryUsage(second_sets_.second)});
}

}  // namespace ROCKSDB_NAMESPACE::protean
