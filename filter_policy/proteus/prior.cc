// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/proteus/prior.h"

#include <random>

#include "filter_policy/range_filter.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// The number of queries of each kind. It is lower for a file of few keys, whose
// design must not take longer than all else.
constexpr size_t kMaxOfKind = 256;
constexpr size_t kMinOfKind = 16;
constexpr size_t kKeysPerQuery = 32;
// The prior has little weight beside many samples, and need not be exact.
constexpr size_t kManySamples = 1000;
constexpr size_t kMaxBesideSamples = 32;
// The factor for queries with a promise, since that is a low rate.
constexpr size_t kPartsOfPromise = 4;
// Queries behind a key are less than 2^kStepBits away from it, and their ranges
// are less than 2^kLengthBits long.
constexpr uint32_t kStepBits = 11;
constexpr uint32_t kLengthBits = 5;
// Limit of the digits of printed numbers that are counted up.
constexpr size_t kStepDigits = 3;

enum class Family {
  kNumber,  // keys of one length, up to 8 bytes
  kRecord,  // longer keys of one length: a time and a sensor, say
  kDigits,  // printed keys of one length: a number or a time
  kText,    // keys of different lengths
};

// The number of keys that tell what all keys look like.
constexpr size_t kLooks = 64;
// The index of one of these keys.
size_t Look(const KeyStore& keys, size_t number) {
  return number * (keys.size() - 1) / (kLooks - 1);
}

// Whether all characters of these keys are printable.
bool ArePrintable(const KeyStore& keys) {
  for (size_t i = 0; i < kLooks; i++) {
    const std::string key = keys[Look(keys, i)];
    for (size_t j = 0; j < key.size(); j++) {
      if (key[j] < ' ' || key[j] > '~') return false;
    }
  }
  return true;
}

Family FamilyOf(const KeyStore& keys, const KeyStatistics& statistics) {
  if (statistics.shortest_key() != statistics.longest_key()) {
    return Family::kText;
  }
  if (ArePrintable(keys)) return Family::kDigits;
  return statistics.longest_key() <= 8 ? Family::kNumber : Family::kRecord;
}

class PriorMaker {
 public:
  PriorMaker(const KeyStore& keys, const KeyStatistics& statistics,
             size_t num_samples, bool prefixes_only)
      : keys_(keys),
        statistics_(statistics),
        prefixes_only_(prefixes_only),
        family_(FamilyOf(keys, statistics)),
        of_kind_(std::clamp(
            keys.size() / kKeysPerQuery, kMinOfKind,
            num_samples < kManySamples ? kMaxOfKind : kMaxBesideSamples)),
        random_(keys.size()) {}

  std::vector<CpfprModel::Query> Make() {
    struct Kind {
      Family family;
      bool (PriorMaker::*make)(size_t);
      double weight;
      size_t parts = 1;
    };
    // In printed keys, points behind a key are promised too. Then their weight
    // says how much worse they may be than the others.
    using P = PriorMaker;
    const Kind kinds[] = {
        {Family::kNumber, &P::PointAlike, 2, kPartsOfPromise},
        {Family::kNumber, &P::PointBehind, 0.5},
        {Family::kNumber, &P::RangeAlike, 6},
        {Family::kNumber, &P::RangeSpread, 0.5},
        {Family::kNumber, &P::RangeBehind, 4},
        {Family::kRecord, &P::PointAlike, 2, kPartsOfPromise},
        {Family::kRecord, &P::PointBehind, 0.5},
        {Family::kRecord, &P::RangeAlike, 10},
        {Family::kRecord, &P::RangeSpread, 1},
        {Family::kRecord, &P::RangeBehind, 0.5},
        {Family::kDigits, &P::PointAlike, 2, kPartsOfPromise},
        {Family::kDigits, &P::PointBehind, 0.1, kPartsOfPromise},
        {Family::kDigits, &P::RangeAlike, 8},
        {Family::kDigits, &P::RangeBehind, 0.5},
        {Family::kText, &P::PointAlike, 2, kPartsOfPromise},
        {Family::kText, &P::PointBehind, 0.18, kPartsOfPromise},
        {Family::kText, &P::Sibling, 6},
        {Family::kText, &P::PrefixScan, 2},
    };
    double all = 0;
    for (const Kind& kind : kinds) {
      if (kind.family != family_) continue;
      const size_t begin = queries_.size();
      const size_t count = kind.parts * of_kind_;
      for (size_t i = 0; i < count; i++) (this->*kind.make)(Index(i, count));
      const size_t made = queries_.size() - begin;
      if (made == 0) continue;
      all += kind.weight;
      for (size_t i = begin; i < queries_.size(); i++) {
        queries_[i].weight =
            static_cast<float>(kind.weight / static_cast<double>(made));
      }
    }
    for (CpfprModel::Query& query : queries_) {
      query.weight *= static_cast<float>(kPriorSamples / all);
    }
    return std::move(queries_);
  }

 private:
  bool IsPrinted() const {
    return family_ == Family::kDigits || family_ == Family::kText;
  }

  // The index of a random key in a part of the file, of `parts` equal ones.
  size_t Index(size_t part, size_t parts) {
    const double place = (static_cast<double>(part) + Fraction()) /
                         static_cast<double>(parts) *
                         static_cast<double>(keys_.size());
    return std::min(static_cast<size_t>(place), keys_.size() - 1);
  }
  // A random number in [0, 1).
  double Fraction() {
    return static_cast<double>(random_() >> 11) / (uint64_t{1} << 53);
  }
  // A random number in [0, bound); bound > 0.
  uint64_t Uniform(uint64_t bound) { return random_() % bound; }

  uint32_t BitsOf(const Slice& key) const {
    return static_cast<uint32_t>(8 * key.size());
  }

  // Adds a random number to a key. The highest bit of the number is bit `bit`
  // of the key. False if the sum is past the largest key of that length.
  bool Advance(uint32_t bit, std::string* key) {
    std::string step(key->size(), '\0');
    const uint64_t word = random_() | uint64_t{1} << 63;
    for (size_t i = bit / 8; i < step.size(); i++) {
      const size_t byte = i - bit / 8;
      // The number has 64 random bits, and zeros after them.
      uint64_t bits = byte < 8 ? word << (8 * byte) : 0;
      bits >>= bit % 8;
      if (byte > 0 && byte <= 8 && bit % 8 != 0) {
        bits |= word << (8 * byte - 8) >> 56 << (64 - bit % 8);
      }
      step[i] = static_cast<char>(bits >> 56);
    }
    unsigned carry = 0;
    for (size_t i = key->size(); i-- > 0;) {
      carry += static_cast<uint8_t>((*key)[i]) + static_cast<uint8_t>(step[i]);
      (*key)[i] = static_cast<char>(carry);
      carry >>= 8;
    }
    return carry == 0;
  }

  // Finds the first and the last character at each place: all digits, or all
  // letters of a case, if the keys that are looked at have nothing else.
  void FindAlphabet() {
    alphabet_.resize(keys_[0].size(), {'~', ' '});
    for (size_t i = 0; i < kLooks; i++) {
      const std::string key = keys_[Look(keys_, i)];
      for (size_t j = 0; j < key.size(); j++) {
        alphabet_[j].first = std::min(alphabet_[j].first, key[j]);
        alphabet_[j].second = std::max(alphabet_[j].second, key[j]);
      }
    }
    for (Characters& characters : alphabet_) {
      for (const Characters& all :
           {Characters('0', '9'), Characters('A', 'Z'), Characters('a', 'z')}) {
        if (characters.first >= all.first && characters.second <= all.second) {
          characters = all;
        }
      }
    }
  }

  char AnyCharacter(size_t place) {
    if (alphabet_.empty()) FindAlphabet();
    const auto& [first, last] = alphabet_[place];
    return static_cast<char>(first + Uniform(last - first + 1));
  }

  // Counts up the character at `place` by one or two, with carries to the
  // characters before it, and takes the characters after it from another key.
  // False if there is a carry out of the first place.
  bool CountUp(size_t place, std::string* key) {
    if (alphabet_.empty()) FindAlphabet();
    const std::string other = keys_[Uniform(keys_.size())];
    for (size_t i = place + 1; i < key->size(); i++) (*key)[i] = other[i];
    int more = static_cast<int>(1 + Uniform(2));
    for (size_t i = place + 1; i-- > 0;) {
      const auto& [first, last] = alphabet_[i];
      const int character = static_cast<uint8_t>((*key)[i]);
      if (character + more <= last) {
        (*key)[i] = static_cast<char>(character + more);
        return true;
      }
      (*key)[i] = first;
      more = 1;
    }
    return false;
  }

  // The number of bits that a key shares with the nearer of its neighbors.
  uint32_t Shared(size_t index) const {
    uint32_t shared = 0;
    if (index > 0) shared = SharedBits(keys_[index - 1], keys_[index]);
    if (index + 1 < keys_.size()) {
      shared = std::max(shared, SharedBits(keys_[index], keys_[index + 1]));
    }
    return std::min(shared, BitsOf(keys_[index]));
  }
  // The last bit of the number of 8 bytes in which a key differs from others
  // that share `shared` bits with it.
  static uint32_t Unit(uint32_t shared, uint32_t bits) {
    return std::min(64 * (shared / 64 + 1), bits) - 1;
  }
  // The highest bit of the length of a range: from an eighth of the distance to
  // the nearest key, which shares `shared` bits, down to one. Longer lengths
  // are more likely.
  uint32_t LengthBit(uint32_t shared, uint32_t bits) {
    const uint32_t last = Unit(shared, bits);
    const uint32_t nearer = family_ == Family::kNumber ? 3 : 0;
    const uint32_t first = std::min(shared + nearer, last);
    const uint64_t range = last - first + 1;
    return first +
           static_cast<uint32_t>(std::min(Uniform(range), Uniform(range)));
  }

  // Adds a query above the first `keys_below` keys, and below that of index
  // `next` and those after it.
  bool Add(const Slice& lo, const Slice& hi, bool hi_inclusive,
           size_t keys_below, size_t next) {
    // A character that the keys looked at do not have may break the order.
    if (IsInverted(lo, hi, hi_inclusive)) return false;
    if (keys_below > 0 && keys_.Compare(keys_below - 1, lo) >= 0) return false;
    if (next < keys_.size()) {
      const int order = keys_.Compare(next, hi);
      if (order < 0 || (order == 0 && hi_inclusive)) return false;
    }
    CpfprModel::Query query;
    if (!CpfprModel::MakeQuery(lo, hi, hi_inclusive, keys_, keys_below, next,
                               statistics_, &query)) {
      return false;
    }
    queries_.push_back(query);
    return true;
  }
  // Adds a query in place of a key of the file.
  bool AddInPlaceOf(size_t index, const Slice& lo, const Slice& hi,
                    bool hi_inclusive) {
    return Add(lo, hi, hi_inclusive, index, index + 1);
  }
  // Adds a query wherever it lies among the keys. The file is not asked for
  // others.
  bool AddAnywhere(const Slice& lo, const Slice& hi, bool hi_inclusive) {
    const size_t index = keys_.LowerBound(lo, 0, keys_.size());
    return index > 0 && index < keys_.size() &&
           Add(lo, hi, hi_inclusive, index, index);
  }

  // The upper bound of a query for `key`, and whether the bound belongs to the
  // range.
  Slice PointEnd(const Slice& key, std::string* end, bool* inclusive) const {
    *inclusive = !prefixes_only_ || !FirstBehindPrefix(key, end);
    return *inclusive ? key : Slice(*end);
  }

  bool PointAlike(size_t index) {
    const std::string key = keys_[index];
    std::string end;
    bool inclusive;
    const Slice hi = PointEnd(key, &end, &inclusive);
    if (!AddInPlaceOf(index, key, hi, inclusive)) return false;
    queries_.back().promised = true;
    return true;
  }

  bool PointBehind(size_t index) {
    std::string key = keys_[index];
    if (key.empty()) return false;
    switch (Uniform(family_ == Family::kText ? 4 : 2)) {
      case 0:
        if (!Follow(index, &key)) return false;
        break;
      case 1: {
        const std::string other = keys_[Uniform(keys_.size())];
        const size_t place = Uniform(key.size());
        if (family_ == Family::kDigits) {
          key[place] = AnyCharacter(place);
        } else if (place < other.size()) {
          key[place] = other[place];
        }
        break;
      }
      case 2:
        key.push_back(key.back());
        break;
      default:
        key.pop_back();
    }
    std::string end;
    bool inclusive;
    const Slice hi = PointEnd(key, &end, &inclusive);
    if (!AddAnywhere(key, hi, inclusive)) return false;
    queries_.back().promised = IsPrinted();
    return true;
  }

  bool RangeAlike(size_t index) {
    const std::string lo = keys_[index];
    if (lo.empty()) return false;
    std::string hi = lo;
    if (family_ == Family::kDigits) {
      // The place lies where the key differs from its neighbors, or later;
      // longer ranges are more likely.
      const size_t first = std::min<size_t>(Shared(index) / 8, lo.size() - 1);
      const size_t places = lo.size() - first;
      return CountUp(first + std::min(Uniform(places), Uniform(places)), &hi) &&
             AddInPlaceOf(index, lo, hi, true);
    }
    return Advance(LengthBit(Shared(index), BitsOf(lo)), &hi) &&
           AddInPlaceOf(index, lo, hi, true);
  }
  // Moves a key to one of the 2^kStepBits numbers after it.
  bool Follow(size_t index, std::string* key) {
    if (family_ == Family::kDigits) {
      const size_t digits = Uniform(std::min(kStepDigits, key->size()));
      return CountUp(key->size() - 1 - digits, key);
    }
    const uint32_t last = Unit(Shared(index), BitsOf(*key));
    const uint32_t bits = BitsFor(1 + Uniform((1 << kStepBits) - 1));
    return Advance(last - std::min(last, bits - 1), key);
  }

  bool RangeBehind(size_t index) {
    std::string lo = keys_[index];
    if (lo.empty() || !Follow(index, &lo)) return false;
    std::string hi = lo;
    if (family_ == Family::kDigits) {
      return CountUp(hi.size() - 1, &hi) && AddAnywhere(lo, hi, true);
    }
    const uint32_t last = Unit(Shared(index), BitsOf(lo));
    const auto length = static_cast<uint32_t>(Uniform(kLengthBits));
    return Advance(last - std::min(last, length), &hi) &&
           AddAnywhere(lo, hi, true);
  }

  bool RangeSpread(size_t index) {
    const std::string smallest = keys_[0];
    const std::string largest = keys_[keys_.size() - 1];
    const size_t same = SharedBits(smallest, largest) / 8;
    std::string lo = keys_[index];
    if (same >= lo.size()) return false;
    const uint64_t first = LoadBits64(smallest, same);
    const uint64_t span = LoadBits64(largest, same) - first;
    if (span == 0) return false;
    const uint64_t word = first + Uniform(span);
    for (size_t i = 0; i < 8 && same + i < lo.size(); i++) {
      lo[same + i] = static_cast<char>(word >> (56 - 8 * i));
    }
    std::string hi = lo;
    return Advance(LengthBit(Shared(index), BitsOf(lo)), &hi) &&
           AddAnywhere(lo, hi, true);
  }

  bool Sibling(size_t index) {
    const std::string lo = keys_[index];
    std::string hi = lo;
    if (hi.empty() || hi.back() == '\xff') return false;
    hi.back() = static_cast<char>(hi.back() + 1);
    return AddInPlaceOf(index, lo, hi, true);
  }

  bool PrefixScan(size_t index) {
    const std::string key = keys_[index];
    const size_t least = Shared(index) / 8 + 1;
    if (least > key.size()) return false;
    const size_t size = least + Uniform(key.size() - least + 1);
    const Slice lo(key.data(), size);
    std::string hi = lo.ToString();
    if (hi.back() == '\xff') return false;
    hi.back() = static_cast<char>(hi.back() + 1);
    return AddInPlaceOf(index, lo, hi, false);
  }

  const KeyStore& keys_;
  const KeyStatistics& statistics_;
  const bool prefixes_only_;
  const Family family_;
  const size_t of_kind_;
  // The standard defines the numbers of this generator.
  std::mt19937_64 random_;
  std::vector<CpfprModel::Query> queries_;
  // The first and the last character at each place of printed keys.
  using Characters = std::pair<char, char>;
  std::vector<Characters> alphabet_;
};

}  // namespace

std::vector<CpfprModel::Query> MakePrior(const KeyStore& keys,
                                         const KeyStatistics& statistics,
                                         size_t num_samples,
                                         bool prefixes_only) {
  if (keys.size() == 0) return {};
  return PriorMaker(keys, statistics, num_samples, prefixes_only).Make();
}

}  // namespace ROCKSDB_NAMESPACE::protean
