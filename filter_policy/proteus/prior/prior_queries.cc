// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/proteus/prior/prior_queries.h"

#include <cmath>

#include "filter_policy/range_filter.h"
#include "filter_policy/samples/query_queue.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// The functions below locate a query among the keys. They return false if it is
// not empty, if no string of bits lies in it, or if its bounds are inverted: a
// character that the sampled keys do not have may break the order.

// Locates a query above the first `keys_below` keys, and below that of index
// `next` and those after it.
bool LocateBetween(const Slice& lo, const Slice& hi, bool hi_inclusive,
                   size_t keys_below, size_t next, const PriorSource& source,
                   LocatedQuery* query) {
  const KeyStore& keys = source.keys;
  if (IsInverted(lo, hi, hi_inclusive)) return false;
  if (keys_below > 0 && keys[keys_below - 1].compare(lo) >= 0) return false;
  if (next < keys.size()) {
    const int order = keys[next].compare(hi);
    if (order < 0 || (order == 0 && hi_inclusive)) return false;
  }
  return LocateQuery(lo, hi, hi_inclusive, keys, keys_below, next,
                     source.statistics, query);
}

// Stands for no key of the file.
constexpr size_t kNoKey = ~size_t{0};

// Locates a query in place of the key of index `replaced`, which counts as
// absent, or of none. False if it then lies beyond the keys: the file is not
// asked for it.
bool Locate(const Slice& lo, const Slice& hi, bool hi_inclusive,
            const PriorSource& source, LocatedQuery* query,
            size_t replaced = kNoKey) {
  if (replaced != kNoKey) {
    return LocateBetween(lo, hi, hi_inclusive, replaced, replaced + 1, source,
                         query);
  }
  const size_t index = source.keys.LowerBound(lo, 0, source.keys.size());
  return index > 0 && index < source.keys.size() &&
         LocateBetween(lo, hi, hi_inclusive, index, index, source, query);
}

// Locates a point query.
bool LocatePoint(const Slice& key, const PriorSource& source,
                 LocatedQuery* query, size_t replaced = kNoKey) {
  std::string end;
  const bool inclusive = !source.prefixes_only || !FirstAfterPrefix(key, &end);
  return Locate(key, inclusive ? key : Slice(end), inclusive, source, query,
                replaced);
}

// Locates a range from `lo` to its last byte + 1.
bool LocateUpToNext(const Slice& lo, bool hi_inclusive,
                    const PriorSource& source, LocatedQuery* query,
                    size_t replaced) {
  std::string hi = lo.ToString();
  if (hi.empty() || hi.back() == '\xff') return false;
  hi.back() = static_cast<char>(hi.back() + 1);
  return Locate(lo, hi, hi_inclusive, source, query, replaced);
}

// Steps from a key to a later one, in the units that keys of its form count
// in: binary numbers of 8 bytes, or printed digits. The functions return false
// if there is no such key.

// Windows of records and in print are at least 2^-kWindowBits as long as the
// distance of the keys: 30 s if that is a year. What resolves these resolves
// the shorter ones, too.
constexpr uint32_t kWindowBits = 20;
// Limit of the digits of printed numbers that are counted up.
constexpr size_t kStepDigits = 3;

// The distance of keys that are a little after each other is below
// 2^kStepBits.
constexpr uint32_t kStepBits = 11;

Slice AnyKey(PriorSource* source) {
  return source->keys[source->random.Uniform(source->keys.size())];
}

// The characters that the places of a key count in: digits in text.
std::vector<std::string> AlphabetsOf(const std::string& key,
                                     const PriorSource& source) {
  if (!source.alphabets.empty()) return source.alphabets;
  std::vector<std::string> alphabets;
  for (char c : key) {
    const std::string alone(1, c);
    alphabets.push_back(IsDigit(c) ? AlphabetOf(alone) : alone);
  }
  return alphabets;
}

// Counts up the character at `place` by `more`, with carries. False if there is
// a carry out of the first place, or a character that is not in its alphabet.
bool CountUpBy(size_t more, size_t place,
               const std::vector<std::string>& alphabets, std::string* key) {
  for (size_t i = place + 1; i-- > 0;) {
    const std::string& alphabet = alphabets[i];
    const size_t digit = alphabet.find((*key)[i]);
    if (digit == std::string::npos) return false;
    if (digit + more < alphabet.size()) {
      (*key)[i] = alphabet[digit + more];
      return true;
    }
    // A place of one character does not count.
    if (alphabet.size() == 1) continue;
    (*key)[i] = alphabet[(digit + more) % alphabet.size()];
    more = 1;
  }
  return false;
}

// The last bit of the number of 8 bytes in which a key of `bits` bits differs
// from others that share `shared` bits with it.
uint32_t LastBitOfNumber(uint32_t shared, uint32_t bits) {
  return std::min(64 * (shared / 64 + 1), bits) - 1;
}

// LastBitOfNumber of a key of the file and its neighbors.
uint32_t LastBitNear(size_t index, const Slice& key,
                     const PriorSource& source) {
  return LastBitOfNumber(SharedWithNeighbors(source.keys, index),
                         static_cast<uint32_t>(8 * key.size()));
}

// Adds a random number to a key. The highest bit of the number is bit `bit` of
// the key.
bool Advance(uint32_t bit, PriorRandom* random, std::string* key) {
  const uint64_t number = random->Word() | uint64_t{1} << 63;
  // The number from the byte on in which it begins; zeros follow it.
  const auto bytes = static_cast<unsigned __int128>(number) << 64 >> bit % 8;
  unsigned carry = 0;
  for (size_t i = key->size(); i-- > 0;) {
    carry += static_cast<uint8_t>((*key)[i]);
    if (i >= bit / 8 && i < bit / 8 + sizeof(bytes)) {
      carry += static_cast<uint8_t>(bytes >> (120 - 8 * (i - bit / 8)));
    }
    (*key)[i] = static_cast<char>(carry);
    carry >>= 8;
  }
  return carry == 0;
}

// Counts up the character at `place` by one or two, with carries to the
// characters before it, and takes the characters after it from another key.
// REQUIRES: the keys are digits
bool CountUp(size_t place, PriorSource* source, std::string* key) {
  const Slice other = AnyKey(source);
  for (size_t i = place + 1; i < key->size(); i++) (*key)[i] = other[i];
  const size_t more = 1 + source->random.Uniform(2);
  return CountUpBy(more, place, source->alphabets, key);
}

// Moves a key of the file, of that index, to one a little after it: up to 2^11,
// or up to three digits.
bool Follow(size_t index, PriorSource* source, std::string* key) {
  PriorRandom& random = source->random;
  if (!source->alphabets.empty()) {
    const size_t digits = random.Uniform(std::min(kStepDigits, key->size()));
    return CountUp(key->size() - 1 - digits, source, key);
  }
  const uint32_t last = LastBitNear(index, *key, *source);
  const uint32_t bits = BitsFor(1 + random.Uniform((1 << kStepBits) - 1));
  return Advance(last - std::min(last, bits - 1), &random, key);
}

// The ranges of short queries are less than 2^kLengthBits long.
constexpr uint32_t kLengthBits = 5;

// Changes a key of the file into another one that is much like it.
bool ChangeKey(size_t index, PriorSource* source, std::string* key) {
  PriorRandom& random = source->random;
  switch (random.Uniform(source->form == KeyForm::kText ? 4 : 2)) {
    case 0:
      return Follow(index, source, key);
    case 1: {
      const Slice other = AnyKey(source);
      const size_t place = random.Uniform(key->size());
      if (!source->alphabets.empty()) {
        const std::string& alphabet = source->alphabets[place];
        (*key)[place] = alphabet[random.Uniform(alphabet.size())];
      } else if (place < other.size()) {
        (*key)[place] = other[place];
      }
      return true;
    }
    case 2:
      key->push_back(key->back());
      return true;
    default:
      key->pop_back();
      return true;
  }
}

// Moves a key to the end of a range that begins with it. All orders of
// magnitude are equally likely, from the distance of the neighbors to one.
bool GoAsFarAsNeighbors(size_t index, PriorSource* source, std::string* key) {
  PriorRandom& random = source->random;
  if (IsPrinted(source->form)) {
    const std::vector<std::string> alphabets = AlphabetsOf(*key, *source);
    std::vector<size_t> places;
    uint32_t bits = 0;
    for (size_t i = SharedWithNeighbors(source->keys, index) / 8;
         i < key->size() && bits < kWindowBits; i++) {
      if (alphabets[i].size() == 1) continue;
      places.push_back(i);
      bits += BitsFor(alphabets[i].size() - 1);
    }
    if (places.empty()) return false;
    const size_t place = places[random.Uniform(places.size())];
    const auto more = static_cast<size_t>(std::pow(
        static_cast<double>(alphabets[place].size()), random.Fraction()));
    return CountUpBy(more, place, alphabets, key);
  }
  // For numbers, the longest range is an eighth of the distance.
  const uint32_t shared = SharedWithNeighbors(source->keys, index);
  const bool number = source->form == KeyForm::kNumber;
  uint32_t last =
      LastBitOfNumber(shared, static_cast<uint32_t>(8 * key->size()));
  if (!number) last = std::min(last, shared + kWindowBits);
  const uint32_t first = std::min(shared + (number ? 3 : 0), last);
  return Advance(
      first + static_cast<uint32_t>(random.Uniform(last - first + 1)), &random,
      key);
}

}  // namespace

PriorSource::PriorSource(const KeyStore& its_keys,
                         const KeyStatistics& its_statistics,
                         bool asks_prefixes_only)
    : keys(its_keys),
      statistics(its_statistics),
      prefixes_only(asks_prefixes_only),
      field_ends(FieldEndsOf(statistics)),
      form(KeyFormOf(keys, statistics, !field_ends.empty())),
      alphabets(IsPrinted(form) &&
                        statistics.shortest_key() == statistics.longest_key()
                    ? CharactersOf(keys)
                    : std::vector<std::string>()),
      random(keys.size()) {}

uint32_t SharedWithNeighbors(const KeyStore& keys, size_t index) {
  const Slice key = keys[index];
  uint32_t shared = 0;
  if (index > 0) shared = SharedBits(keys[index - 1], key);
  if (index + 1 < keys.size()) {
    shared = std::max(shared, SharedBits(key, keys[index + 1]));
  }
  return std::min(shared, static_cast<uint32_t>(8 * key.size()));
}

bool MakePointAlike(size_t index, PriorSource* source, LocatedQuery* query) {
  if (!LocatePoint(source->keys[index], *source, query, index)) return false;
  query->promised = true;
  return true;
}

bool MakePointAfter(size_t index, PriorSource* source, LocatedQuery* query) {
  std::string key = source->keys[index].ToString();
  if (key.empty() || !ChangeKey(index, source, &key) ||
      !LocatePoint(key, *source, query)) {
    return false;
  }
  query->promised =
      source->form == KeyForm::kDigits || source->form == KeyForm::kText;
  return true;
}

bool MakeRangeAlike(size_t index, PriorSource* source, LocatedQuery* query) {
  const Slice lo = source->keys[index];
  if (lo.empty()) return false;
  std::string hi = lo.ToString();
  return GoAsFarAsNeighbors(index, source, &hi) &&
         Locate(lo, hi, true, *source, query, index);
}

bool MakeRangeAfter(size_t index, PriorSource* source, LocatedQuery* query) {
  std::string lo = source->keys[index].ToString();
  if (lo.empty() || !Follow(index, source, &lo)) return false;
  std::string hi = lo;
  if (!source->alphabets.empty()) {
    return CountUp(hi.size() - 1, source, &hi) &&
           Locate(lo, hi, true, *source, query);
  }
  const uint32_t last = LastBitNear(index, lo, *source);
  const auto length =
      static_cast<uint32_t>(source->random.Uniform(kLengthBits));
  return Advance(last - std::min(last, length), &source->random, &hi) &&
         Locate(lo, hi, true, *source, query);
}

bool MakeRangeSpread(size_t index, PriorSource* source, LocatedQuery* query) {
  const KeyStore& keys = source->keys;
  const Slice smallest = keys[0];
  const Slice largest = keys[keys.size() - 1];
  const size_t same = SharedBits(smallest, largest) / 8;
  std::string lo = keys[index].ToString();
  if (same >= lo.size()) return false;
  const uint64_t first = LoadBits64(smallest, same);
  const uint64_t span = LoadBits64(largest, same) - first;
  if (span == 0) return false;
  const uint64_t word = first + source->random.Uniform(span);
  for (size_t i = 0; i < 8 && same + i < lo.size(); i++) {
    lo[same + i] = static_cast<char>(word >> (56 - 8 * i));
  }
  std::string hi = lo;
  return GoAsFarAsNeighbors(index, source, &hi) &&
         Locate(lo, hi, true, *source, query);
}

bool MakeSibling(size_t index, PriorSource* source, LocatedQuery* query) {
  return LocateUpToNext(source->keys[index], true, *source, query, index);
}

bool MakePrefixScan(size_t index, PriorSource* source, LocatedQuery* query) {
  const Slice key = source->keys[index];
  const size_t least = SharedWithNeighbors(source->keys, index) / 8 + 1;
  if (least > key.size()) return false;
  const size_t size = least + source->random.Uniform(key.size() - least + 1);
  return LocateUpToNext(Slice(key.data(), size), false, *source, query, index);
}

bool MakeFieldScan(size_t index, PriorSource* source, LocatedQuery* query) {
  const KeyStore& keys = source->keys;
  const Slice key = keys[index];
  std::vector<uint32_t> ends = source->field_ends;
  if (IsPrinted(source->form)) {
    ends.clear();
    for (size_t i = 1; i < key.size(); i++) {
      // The digits of one number, such as a time, may have separators.
      const bool in_number = i > 1 && IsDigit(key[i - 2]) && IsDigit(key[i]);
      if (IsSeparator(key[i - 1]) && !in_number) {
        ends.push_back(static_cast<uint32_t>(8 * i));
      }
    }
  }
  if (ends.empty()) return false;
  const uint32_t bits = ends[source->random.Uniform(ends.size())];
  std::string lo = key.ToString();
  std::string hi = lo;
  FillAfter(lo.data(), lo.size(), bits, 0);
  FillAfter(hi.data(), hi.size(), bits, 0xff);
  const bool inclusive = !IsPrinted(source->form);
  if (!inclusive) {
    lo.resize(bits / 8);
    if (!FirstAfterPrefix(lo, &hi)) return false;
  }
  const size_t first = keys.LowerBound(lo, 0, index + 1);
  size_t next = keys.LowerBound(hi, index, keys.size());
  if (next < keys.size() && inclusive && keys[next] == hi) next++;
  // Applications know a few names that have many keys each.
  constexpr size_t kFewNames = 256;
  return next - first <= 1 + keys.size() / kFewNames &&
         LocateBetween(lo, hi, inclusive, first, next, *source, query);
}

}  // namespace ROCKSDB_NAMESPACE::protean
