// SPDX-License-Identifier: Apache-2.0

//  Prefix siphoning (Kaufman, Hershcovitch and Morrison, USENIX ATC 2023). The
//  attacker knows what keys look like, how many there are and which filter they
//  have, and sees of each Get whether it found its key, and if not, whether it
//  took a read. Three steps, again and again:
//
//  1. Random guesses, until one takes a read though it is absent.
//  2. How much of the guess is what a stored key begins with? Keys that share
//     the first bits with the guess, and are random behind them, take reads as
//     often as neighbors of a stored key do if these bits are stored, and more
//     seldom otherwise. The attacker knows how often neighbors do from a DB of
//     their own. Wald's sequential test (1945) decides with few queries, and a
//     search by halves finds the least number of bits.
//  3. If few keys begin with these bits, all of them are asked for.

#pragma once

#include <cmath>

#include "filter_policy/filter_properties.h"
#include "tests/protean_db.h"

namespace ROCKSDB_NAMESPACE::protean {

// A DB of one file, whose data blocks are never in the cache: what an attacker
// can see of it.
class OneFileDB : private OwnDB {
 public:
  // `table` are more options of the table, each with a semicolon behind it.
  OneFileDB(const std::string& policy, const Keys& keys,
            const std::string& name, const std::string& table = "")
      : OwnDB(NewDBOptions(), name) {
    // Millions of queries are asked.
    options_.compression = kNoCompression;
    options_.statistics = nullptr;
    uncached_.fill_cache = false;
    // The attacker pays for each query.
    SetPolicy(policy, "miss_cache_size=0;" + table);
    Open();
    WriteFile(keys);
    EXPECT_OK(db_->CompactRange(CompactRangeOptions(), nullptr, nullptr));
  }

  using OwnDB::Open;
  // Continues with a copy of the files.
  void Restore() {
    const std::string copy = path_ + "_copy";
    ASSERT_OK(MakeCheckpoint(db_.get(), copy));
    Destroy();
    ASSERT_OK(Env::Default()->RenameFile(copy, path_));
    Open();
  }

  // Whether a key is stored. Stores whether any data block was read.
  bool HasKey(const std::string& key, bool* read) {
    bool found = false;
    *read = Read([&] {
      const Status s = db_->Get(uncached_, key, &value_);
      found = s.ok();
      EXPECT_TRUE(found || s.IsNotFound()) << s.ToString();
    });
    return found;
  }
  // Whether any data block is read for an absent key, or for an empty range
  // [lo, hi).
  bool IsRead(const std::string& key) {
    bool read = false;
    EXPECT_FALSE(HasKey(key, &read));
    return read;
  }
  bool IsRead(const std::string& lo, const std::string& hi) const {
    return Read([&] { EXPECT_EQ("", FirstIn(lo, hi, uncached_)); });
  }

  // The design of the file's filter; empty if the filter is not Protean's.
  std::string Design() const {
    const TablePropertiesCollection files = PropertiesOf(db_.get());
    if (files.size() != 1) return "several files";
    return PropertyText(files.begin()->second->user_collected_properties,
                        kDesignProperty);
  }

 private:
  template <class Query>
  static bool Read(const Query& query) {
    const uint64_t before = BlocksRead();
    query();
    return BlocksRead() > before;  // the index and the filter are in memory
  }

  ReadOptions uncached_;
  std::string value_;
};

// What the attacker knows of the keys: each has `size` bytes of an alphabet.
class KeyForm {
 public:
  KeyForm(const char* name, std::string alphabet, size_t size)
      : name_(name), alphabet_(std::move(alphabet)), size_(size) {}

  const char* name() const { return name_; }

  uint32_t bits() const { return static_cast<uint32_t>(8 * size_); }

  // A random key that shares its first `bits` bits with `key`.
  std::string Complete(std::string key, uint32_t bits, Random* random) const {
    for (size_t i = bits / 8; i < size_; i++) {
      const std::string part = 8 * i < bits ? BytesAt(key, i, bits) : "";
      const std::string& bytes = part.empty() ? alphabet_ : part;
      key[i] = bytes[random->Uniform(static_cast<int>(bytes.size()))];
    }
    return key;
  }
  std::string Guess(Random* random) const {
    return Complete(std::string(size_, '\0'), 0, random);
  }

  // The number of keys that share their first `bits` bits with `key`.
  double Completions(const std::string& key, uint32_t bits) const {
    double count = 1;
    for (size_t i = bits / 8; i < size_; i++) {
      count *= static_cast<double>(BytesAt(key, i, bits).size());
    }
    return count;
  }
  // The one of that number.
  std::string Completion(std::string key, uint32_t bits, size_t number) const {
    for (size_t i = size_; i-- > bits / 8;) {
      const std::string bytes = BytesAt(key, i, bits);
      key[i] = bytes[number % bytes.size()];
      number /= bytes.size();
    }
    return key;
  }

  // The probability that one of `keys` random keys begins with the first `bits`
  // bits of `key`.
  double Chance(const std::string& key, uint32_t bits, size_t keys) const {
    const double all = std::pow(static_cast<double>(alphabet_.size()),
                                static_cast<double>(size_));
    return -std::expm1(static_cast<double>(keys) *
                       std::log1p(-Completions(key, bits) / all));
  }

 private:
  // The bytes that byte i of a key may be, if its first `bits` bits are those
  // of `key`.
  std::string BytesAt(const std::string& key, size_t i, uint32_t bits) const {
    if (8 * i >= bits) return alphabet_;
    const uint32_t unknown = 8 * static_cast<uint32_t>(i) + 8 - bits;
    std::string bytes;
    for (const char c : alphabet_) {
      const int difference = static_cast<uint8_t>(c ^ key[i]);
      if (difference >> unknown == 0) bytes += c;
    }
    return bytes;
  }

  const char* const name_;
  const std::string alphabet_;
  const size_t size_;
};

// What the attack has recovered.
struct Siphoned {
  size_t queries = 0;
  // Prefixes that the attacker believes to be stored, and those that are.
  size_t prefixes = 0;
  size_t right = 0;
  // What the latter tell: each has as many bits as a coin has to fall on heads
  // to be as unlikely as that a random key begins so.
  double bits = 0;
  // Keys found by step 3, and by chance.
  size_t whole_keys = 0;
};

class PrefixSiphon {
 public:
  // `near_rate` is the share of neighbors of stored keys that take a read.
  PrefixSiphon(const KeyForm& form, size_t num_keys, double near_rate,
               size_t max_queries, OneFileDB* victim)
      : form_(form),
        num_keys_(num_keys),
        near_rate_(near_rate),
        max_queries_(max_queries),
        victim_(victim) {}

  // `keys` serve only to tell what of the finds is true.
  Siphoned Run(const std::set<std::string>& keys) {
    while (!IsOver()) {
      const std::string guess = FindRead();
      uint32_t bits = 0;
      if (guess.empty() || !IdentifyPrefix(guess, &bits)) continue;
      const double chance = form_.Chance(guess, bits, num_keys_);
      // Nothing that the attacker has not known before.
      if (chance > kKnown) continue;
      const std::string prefix = PrefixOf(guess, bits);
      prefixes_.insert(prefix);
      lengths_.insert(bits);
      siphoned_.prefixes++;
      const auto next = keys.lower_bound(prefix);
      if (next != keys.end() && PrefixOf(*next, bits) == prefix) {
        siphoned_.right++;
        siphoned_.bits -= std::log2(chance);
      }
      const double completions = form_.Completions(guess, bits);
      if (completions > kCheap) continue;
      const size_t before = found_.size();
      for (size_t n = 0; n < static_cast<size_t>(completions); n++) {
        if (found_.size() > before || IsOver()) break;
        Ask(form_.Completion(guess, bits, n));
      }
    }
    siphoned_.whole_keys = found_.size();
    return siphoned_;
  }

  // Whether `completions` keys are enough for step 2, if this share of them
  // takes a read.
  static bool HasEnough(double completions, double rate) {
    return completions * rate >= kTries;
  }

 private:
  // A prefix that random keys have with more than this probability is no find.
  static constexpr double kKnown = 0.5;
  // The number of keys that step 3 asks for at most.
  static constexpr double kCheap = 20000;
  // The probability of an error in step 2.
  static constexpr double kError = 0.001;
  // Step 2 needs that many different keys for each read that it waits for.
  static constexpr double kTries = 200;

  bool IsOver() const { return siphoned_.queries >= max_queries_; }

  bool IsKnown(const std::string& key) const {
    for (const uint32_t bits : lengths_) {
      if (prefixes_.count(PrefixOf(key, bits)) > 0) return true;
    }
    return false;
  }

  // Whether an absent key takes a read.
  bool Ask(const std::string& key) {
    siphoned_.queries++;
    bool read = false;
    if (!victim_->HasKey(key, &read)) return read;
    found_.insert(key);
    return true;
  }

  // Step 1.
  std::string FindRead() {
    while (!IsOver()) {
      const std::string guess = form_.Guess(&random_);
      if (Ask(guess) && !IsKnown(guess)) return guess;
    }
    return "";
  }

  // Step 2. False if the guess takes a read for no prefix that keys share.
  bool IdentifyPrefix(const std::string& guess, uint32_t* bits) {
    uint32_t high = form_.bits();
    while (high > 0 && !HasEnough(form_.Completions(guess, high), near_rate_)) {
      high--;
    }
    if (!IsStored(guess, high)) return false;
    uint32_t low = 0;
    while (low < high) {
      const uint32_t middle = (low + high) / 2;
      if (IsStored(guess, middle)) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    *bits = high;
    return !IsOver();
  }

  // Decides between the rate of neighbors and half of it.
  bool IsStored(const std::string& guess, uint32_t bits) {
    const double limit = std::log(1 / kError);
    const double read = std::log(2);
    const double no_read =
        std::log1p(-near_rate_) - std::log1p(-near_rate_ / 2);
    double evidence = 0;
    while (std::abs(evidence) < limit && !IsOver()) {
      evidence += Ask(form_.Complete(guess, bits, &random_)) ? read : no_read;
    }
    return evidence > 0;
  }

  const KeyForm& form_;
  const size_t num_keys_;
  const double near_rate_;
  const size_t max_queries_;
  OneFileDB* const victim_;
  Random random_{5};
  Siphoned siphoned_;
  std::set<std::string> prefixes_;
  std::set<uint32_t> lengths_;  // of prefixes_, in bits
  std::set<std::string> found_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
