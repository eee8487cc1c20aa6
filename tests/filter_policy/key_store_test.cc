// SPDX-License-Identifier: Apache-2.0

//  The keys that a builder keeps are the keys it was given, and what each
//  shares with the one before it.

#include "filter_policy/proteus/key_store.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "filter_policy/range_filter.h"
#include "tests/key_families.h"
#include "tests/stored_keys.h"
#include "util/random.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// What keys share, whichever are visited.
void ExpectShared(const Keys& keys, const KeyStore& store) {
  Random rnd(10);
  for (int round = 0; round < 5; round++) {
    size_t begin = 0;
    size_t end = keys.size();
    if (round > 0 && end > 0) {
      begin = rnd.Uniform(static_cast<int>(end));
      end = begin + 1 + rnd.Uniform(static_cast<int>(end - begin));
    }
    size_t visited = begin;
    store.ForEach(begin, end, [&](const Slice& key, uint32_t shared) {
      const uint32_t expected =
          visited == begin ? 0 : SharedBits(keys[visited - 1], keys[visited]);
      ASSERT_EQ(Slice(keys[visited]), key) << visited;
      ASSERT_EQ(expected, shared) << visited << " of " << begin;
      visited++;
    });
    EXPECT_EQ(end, visited);
  }
}

void ExpectKeys(const Keys& keys, const KeyStore& store) {
  ASSERT_EQ(keys.size(), store.size());
  size_t visited = 0;
  store.ForEach(0, store.size(), [&](const Slice& key) {
    ASSERT_LT(visited, keys.size());
    ASSERT_EQ(Slice(keys[visited]), key) << visited;
    visited++;
  });
  EXPECT_EQ(keys.size(), visited);
  for (size_t i = 0; i < keys.size(); i++) {
    ASSERT_EQ(Slice(keys[i]), store[i]) << i;
  }
  ExpectShared(keys, store);
}

// Keeps keys, and what it is told of them, in a store.
class KeepingBuilder : public RangeFilterBuilder {
 public:
  explicit KeepingBuilder(KeyStore* store)
      : RangeFilterBuilder(FilterTask()), store_(store) {}
  void AddAll(const Keys& keys) {
    for (const std::string& key : keys) EXPECT_TRUE(AddKey(key));
    std::vector<PlannedPart> parts;
    EXPECT_TRUE(Finish(KeysEnd(), &parts).ok());
    EXPECT_EQ(keys.size(), num_keys());
  }
  void Write(size_t, char*) override {}
  double ApproximateBitsPerKey() const override { return 1; }
  uint64_t MaxSize() const override { return 0; }

 protected:
  void Add(const Slice& key, size_t shared, size_t next_shared) override {
    AddLast(key, shared);
    next_shared_ = next_shared;
  }
  void AddLast(const Slice& key, size_t shared) override {
    EXPECT_EQ(next_shared_, shared);
    const Slice last(last_);
    EXPECT_EQ(SharedBytes(last, key), shared);
    if (shared < std::min(last.size(), key.size())) {
      EXPECT_EQ(SharedBits(last, key), shared_bits());
    } else {
      EXPECT_EQ(kUnknownBits, shared_bits());
    }
    last_ = key.ToString();
    store_->Append(key, shared_bits());
  }
  Status Plan(const KeysEnd&, std::vector<PlannedPart>*) override {
    return Status::OK();
  }
  size_t Memory() const override { return 0; }

 private:
  KeyStore* const store_;
  std::string last_;
  size_t next_shared_ = 0;
};

std::string Number(int number) {
  std::string digits = std::to_string(number);
  return std::string(9 - digits.size(), '0') + digits;
}

}  // namespace

TEST(KeyStoreTest, NumbersOfKeys) {
  for (const std::string& head : {std::string(), std::string(190, 'p')}) {
    for (int number : {0, 1, 2, 1023, 1024, 1025, 2048, 2049, 5000}) {
      Keys keys;
      for (int i = 0; i < number; i++) keys.push_back(head + Number(i));
      ExpectKeys(keys, Stored(keys));
    }
  }
}

TEST(KeyStoreTest, KeysThatHurt) {
  // Chunks of all kinds follow each other: short and long keys, similar and
  // different ones, each a prefix of the next, equal ones, and in any order.
  Random rnd(8);
  Keys keys(1500);
  for (int i = 0; i < 3000; i++) {
    keys.push_back(std::string(100, '\0') + Number(i));
  }
  for (int i = 0; i < 3000; i++) keys.push_back(std::string(i, '\xff'));
  for (int i = 0; i < 3000; i++) keys.push_back(rnd.RandomString(300));
  for (int i = 0; i < 3000; i++) {
    keys.push_back(std::string(rnd.Uniform(600), 'k') + rnd.RandomString(4));
  }
  for (int i = 0; i < 3000; i++) keys.push_back(Number(i));
  for (int i = 0; i < 3000; i++) keys.push_back(std::string(2000, 's'));
  ExpectKeys(keys, Stored(keys));
  std::reverse(keys.begin(), keys.end());
  ExpectKeys(keys, Stored(keys));
}

TEST(KeyStoreTest, WhatKeysShare) {
  for (const KeyFamily& family : KeyFamilies(3000, /*seed=*/11)) {
    SCOPED_TRACE(family.name);
    KeyStore store;
    KeepingBuilder(&store).AddAll(family.keys);
    ExpectShared(family.keys, store);
  }
}

TEST(KeyStoreTest, WhatLongKeysShare) {
  // Keys that differ early and have a long end in common.
  Random rnd(12);
  Keys keys;
  for (int i = 0; i < 5000; i++) {
    keys.push_back(rnd.RandomString(12) + std::string(100, 'e'));
  }
  // Neighbors that share 254 bits, 255, 256 and more.
  for (int bit = 240; bit < 270; bit++) {
    std::string key(40, '\0');
    key[bit / 8] = static_cast<char>(0x80 >> bit % 8);
    keys.push_back(key);
  }
  // Keys that are cut off, and differ before or behind that place.
  for (const char* tail : {"a", "b"}) {
    for (int i = 0; i < 2; i++) {
      std::string key(KeyStore::kMaxKeyBytes + 10, 'z');
      key[i == 0 ? 20 : KeyStore::kMaxKeyBytes - 1] = 'y';
      keys.push_back(key + tail);
    }
  }
  std::sort(keys.begin(), keys.end());
  KeyStore store;
  KeepingBuilder(&store).AddAll(keys);
  for (std::string& key : keys) {
    key.resize(std::min(key.size(), KeyStore::kMaxKeyBytes));
  }
  ExpectShared(keys, store);
}

TEST(KeyStoreTest, PartsAndKeysThatAreNotTaken) {
  KeyStore store;
  KeepingBuilder first(&store);
  EXPECT_TRUE(first.AddKey("b"));
  EXPECT_TRUE(first.AddKey("b"));
  EXPECT_FALSE(first.AddKey("a"));
  EXPECT_TRUE(first.AddKey("c"));
  EXPECT_FALSE(first.AddKey("bb"));
  std::vector<PlannedPart> parts;
  ASSERT_TRUE(first.Finish(KeysEnd(), &parts).ok());
  // The first key of a part is the first one for its builder only.
  KeepingBuilder(&store).AddAll({"ca", "cb"});
  ExpectShared({"b", "c", "ca", "cb"}, store);
}

TEST(KeyStoreTest, VeryLongKeysAreCutOff) {
  Keys keys;
  Keys cut;
  for (int i = 0; i < 1200; i++) {
    std::string key(KeyStore::kMaxKeyBytes - 4, 'a');
    key.replace(100, 9, Number(i));
    keys.push_back(key + (i % 2 == 0 ? "tail" : "tail and more"));
    cut.push_back(key + "tail");
  }
  ExpectKeys(cut, Stored(keys));
}

TEST(KeyStoreTest, Memory) {
  constexpr int kKeys = 100000;
  KeyStore unlike;
  KeyStore numbers;
  Random rnd(9);
  for (int i = 0; i < kKeys; i++) {
    unlike.Append(rnd.RandomString(197));
    numbers.Append(Slice(Number(i).data() + 1, 8));
  }
  EXPECT_LT(unlike.MemoryUsage(), 220u * kKeys);
  EXPECT_LT(numbers.MemoryUsage(), 10u * kKeys);
  numbers.Clear();
  EXPECT_EQ(0u, numbers.size());
  EXPECT_EQ(0u, numbers.MemoryUsage());
}

}  // namespace ROCKSDB_NAMESPACE::protean
