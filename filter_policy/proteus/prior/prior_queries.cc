// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/proteus/prior/prior_queries.h"

#include <algorithm>

#include "filter_policy/proteus/prior/key_steps.h"
#include "filter_policy/range_filter.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// The ranges of short queries are less than 2^kLengthBits long.
constexpr uint32_t kLengthBits = 5;

std::string AnyKey(PriorSource* source) {
  return source->keys[source->random.Uniform(source->keys.size())];
}

char AnyCharacter(size_t place, PriorSource* source) {
  const std::string& alphabet = source->alphabets[place];
  return alphabet[source->random.Uniform(alphabet.size())];
}

// The upper bound of a query for `key`, and whether the bound belongs to the
// range.
Slice PointEnd(const Slice& key, bool prefixes_only, std::string* end,
               bool* inclusive) {
  *inclusive = !prefixes_only || !FirstBehindPrefix(key, end);
  return *inclusive ? key : Slice(*end);
}

bool LocatePoint(const std::string& key, const PriorSource& source,
                 LocatedQuery* query) {
  std::string end;
  bool inclusive;
  const Slice hi = PointEnd(key, source.prefixes_only, &end, &inclusive);
  return LocateAnywhere(key, hi, inclusive, source, query);
}

// Changes a key of the file into another one that is much like it.
bool ChangeKey(size_t index, PriorSource* source, std::string* key) {
  PriorRandom& random = source->random;
  switch (random.Uniform(source->form == KeyForm::kText ? 4 : 2)) {
    case 0:
      return Follow(index, source, key);
    case 1: {
      const std::string other = AnyKey(source);
      const size_t place = random.Uniform(key->size());
      if (source->form == KeyForm::kDigits) {
        (*key)[place] = AnyCharacter(place, source);
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

// Moves a key to the end of a range that begins with it.
bool GoAsFarAsNeighbors(size_t index, PriorSource* source, std::string* key) {
  const uint32_t bit = ChooseLengthBit(SharedWithNeighbors(source->keys, index),
                                       BitsOf(*key), source);
  return Advance(bit, &source->random, key);
}

}  // namespace

bool MakePointAlike(size_t index, PriorSource* source, LocatedQuery* query) {
  const std::string key = source->keys[index];
  std::string end;
  bool inclusive;
  const Slice hi = PointEnd(key, source->prefixes_only, &end, &inclusive);
  if (!LocateInPlaceOf(index, key, hi, inclusive, *source, query)) return false;
  query->promised = true;
  return true;
}

bool MakePointBehind(size_t index, PriorSource* source, LocatedQuery* query) {
  std::string key = source->keys[index];
  if (key.empty() || !ChangeKey(index, source, &key) ||
      !LocatePoint(key, *source, query)) {
    return false;
  }
  query->promised = IsPrinted(source->form);
  return true;
}

bool MakePointNearTime(size_t index, PriorSource* source, LocatedQuery* query) {
  PriorRandom& random = source->random;
  std::string key = source->keys[index];
  if (random.Uniform(2) == 0) {
    return source->windows->Later(index, 1 + random.Uniform(1 << kStepBits),
                                  &key) &&
           LocatePoint(key, *source, query);
  }
  const std::string other = AnyKey(source);
  size_t end = 0;
  if (other.empty() || !source->windows->EndOfTime(key, &end)) return false;
  const size_t place = random.Uniform(std::min(end, other.size()));
  key[place] = other[place];
  return LocatePoint(key, *source, query);
}

bool MakeRangeAlike(size_t index, PriorSource* source, LocatedQuery* query) {
  const std::string lo = source->keys[index];
  if (lo.empty()) return false;
  std::string hi = lo;
  if (source->form == KeyForm::kDigits) {
    // The place lies where the key differs from its neighbors, or later; longer
    // ranges are more likely.
    const size_t first = std::min<size_t>(
        SharedWithNeighbors(source->keys, index) / 8, lo.size() - 1);
    const size_t places = lo.size() - first;
    const size_t place = first + std::min(source->random.Uniform(places),
                                          source->random.Uniform(places));
    return CountUp(place, source, &hi) &&
           LocateInPlaceOf(index, lo, hi, true, *source, query);
  }
  return GoAsFarAsNeighbors(index, source, &hi) &&
         LocateInPlaceOf(index, lo, hi, true, *source, query);
}

bool MakeRangeBehind(size_t index, PriorSource* source, LocatedQuery* query) {
  std::string lo = source->keys[index];
  if (lo.empty() || !Follow(index, source, &lo)) return false;
  std::string hi = lo;
  if (source->form == KeyForm::kDigits) {
    return CountUp(hi.size() - 1, source, &hi) &&
           LocateAnywhere(lo, hi, true, *source, query);
  }
  const uint32_t last =
      LastBitOfNumber(SharedWithNeighbors(source->keys, index), BitsOf(lo));
  const auto length =
      static_cast<uint32_t>(source->random.Uniform(kLengthBits));
  return Advance(last - std::min(last, length), &source->random, &hi) &&
         LocateAnywhere(lo, hi, true, *source, query);
}

bool MakeRangeSpread(size_t index, PriorSource* source, LocatedQuery* query) {
  const KeyStore& keys = source->keys;
  const std::string smallest = keys[0];
  const std::string largest = keys[keys.size() - 1];
  const size_t same = SharedBits(smallest, largest) / 8;
  std::string lo = keys[index];
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
         LocateAnywhere(lo, hi, true, *source, query);
}

bool MakeSibling(size_t index, PriorSource* source, LocatedQuery* query) {
  const std::string lo = source->keys[index];
  std::string hi = lo;
  if (hi.empty() || hi.back() == '\xff') return false;
  hi.back() = static_cast<char>(hi.back() + 1);
  return LocateInPlaceOf(index, lo, hi, true, *source, query);
}

bool MakePrefixScan(size_t index, PriorSource* source, LocatedQuery* query) {
  const std::string key = source->keys[index];
  const size_t least = SharedWithNeighbors(source->keys, index) / 8 + 1;
  if (least > key.size()) return false;
  const size_t size = least + source->random.Uniform(key.size() - least + 1);
  const Slice lo(key.data(), size);
  std::string hi = lo.ToString();
  if (hi.back() == '\xff') return false;
  hi.back() = static_cast<char>(hi.back() + 1);
  return LocateInPlaceOf(index, lo, hi, false, *source, query);
}

bool MakeWindow(size_t index, PriorSource* source, LocatedQuery* query) {
  std::string lo;
  std::string hi;
  return source->windows->Window(index, source->random.Fraction(), &lo, &hi) &&
         LocateInPlaceOf(index, lo, hi, true, *source, query);
}

bool MakeEntityScan(size_t index, PriorSource* source, LocatedQuery* query) {
  std::string lo;
  std::string hi;
  return source->windows->NextEntity(index, &lo) &&
         FirstBehindPrefix(lo, &hi) &&
         LocateAnywhere(lo, hi, false, *source, query);
}

}  // namespace ROCKSDB_NAMESPACE::protean
