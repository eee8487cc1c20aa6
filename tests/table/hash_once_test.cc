// SPDX-License-Identifier: Apache-2.0

//  A Get, and KeysMayExist, compute the digest of a long key once, whatever the
//  number of sorted runs whose filters they ask.

#include "filter_policy/bits/key_digest.h"
#include "tests/protean_db.h"
#include "tests/with_salt.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr int kRuns = 6;
constexpr uint64_t kKeys = 300;  // of each run
constexpr uint64_t kLookups = 200;

struct Case {
  const char* policy;
  const char* table;
  // Whether each lookup has a digest of its own. Prefixes of keys share heads,
  // and SuRF hashes only at a leaf.
  bool has_own_digest;
};

class HashOnceTest : public OwnDBTest {
 protected:
  // Numbers near the end, so that prefixes are long.
  static std::string Key(uint64_t i) {
    return std::string(200, 'k') + BigEndian(i * 0x9e3779b97f4a7c15u) +
           std::string(20, 'z');
  }

  void Fill(const Case& c, uint64_t processes) {
    SetPolicy(c.policy, c.table);
    OpenNew();
    for (uint64_t run = 0; run < kRuns; run++) {
      const WithSalt with(FilterSalt{run + 1, run % processes + 1});
      Put(std::string(220, '\0'));
      Put(std::string(220, '\xff'));
      for (uint64_t i = 0; i < kKeys; i++) Put(Key(i * kRuns + run));
      Flush();
    }
  }

  template <typename Call>
  static uint32_t ComputedIn(const Call& call) {
    const uint32_t before = DigestMemory::Computed();
    call();
    return DigestMemory::Computed() - before;
  }
};

}  // namespace

TEST_F(HashOnceTest, OneDigestOfALookup) {
  const std::string keys =
      "{id=protean.Proteus;bits_per_key=14;point_lookups_use_whole_keys=true";
  const std::string ribbon = keys + ";prefix_filter_type=kRibbon}";
  const std::string bloom = keys + "}";
  const char* const parted =
      "partition_filters=true;index_type=kTwoLevelIndexSearch;"
      "metadata_block_size=512;cache_index_and_filter_blocks=true;";
  for (const uint64_t processes : {1, 2}) {
    for (const Case& c : {Case{bloom.c_str(), "", true},
                          {ribbon.c_str(), "", true},
                          {bloom.c_str(), parted, true},
                          {"prefixbloom:14", "", false},
                          {"surf:8:0", "", false},
                          {"surf:8:0", parted, false}}) {
      SCOPED_TRACE(std::string(c.policy) + " " + c.table);
      Fill(c, processes);
      uint32_t most = 0;
      uint32_t all = 0;
      for (uint64_t i = 0; i < kLookups; i++) {
        // The oldest run has it, or none.
        const bool is_stored = i % 4 == 0;
        const std::string key = Key(is_stored ? i * kRuns : kRuns * kKeys + i);
        uint32_t computed = ComputedIn([&] { EXPECT_EQ(is_stored, Has(key)); });
        most = std::max(most, computed);
        all += computed;
        computed = ComputedIn(
            [&] { EXPECT_TRUE(KeyMayExist(db_.get(), key) || !is_stored); });
        // The Get before has asked for the same key.
        EXPECT_EQ(0u, computed);
      }
      EXPECT_LE(most, processes);
      if (c.has_own_digest) {
        EXPECT_EQ(processes * kLookups, all);
      } else {
        EXPECT_GT(all, 0u);
      }
    }
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
