// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/proteus/prior/key_steps.h"

#include <algorithm>

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Limit of the digits of printed numbers that are counted up.
constexpr size_t kStepDigits = 3;

// The bytes of a number, as many as a key has: the highest of its 64 bits is
// bit `bit`, and zeros follow them.
std::string BytesOfNumber(uint64_t number, uint32_t bit, size_t size) {
  std::string bytes(size, '\0');
  for (size_t i = bit / 8; i < bytes.size(); i++) {
    const size_t byte = i - bit / 8;
    uint64_t bits = byte < 8 ? number << (8 * byte) : 0;
    bits >>= bit % 8;
    if (byte > 0 && byte <= 8 && bit % 8 != 0) {
      bits |= number << (8 * byte - 8) >> 56 << (64 - bit % 8);
    }
    bytes[i] = static_cast<char>(bits >> 56);
  }
  return bytes;
}

// Adds a number of as many bytes to a key. False if the sum is past the largest
// key of that length.
bool AddNumber(const std::string& number, std::string* key) {
  unsigned carry = 0;
  for (size_t i = key->size(); i-- > 0;) {
    carry += static_cast<uint8_t>((*key)[i]) + static_cast<uint8_t>(number[i]);
    (*key)[i] = static_cast<char>(carry);
    carry >>= 8;
  }
  return carry == 0;
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
    (*key)[i] = alphabet.front();
    more = 1;
  }
  return false;
}

}  // namespace

uint32_t SharedWithNeighbors(const KeyStore& keys, size_t index) {
  std::string decoded[2];
  const Slice key = keys.Get(index, &decoded[0]);
  uint32_t shared = 0;
  if (index > 0) shared = SharedBits(keys.Get(index - 1, &decoded[1]), key);
  if (index + 1 < keys.size()) {
    shared =
        std::max(shared, SharedBits(key, keys.Get(index + 1, &decoded[1])));
  }
  return std::min(shared, BitsOf(key));
}

uint32_t LastBitOfNumber(uint32_t shared, uint32_t bits) {
  return std::min(64 * (shared / 64 + 1), bits) - 1;
}

uint32_t ChooseLengthBit(uint32_t shared, uint32_t bits, PriorSource* source) {
  const uint32_t last = LastBitOfNumber(shared, bits);
  const bool number = source->form == KeyForm::kNumber;
  const uint32_t first = std::min(shared + (number ? 3 : 0), last);
  const uint64_t range = last - first + 1;
  const uint64_t more = source->random.Uniform(range);
  return first +
         static_cast<uint32_t>(
             number ? more : std::min(more, source->random.Uniform(range)));
}

bool Advance(uint32_t bit, PriorRandom* random, std::string* key) {
  const uint64_t number = random->Word() | uint64_t{1} << 63;
  return AddNumber(BytesOfNumber(number, bit, key->size()), key);
}

bool CountUp(size_t place, PriorSource* source, std::string* key) {
  const std::string other =
      source->keys[source->random.Uniform(source->keys.size())];
  for (size_t i = place + 1; i < key->size(); i++) (*key)[i] = other[i];
  const size_t more = 1 + source->random.Uniform(2);
  return CountUpBy(more, place, source->alphabets, key);
}

bool Follow(size_t index, PriorSource* source, std::string* key) {
  PriorRandom& random = source->random;
  if (source->form == KeyForm::kDigits) {
    const size_t digits = random.Uniform(std::min(kStepDigits, key->size()));
    return CountUp(key->size() - 1 - digits, source, key);
  }
  const uint32_t last =
      LastBitOfNumber(SharedWithNeighbors(source->keys, index), BitsOf(*key));
  const uint32_t bits = BitsFor(1 + random.Uniform((1 << kStepBits) - 1));
  return Advance(last - std::min(last, bits - 1), &random, key);
}

}  // namespace ROCKSDB_NAMESPACE::protean
