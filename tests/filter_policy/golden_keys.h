// SPDX-License-Identifier: Apache-2.0

//  The keys of the golden blocks (golden_recipes.h). They must not change with
//  a library or a compiler, so a generator of the tests' own makes them, and no
//  expression draws from it twice, since the order would be the compiler's
//  choice.

#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "tests/lcg.h"

namespace ROCKSDB_NAMESPACE::protean {

using Keys = std::vector<std::string>;

inline Keys Sorted(const std::set<std::string>& keys) {
  return Keys(keys.begin(), keys.end());
}

inline Keys RandomIntegers(size_t count) {
  Lcg random(1);
  std::set<std::string> keys;
  while (keys.size() < count) keys.insert(random.Bytes(8));
  return Sorted(keys);
}

// Short keys, of which many are neighbors.
inline Keys Counters(uint32_t count, uint32_t step) {
  Keys keys;
  for (uint32_t i = 0; i < count; i++) {
    const uint32_t number = i * step;
    keys.push_back({static_cast<char>(number >> 16),
                    static_cast<char>(number >> 8), static_cast<char>(number)});
  }
  return keys;
}

// Counters after a few bytes, which become the run of the root.
inline Keys CountersAfter(const std::string& begin, uint32_t count,
                          uint32_t step) {
  Keys keys = Counters(count, step);
  for (std::string& key : keys) key = begin + key;
  return keys;
}

inline Keys Emails(size_t count) {
  Lcg random(2);
  std::set<std::string> keys;
  const char* const domains[] = {"com.example@", "com.example.mail@",
                                 "org.example@", "org.example.lists@"};
  while (keys.size() < count) {
    const std::string domain = domains[random.Next(4)];
    keys.insert(domain + random.Word("aeilnorst.-", 2, 12));
  }
  return Sorted(keys);
}

// Keys with runs of hundreds of bytes. The smallest and the largest key are
// longer than what the header stores of them.
inline Keys LongPaths() {
  Lcg random(3);
  std::set<std::string> keys;
  for (int folder = 0; folder < 6; folder++) {
    const std::string path =
        "/home/" + random.Word("abc", 40, 300) + "/" + std::string(70, 'd');
    for (int file = 0; file < 5; file++) {
      keys.insert(path + random.Word("xyz/", 1, 90));
    }
  }
  return Sorted(keys);
}

// Names of a few words, as packages have, many of which begin alike.
inline Keys Words(size_t count) {
  Lcg random(11);
  const char* const words[] = {"data",  "web",  "core",  "test",
                               "utils", "json", "async", "micro",
                               "graph", "auth", "lib"};
  std::set<std::string> keys;
  while (keys.size() < count) {
    std::string key = words[random.Next(11)];
    while (random.Next(3) > 0) {
      key += random.Next(4) == 0 ? "_" : "-";
      key += words[random.Next(11)];
    }
    if (random.Next(2) == 0) key += random.Word("aeilnorst", 1, 5);
    if (random.Next(4) == 0) key += random.Word("0123456789", 1, 2);
    keys.insert(key);
  }
  return Sorted(keys);
}

// Keys that are prefixes of the next ones, also by bytes 0x00 and 0xff.
inline Keys PrefixChains() {
  Lcg random(4);
  std::set<std::string> keys = {""};
  for (int chain = 0; chain < 40; chain++) {
    std::string key = random.Word(std::string("\0a\xff", 3), 1, 3);
    for (int link = 0; link < 15; link++) {
      keys.insert(key);
      key += random.Word(std::string("\0b\xff", 3), 1, 2);
    }
  }
  return Sorted(keys);
}

inline Keys AllBytes() {
  Keys keys;
  for (int byte = 0; byte < 256; byte++) {
    keys.push_back(std::string(1, static_cast<char>(byte)));
  }
  return keys;
}

// Keys of two letters, whose codes have one bit.
inline Keys TwoLetters() {
  Lcg random(5);
  std::set<std::string> keys;
  while (keys.size() < 300) keys.insert(random.Word("01", 1, 14));
  return Sorted(keys);
}

// Keys of 95 letters, whose codes have seven bits.
inline Keys Printable() {
  std::string letters;
  for (char c = ' '; c <= '~'; c++) letters.push_back(c);
  Lcg random(10);
  std::set<std::string> keys;
  while (keys.size() < 400) keys.insert(random.Word(letters, 1, 6));
  return Sorted(keys);
}

// A few short runs among many nodes without one. They are not worth keeping.
inline Keys FewRuns() {
  Keys keys = RandomIntegers(500);
  for (const char* word : {"aaarun", "bbbrun", "cccrun"}) {
    keys.push_back(word + std::string("1"));
    keys.push_back(word + std::string("2"));
  }
  std::sort(keys.begin(), keys.end());
  return keys;
}

// Keys with all bytes on the top two levels and a few below: the first levels
// are best in LOUDS-Dense, the last one is not.
inline Keys WideTop() {
  Lcg random(6);
  std::set<std::string> keys;
  for (const char* first : {"a", "q"}) {
    for (int second = 0; second < 256; second++) {
      const std::string top = first + std::string(1, static_cast<char>(second));
      for (int i = 0; i < 8; i++) keys.insert(top + random.Bytes(1));
    }
  }
  return Sorted(keys);
}

// Keys with hundreds of runs: one above each pair of keys, some below a key.
inline Keys Pairs(int count) {
  Lcg random(9);
  std::set<std::string> keys;
  for (int i = 0; i < count; i++) {
    const std::string word = random.Word("aeilnorst", 5, 9);
    keys.insert(word + "-");
    keys.insert(word + ".");
    if (random.Next(3) == 0) keys.insert(word);
  }
  return Sorted(keys);
}

// Keys of which most are terminators on long chains: few edges end in leaves.
inline Keys MostlyTerminators() {
  Lcg random(7);
  std::set<std::string> keys;
  for (int chain = 0; chain < 12; chain++) {
    std::string key = random.Bytes(1);
    for (int link = 0; link < 30; link++) {
      keys.insert(key);
      key += random.Word("abcdefghijklmnopqrstuvwxyz", 1, 1);
    }
  }
  return Sorted(keys);
}

}  // namespace ROCKSDB_NAMESPACE::protean
