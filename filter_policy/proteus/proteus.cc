#include "filter_policy/proteus/proteus.h"

#include <algorithm>

#include "filter_policy/bits/bit_array.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Bounds of that many bytes need no allocation.
constexpr size_t kInlineBoundBytes = 64;

constexpr uint64_t kTooMany = ~uint64_t{0};

// In place of l1.
constexpr uint32_t kWholeKeys = ~uint32_t{0};

// The functions below take prefixes of `bits` bits as that many whole bytes, of
// which the last one's other bits do not matter.

// Sets all bits after the first `bits` of `size` bytes.
void SetBehind(char* bytes, size_t size, uint32_t bits) {
  size_t byte = bits / 8;
  if (byte < size && bits % 8 != 0) {
    bytes[byte] =
        static_cast<char>(static_cast<uint8_t>(bytes[byte]) | 0xff >> bits % 8);
    byte++;
  }
  if (byte < size) memset(bytes + byte, 0xff, size - byte);
}

bool SamePrefix(const char* a, const char* b, uint32_t bits) {
  if (memcmp(a, b, bits / 8) != 0) return false;
  return bits % 8 == 0 || (static_cast<uint8_t>(a[bits / 8]) ^
                           static_cast<uint8_t>(b[bits / 8])) >>
                                  (8 - bits % 8) ==
                              0;
}

// How many prefixes there are from `lo` to `hi`, both included.
uint64_t CountPrefixes(const char* lo, const char* hi, uint32_t bits) {
  const size_t size = BytesForBits(bits);
  const unsigned unused = static_cast<unsigned>(8 * size - bits);
  uint64_t difference = 0;
  int borrow = 0;
  for (size_t i = size; i-- > 0;) {
    int a = static_cast<uint8_t>(lo[i]);
    int b = static_cast<uint8_t>(hi[i]);
    if (i + 1 == size) {
      a >>= unused;
      b >>= unused;
    }
    int d = b - a - borrow;
    borrow = d < 0;
    // The last byte has fewer bits.
    if (d < 0) d += i + 1 == size ? 256 >> unused : 256;
    const size_t place = size - 1 - i;
    if (place >= 8) {
      if (d != 0) return kTooMany;
    } else {
      difference |= static_cast<uint64_t>(d)
                    << (place == 0 ? 0 : 8 * place - unused);
    }
  }
  return difference == kTooMany ? kTooMany : difference + 1;
}

// Turns a bound that does not belong to the range into the last bits before it,
// which may need one more than the bytes of `hi`: they go on with ones. Returns
// false if there are none.
bool Decrement(char* hi, size_t size) {
  for (size_t i = size; i-- > 0;) {
    if (hi[i]-- != 0) return true;
  }
  return false;
}

bool IsZeroBehind(const Slice& key, size_t byte) {
  for (size_t i = byte; i < key.size(); i++) {
    if (key[i] != '\0') return false;
  }
  return true;
}

// A copy of a bound.
class BoundBytes {
 public:
  explicit BoundBytes(size_t size) {
    if (size > kInlineBoundBytes) {
      many_.reset(new char[size]);
      data_ = many_.get();
    }
  }
  char* data() { return data_; }

 private:
  char few_[kInlineBoundBytes];
  std::unique_ptr<char[]> many_;
  char* data_ = few_;
};

}  // namespace

void ProteusHeader::EncodeTo(char* out) const {
  EncodeFixed32(out, design.trie_bits);
  EncodeFixed32(out + 4,
                design.key_set ? kWholeKeys : design.first_prefix_bits);
  EncodeFixed32(out + 8, design.prefix_bits);
  EncodeFixed32(out + 12, design.stride_bits);
  EncodeFixed64(out + 16, smallest);
  EncodeFixed64(out + 24, largest);
  EncodeFixed32(out + 32, shortest_key);
  EncodeFixed32(out + 36, report.samples);
  EncodeFixed32(out + 40, report.outside);
  EncodeFixed32(out + 44, report.model_micros);
  uint32_t fpr;
  memcpy(&fpr, &report.predicted_fpr, sizeof(fpr));
  EncodeFixed32(out + 48, fpr);
  out[52] = static_cast<char>(design.trie_lead);
  EncodeFixed16(out + 53, static_cast<uint16_t>(neighbour_bits));
}

void ProteusHeader::DecodeFrom(const char* in) {
  design.trie_bits = DecodeFixed32(in);
  design.first_prefix_bits = DecodeFixed32(in + 4);
  design.key_set = design.first_prefix_bits == kWholeKeys;
  if (design.key_set) design.first_prefix_bits = 0;
  design.prefix_bits = DecodeFixed32(in + 8);
  design.stride_bits = DecodeFixed32(in + 12);
  smallest = DecodeFixed64(in + 16);
  largest = DecodeFixed64(in + 24);
  shortest_key = DecodeFixed32(in + 32);
  report.samples = DecodeFixed32(in + 36);
  report.outside = DecodeFixed32(in + 40);
  report.model_micros = DecodeFixed32(in + 44);
  const uint32_t fpr = DecodeFixed32(in + 48);
  memcpy(&report.predicted_fpr, &fpr, sizeof(fpr));
  design.trie_lead = static_cast<uint8_t>(in[52]);
  neighbour_bits = DecodeFixed16(in + 53);
}

Status Proteus::Open(const Slice& payload, const FilterSalt& salt,
                     std::unique_ptr<RangeFilter>* filter) {
  std::unique_ptr<Proteus> proteus(new Proteus(salt));
  Slice input = payload;
  const char* header;
  if (!TakeBytes(&input, ProteusHeader::kSize, &header)) {
    return Status::Corruption("Proteus: header is cut short");
  }
  proteus->header_.DecodeFrom(header);
  ProteusDesign& design = proteus->header_.design;
  const uint32_t longest = std::max({design.trie_bits, design.first_prefix_bits,
                                     design.prefix_bits, design.stride_bits});
  const bool has_second = design.prefix_bits > 0;
  if (longest > kMostPrefixBits ||
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
  Status s =
      proteus->first_set_.DecodeHeader(header + ProteusHeader::kFirstSetOffset);
  if (s.ok())
    s = proteus->set_.DecodeHeader(header + ProteusHeader::kSecondSetOffset);
  if (!s.ok()) return s;
  if (design.trie_bits > 0) {
    s = proteus->trie_.Open(&input, design.trie_lead);
    if (!s.ok()) return s;
    if (proteus->trie_.prefix_bits() != design.trie_bits + design.trie_lead) {
      return Status::Corruption("Proteus: trie has the wrong depth");
    }
  }
  if (!proteus->first_set_.Open(&input) || !proteus->set_.Open(&input) ||
      !input.empty()) {
    return Status::Corruption("Proteus: prefix filters have the wrong length");
  }
  design.amq = has_second ? proteus->set_.kind() : proteus->first_set_.kind();
  proteus->first_length_ = PrefixLength(design.first_prefix_bits, salt);
  proteus->length_ = PrefixLength(design.prefix_bits, salt);
  proteus->in_words_ = longest <= 64 && design.stride_bits == 0;
  if (!proteus->HasTrie()) proteus->FindWindows();
  *filter = std::move(proteus);
  return Status::OK();
}

std::string ProteusDesign::Describe() const {
  const AmqType* type = FindAmqType(amq);
  std::string name = type == nullptr ? "all" : type->name;
  name += ' ';
  std::string text;
  if (trie_bits > 0) text = "trie " + std::to_string(trie_bits);
  if (first_prefix_bits > 0) text = name + std::to_string(first_prefix_bits);
  if (key_set) text += (text.empty() ? "" : ", ") + name + "keys";
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
  return text;
}

// And how the trie is encoded.
FilterReport Proteus::Report() const {
  FilterReport report = header_.Report();
  if (HasTrie()) report.design += " (" + trie_.fst().Describe() + ")";
  return report;
}

// Whether all prefixes of the series may be there, up to that of `bits` bits.
bool Proteus::SeriesContains(const Slice& key, uint32_t bits) const {
  for (;; bits -= header_.design.stride_bits) {
    if (!set_.MayContain(HashPrefix(key, PrefixLength(bits, salt_)))) {
      return false;
    }
    if (bits == length_.bits) return true;
  }
}

// Of the prefixes in the second layer.
inline uint64_t Proteus::HashLongestPrefix(const Slice& key) const {
  if (!HasSeries()) return HashPrefix(key, length_);
  const uint32_t bits = header_.design.LongestPrefix(key.size());
  return HashPrefix(key, PrefixLength(bits, salt_));
}

inline bool Proteus::TrieContains(const Slice& key) const {
  BoundBytes prefix(TriePrefixBytes(header_.design));
  CopyTriePrefix(key, header_.design, prefix.data());
  return trie_.Contains(prefix.data());
}

bool Proteus::KeyMayMatch(const Slice& key) const {
  const uint64_t word = LoadBits64(key, 0);
  if (word < header_.smallest || word > header_.largest) return false;
  if (HasKeySet() && !first_set_.MayContain(HashKey(key, salt_))) return false;
  if (HasTrie()) {
    if (!TrieContains(key)) return false;
  } else if (first_length_.bits > 0 &&
             !first_set_.MayContain(HashPrefix(key, first_length_))) {
    return false;
  }
  if (length_.bits == 0) return true;
  if (HasSeries()) {
    return SeriesContains(key, header_.design.LongestPrefix(key.size()));
  }
  return set_.MayContain(length_.bits <= 64 ? HashWord(word, length_)
                                            : HashPrefixOnce(key, length_));
}

// Layer by layer: each is asked for all keys that are left before the next one
// is, so that cache misses overlap.
void Proteus::BatchMayMatch(size_t num_keys, Slice** keys,
                            bool* may_match) const {
  const bool has_first_set = first_length_.bits > 0;
  const bool has_key_set = HasKeySet();
  // Copies, since the compiler must assume that storing answers changes this
  // object.
  const PrefixLength asked = has_first_set ? first_length_ : length_;
  const uint64_t smallest = header_.smallest;
  const uint64_t largest = header_.largest;
  Amq::Lookup left[kMaxBatch];
  size_t count = 0;
  for (uint32_t i = 0; i < num_keys; i++) {
    const uint64_t word = LoadBits64(*keys[i], 0);
    // The hash that is wanted first, if the prefix fits into a word.
    left[count] = {
        has_key_set ? HashKey(*keys[i], salt_) : HashWord(word, asked), i};
    count += word >= smallest && word <= largest;
    may_match[i] = false;
  }
  if (has_key_set) count = first_set_.Keep(count, left);
  if (HasTrie()) count = KeepInTrie(count, keys, left);
  if (has_first_set) {
    if (first_length_.bits > 64) {
      for (size_t j = 0; j < count; j++) {
        left[j].hash = HashPrefix(*keys[left[j].index], first_length_);
      }
    }
    count = first_set_.Keep(count, left);
  }
  if (length_.bits > 0) {
    if (has_first_set || has_key_set || length_.bits > 64 || HasSeries()) {
      for (size_t j = 0; j < count; j++) {
        left[j].hash = HashLongestPrefix(*keys[left[j].index]);
      }
    }
    count = set_.Keep(count, left);
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
  while (num_keys >= kLeastBatch) {
    const size_t size = std::min(num_keys, kMaxBatch);
    BatchMayMatch(size, keys, may_match);
    num_keys -= size;
    keys += size;
    may_match += size;
  }
  RangeFilter::KeysMayMatch(num_keys, keys, may_match);
}

inline bool Proteus::SecondWordsMayMatch(uint64_t lo, uint64_t hi,
                                         Budget* budget) const {
  const unsigned unused = 64 - length_.bits;
  uint64_t prefix = lo >> unused;
  const uint64_t last = hi >> unused;
  if (last - prefix >= *budget) return true;
  *budget -= last - prefix + 1;
  for (;; prefix++) {
    if (set_.MayContain(HashWordPrefix(prefix << unused, length_))) return true;
    if (prefix == last) return false;
  }
}

bool Proteus::FirstWordsMayMatch(uint64_t lo, uint64_t hi,
                                 Budget* budget) const {
  const unsigned unused = 64 - first_length_.bits;
  uint64_t prefix = lo >> unused;
  const uint64_t last = hi >> unused;
  if (last - prefix >= *budget) return true;
  *budget -= last - prefix + 1;
  for (;; prefix++) {
    const uint64_t begin = prefix << unused;
    if (first_set_.MayContain(HashWordPrefix(begin, first_length_)) &&
        SecondWordsMayMatch(std::max(lo, begin),
                            std::min(hi, begin | LowBits(unused)), budget)) {
      return true;
    }
    if (prefix == last) return false;
  }
}

inline bool Proteus::WordsMayMatch(uint64_t lo, uint64_t hi) const {
  Budget budget = kMaxPrefixProbes;
  if (!HasTrie()) {
    if (length_.bits == 0) return true;
    return first_length_.bits > 0 ? FirstWordsMayMatch(lo, hi, &budget)
                                  : SecondWordsMayMatch(lo, hi, &budget);
  }
  const uint32_t bits = header_.design.trie_bits;
  const uint64_t lo_prefix = HighBits(lo, bits);
  const uint64_t hi_prefix = HighBits(hi, bits);
  char lo_bytes[sizeof(lo)];
  CopyTriePrefix(lo, header_.design, lo_bytes);
  if (lo_prefix == hi_prefix) {
    return trie_.Contains(lo_bytes) &&
           (length_.bits == 0 || SecondWordsMayMatch(lo, hi, &budget));
  }
  char hi_bytes[sizeof(hi)];
  CopyTriePrefix(hi, header_.design, hi_bytes);
  const UniformTrie::Matches matches = trie_.Find(lo_bytes, hi_bytes);
  if (matches.between) return true;
  if (length_.bits == 0) return matches.lo || matches.hi;
  return (matches.lo &&
          SecondWordsMayMatch(lo, lo_prefix | ~HighBits(~uint64_t{0}, bits),
                              &budget)) ||
         (matches.hi && SecondWordsMayMatch(hi_prefix, hi, &budget));
}

bool Proteus::SecondBytesMayMatch(const char* lo, const char* hi, size_t size,
                                  size_t query_bytes, Budget* budget) const {
  // The longest prefixes that the bounds have and that are not too many.
  uint32_t bits = header_.design.LongestPrefix(std::min(query_bytes, size));
  uint64_t count;
  while ((count = CountPrefixes(lo, hi, bits)) > *budget) {
    if (bits == length_.bits) return true;
    bits -= header_.design.stride_bits;
  }
  const PrefixLength length(bits, salt_);
  *budget -= count;

  const size_t bytes = BytesForBits(length.bits);
  BoundBytes prefix(bytes);
  memcpy(prefix.data(), lo, bytes);
  ClearBehind(prefix.data(), bytes, length.bits);
  const Slice slice(prefix.data(), bytes);
  uint64_t head_hash = HashHead(slice, length);
  for (;; Increment(prefix.data(), length.bits)) {
    if (HasSeries()) {
      // Zeros at the end may stand for shorter keys, which have no longer
      // prefixes.
      size_t key_bytes = bytes;
      while (key_bytes > 0 && slice[key_bytes - 1] == '\0') key_bytes--;
      if (SeriesContains(slice, header_.design.LongestPrefix(key_bytes))) {
        return true;
      }
    } else {
      const uint64_t window = LoadBits64(slice, length.head_bytes);
      // The head has changed when the window has begun anew.
      if (HighBits(window, length.window_bits) == 0) {
        head_hash = HashHead(slice, length);
      }
      if (set_.MayContain(HashWindow(window, head_hash, length))) return true;
    }
    if (--count == 0) return false;
  }
}

bool Proteus::FirstBytesMayMatch(const char* lo, const char* hi, size_t size,
                                 size_t query_bytes, Budget* budget) const {
  const uint32_t bits = first_length_.bits;
  uint64_t count = CountPrefixes(lo, hi, bits);
  if (count > *budget) return true;
  *budget -= count;
  BoundBytes begin(size);
  BoundBytes end(size);
  memcpy(begin.data(), lo, size);
  for (;;) {
    const bool last = --count == 0;
    if (first_set_.MayContain(
            HashPrefix(Slice(begin.data(), size), first_length_))) {
      memcpy(end.data(), last ? hi : begin.data(), size);
      if (!last) SetBehind(end.data(), size, bits);
      if (SecondBytesMayMatch(begin.data(), end.data(), size, query_bytes,
                              budget)) {
        return true;
      }
    }
    if (last) return false;
    Increment(begin.data(), bits);
    ClearBehind(begin.data(), size, bits);
  }
}

bool Proteus::BytesMayMatch(char* lo, char* hi, size_t size,
                            size_t query_bytes) const {
  Budget budget = kMaxPrefixProbes;
  if (!HasTrie()) {
    if (length_.bits == 0) return true;
    return first_length_.bits > 0
               ? FirstBytesMayMatch(lo, hi, size, query_bytes, &budget)
               : SecondBytesMayMatch(lo, hi, size, query_bytes, &budget);
  }
  const uint32_t bits = header_.design.trie_bits;
  const size_t bytes = TriePrefixBytes(header_.design);
  BoundBytes lo_prefix(bytes);
  BoundBytes hi_prefix(bytes);
  CopyTriePrefix(Slice(lo, size), header_.design, lo_prefix.data());
  if (SamePrefix(lo, hi, bits)) {
    return trie_.Contains(lo_prefix.data()) &&
           (length_.bits == 0 ||
            SecondBytesMayMatch(lo, hi, size, query_bytes, &budget));
  }
  CopyTriePrefix(Slice(hi, size), header_.design, hi_prefix.data());
  const UniformTrie::Matches matches =
      trie_.Find(lo_prefix.data(), hi_prefix.data());
  if (matches.between) return true;
  if (length_.bits == 0) return matches.lo || matches.hi;
  BoundBytes end(size);
  if (matches.lo) {
    memcpy(end.data(), lo, size);
    SetBehind(end.data(), size, bits);
    if (SecondBytesMayMatch(lo, end.data(), size, query_bytes, &budget)) {
      return true;
    }
  }
  if (!matches.hi) return false;
  memcpy(end.data(), hi, size);
  ClearBehind(end.data(), size, bits);
  return SecondBytesMayMatch(end.data(), hi, size, query_bytes, &budget);
}

bool Proteus::RangeMayMatch(const Slice& lo, const Slice& hi,
                            bool hi_inclusive) const {
  const uint64_t lo_word = LoadBits64(lo, 0);
  uint64_t hi_word = LoadBits64(hi, 0);
  if (lo_word >= hi_word) {
    const int order = lo.compare(hi);
    if (order > 0 || (order == 0 && !hi_inclusive)) return false;
    if (order == 0 && HasKeySet() &&
        !first_set_.MayContain(HashKey(lo, salt_))) {
      return false;
    }
  }
  const bool before_hi = !hi_inclusive && EndsBefore(hi, header_.shortest_key);
  if (before_hi && IsZeroBehind(hi, sizeof(hi_word))) {
    if (hi_word == 0) return false;
    hi_word--;
  }
  if (hi_word < header_.smallest || lo_word > header_.largest) return false;
  if (in_words_) return WordsMayMatch(lo_word, hi_word);

  // All prefixes that may be tested, or what the query has of them.
  const size_t query_bytes = std::max(lo.size(), hi.size());
  const size_t size = BytesForBits(std::max(
      header_.design.LongestPrefix(query_bytes), header_.design.first_bits()));
  if (size > kMaxBoundBytes) return true;
  BoundBytes lo_bytes(size);
  BoundBytes hi_bytes(size);
  CopyPadded(lo, lo_bytes.data(), size);
  CopyPadded(hi, hi_bytes.data(), size);
  if (before_hi && IsZeroBehind(hi, size) &&
      !Decrement(hi_bytes.data(), size)) {
    return false;
  }
  return BytesMayMatch(lo_bytes.data(), hi_bytes.data(), size, query_bytes);
}

}  // namespace ROCKSDB_NAMESPACE::protean
