// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/proteus/byte_alphabets.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Codes are part of the format.
constexpr size_t kFirstUsual = 9;
constexpr size_t kCodes = kFirstUsual + std::size(kUsualAlphabets);

// Codes from here on stand for any byte.
constexpr size_t kAllCodes = '~' + 1;

bool IsCharacter(size_t code) { return code >= ' ' && code <= '~'; }

std::string AlphabetOfCode(size_t code) {
  if (IsCharacter(code)) return std::string(1, static_cast<char>(code));
  if (code >= kFirstUsual && code < kCodes) {
    return std::string(kUsualAlphabets[code - kFirstUsual]);
  }
  const bool digits = code > 0 && code < kFirstUsual;
  const unsigned last = digits ? static_cast<unsigned>('0' + code) : 255;
  std::string alphabet;
  for (unsigned c = digits ? '0' : 0; c <= last; c++) {
    alphabet.push_back(static_cast<char>(c));
  }
  return alphabet;
}

// For each alphabet and each width of 1 to 8 bits, and each value of that many
// bits, the number of lower values that are the highest bits of a byte of the
// alphabet; after them, the number of all.
class RankTable {
 public:
  RankTable() {
    for (size_t code = 0; code < kAllCodes; code++) {
      const std::string alphabet = AlphabetOfCode(code);
      for (uint32_t width = 1; width <= 8; width++) {
        std::array<bool, 256> has = {};
        for (char c : alphabet) {
          has[static_cast<uint8_t>(c) >> (8 - width)] = true;
        }
        uint16_t* const ranks = &ranks_[code][First(width)];
        for (size_t value = 0; value < size_t{1} << width; value++) {
          ranks[value + 1] = static_cast<uint16_t>(ranks[value] + has[value]);
        }
      }
    }
  }

  const uint16_t* Ranks(char code, uint32_t width) const {
    const auto number = static_cast<uint8_t>(code);
    return &ranks_[number < kAllCodes ? number : 0][First(width)];
  }

 private:
  // The entries of all smaller widths come first.
  static size_t First(uint32_t width) {
    return (size_t{1} << width) - 2 + (width - 1);
  }

  uint16_t ranks_[kAllCodes][(1 << 9) - 2 + 8] = {};
};

const RankTable& kRankTable = *new RankTable;

// The possible values of the highest `width` bits of a byte.
class Values {
 public:
  Values(char code, uint32_t width)
      : width_(width), ranks_(kRankTable.Ranks(code, width)) {}

  unsigned size() const { return ranks_[size_t{1} << width_]; }
  // The number of values below `value`; value <= 2^width.
  unsigned Rank(unsigned value) const { return ranks_[value]; }
  bool Has(unsigned value) const { return Rank(value + 1) > Rank(value); }
  // Moves on to the first possible value that is not below. False if there is
  // none.
  bool MoveTo(unsigned* value) const {
    if (*value >> width_ != 0 || Rank(*value) == size()) return false;
    while (!Has(*value)) (*value)++;
    return true;
  }

 private:
  const uint32_t width_;
  const uint16_t* const ranks_;
};

// The bits of byte `place` that belong to a prefix of `bits` bits, which ends
// behind its beginning.
uint32_t WidthAt(size_t place, uint32_t bits) {
  return std::min(8u, bits - static_cast<uint32_t>(8 * place));
}

unsigned ValueAt(const char* byte, uint32_t width) {
  return static_cast<unsigned>(static_cast<uint8_t>(*byte)) >> (8 - width);
}

}  // namespace

char AlphabetCodeOf(const BytesSeen& seen) {
  static const std::array<BytesSeen, kCodes> alphabets = [] {
    std::array<BytesSeen, kCodes> sets;
    for (size_t code = 1; code < kCodes; code++) {
      for (char c : AlphabetOfCode(code))
        sets[code].set(static_cast<uint8_t>(c));
    }
    return sets;
  }();
  const size_t count = seen.count();
  if (count == 0) return 0;
  if (count == 1) {
    size_t only = 0;
    while (!seen[only]) only++;
    if (IsCharacter(only)) return static_cast<char>(only);
  }
  for (size_t code = 1; code < kCodes; code++) {
    if ((seen & ~alphabets[code]).none()) return static_cast<char>(code);
  }
  return 0;
}

ByteAlphabets::ByteAlphabets(size_t begin, std::string codes)
    : begin_(begin), codes_(std::move(codes)) {
  if (codes_.find_first_not_of('\0') == std::string::npos) codes_.clear();
}

ByteAlphabets ByteAlphabets::Within(size_t begin, size_t end) const {
  std::string codes;
  for (size_t place = begin; place < end; place++) {
    codes.push_back(CodeOf(place));
  }
  return ByteAlphabets(begin, std::move(codes));
}

uint64_t ByteAlphabets::Count(const char* lo, const char* hi, size_t from,
                              uint32_t bits) const {
  // How many possible prefixes of the bytes so far are below that of `lo`, and
  // below that of `hi`, differs by this number.
  uint64_t difference = 0;
  // One if these prefixes are possible, else zero.
  uint64_t lo_possible = 1;
  uint64_t hi_possible = 1;
  const auto count_through = [&](size_t place, uint32_t width) {
    const Values values(CodeOf(place), width);
    const unsigned lo_value = ValueAt(lo + (place - from), width);
    const unsigned hi_value = ValueAt(hi + (place - from), width);
    difference = difference * values.size() +
                 hi_possible * values.Rank(hi_value) -
                 lo_possible * values.Rank(lo_value);
    lo_possible &= values.Has(lo_value);
    hi_possible &= values.Has(hi_value);
  };
  const size_t whole = bits / 8;
  for (size_t place = from; place < whole; place++) {
    count_through(place, 8);
    // No later byte takes away more than one of them.
    if (difference > kMany) return kMany;
  }
  if (bits % 8 != 0) count_through(whole, bits % 8);
  return difference + hi_possible;
}

uint64_t ByteAlphabets::CountBelow(uint32_t bits, uint32_t longer) const {
  const size_t first = bits / 8;
  uint64_t begun = 1;
  if (bits % 8 != 0) begun = Values(CodeOf(first), bits % 8).size();
  uint64_t count = 1;
  for (size_t place = first; place < BytesForBits(longer); place++) {
    count *= Values(CodeOf(place), WidthAt(place, longer)).size();
    if (count >= kMany * begun) return kMany;
  }
  return (count + begun - 1) / begun;
}

// Gives all places from `from` on the smallest of their values.
void ByteAlphabets::FillSmallest(char* prefix, size_t from,
                                 uint32_t bits) const {
  const size_t end = BytesForBits(bits);
  for (size_t place = from; place < end; place++) {
    const uint32_t width = WidthAt(place, bits);
    unsigned value = 0;
    Values(CodeOf(place), width).MoveTo(&value);
    prefix[place] = static_cast<char>(value << (8 - width));
  }
}

bool ByteAlphabets::MoveToPossible(char* prefix, uint32_t bits) const {
  const size_t end =
      std::min<size_t>(BytesForBits(bits), begin_ + codes_.size());
  for (size_t place = begin_; place < end; place++) {
    const uint32_t width = WidthAt(place, bits);
    unsigned value = ValueAt(prefix + place, width);
    if (Values(codes_[place - begin_], width).Has(value)) continue;
    // This byte goes up, or one before it does.
    for (size_t up = place + 1; up-- > begin_;) {
      const uint32_t up_width = WidthAt(up, bits);
      unsigned next = ValueAt(prefix + up, up_width) + (up < place ? 1 : 0);
      if (!Values(codes_[up - begin_], up_width).MoveTo(&next)) continue;
      prefix[up] = static_cast<char>(next << (8 - up_width));
      FillSmallest(prefix, up + 1, bits);
      return true;
    }
    FillSmallest(prefix, begin_, bits);
    return begin_ > 0 && Increment(prefix, static_cast<uint32_t>(8 * begin_));
  }
  return true;
}

}  // namespace ROCKSDB_NAMESPACE::protean
