// SPDX-License-Identifier: Apache-2.0

#include "tests/table/concurrency/truth.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

uint64_t Mix(uint64_t number) {
  number = (number ^ number >> 31) * 0x9e3779b97f4a7c15;
  return number ^ number >> 29;
}

// The two bytes by which all keys differ.
constexpr size_t kStep = 20;
static_assert(kStep * kNumKeys < 0xffff);

std::string Begin(size_t number) {
  return {static_cast<char>(number >> 8), static_cast<char>(number & 0xff)};
}

std::string PossibleKey(size_t key) {
  if (key == 0) return "";
  if (key == kNumKeys - 1) return "\xff\xff\xff";
  std::string tail = "/user/" + std::to_string(Mix(key));
  tail.resize(Mix(key + 1) % tail.size());
  return Begin(kStep * key) + tail;
}

}  // namespace

std::string StringAt(size_t slot) {
  const size_t key = slot / 2;
  if (slot % 2 == 0) return PossibleKey(key);
  // A string close to the key, or anywhere before the next one.
  if (key == 0 || key == kNumKeys - 1 || Mix(slot) % 2 == 0) {
    return PossibleKey(key) + '\0';
  }
  return Begin(kStep * key + 1 + Mix(slot) % (kStep - 1));
}

KeyKind KindOf(size_t key) {
  // Keys of some stripes never exist, so that whole ranges are empty.
  if (key / 16 % 3 == 0 && key > 0 && key + 1 < kNumKeys)
    return KeyKind::kNever;
  const uint64_t chance = Mix(key) % 8;
  return chance < 2   ? KeyKind::kAlways
         : chance < 5 ? KeyKind::kSometimes
                      : KeyKind::kNever;
}

std::string ValueOf(size_t key, Version version) {
  std::string value = std::to_string(key) + ":" + std::to_string(version);
  return value + std::string(Mix(version) % 100, '.');
}

bool IsValueOf(size_t key, const Slice& value) {
  const std::string text = value.ToString();
  const size_t colon = text.find(':');
  return colon != std::string::npos &&
         text == ValueOf(key, static_cast<Version>(strtoul(
                                  text.c_str() + colon + 1, nullptr, 10)));
}

}  // namespace ROCKSDB_NAMESPACE::protean
