// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/proteus/prior/key_form.h"

#include "filter_policy/proteus/byte_alphabets.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

std::vector<std::string> SampledKeys(const KeyStore& keys) {
  std::vector<std::string> sampled;
  const size_t count = std::min(keys.size(), kMaxSampledKeys);
  for (size_t i = 0; i < count; i++) {
    const size_t index =
        count == keys.size() ? i : i * (keys.size() - 1) / (count - 1);
    sampled.push_back(keys[index].ToString());
  }
  return sampled;
}

// The digits of the number, such as a time, in which byte `place` lies. Single
// separators may part them, as in 2026-01-01T12:34.
size_t DigitsAround(const std::string& key, size_t place) {
  const auto is_digit = [&](size_t i) {
    return i < key.size() && IsDigit(key[i]);
  };
  const auto goes_on = [&](size_t i) {
    return is_digit(i) || (i > 0 && is_digit(i - 1) && is_digit(i + 1));
  };
  size_t digits = 0;
  for (size_t i = place; goes_on(i); i++) digits += is_digit(i) ? 1 : 0;
  for (size_t i = place; i-- > 0 && goes_on(i);) digits += is_digit(i) ? 1 : 0;
  return digits;
}

// Returns true if most of the keys part from their neighbors in a number of
// many digits.
bool PartInNumbers(const KeyStore& keys) {
  constexpr size_t kManyDigits = 8;
  size_t parted = 0;
  const size_t count = std::min(keys.size(), kMaxSampledKeys);
  for (size_t i = 0; i < count; i++) {
    const size_t index = i * keys.size() / count;
    if (index + 1 == keys.size()) continue;
    const std::string key = keys[index].ToString();
    const size_t place = Slice(key).difference_offset(keys[index + 1]);
    if (DigitsAround(key, place) >= kManyDigits) parted++;
  }
  return parted > count / 2;
}

}  // namespace

std::string AlphabetOf(std::string_view characters) {
  for (std::string_view alphabet : kUsualAlphabets) {
    if (characters.find_first_not_of(alphabet) == std::string_view::npos) {
      return std::string(alphabet);
    }
  }
  const auto [first, last] = std::minmax_element(
      characters.begin(), characters.end(), std::char_traits<char>::lt);
  std::string all;
  for (int c = static_cast<uint8_t>(*first); c <= static_cast<uint8_t>(*last);
       c++) {
    all.push_back(static_cast<char>(c));
  }
  return all;
}

KeyForm KeyFormOf(const KeyStore& keys, const KeyStatistics& statistics,
                  bool has_fields) {
  // A printed number of 64 bits has this many digits at most.
  constexpr size_t kMaxDigits = 20;
  const std::vector<std::string> sampled = SampledKeys(keys);
  const bool printed =
      std::all_of(sampled.begin(), sampled.end(), [](const std::string& key) {
        return std::all_of(key.begin(), key.end(), IsPrintable);
      });
  if (statistics.shortest_key() != statistics.longest_key()) {
    return printed && PartInNumbers(keys) ? KeyForm::kFields : KeyForm::kText;
  }
  if (printed) {
    return statistics.longest_key() <= kMaxDigits ? KeyForm::kDigits
                                                  : KeyForm::kFields;
  }
  return statistics.longest_key() <= 8 && !has_fields ? KeyForm::kNumber
                                                      : KeyForm::kRecord;
}

std::vector<uint32_t> FieldEndsOf(const KeyStatistics& statistics) {
  // A border is followed by this many bits that tell hardly any keys apart.
  constexpr uint32_t kSameBits = 4;
  constexpr uint64_t kHardlyAny = 1000;
  std::vector<uint32_t> ends;
  if (statistics.shortest_key() != statistics.longest_key()) return ends;
  const auto is_flat = [&](uint32_t bits) {
    const uint64_t prefixes = statistics.Prefixes(bits);
    return statistics.Prefixes(bits + kSameBits) - prefixes <=
           prefixes / kHardlyAny;
  };
  // Longer keys have fields of whole bytes.
  const uint32_t step = statistics.longest_key() > 8 ? 8 : 1;
  const uint32_t bits =
      std::min<uint32_t>(static_cast<uint32_t>(8 * statistics.longest_key()),
                         statistics.max_bits());
  const uint64_t most = statistics.num_keys() - statistics.num_keys() / 50;
  for (uint32_t end = step; end + kSameBits < bits; end += step) {
    const uint64_t prefixes = statistics.Prefixes(end);
    if (prefixes > 1 && prefixes < most && is_flat(end) && !is_flat(end - 1)) {
      ends.push_back(end);
    }
  }
  return ends;
}

std::vector<std::string> CharactersOf(const KeyStore& keys) {
  std::vector<std::string> seen(keys[0].size());
  for (const std::string& key : SampledKeys(keys)) {
    for (size_t j = 0; j < key.size(); j++) seen[j].push_back(key[j]);
  }
  std::vector<std::string> alphabets;
  for (const std::string& characters : seen) {
    // A separator stays what it is. A digit counts, although the numbers of
    // these keys may be multiples of ten.
    const bool same =
        !IsDigit(characters[0]) &&
        characters.find_first_not_of(characters[0]) == std::string::npos;
    alphabets.push_back(same ? characters.substr(0, 1)
                             : AlphabetOf(characters));
  }
  return alphabets;
}

}  // namespace ROCKSDB_NAMESPACE::protean
