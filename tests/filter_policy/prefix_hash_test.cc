// SPDX-License-Identifier: Apache-2.0

//  The digest of a head that is reused from an earlier call is always that of
//  the bytes of the current call.

#include "filter_policy/proteus/prefix_hash.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <thread>
#include <vector>

#include "test_util/testharness.h"
#include "tests/filter_blocks.h"
#include "util/random.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr size_t kSizes[] = {0,
                             1,
                             8,
                             9,
                             17,
                             kMinRemembered - 1,
                             kMinRemembered,
                             240,
                             241,
                             500,
                             kMaxRemembered,
                             kMaxRemembered + 1};

// The digest of the first `size` bytes, which is queries' too.
void ExpectSame(const Slice& key, size_t size, uint64_t process) {
  const std::string copy(key.data(), size);
  ASSERT_EQ(DigestOf(copy, size, process), DigestOnce(key, size, process))
      << size << " bytes of " << key.size();
}
void ExpectSame(const Slice& key, uint64_t process) {
  ExpectSame(key, key.size(), process);
}

// The digests that the thread computes in a call.
template <typename Call>
uint32_t ComputedIn(const Call& call) {
  const uint32_t before = DigestMemory::Computed();
  call();
  return DigestMemory::Computed() - before;
}

}  // namespace

// Other bytes are in the same buffer, or the same bytes in another buffer, of
// another process or of another size.
TEST(PrefixHashTest, OnlyEqualHeadsShareADigest) {
  for (size_t size : kSizes) {
    std::string buffer(size, 'a');
    for (size_t i = 0; i < size; i++) {
      buffer[i]++;
      ExpectSame(buffer, 7);
      ExpectSame(buffer, 7);
    }
    const std::string one(size, 'a');
    const std::string other = one;
    for (int i = 0; i < 100; i++) {
      ExpectSame(i % 2 == 0 ? one : other, 7);
      if (i % 3 == 0) ExpectSame(one, 8 + static_cast<uint64_t>(i));
      if (i % 5 == 0 && size > 0) ExpectSame(Slice(one.data(), size - 1), 7);
      if (i % 7 == 0) ExpectSame(one, size - size / 4, 7);
    }
  }
}

// Each byte, and the number of bytes, makes a difference: to heads of one word,
// without zeros at their end.
TEST(PrefixHashTest, DigestsDiffer) {
  for (const uint64_t process : {uint64_t{0}, uint64_t{7}, ~uint64_t{0}}) {
    std::set<uint64_t> digests;
    size_t strings = 0;
    const auto add = [&](const std::string& string) {
      digests.insert(DigestOf(string, string.size(), process));
      strings++;
    };
    for (size_t size = 1; size < 300; size++) {
      for (const char c : {'a', '\0'}) {
        if (c == '\0' && size <= 8) continue;
        std::string string(size, c);
        add(string);
        for (size_t i = 0; i < size; i++) {
          for (const int change : {1, 0x40}) {
            string[i] = static_cast<char>(c ^ change);
            add(string);
          }
          string[i] = c;
        }
      }
    }
    EXPECT_EQ(strings, digests.size());
  }
}

// A lookup that asks several filters computes each digest once: of heads of
// different lengths, of files of different processes, and also after lookups
// that have asked one filter only.
TEST(PrefixHashTest, DigestsAreComputedOnce) {
  for (const bool idle : {false, true}) {
    for (const size_t size : {kMinRemembered, size_t{200}, kMaxRemembered}) {
      std::string key(size, 'k');
      const auto change = [&] {
        for (char& c : key) {
          if (++c != 0) break;
        }
      };
      for (int i = 0; idle && i < 1000; i++) {
        change();
        ExpectSame(key, 7);
      }
      constexpr size_t kHeads[] = {0, 1, 9};
      constexpr int kLookups = 100;
      uint32_t computed = 0;
      for (int i = 0; i < kLookups; i++) {
        change();
        computed = ComputedIn([&] {
          for (int run = 0; run < 9; run++) {
            for (const size_t left_out : kHeads) {
              for (const uint64_t process : {7, 8}) {
                ExpectSame(key + "rest", size - left_out, process);
              }
            }
          }
        });
      }
      const size_t heads = size == kMinRemembered ? 1 : std::size(kHeads);
      EXPECT_EQ(2 * heads, computed) << size;
    }
  }
}

TEST(PrefixHashTest, SwitchedOffNothingIsRemembered) {
  std::string key(300, 'k');
  DigestMemory::SwitchOn(false);
  for (int i = 0; i < 5; i++) ExpectSame(key, 9);
  DigestMemory::SwitchOn(true);
  EXPECT_EQ(1u, ComputedIn([&] {
              for (int i = 0; i < 5; i++) ExpectSame(key, 9);
            }));
}

// Both functions leave out the zeros at the end of a head.
TEST(PrefixHashTest, OwnBytes) {
  Random rnd(9);
  for (size_t size = 0; size < 600; size++) {
    std::string key = rnd.RandomBinaryString(static_cast<int>(size));
    if (size > 40) key.replace(size / 2, 12, 12, '\0');
    for (const FilterSalt& salt : {FilterSalt(), FilterSalt{5, 6}}) {
      for (uint32_t bytes = 0; bytes <= size; bytes++) {
        const PrefixLength length(8 * bytes, salt);
        ASSERT_EQ(HashPrefix(key, length),
                  HashOwnBytes(key, HashHead(key, length), length))
            << bytes;
      }
    }
  }
}

// A sequence of keys, each asked for some number of times, which is long enough
// to enter the idle state and to leave it.
TEST(PrefixHashTest, AnySequenceOnAnyThread) {
  const auto run = [](uint32_t seed) {
    Random rnd(seed);
    std::vector<std::string> heads;
    for (size_t size : kSizes) {
      for (char last : {'a', 'b', 'c'}) {
        heads.push_back(std::string(size, 'a'));
        if (size > 0) heads.back().back() = last;
      }
    }
    std::string buffer;
    for (int i = 0; i < 50000; i++) {
      buffer = heads[rnd.Uniform(static_cast<int>(heads.size()))];
      const int most_times = 1 + (i / 500) % 8;
      for (int times = rnd.Uniform(most_times) + 1; times > 0; times--) {
        const size_t cut = buffer.size() / 8 * rnd.Uniform(3);
        ExpectSame(buffer, buffer.size() - cut, rnd.OneIn(20) ? 8 : 7);
      }
    }
  };
  std::vector<std::thread> threads;
  for (uint32_t seed = 1; seed <= 4; seed++) threads.emplace_back(run, seed);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace ROCKSDB_NAMESPACE::protean
