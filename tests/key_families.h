// SPDX-License-Identifier: Apache-2.0

//  Difficult sets of keys, and queries around them.

#pragma once

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "filter_policy/proteus/prefix_hash.h"
#include "filter_policy/range_filter.h"
#include "util/random.h"

namespace ROCKSDB_NAMESPACE::protean {

using Keys = std::vector<std::string>;

struct KeyFamily {
  std::string name;
  Keys keys;  // sorted, distinct
};

// Families of about `size` keys each, the same for the same seed: random and
// dense integers, emails and URLs with long shared prefixes, chains of keys
// that are prefixes of the next one, all keys of one byte, runs of 0x00 and
// 0xff, one key, the empty key.
std::vector<KeyFamily> KeyFamilies(size_t size, uint32_t seed);

// The number as a key of 8 bytes: keys are ordered as numbers.
std::string BigEndian(uint64_t number);

// `key`, prefixes and extensions of it, and its neighbors in the last byte.
std::vector<std::string> Around(const std::string& key);

// All strings over an alphabet up to a length.
std::vector<std::string> StringsOver(const std::string& alphabet,
                                     size_t max_length);

// A string over `alphabet` of at most `max_length` bytes.
std::string RandomString(Random* rnd, const std::string& alphabet,
                         size_t max_length);

// The payload of the keys added, and the zero bytes that must follow it.
std::string FinishPayload(RangeFilterBuilder* builder);

// The bytes in printable form.
inline std::string Hex(const Slice& s) { return s.ToString(/*hex=*/true); }

// Sorts and removes duplicates.
void SortUnique(std::vector<std::string>* keys);

// What `make` makes of 0 to `count` - 1, in order and without duplicates.
template <typename Make>
Keys MakeKeys(size_t count, const Make& make) {
  Keys keys;
  for (size_t i = 0; i < count; i++) keys.push_back(make(i));
  SortUnique(&keys);
  return keys;
}

// Strings close to every `step`th key, in order and without duplicates.
inline Keys AroundEach(const Keys& keys, size_t step = 1) {
  Keys all;
  for (size_t i = 0; i < keys.size(); i += step) {
    for (std::string& string : Around(keys[i])) all.push_back(string);
  }
  SortUnique(&all);
  return all;
}

template <typename T>
const T& AnyOf(const std::vector<T>& all, Random* rnd) {
  return all[rnd->Uniform(static_cast<int>(all.size()))];
}

// The first `bits` bits of a key that goes on with zeros, in whole bytes.
inline std::string PrefixOf(std::string key, uint32_t bits) {
  key.resize(BytesForBits(bits));
  if (bits % 8 != 0) {
    key.back() = static_cast<char>(static_cast<uint8_t>(key.back()) &
                                   0xff << (8 - bits % 8));
  }
  return key;
}

// The distinct prefixes of the keys that have `shortest_key` bytes, in order.
inline Keys PrefixesOf(const Keys& keys, uint32_t bits,
                       size_t shortest_key = 0) {
  Keys prefixes;
  for (const std::string& key : keys) {
    if (key.size() >= shortest_key) prefixes.push_back(PrefixOf(key, bits));
  }
  SortUnique(&prefixes);
  return prefixes;
}

// The number of these keys, which are in order, in a range.
inline uint64_t KeysIn(const Keys& keys, const std::string& lo,
                       const std::string& hi, bool hi_inclusive = true) {
  const auto first = std::lower_bound(keys.begin(), keys.end(), lo);
  const auto end = hi_inclusive
                       ? std::upper_bound(keys.begin(), keys.end(), hi)
                       : std::lower_bound(keys.begin(), keys.end(), hi);
  return first < end ? static_cast<uint64_t>(end - first) : 0;
}

// Calls `act` with 0, 1, up to `count` - 1, each in a thread, at the same time.
template <typename Act>
void InThreads(size_t count, const Act& act) {
  std::vector<std::thread> threads;
  for (size_t i = 0; i < count; i++) threads.emplace_back(act, i);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace ROCKSDB_NAMESPACE::protean
