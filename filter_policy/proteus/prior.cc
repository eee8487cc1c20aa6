// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/proteus/prior.h"

#include <cmath>
#include <functional>
#include <map>
#include <random>

#include "filter_policy/proteus/key_fields.h"
#include "filter_policy/proteus/time_windows.h"
#include "filter_policy/range_filter.h"
#include "filter_policy/samples/query_queue.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// The number of queries of each kind. It is lower for a file of few keys, whose
// design must not take longer than all else.
constexpr size_t kMaxOfKind = 256;
constexpr size_t kMinOfKind = 64;
constexpr size_t kKeysPerQuery = 32;
// The prior has little weight beside many samples, and need not be exact.
constexpr size_t kManySamples = 1000;
constexpr size_t kMaxBesideSamples = 32;
// The factor for queries with a promise, since that is a low rate.
constexpr double kPartsOfPromise = 4;
// The factor for kinds of little weight.
constexpr double kRare = 0.125;
// Queries behind a key are less than 2^kStepBits away from it, and their ranges
// are less than 2^kLengthBits long.
constexpr uint32_t kStepBits = 11;
constexpr uint32_t kLengthBits = 5;
// Limit of the digits of printed numbers that are counted up.
constexpr size_t kStepDigits = 3;

// The factor of the weights of other queries where there are windows of time.
constexpr double kBesideWindows = 0.01;

enum class Family {
  kNumber,  // keys of one length, up to 8 bytes
  kRecord,  // longer keys of one length: a time and a sensor, say
  kDigits,  // printed keys of one length: a number or a time
  kText,    // keys of different lengths
};

// Whether all characters of these keys are printable.
bool ArePrintable(const KeyStore& keys) {
  for (size_t i = 0; i < kSampledKeys; i++) {
    const std::string key = keys[SampledKey(keys, i)];
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
        random_(keys.size()) {
    if (family_ == Family::kNumber) return;
    windows_ = TimeWindows::Find(keys, statistics.NeighbourBits() / 8);
  }

  std::vector<LocatedQuery> Make() {
    using P = PriorMaker;
    AddPointsAlike(2);
    if (AddWindows()) {
      AddKind(&P::EntityScan, 0.5, kRare, /*scaled=*/true);
      AddKind(&P::PointNearTime, 0.05, kRare);
      AddRanges(kBesideWindows, kRare);
    } else {
      AddPointsBehind();
      AddRanges(1, 1);
    }
    for (LocatedQuery& query : queries_) {
      // Sums of weights of 24 bits are exact, in any order.
      query.weight = static_cast<float>(
          query.weight * static_cast<float>(kPriorSamples / all_));
    }
    return std::move(queries_);
  }

 private:
  // Makes the queries of a kind, which have this weight together. Where not all
  // can be made, the weight is theirs; if `scaled`, it shrinks with their
  // number. Returns this number.
  size_t AddKind(bool (PriorMaker::*make)(size_t), double weight,
                 double parts = 1, bool scaled = false) {
    const size_t begin = queries_.size();
    const auto count =
        static_cast<size_t>(std::ceil(parts * static_cast<double>(of_kind_)));
    for (size_t i = 0; i < count; i++) (this->*make)(Index(i, count));
    const size_t made = queries_.size() - begin;
    if (made == 0) return 0;
    if (scaled) {
      weight *= static_cast<double>(made) / static_cast<double>(count);
    }
    all_ += weight;
    for (size_t i = begin; i < queries_.size(); i++) {
      queries_[i].weight =
          static_cast<float>(weight / static_cast<double>(made));
    }
    return made;
  }

  // What a query in place of a key shares with the other keys, decides most.
  // The statistics know this of all keys. So the weights of such queries, from
  // that of index `begin` on, are set by what the keys share with others:
  // `levels` tells it of each. A query stands for all keys that share as much
  // as its own, and for those between that and the next higher level.
  void WeighByLevel(size_t begin, const std::vector<uint32_t>& levels,
                    double weight) {
    std::map<uint32_t, size_t, std::greater<uint32_t>> counts;
    for (uint32_t level : levels) counts[level]++;
    std::map<uint32_t, double> shares;
    double above = 0;
    double all = 0;
    for (const auto& [level, count] : counts) {
      const bool lowest = level == counts.rbegin()->first;
      const auto from_here =
          static_cast<double>(statistics_.KeysSharing(lowest ? 0 : level));
      // Keys that only differ in zeros at their ends are not counted.
      const double keys = std::max(from_here - above, 1.0);
      shares[level] = keys / static_cast<double>(count);
      above = std::max(above, from_here);
      all += keys;
    }
    for (size_t i = 0; i < levels.size(); i++) {
      queries_[begin + i].weight =
          static_cast<float>(weight * shares[levels[i]] / all);
    }
    all_ += weight;
  }

  // Points like the keys. One query stands for all keys of a level if nothing
  // else of a point counts.
  void AddPointsAlike(double weight) {
    if (prefixes_only_) {
      AddKind(&PriorMaker::PointAlike, weight, kPartsOfPromise);
      return;
    }
    const size_t begin = queries_.size();
    std::vector<uint32_t> levels;
    if (family_ == Family::kText) {
      // The length of a key counts, too.
      const auto count = static_cast<size_t>(kPartsOfPromise) * of_kind_;
      for (size_t i = 0; i < count; i++) {
        if (PointAlike(Index(i, count))) {
          levels.push_back(queries_.back().shared());
        }
      }
    } else {
      for (uint32_t bits = 0; bits <= statistics_.max_bits(); bits++) {
        if (statistics_.KeysSharing(bits) ==
            statistics_.KeysSharing(bits + 1)) {
          continue;
        }
        LocatedQuery query = {};
        query.lo_shared = bits;
        query.hi_shared = bits;
        query.bounds_shared = kAllBits;
        query.bytes = static_cast<uint32_t>(statistics_.longest_key());
        query.promised = true;
        queries_.push_back(query);
        levels.push_back(bits);
      }
    }
    if (!levels.empty()) WeighByLevel(begin, levels, weight);
  }

  // A key in whose place a query may be, and the bits that it shares with the
  // nearer of its neighbors.
  struct Candidate {
    uint32_t level;
    size_t index;
  };
  // Keys from all parts of the file, those first that share most.
  const std::vector<Candidate>& Candidates() {
    if (!candidates_.empty()) return candidates_;
    constexpr size_t kMoreKeys = 8;
    const size_t count = kMoreKeys * of_kind_;
    for (size_t i = 0; i < count; i++) {
      const size_t index = Index(i, count);
      candidates_.push_back({Shared(index), index});
    }
    std::stable_sort(candidates_.begin(), candidates_.end(),
                     [](const Candidate& a, const Candidate& b) {
                       return a.level > b.level;
                     });
    return candidates_;
  }

  // Adds queries in place of keys. Few keys are so close to others that a query
  // there is hard to resolve, but these decide between designs of low rates. So
  // every fourth query is in place of one of the closest keys of a larger
  // number, and has less weight. Returns the number of queries, and adds none
  // if there are fewer than `least`.
  size_t AddInPlace(bool (PriorMaker::*make)(size_t), double weight,
                    double parts, size_t least = 1) {
    const auto count =
        static_cast<size_t>(std::ceil(parts * static_cast<double>(of_kind_)));
    const std::vector<Candidate>& candidates = Candidates();
    const size_t begin = queries_.size();
    const size_t closest = count / 4;
    const size_t step = (candidates.size() - closest) / (count - closest);
    std::vector<uint32_t> levels;
    for (size_t i = 0; i < candidates.size(); i += i < closest ? 1 : step) {
      if ((this->*make)(candidates[i].index)) {
        levels.push_back(candidates[i].level);
      }
    }
    if (levels.size() < least) {
      queries_.resize(begin);
      return 0;
    }
    WeighByLevel(begin, levels, weight);
    return levels.size();
  }

  // Adds windows of time. False if there are none, or if times are so close to
  // each other that hardly any window between them is empty.
  bool AddWindows() {
    return windows_ && AddInPlace(&PriorMaker::Window, 8, 2, of_kind_ / 2) > 0;
  }

  // In printed keys, points behind a key are promised too. Then their weight
  // says how much worse they may be than the others.
  void AddPointsBehind() {
    using P = PriorMaker;
    if (IsPrinted()) {
      AddKind(&P::PointBehind, family_ == Family::kText ? 0.18 : 0.1,
              kPartsOfPromise);
    } else {
      AddKind(&P::PointBehind, 0.5);
    }
  }

  // Marks the queries from that of index `begin` on as a kind of their own if
  // they weigh enough.
  void MarkKind(size_t begin, double weight) {
    constexpr double kMinWeight = 1;
    if (weight < kMinWeight) return;
    kind_++;
    for (size_t i = begin; i < queries_.size(); i++) queries_[i].kind = kind_;
  }

  void AddRanges(double weight, double parts) {
    using P = PriorMaker;
    const auto alike = [&](bool (P::*make)(size_t), double share, double size) {
      const size_t begin = queries_.size();
      AddInPlace(make, share * weight, size * parts);
      MarkKind(begin, share * weight);
    };
    const auto other = [&](bool (P::*make)(size_t), double share, double size) {
      const size_t begin = queries_.size();
      AddKind(make, share * weight, size * parts);
      MarkKind(begin, share * weight);
    };
    switch (family_) {
      case Family::kNumber:
        alike(&P::RangeAlike, 6, 2);
        other(&P::RangeSpread, 2, 1);
        other(&P::RangeBehind, 4, 2);
        break;
      case Family::kRecord:
        alike(&P::RangeAlike, 10, 1);
        other(&P::RangeSpread, 1, 1);
        other(&P::RangeBehind, 0.5, 1);
        break;
      case Family::kDigits:
        alike(&P::RangeAlike, 8, 1);
        other(&P::RangeBehind, 0.5, 1);
        break;
      case Family::kText:
        alike(&P::Sibling, 6, 1);
        alike(&P::PrefixScan, 2, 1);
        break;
    }
  }

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

  // Finds the characters that keys have at each place.
  void FindAlphabets() {
    std::vector<std::string> seen(keys_[0].size());
    for (size_t i = 0; i < kSampledKeys; i++) {
      const std::string key = keys_[SampledKey(keys_, i)];
      for (size_t j = 0; j < key.size(); j++) seen[j].push_back(key[j]);
    }
    for (const std::string& characters : seen) {
      alphabets_.push_back(AlphabetOf(characters));
    }
  }

  char AnyCharacter(size_t place) {
    if (alphabets_.empty()) FindAlphabets();
    return alphabets_[place][Uniform(alphabets_[place].size())];
  }

  // Counts up the character at `place` by one or two, with carries to the
  // characters before it, and takes the characters after it from another key.
  // False if there is a carry out of the first place, or a character that none
  // of the sampled keys has.
  bool CountUp(size_t place, std::string* key) {
    if (alphabets_.empty()) FindAlphabets();
    const std::string other = keys_[Uniform(keys_.size())];
    for (size_t i = place + 1; i < key->size(); i++) (*key)[i] = other[i];
    size_t more = 1 + Uniform(2);
    for (size_t i = place + 1; i-- > 0;) {
      const std::string& alphabet = alphabets_[i];
      const size_t digit = alphabet.find((*key)[i]);
      if (digit == std::string::npos) return false;
      if (digit + more < alphabet.size()) {
        (*key)[i] = alphabet[digit + more];
        return true;
      }
      (*key)[i] = alphabet.front();
      more = 1;
    }
    return false;
  }

  // The number of bits that a key shares with the nearer of its neighbors.
  uint32_t Shared(size_t index) const {
    std::string decoded[2];
    const Slice key = keys_.Get(index, &decoded[0]);
    uint32_t shared = 0;
    if (index > 0) shared = SharedBits(keys_.Get(index - 1, &decoded[1]), key);
    if (index + 1 < keys_.size()) {
      shared =
          std::max(shared, SharedBits(key, keys_.Get(index + 1, &decoded[1])));
    }
    return std::min(shared, BitsOf(key));
  }
  // The last bit of the number of 8 bytes in which a key differs from others
  // that share `shared` bits with it.
  static uint32_t Unit(uint32_t shared, uint32_t bits) {
    return std::min(64 * (shared / 64 + 1), bits) - 1;
  }
  // The highest bit of the length of a range: from the distance to the nearest
  // key, which shares `shared` bits, down to one. For numbers, the longest is
  // an eighth of that; for others, longer lengths are more likely.
  uint32_t LengthBit(uint32_t shared, uint32_t bits) {
    const uint32_t last = Unit(shared, bits);
    const bool number = family_ == Family::kNumber;
    const uint32_t first = std::min(shared + (number ? 3 : 0), last);
    const uint64_t range = last - first + 1;
    const uint64_t more = Uniform(range);
    return first + static_cast<uint32_t>(
                       number ? more : std::min(more, Uniform(range)));
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
    LocatedQuery query;
    if (!LocateQuery(lo, hi, hi_inclusive, keys_, keys_below, next, statistics_,
                     &query)) {
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

  bool AddPoint(const std::string& key) {
    std::string end;
    bool inclusive;
    const Slice hi = PointEnd(key, &end, &inclusive);
    return AddAnywhere(key, hi, inclusive);
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
    if (!AddPoint(key)) return false;
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

  bool Window(size_t index) {
    std::string lo;
    std::string hi;
    return windows_->Window(index, Fraction(), &lo, &hi) &&
           AddInPlaceOf(index, lo, hi, true);
  }

  bool EntityScan(size_t index) {
    std::string lo;
    std::string hi;
    return windows_->NextEntity(index, &lo) && FirstBehindPrefix(lo, &hi) &&
           AddAnywhere(lo, hi, false);
  }

  // A little later than a key, or with another key's byte in its first fields
  // or its time.
  bool PointNearTime(size_t index) {
    std::string key = keys_[index];
    if (Uniform(2) == 0) {
      return windows_->Later(index, 1 + Uniform(1 << kStepBits), &key) &&
             AddPoint(key);
    }
    const std::string other = keys_[Uniform(keys_.size())];
    size_t end = 0;
    if (other.empty() || !windows_->EndOfTime(key, &end)) return false;
    const size_t place = Uniform(std::min(end, other.size()));
    key[place] = other[place];
    return AddPoint(key);
  }

  const KeyStore& keys_;
  const KeyStatistics& statistics_;
  const bool prefixes_only_;
  const Family family_;
  const size_t of_kind_;
  // The standard defines the numbers of this generator.
  std::mt19937_64 random_;
  std::vector<LocatedQuery> queries_;
  std::vector<Candidate> candidates_;
  double all_ = 0;    // the weight of all kinds so far
  uint8_t kind_ = 0;  // the last one that was marked
  // The characters at each place of printed keys of one length.
  std::vector<std::string> alphabets_;
  std::optional<TimeWindows> windows_;
};

}  // namespace

std::vector<LocatedQuery> MakePrior(const KeyStore& keys,
                                    const KeyStatistics& statistics,
                                    size_t num_samples, bool prefixes_only) {
  if (keys.size() == 0) return {};
  return PriorMaker(keys, statistics, num_samples, prefixes_only).Make();
}

void FilePrior::MakeFor(size_t num_samples) {
  const bool many_samples = num_samples >= kManySamples;
  if (many_samples_ == many_samples) return;
  many_samples_ = many_samples;
  queries_ = MakePrior(keys_, statistics_, num_samples, prefixes_only_);
}

}  // namespace ROCKSDB_NAMESPACE::protean
