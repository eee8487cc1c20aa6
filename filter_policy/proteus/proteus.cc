// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/proteus/proteus.h"

#include <algorithm>

#include "filter_policy/bits/bit_array.h"
#include "util/coding.h"

namespace ROCKSDB_NAMESPACE::protean {

void ProteusDesign::AddKeys(double share) {
  std::copy_backward(begin(), end(), end() + 1);
  size_++;
  layers_[0] = Layer::Keys(share);
}

void ProteusDesign::LeaveToRanges() {
  for (Layer& layer : *this) {
    layer.asked_by_points = layer.kind == Layer::Kind::kKeys;
  }
}

void ProteusDesign::RemoveTrie() {
  Layer* const last = std::remove_if(
      begin(), end(), [](const Layer& layer) { return !layer.is_set(); });
  size_ = static_cast<size_t>(last - begin());
}

bool ProteusDesign::IsValid() const {
  size_t prefix_layers = 0;
  size_t sets = 0;
  uint32_t longest = 0;
  for (const Layer& layer : *this) {
    if (layer.is_set() && sets++ == kMaxSets) return false;
    const bool is_last = &layer + 1 == end();
    if (layer.kind == Layer::Kind::kKeys) {
      if (&layer != begin() || !layer.asked_by_points) return false;
      continue;
    }
    if (layer.bits <= longest || layer.bits > kMaxPrefixBits ||
        prefix_layers++ == 2 || (!layer.asked_by_points && keys() == nullptr) ||
        layer.asked_by_points != first_of_ranges()->asked_by_points) {
      return false;
    }
    longest = layer.bits;
    switch (layer.kind) {
      case Layer::Kind::kTrie:
        if (prefix_layers > 1 ||
            (layer.lead > 0 &&
             (layer.lead > 7 || layer.bits + layer.lead > 64)))
          return false;
        break;
      case Layer::Kind::kSeries:
        if (!is_last || layer.bits % 8 != 0 || layer.stride % 8 != 0 ||
            layer.stride == 0 || layer.stride > kMaxPrefixBits) {
          return false;
        }
        break;
      case Layer::Kind::kPrefixes:
        break;
      default:
        return false;
    }
  }
  return true;
}

std::string ProteusDesign::Describe() const {
  const AmqType* type = FindAmqType(amq);
  const std::string set = type == nullptr ? "all" : type->name;
  std::string text;
  for (const Layer& layer : *this) {
    if (!text.empty()) text += ", ";
    text += layer.is_set() ? set : "trie";
    text += ' ';
    text +=
        layer.kind == Layer::Kind::kKeys ? "keys" : std::to_string(layer.bits);
    if (layer.stride > 0) text += "+" + std::to_string(layer.stride);
    if (&layer == keys() && size_ > 1 && points_ask_keys_alone()) {
      text += " for points";
    }
  }
  return text.empty() ? "none" : text;
}

FilterReport ProteusDesign::ReportOf(FilterReport report) const {
  report.design = Describe();
  report.basis = report.samples > 0 ? "from " + std::to_string(report.samples) +
                                          " sample queries and the keys"
                 : report.predicted_fpr < 0 ? "without a model"
                                            : "from the keys alone";
  return report;
}

// Added to the kind of a layer that points do not ask.
constexpr uint32_t kNotByPoints = 8;

std::string ProteusHeader::Encode() const {
  std::string out;
  PutVarint32(&out, shortest_key);
  PutVarint32(&out, neighbour_bits);
  for (const Layer& layer : design) {
    PutVarint32(&out, static_cast<uint32_t>(layer.kind) +
                          (layer.asked_by_points ? 0 : kNotByPoints));
    if (layer.kind != Layer::Kind::kKeys) PutVarint32(&out, layer.bits);
    if (layer.kind == Layer::Kind::kTrie) PutVarint32(&out, layer.lead);
    if (layer.kind == Layer::Kind::kSeries) PutVarint32(&out, layer.stride);
  }
  return out;
}

bool ProteusHeader::DecodeFrom(Slice input) {
  design = ProteusDesign();
  if (!GetVarint32(&input, &shortest_key) ||
      !GetVarint32(&input, &neighbour_bits)) {
    return false;
  }
  while (!input.empty()) {
    uint32_t kind = 0;
    if (design.size() == ProteusDesign::kMaxLayers ||
        !GetVarint32(&input, &kind) || kind >= 2 * kNotByPoints) {
      return false;
    }
    Layer layer;
    layer.kind = static_cast<Layer::Kind>(kind % kNotByPoints);
    layer.asked_by_points = kind < kNotByPoints;
    if ((layer.kind != Layer::Kind::kKeys &&
         !GetVarint32(&input, &layer.bits)) ||
        (layer.kind == Layer::Kind::kTrie &&
         !GetVarint32(&input, &layer.lead)) ||
        (layer.kind == Layer::Kind::kSeries &&
         !GetVarint32(&input, &layer.stride))) {
      return false;
    }
    design.Add(layer);
  }
  return true;
}

// Also reports how the trie is encoded.
FilterReport Proteus::Report() const {
  FilterReport report = header_.design.ReportOf();
  if (has_trie_) report.design += " (" + trie_.fst().Describe() + ")";
  return report;
}

Status Proteus::Open(const PartContents& part,
                     std::unique_ptr<RangeFilter>* filter) {
  std::unique_ptr<Proteus> proteus(new Proteus(part));
  Status s = proteus->OpenLayers(part);
  if (s.ok() && !part.second.empty()) s = proteus->JoinSecondUnit(part);
  if (s.ok()) *filter = std::move(proteus);
  return s;
}

Status Proteus::OpenLayers(const PartContents& part) {
  ProteusDesign& design = header_.design;
  if (!header_.DecodeFrom(part.design) || !design.IsValid()) {
    return Status::Corruption("Proteus: layers do not fit");
  }
  if (part.is_second) design.RemoveTrie();
  for (size_t i = 0; i < design.size(); i++) {
    static_cast<Layer&>(layers_[i]) = design[i];
  }
  Slice input = part.payload;
  // The headers of the sets.
  size_t alphabets[ProteusDesign::kMaxLayers] = {};
  const OpenLayer* trie = nullptr;
  for (OpenLayer& layer : *this) {
    if (!layer.is_set()) {
      trie = &layer;
      continue;
    }
    const char* set = nullptr;
    if (!TakeBytes(&input, Amq::kHeaderSize, &set)) {
      return Status::Corruption("Proteus: header is cut short");
    }
    const Status s = layer.set.DecodeHeader(set);
    if (!s.ok()) return s;
    design.amq = layer.set.kind();
    alphabets[&layer - layers_] =
        static_cast<uint8_t>(set[ProteusHeader::kSetAlphabets]);
  }
  if (trie != nullptr) {
    has_trie_ = true;
    const Status s = trie_.Open(&input, trie->lead);
    if (!s.ok()) return s;
    if (trie_.prefix_bits() != trie->bits + trie->lead) {
      return Status::Corruption("Proteus: trie has the wrong depth");
    }
  }
  in_words_ = true;
  for (OpenLayer& layer : *this) {
    if (layer.is_set() && !layer.set.Open(&input, part.is_second)) {
      return Status::Corruption("Proteus: sets have the wrong length");
    }
    layer.length = LengthIn(layer, layer.bits);
    in_words_ = in_words_ && layer.bits <= 64 && layer.stride == 0;
  }
  for (OpenLayer& layer : *this) {
    const size_t count = alphabets[&layer - layers_];
    const size_t places = BytesForBits(layer.bits);
    const char* codes = nullptr;
    if (count > places || !TakeBytes(&input, count, &codes)) {
      return Status::Corruption("Proteus: alphabets have the wrong length");
    }
    layer.alphabets = ByteAlphabets(places - count, std::string(codes, count));
    in_words_ = in_words_ && layer.alphabets.AreAny();
  }
  if (!input.empty()) {
    return Status::Corruption("Proteus: sets have the wrong length");
  }
  ranges_begin_ = layers_ + (design.first_of_ranges() - design.begin());
  points_end_ = design.points_ask_keys_alone() ? ranges_begin_ : end();
  if (trie == nullptr) FindWindows();
  return Status::OK();
}

Status Proteus::JoinSecondUnit(const PartContents& part) {
  PartContents second = part;
  second.payload = part.second;
  second.is_second = true;
  second.second.clear();
  const Status s = Open(second, &second_unit_);
  if (!s.ok()) return s;
  const OpenLayer* other = static_cast<Proteus&>(*second_unit_).begin();
  for (OpenLayer& own : *this) {
    if (!own.is_set()) continue;
    const Amq& others = (other++)->set;
    // A set that a unit has no room for is none.
    if (others.kind() == AmqKind::kNone) continue;
    if (own.set.TakesNeighbours() == others.TakesNeighbours()) {
      own.set.Join(&others);
    } else if (own.set.kind() != AmqKind::kNone) {
      return Status::NotSupported("Proteus: units with sets of two forms");
    }
  }
  return s;
}

// Returns true if the set may hold all prefixes of the series that the key has.
bool Proteus::SeriesContains(const OpenLayer& layer, const Slice& key) const {
  for (uint32_t bits = layer.LongestPrefix(key.size());; bits -= layer.stride) {
    if (!layer.set.MayContain(HashPrefix(key, LengthIn(layer, bits)))) {
      return false;
    }
    if (bits == layer.bits) return true;
  }
}

bool Proteus::TrieContains(const Layer& layer, const Slice& key) const {
  SmallBuffer prefix(TriePrefixBytes(layer));
  CopyTriePrefix(key, layer, prefix.data());
  return trie_.Contains(prefix.data());
}

// Returns true if the layer may have a key, which begins with the 64 bits of
// `word`.
inline bool Proteus::Contains(const OpenLayer& layer, const Slice& key,
                              uint64_t word) const {
  switch (layer.kind) {
    case Layer::Kind::kTrie:
      return TrieContains(layer, key);
    case Layer::Kind::kSeries:
      return SeriesContains(layer, key);
    case Layer::Kind::kKeys:
      return layer.set.MayContain(HashKeyOnce(key, word, salt_));
    case Layer::Kind::kPrefixes:
      break;
  }
  return layer.set.MayContain(layer.bits <= 64 ? HashWord(word, layer.length)
                                               : HashPrefix(key, layer.length));
}

bool Proteus::KeyMayMatch(const Slice& key) const {
  const uint64_t word = LoadBits64(key, 0);
  if ((word < smallest_ || word > largest_) && points_end_ == end()) {
    return false;
  }
  for (const OpenLayer* layer = layers_; layer != points_end_; ++layer) {
    if (!Contains(*layer, key, word)) return false;
  }
  return true;
}

// Asks layer by layer: each layer is asked for all keys that are left before
// the next one is, so that cache misses overlap.
void Proteus::BatchMayMatch(size_t num_keys, Slice** keys,
                            bool* may_match) const {
  // These are copies, since the compiler must assume that storing answers
  // changes this object.
  const uint64_t smallest = smallest_;
  const uint64_t largest = largest_;
  const bool any = points_end_ != end();
  Amq::Lookup left[kMaxBatch];
  size_t count = 0;
  for (uint32_t i = 0; i < num_keys; i++) {
    const uint64_t word = LoadBits64(*keys[i], 0);
    left[count].index = i;
    count += any || (word >= smallest && word <= largest);
    may_match[i] = false;
  }
  for (const OpenLayer* layer = layers_; layer != points_end_; ++layer) {
    count = KeepInLayer(*layer, count, keys, left);
  }
  for (size_t j = 0; j < count; j++) may_match[left[j].index] = true;
}

// Moves the keys that the layer may have to the front, and returns their
// number.
size_t Proteus::KeepInLayer(const OpenLayer& layer, size_t count, Slice** keys,
                            Amq::Lookup* left) const {
  bool found[kMaxBatch];
  if (layer.kind != Layer::Kind::kTrie) {
    for (size_t j = 0; j < count; j++) {
      const Slice& key = *keys[left[j].index];
      if (layer.kind == Layer::Kind::kKeys) {
        left[j].hash = HashKeyOnce(key, LoadBits64(key, 0), salt_);
      } else if (layer.kind == Layer::Kind::kPrefixes) {
        left[j].hash = HashPrefix(key, layer.length);
      } else {
        const uint32_t longest = layer.LongestPrefix(key.size());
        left[j].hash = HashPrefix(key, LengthIn(layer, longest));
      }
    }
    count = layer.set.Keep(count, left);
    if (layer.kind != Layer::Kind::kSeries) return count;
    for (size_t j = 0; j < count; j++) {
      found[j] = SeriesContains(layer, *keys[left[j].index]);
    }
  } else if (layer.bits <= 64) {
    UniformTrie::ShortPrefix prefixes[kMaxBatch];
    for (size_t j = 0; j < count; j++) {
      CopyTriePrefix(*keys[left[j].index], layer, prefixes[j]);
    }
    trie_.ContainsEach(count, prefixes, found);
  } else {
    for (size_t j = 0; j < count; j++) {
      found[j] = TrieContains(layer, *keys[left[j].index]);
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
