// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/proteus/proteus.h"

#include <algorithm>

#include "filter_policy/bits/bit_array.h"
#include "util/coding.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// The mark of a first set that points ask alone.
constexpr uint8_t kKeysAlone = 1;

}  // namespace

std::string ProteusHeader::Encode() const {
  std::string out;
  PutVarint32(&out, design.trie_bits);
  PutVarint32(&out, design.trie_lead);
  PutVarint32(&out, design.key_set ? 1
                    : design.first_prefix_bits > 0
                        ? design.first_prefix_bits + 1
                        : 0);
  PutVarint32(&out, design.prefix_bits);
  PutVarint32(&out, design.stride_bits);
  PutVarint32(&out, shortest_key);
  PutVarint32(&out, neighbour_bits);
  return out;
}

bool ProteusHeader::DecodeFrom(Slice input) {
  uint32_t first = 0;
  if (!GetVarint32(&input, &design.trie_bits) ||
      !GetVarint32(&input, &design.trie_lead) || !GetVarint32(&input, &first) ||
      !GetVarint32(&input, &design.prefix_bits) ||
      !GetVarint32(&input, &design.stride_bits) ||
      !GetVarint32(&input, &shortest_key) ||
      !GetVarint32(&input, &neighbour_bits)) {
    return false;
  }
  design.key_set = first == 1;
  design.first_prefix_bits = first > 1 ? first - 1 : 0;
  return input.empty();
}

namespace {

// Takes the alphabets of the last places of prefixes off the front of `input`.
// False if there are too few of them, or more than places.
bool TakeAlphabets(size_t count, uint32_t bits, Slice* input,
                   ByteAlphabets* alphabets) {
  const size_t end = BytesForBits(bits);
  const char* codes;
  if (count > end || !TakeBytes(input, count, &codes)) return false;
  *alphabets = ByteAlphabets(end - count, std::string(codes, count));
  return true;
}

}  // namespace

Status Proteus::Open(const PartContents& part,
                     std::unique_ptr<RangeFilter>* filter) {
  std::unique_ptr<Proteus> proteus(new Proteus(part));
  ProteusHeader& header = proteus->header_;
  Slice input = part.payload;
  const char* sets = nullptr;
  if (!header.DecodeFrom(part.design) ||
      !TakeBytes(&input, header.SetHeadersSize(), &sets)) {
    return Status::Corruption("Proteus: header is cut short");
  }
  ProteusDesign& design = header.design;
  if (part.is_second) design.trie_bits = design.trie_lead = 0;
  const uint32_t longest = std::max({design.trie_bits, design.first_prefix_bits,
                                     design.prefix_bits, design.stride_bits});
  const bool has_second = design.prefix_bits > 0;
  if (longest > kMaxPrefixBits ||
      (design.trie_bits > 0 && design.first_prefix_bits > 0) ||
      (has_second && design.first_bits() >= design.prefix_bits) ||
      (design.first_prefix_bits > 0 && !has_second) ||
      (design.trie_lead > 0 && (design.trie_lead > 7 || design.trie_bits == 0 ||
                                design.trie_bits + design.trie_lead > 64)) ||
      design.stride_bits % 8 != 0 ||
      (design.stride_bits > 0 &&
       (!has_second || design.prefix_bits % 8 != 0))) {
    return Status::Corruption("Proteus: lengths of prefixes do not fit");
  }
  const char* const second = sets + header.SecondSetOffset();
  Status s;
  if (header.HasFirstSet()) s = proteus->first_set_.DecodeHeader(sets);
  if (s.ok() && has_second) s = proteus->second_set_.DecodeHeader(second);
  if (!s.ok()) return s;
  if (design.trie_bits > 0) {
    s = proteus->trie_.Open(&input, design.trie_lead);
    if (!s.ok()) return s;
    if (proteus->trie_.prefix_bits() != design.trie_bits + design.trie_lead) {
      return Status::Corruption("Proteus: trie has the wrong depth");
    }
  }
  const auto marks = [](const char* set) {
    return static_cast<uint8_t>(set[ProteusHeader::kSetMarks]);
  };
  const bool has_first = design.first_prefix_bits > 0;
  if (!proteus->first_set_.Open(&input, part.is_second) ||
      !proteus->second_set_.Open(&input, part.is_second) ||
      !TakeAlphabets(has_first ? marks(sets) : 0, design.first_prefix_bits,
                     &input, &proteus->first_alphabets_) ||
      !TakeAlphabets(has_second ? marks(second) : 0, design.prefix_bits, &input,
                     &proteus->second_alphabets_) ||
      !input.empty()) {
    return Status::Corruption("Proteus: prefix filters have the wrong length");
  }
  design.keys_alone = design.key_set && (marks(sets) & kKeysAlone) != 0;
  design.amq =
      has_second ? proteus->second_set_.kind() : proteus->first_set_.kind();
  proteus->first_length_ = PrefixLength(design.first_prefix_bits, part.salt,
                                        proteus->first_set_.TakesNeighbours());
  proteus->second_length_ = proteus->SecondLength(design.prefix_bits);
  proteus->in_words_ = longest <= 64 && design.stride_bits == 0 &&
                       proteus->first_alphabets_.AreAny() &&
                       proteus->second_alphabets_.AreAny();
  proteus->is_of_words_ = has_second && longest <= 64 &&
                          design.stride_bits == 0 && !design.key_set &&
                          !proteus->HasTrie();
  if (!proteus->HasTrie()) proteus->FindWindows();
  if (!part.second.empty()) {
    s = proteus->JoinSecondUnit(part);
    if (!s.ok()) return s;
  }
  *filter = std::move(proteus);
  return Status::OK();
}

Status Proteus::JoinSecondUnit(const PartContents& part) {
  PartContents second = part;
  second.payload = part.second;
  second.is_second = true;
  second.second.clear();
  const Status s = Open(second, &second_unit_);
  if (!s.ok()) return s;
  const auto& other = static_cast<const Proteus&>(*second_unit_);
  for (auto [own, others] :
       {std::make_pair(&first_set_, &other.first_set_),
        std::make_pair(&second_set_, &other.second_set_)}) {
    // A set that a unit has no room for is none.
    if (others->kind() == AmqKind::kNone) continue;
    if (own->TakesNeighbours() == others->TakesNeighbours()) {
      own->Join(others);
    } else if (own->kind() != AmqKind::kNone) {
      return Status::NotSupported("Proteus: units with sets of two forms");
    }
  }
  return s;
}

std::string ProteusDesign::Describe() const {
  const AmqType* type = FindAmqType(amq);
  std::string name = type == nullptr ? "all" : type->name;
  name += ' ';
  std::string text;
  if (trie_bits > 0) text = "trie " + std::to_string(trie_bits);
  if (first_prefix_bits > 0) text = name + std::to_string(first_prefix_bits);
  if (key_set) text += (text.empty() ? "" : ", ") + name + "keys";
  if (keys_alone) text += " for points";
  if (prefix_bits > 0) {
    if (!text.empty()) text += ", ";
    text += name + std::to_string(prefix_bits);
    if (stride_bits > 0) text += "+" + std::to_string(stride_bits);
  }
  return text.empty() ? "none" : text;
}

std::string DesignReport::Basis() const {
  if (samples > 0) {
    return "from " + std::to_string(samples) + " sample queries and the keys";
  }
  return predicted_fpr < 0 ? "without a model" : "from the keys alone";
}

FilterReport ProteusHeader::Report() const {
  FilterReport text;
  text.design = design.Describe();
  text.basis = report.Basis();
  text.samples = report.samples;
  text.model_micros = report.model_micros;
  text.predicted_fpr = report.predicted_fpr;
  text.origin = report.origin;
  text.price = report.price;
  return text;
}

// Also reports how the trie is encoded.
FilterReport Proteus::Report() const {
  FilterReport report = header_.Report();
  if (HasTrie()) report.design += " (" + trie_.fst().Describe() + ")";
  return report;
}

// Returns true if the set may hold all prefixes of the series up to that of
// `bits` bits.
bool Proteus::SeriesContains(const Slice& key, uint32_t bits) const {
  for (;; bits -= header_.design.stride_bits) {
    if (!second_set_.MayContain(HashPrefix(key, SecondLength(bits)))) {
      return false;
    }
    if (bits == second_length_.bits) return true;
  }
}

// The hash of the key's longest prefix in the second layer.
inline uint64_t Proteus::HashLongestPrefix(const Slice& key) const {
  if (!HasSeries()) return HashPrefix(key, second_length_);
  const uint32_t bits = header_.design.LongestPrefix(key.size());
  return HashPrefix(key, SecondLength(bits));
}

inline bool Proteus::TrieContains(const Slice& key) const {
  SmallBuffer prefix(TriePrefixBytes(header_.design));
  CopyTriePrefix(key, header_.design, prefix.data());
  return trie_.Contains(prefix.data());
}

bool Proteus::KeyMayMatch(const Slice& key) const {
  if (!is_of_words_) return LayersMayMatchKey(key);
  const uint64_t word = LoadBits64(key, 0);
  if (word < smallest_ || word > largest_) return false;
  return (first_length_.bits == 0 ||
          first_set_.MayContain(HashWord(word, first_length_))) &&
         second_set_.MayContain(HashWord(word, second_length_));
}

bool Proteus::LayersMayMatchKey(const Slice& key) const {
  if (header_.design.keys_alone) {
    return first_set_.MayContain(HashKey(key, salt_));
  }
  const uint64_t word = LoadBits64(key, 0);
  if (word < smallest_ || word > largest_) return false;
  if (HasKeySet() && !first_set_.MayContain(HashKey(key, salt_))) return false;
  if (HasTrie()) {
    if (!TrieContains(key)) return false;
  } else if (first_length_.bits > 0 &&
             !first_set_.MayContain(first_length_.bits <= 64
                                        ? HashWord(word, first_length_)
                                        : HashPrefix(key, first_length_))) {
    return false;
  }
  if (second_length_.bits == 0) return true;
  if (HasSeries()) {
    return SeriesContains(key, header_.design.LongestPrefix(key.size()));
  }
  return second_set_.MayContain(second_length_.bits <= 64
                                    ? HashWord(word, second_length_)
                                    : HashPrefixOnce(key, second_length_));
}

// Asks layer by layer: each layer is asked for all keys that are left before
// the next one is, so that cache misses overlap.
void Proteus::BatchMayMatch(size_t num_keys, Slice** keys,
                            bool* may_match) const {
  const bool has_first_set = first_length_.bits > 0;
  const bool has_key_set = HasKeySet();
  const bool keys_alone = header_.design.keys_alone;
  // These are copies, since the compiler must assume that storing answers
  // changes this object.
  const PrefixLength asked = has_first_set ? first_length_ : second_length_;
  const uint64_t smallest = smallest_;
  const uint64_t largest = largest_;
  Amq::Lookup left[kMaxBatch];
  size_t count = 0;
  for (uint32_t i = 0; i < num_keys; i++) {
    const uint64_t word = LoadBits64(*keys[i], 0);
    // This is the hash needed first, if the prefix fits into a word.
    left[count] = {
        has_key_set ? HashKey(*keys[i], salt_) : HashWord(word, asked), i};
    count += keys_alone || (word >= smallest && word <= largest);
    may_match[i] = false;
  }
  if (has_key_set) count = first_set_.Keep(count, left);
  if (keys_alone) {
    for (size_t j = 0; j < count; j++) may_match[left[j].index] = true;
    return;
  }
  if (HasTrie()) count = KeepInTrie(count, keys, left);
  if (has_first_set) {
    if (first_length_.bits > 64) {
      for (size_t j = 0; j < count; j++) {
        left[j].hash = HashPrefix(*keys[left[j].index], first_length_);
      }
    }
    count = first_set_.Keep(count, left);
  }
  if (second_length_.bits > 0) {
    if (has_first_set || has_key_set || second_length_.bits > 64 ||
        HasSeries()) {
      for (size_t j = 0; j < count; j++) {
        left[j].hash = HashLongestPrefix(*keys[left[j].index]);
      }
    }
    count = second_set_.Keep(count, left);
  }
  for (size_t j = 0; j < count; j++) {
    const Slice& key = *keys[left[j].index];
    may_match[left[j].index] =
        !HasSeries() ||
        SeriesContains(key, header_.design.LongestPrefix(key.size()));
  }
}

// Moves the keys whose prefixes are in the trie to the front.
size_t Proteus::KeepInTrie(size_t count, Slice** keys,
                           Amq::Lookup* left) const {
  bool found[kMaxBatch];
  if (header_.design.trie_bits <= 64) {
    UniformTrie::ShortPrefix prefixes[kMaxBatch];
    for (size_t j = 0; j < count; j++) {
      CopyTriePrefix(*keys[left[j].index], header_.design, prefixes[j]);
    }
    trie_.ContainsEach(count, prefixes, found);
  } else {
    for (size_t j = 0; j < count; j++) {
      found[j] = TrieContains(*keys[left[j].index]);
    }
  }
  size_t kept = 0;
  for (size_t j = 0; j < count; j++) {
    left[kept] = left[j];
    kept += found[j];
  }
  return kept;
}

void Proteus::KeysMayMatch(size_t num_keys, Slice** keys,
                           bool* may_match) const {
  while (num_keys >= kMinBatch) {
    const size_t size = std::min(num_keys, kMaxBatch);
    BatchMayMatch(size, keys, may_match);
    num_keys -= size;
    keys += size;
    may_match += size;
  }
  RangeFilter::KeysMayMatch(num_keys, keys, may_match);
}

}  // namespace ROCKSDB_NAMESPACE::protean
