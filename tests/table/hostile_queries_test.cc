// SPDX-License-Identifier: Apache-2.0

//  Two attacks, of which it prints what comes of them.
//
//  - The attacker has the code and knows the keys, builds the same DB, looks
//    there for absent keys and empty ranges that its filters let through, and
//    sends them to another DB, where each would cost a read.
//  - The attacker does not know the keys, and learns of them from the reads
//    that absent keys take (prefix_siphon.h).
//
//  And what salts do not cost.

#include <cmath>
#include <functional>

#include "filter_policy/bits/key_digest.h"
#include "tests/table/prefix_siphon.h"
#include "tests/with_salt.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr int kNumKeys = 20000;
constexpr int kKeySize = 16;
constexpr size_t kAttacks = 200;
constexpr int kVictims = 8;

struct Attack {
  std::string lo;
  std::string hi;  // none for a key
};

struct Case {
  const char* policy;
  bool range;
  size_t near_bytes;  // of a key, that guesses share
  double most;        // of the attacks that may be read in spite of the salt
};

bool IsRead(OneFileDB& db, const Attack& attack) {
  return attack.hi.empty() ? db.IsRead(attack.lo)
                           : db.IsRead(attack.lo, attack.hi);
}

class HostileQueriesTest : public testing::Test {
 protected:
  HostileQueriesTest() {
    for (int i = 0; i < kNumKeys; i++) {
      keys_.push_back(random_.RandomBinaryString(kKeySize));
    }
    std::sort(keys_.begin(), keys_.end());
  }

  // A query that finds nothing, but with a chance of 2^-80. It shares its first
  // bytes with a key, so that it gets to the bottom of a trie.
  Attack Guess(bool range, size_t near_bytes) {
    for (;;) {
      const std::string& key = keys_[random_.Uniform(kNumKeys)];
      std::string lo = random_.RandomBinaryString(kKeySize);
      lo.replace(0, near_bytes, key, 0, near_bytes);
      std::string hi = lo;
      hi.back() = static_cast<char>(0xff);
      if (lo < hi) return {lo, range ? hi : ""};
    }
  }

  struct Finds {
    std::vector<Attack> attacks;
    double share;    // of all guesses that the filters of `mine` let through
    double by_both;  // of these that the filters of `other` let through as well
  };
  // The queries that the filters of `mine` let through and those of `other`, a
  // DB of the same keys, do not: these depend on the hashes. (Queries that
  // share a prefix with a key are let through by both, and by any filter of
  // that design.)
  Finds Collect(OneFileDB& mine, OneFileDB& other, const Case& c,
                size_t wanted = kAttacks) {
    Finds finds;
    double tried = 0;
    double read = 0;
    while (finds.attacks.size() < wanted && tried < 5'000'000) {
      tried++;
      Attack attack = Guess(c.range, c.near_bytes);
      if (!IsRead(mine, attack)) continue;
      read++;
      if (!IsRead(other, attack)) finds.attacks.push_back(std::move(attack));
    }
    EXPECT_EQ(wanted, finds.attacks.size());
    finds.share = read / tried;
    finds.by_both = 1 - static_cast<double>(finds.attacks.size()) / read;
    return finds;
  }

  static double ShareRead(OneFileDB& db, const std::vector<Attack>& attacks) {
    double read = 0;
    for (const Attack& attack : attacks) read += IsRead(db, attack);
    return read / static_cast<double>(attacks.size());
  }

  std::vector<std::string> keys_;
  Random random_{2};
};

TEST_F(HostileQueriesTest, FindsOfAnotherDBAreWorthNothing) {
  // A limit far beyond what chance explains. With two layers, a find has passed
  // the first one, which lets it through again if it is a trie.
  const Case cases[] = {
      {"surf:8:0", false, 4, 0.02},
      {"surf:4:4", false, 4, 0.1},
      {"surf:0:0:8", false, 4, 0.09},
      {"{id=protean.Proteus;bits_per_key=12;"
       "point_lookups_use_whole_keys=true}",
       false, 0, 0.02},
      {"proteus:12", false, 0, 0.4},
      // Ranges do not ask the whole keys, which have a part of the bits.
      {"proteus:12", true, 0, 0.6},
      {"prefixbloom:12", false, 0, 0.01},
      {"prefixbloom:12", true, 0, 0.01},
      {"prefixbloom2:14:ribbon", true, 0, 0.2},
  };
  printf("%-24s %-7s %18s %22s %19s\n", "policy", "queries",
         "guesses that read", "finds, without a salt", "finds, with one");
  for (const Case& c : cases) {
    SCOPED_TRACE(c.policy);
    const auto make = [&](const char* name) {
      return std::make_unique<OneFileDB>(c.policy, keys_, name);
    };
    double without = 0;
    {
      const auto other = make("hostile_other");
      const WithSalt with_none(FilterSalt{});
      const auto mine = make("hostile_mine");
      const auto victim = make("hostile_victim");
      // Filters of one salt are the same: a few finds tell that.
      without = ShareRead(*victim, Collect(*mine, *other, c, 40).attacks);
    }
    // Outside of tests, the attacker does not know the salt.
    const WithSalt with_any(std::nullopt);
    const auto other = make("hostile_other");
    const auto mine = make("hostile_mine");
    const Finds finds = Collect(*mine, *other, c);
    // Several victims, each with its own salt: chance says little.
    double with = 0;
    for (int n = 0; n < kVictims; n++) {
      const auto victim = make("hostile_victim");
      with += ShareRead(*victim, finds.attacks) / kVictims;
    }
    printf("%-24s %-7s %17.2f%% %21.1f%% %18.2f%%\n", c.policy,
           c.range ? "ranges" : "points", 100 * finds.share, 100 * without,
           100 * with);
    EXPECT_EQ(1.0, without);
    EXPECT_LT(with, c.most);
    // A query that `mine` lets through says no more about a third DB than about
    // the second one: four standard deviations.
    EXPECT_LT(with, finds.by_both + 4 * std::sqrt(0.25 / kAttacks));

    // A filter keeps its salt through everything that can happen to a file.
    mine->Open();
    EXPECT_EQ(1.0, ShareRead(*mine, finds.attacks));
    ASSERT_NO_FATAL_FAILURE(mine->Restore());
    EXPECT_EQ(1.0, ShareRead(*mine, finds.attacks));
  }
}

// And a file from before there were salts.
TEST_F(HostileQueriesTest, FilesOfDifferentSaltsInOneDB) {
  for (const std::string policy : {"surf:8:8", "proteus:12"}) {
    SCOPED_TRACE(policy);
    OwnDB db(NewDBOptions(), "hostile_mixed");
    db.SetPolicy(policy);
    db.Open();
    const FilterSalt salts[] = {{}, {5, 1}, {6, 1}, {7, 2}, {~0ull, 0}};
    static_assert(kNumKeys % std::size(salts) == 0);
    auto begin = keys_.begin();
    for (const FilterSalt& salt : salts) {
      const WithSalt with(salt);
      const auto end = begin + kNumKeys / std::size(salts);
      db.Ingest(Keys(begin, end));
      begin = end;
    }
    for (const bool compacted : {false, true}) {
      if (compacted) db.Compact();
      for (const std::string& key : keys_) {
        ASSERT_TRUE(db.Has(key));
        ASSERT_EQ(key, db.FirstIn(key, key + '\0'));
      }
    }
  }
}

constexpr size_t kQueries = 1'000'000;

std::set<std::string> KeysOf(const KeyForm& form, uint32_t seed) {
  Random random(seed);
  std::set<std::string> keys;
  while (keys.size() < kNumKeys) keys.insert(form.Guess(&random));
  return keys;
}

// The share of absent keys that take a read, among those that share their first
// `bits` bits with a stored key; of about `rounds` for each stored key.
double RateOf(const KeyForm& form, const std::set<std::string>& keys,
              uint32_t bits, OneFileDB* db, int rounds = 2) {
  Random random(6);
  double asked = 0;
  double reads = 0;
  for (int round = 0; round < rounds; round++) {
    for (const std::string& key : keys) {
      bool read = false;
      if (db->HasKey(form.Complete(key, bits, &random), &read)) continue;
      asked++;
      reads += read;
    }
  }
  return reads / asked;
}

// The rate of the nearest neighbors of which step 2 of the attack has enough.
double RateOfNeighbors(const KeyForm& form, const std::set<std::string>& keys,
                       OneFileDB* db) {
  for (uint32_t bits = form.bits() - 8;; bits -= 8) {
    const double rate = RateOf(form, keys, bits, db);
    if (bits == 0 ||
        PrefixSiphon::HasEnough(form.Completions(*keys.begin(), bits), rate)) {
      return rate;
    }
  }
}

class SiphoningTest : public testing::Test {
 protected:
  using Keys = std::set<std::string>;
  struct Filter {
    const char* name;
    // The policy of a DB with these keys.
    std::function<std::string(const KeyForm&, const Keys&)> policy;
    const char* table = "";
  };

  static std::unique_ptr<OneFileDB> MakeDB(const KeyForm& form,
                                           const Filter& filter,
                                           const Keys& keys) {
    return std::make_unique<OneFileDB>(
        filter.policy(form, keys),
        std::vector<std::string>(keys.begin(), keys.end()), "hostile_siphoned",
        filter.table);
  }

  // Attacks a DB with keys of that form, and prints what came of it.
  static Siphoned Attack(const KeyForm& form, const Filter& filter) {
    const WithSalt with_any(std::nullopt);
    const Keys own_keys = KeysOf(form, 3);
    auto db = MakeDB(form, filter, own_keys);
    const double near = RateOfNeighbors(form, own_keys, db.get());
    const double far = RateOf(form, own_keys, 0, db.get());
    db.reset();
    const Keys keys = KeysOf(form, 4);
    db = MakeDB(form, filter, keys);
    const std::string design = db->Design();
    PrefixSiphon siphon(form, keys.size(), near, kQueries, db.get());
    const Siphoned result = siphon.Run(keys);
    printf("%-36s %-7s %7.3f%% %7.3f%% %8zu %6zu %6.0f %5zu  %s\n", filter.name,
           form.name(), 100 * far, 100 * near, result.prefixes, result.right,
           result.bits, result.whole_keys, design.c_str());
    fflush(stdout);
    return result;
  }

  // What an attack on each of them recovers, in bits of prefixes and in keys.
  void AttackEach(const std::vector<Filter>& filters, double least_bits,
                  double most_bits, size_t most_keys) const {
    printf("%-36s %-7s %8s %8s %8s %6s %6s %5s  %s\n", "policy", "keys", "far",
           "near", "prefixes", "right", "bits", "keys", "design");
    for (const KeyForm& form : forms_) {
      for (const Filter& filter : filters) {
        SCOPED_TRACE(std::string(filter.name) + ", " + form.name());
        const Siphoned result = Attack(form, filter);
        EXPECT_GE(result.bits, least_bits);
        EXPECT_LE(result.bits, most_bits);
        EXPECT_LE(result.whole_keys, most_keys);
      }
    }
  }

  static Filter Policy(const char* policy) {
    return {policy, [policy](const KeyForm&, const Keys&) { return policy; }};
  }
  // A Proteus that has seen scans of all that shares some bytes with a random
  // key, and perhaps points that share all but their last byte with a stored
  // key.
  Filter Taught(const char* name, size_t scan_bytes, bool near_points,
                const std::string& options = "") const {
    return {
        name, [this, scan_bytes, near_points, options](const KeyForm& form,
                                                       const Keys& keys) {
          const auto hex = [](const std::string& key) {
            return "0x" + Hex(key);
          };
          Random random(7);
          std::string lines;
          for (const std::string& key : keys) {
            const std::string lo = form.Guess(&random);
            const std::string hi = lo.substr(0, scan_bytes) +
                                   std::string(lo.size() - scan_bytes, '\xff');
            lines += hex(lo) + "\t" + hex(hi) + "\n";
            if (near_points) {
              lines += hex(form.Complete(key, form.bits() - 8, &random)) + "\n";
            }
          }
          EXPECT_OK(WriteStringToFile(Env::Default(), lines, seed_file_));
          return "{id=protean.Proteus;bits_per_key=14;" + options +
                 "seed_file=" + seed_file_ + "}";
        }};
  }

  static std::string AllBytes() {
    std::string bytes;
    for (int c = 0; c < 256; c++) bytes += static_cast<char>(c);
    return bytes;
  }

  const KeyForm forms_[2] = {{"letters", "abcdefghijklmnopqrstuvwxyz", 8},
                             {"numbers", AllBytes(), 8}};
  const std::string seed_file_ = test::PerThreadDBPath("hostile_seeds");

  static constexpr double kAnyBits = 1e9;
  static constexpr char kWholeKeys[] = "point_lookups_use_whole_keys=true;";
  static Filter WholeKeys(bool partitioned = false) {
    Filter filter = Policy(
        "{id=protean.Proteus;bits_per_key=14;"
        "point_lookups_use_whole_keys=true}");
    filter.name = partitioned ? "whole keys, partitioned" : "whole keys";
    if (partitioned) {
      filter.table = "partition_filters=true;index_type=kTwoLevelIndexSearch;";
    }
    return filter;
  }
};

TEST_F(SiphoningTest, TriesGiveAwayPrefixes) {
  AttackEach({Policy("surf:0:0"), Policy("surf:0:8"),
              Taught("proteus:14, long scans", 3, false)},
             /*least_bits=*/1000, kAnyBits, kQueries);
}

TEST_F(SiphoningTest, WholeKeysGiveAwayNothing) {
  AttackEach({WholeKeys(), WholeKeys(/*partitioned=*/true),
              Taught("whole keys, long scans", 3, false, kWholeKeys),
              Taught("whole keys, short scans", 5, false, kWholeKeys),
              Taught("whole keys, scans and near points", 2, true, kWholeKeys)},
             /*least_bits=*/0, /*most_bits=*/50,
             /*most_keys=*/5);  // which blind guesses find
}

// Filters of which nothing is promised are only measured
// (docs/results/engine.md).
TEST_F(SiphoningTest, DISABLED_OtherFilters) {
  AttackEach({Policy("bloomfilter:14"), Policy("surf:4:4"), Policy("surf:8:0"),
              Policy("surf:0:0:8"), Policy("proteus:14"),
              Taught("proteus:14, short scans", 5, false),
              Taught("proteus:14, scans and near points", 2, true)},
             /*least_bits=*/0, kAnyBits, kQueries);
}

// With point_lookups_use_whole_keys=true, a point takes a read with the same
// probability however much it shares with a stored key, as with a Bloom filter.
TEST_F(SiphoningTest, WhatPointsShareMakesNoDifference) {
  for (const KeyForm& form : forms_) {
    const Keys keys = KeysOf(form, 4);
    for (const Filter& filter :
         {WholeKeys(), WholeKeys(/*partitioned=*/true),
          Taught("whole keys, long scans", 3, false, kWholeKeys)}) {
      SCOPED_TRACE(std::string(filter.name) + ", " + form.name());
      const auto db = MakeDB(form, filter, keys);
      for (const std::string& key : keys) {
        bool read = false;
        ASSERT_TRUE(db->HasKey(key, &read));
      }
      constexpr int kRounds = 5;
      const double far = RateOf(form, keys, 0, db.get(), kRounds);
      const double asked = kRounds * static_cast<double>(keys.size());
      EXPECT_LT(far, 0.1);
      for (uint32_t bits = 8; bits < form.bits(); bits += 8) {
        const double near = RateOf(form, keys, bits, db.get(), kRounds);
        // The error of the difference of two rates.
        const double error = std::sqrt(2 * far * (1 - far) / asked);
        EXPECT_NEAR(near, far, 5 * error) << bits << " bits";
      }
    }
  }
}

struct DigestCase {
  const char* policy;
  const char* table;
  // Whether each lookup has a digest of its own. Prefixes of keys share heads,
  // and SuRF hashes only at a leaf.
  bool has_own_digest;
};

class HashOnceTest : public OwnDBTest {
 protected:
  static constexpr int kRuns = 6;
  static constexpr uint64_t kRunKeys = 300;
  static constexpr uint64_t kLookups = 200;

  // Numbers near the end, so that prefixes are long.
  static std::string Key(uint64_t i) {
    return std::string(200, 'k') + BigEndian(i * 0x9e3779b97f4a7c15u) +
           std::string(20, 'z');
  }

  void Fill(const DigestCase& c, uint64_t processes) {
    SetPolicy(c.policy, c.table);
    OpenNew();
    for (uint64_t run = 0; run < kRuns; run++) {
      const WithSalt with(FilterSalt{run + 1, run % processes + 1});
      Put(std::string(220, '\0'));
      Put(std::string(220, '\xff'));
      for (uint64_t i = 0; i < kRunKeys; i++) Put(Key(i * kRuns + run));
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

TEST_F(HashOnceTest, OneDigestOfALookup) {
  const std::string keys =
      "{id=protean.Proteus;bits_per_key=14;point_lookups_use_whole_keys=true";
  const std::string ribbon = keys + ";prefix_filter_type=kRibbon}";
  const std::string bloom = keys + "}";
  const char* const parted =
      "partition_filters=true;index_type=kTwoLevelIndexSearch;"
      "metadata_block_size=512;cache_index_and_filter_blocks=true;";
  for (const uint64_t processes : {1, 2}) {
    for (const DigestCase& c : {DigestCase{bloom.c_str(), "", true},
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
        const std::string key =
            Key(is_stored ? i * kRuns : kRuns * kRunKeys + i);
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

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean
