// SPDX-License-Identifier: Apache-2.0

//  The public quotient filter, beside a std::map of the keys and their copies.
//  Saved filters: the bytes that the format fixes, filters that are loaded and
//  go on, and damage of all kinds.

#include "sets/experimental/quotient_filter.h"

#include <map>
#include <vector>

#include "sets/quotient/saved_quotient.h"
#include "sets/tests/checked_filter.h"
#include "tests/damage_stride.h"
#include "tests/guarded_block.h"
#include "util/crc32c.h"
#include "util/random.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

using Copies = std::map<std::string, uint64_t>;

std::unique_ptr<QuotientFilter> NewFilter(
    const QuotientFilterOptions& options) {
  std::unique_ptr<QuotientFilter> filter;
  const Status s = QuotientFilter::Create(options, &filter);
  EXPECT_TRUE(s.ok()) << s.ToString();
  return filter;
}

QuotientFilterOptions Capacity(uint64_t capacity, uint32_t remainder_bits = 30,
                               uint64_t seed = 7) {
  QuotientFilterOptions options;
  options.capacity = capacity;
  options.remainder_bits = remainder_bits;
  options.seed = seed;
  return options;
}

// Keys that hurt, and others.
std::string KeyOf(uint64_t number) {
  switch (number) {
    case 0:
      return "";
    case 1:
      return std::string(1, '\0');
    case 2:
      return std::string(2, '\0');
    case 3:
      return std::string(300, '\xff');
    default:
      return "key " + std::to_string(number);
  }
}

uint64_t SumOf(const Copies& copies) {
  uint64_t sum = 0;
  for (const auto& key : copies) sum += key.second;
  return sum;
}

// With fingerprints this long, different keys do not collide here.
void ExpectHolds(const QuotientFilter& filter, const Copies& copies) {
  ASSERT_EQ(SumOf(copies), filter.size());
  for (const auto& key : copies) {
    ASSERT_TRUE(filter.MayContain(key.first));
    ASSERT_EQ(key.second, filter.Count(key.first)) << key.first;
  }
  uint64_t last = 0, visited = 0, keys = 0;
  filter.ForEach([&](uint64_t fingerprint, uint64_t n) {
    EXPECT_TRUE(keys == 0 || fingerprint > last);
    EXPECT_EQ(0, fingerprint >> filter.fingerprint_bits());
    last = fingerprint;
    visited += n;
    keys++;
  });
  ASSERT_EQ(copies.size(), keys);
  ASSERT_EQ(filter.size(), visited);
}

TEST(QuotientFilterTest, CountsWhatWasInsertedAndDeleted) {
  const auto filter = NewFilter(Capacity(1000));
  Copies copies;
  Random64 rnd(1);
  for (int i = 0; i < 20'000; i++) {
    const std::string key = KeyOf(rnd.Uniform(600));
    const auto found = copies.find(key);
    if (rnd.OneIn(2)) {
      ASSERT_EQ(filter->size() < filter->capacity(), filter->Insert(key));
      copies[key]++;
    } else if (found != copies.end()) {
      ASSERT_TRUE(filter->Delete(key));
      if (--found->second == 0) copies.erase(found);
    } else {
      ASSERT_FALSE(filter->MayContain(key));
      ASSERT_FALSE(filter->Delete(key));
    }
    if (i % 1000 == 0) {
      ASSERT_NO_FATAL_FAILURE(ExpectHolds(*filter, copies));
    }
    if (SumOf(copies) > 900) {
      for (const auto& [old, n] : copies) {
        for (uint64_t c = 0; c < n; c++) ASSERT_TRUE(filter->Delete(old));
      }
      copies.clear();
    }
  }
}

TEST(QuotientFilterTest, MergesAndResizesWithoutTheKeys) {
  const auto a = NewFilter(Capacity(100, 34));
  const auto b = NewFilter(Capacity(1000, 30));
  ASSERT_EQ(a->fingerprint_bits(), b->fingerprint_bits());
  Copies copies;
  for (uint64_t i = 0; i < 100; i++) {
    ASSERT_TRUE(a->Insert(KeyOf(i)));
    copies[KeyOf(i)]++;
  }
  for (uint64_t i = 50; i < 900; i++) {
    ASSERT_TRUE(b->Insert(KeyOf(i)));
    copies[KeyOf(i)]++;
  }
  std::unique_ptr<QuotientFilter> merged, resized, loaded;
  ASSERT_TRUE(QuotientFilter::Merge({a.get(), b.get()}, &merged).ok());
  ASSERT_NO_FATAL_FAILURE(ExpectHolds(*merged, copies));
  for (const uint64_t capacity : {100'000, 950}) {
    ASSERT_TRUE(merged->Resize(capacity, &resized).ok());
    ASSERT_GE(resized->capacity(), capacity);
    ASSERT_NO_FATAL_FAILURE(ExpectHolds(*resized, copies));
    ASSERT_EQ(merged->fingerprint_bits(), resized->fingerprint_bits());
  }
  EXPECT_TRUE(merged->Resize(900, &resized).IsNoSpace() ||
              resized->capacity() >= 950);
  EXPECT_TRUE(merged->Resize(100, &resized).IsNoSpace());
  EXPECT_EQ(nullptr, resized);

  std::string bytes, again;
  merged->Save(&bytes);
  ASSERT_TRUE(QuotientFilter::Load(bytes, &loaded).ok());
  ASSERT_NO_FATAL_FAILURE(ExpectHolds(*loaded, copies));
  loaded->Save(&again);
  EXPECT_EQ(bytes, again);
  bytes.back() ^= 1;
  EXPECT_TRUE(QuotientFilter::Load(bytes, &loaded).IsCorruption());
}

TEST(QuotientFilterTest, BatchesDoTheSame) {
  const auto filter = NewFilter(Capacity(2000));
  std::vector<std::string> keys;
  for (uint64_t i = 0; i < filter->capacity() + 100; i++) {
    keys.push_back(KeyOf(i));
  }
  const std::vector<Slice> slices(keys.begin(), keys.end());
  ASSERT_EQ(filter->capacity(), filter->InsertEach(slices.data(), keys.size()));
  const std::unique_ptr<bool[]> answers(new bool[keys.size()]);
  filter->MayContainEach(slices.data(), keys.size(), answers.get());
  for (size_t i = 0; i < keys.size(); i++) {
    ASSERT_EQ(i < filter->capacity(), answers[i]);
    ASSERT_EQ(i < filter->capacity(), filter->MayContain(keys[i]));
  }
}

// The paper, section 2: the rate at load a is 1 - e^(-a / 2^r).
TEST(QuotientFilterTest, FalsePositives) {
  const auto filter = NewFilter(Capacity(60'000, 7));
  for (uint64_t i = 0; i < filter->capacity(); i++) {
    ASSERT_TRUE(filter->Insert(KeyOf(i)));
  }
  constexpr int kQueries = 400'000;
  int found = 0;
  for (uint64_t i = 0; i < kQueries; i++) {
    found += filter->MayContain(KeyOf(filter->capacity() + i));
  }
  EXPECT_NEAR(0.95 / 128, 1.0 * found / kQueries, 0.0005);
}

TEST(QuotientFilterTest, BadArguments) {
  std::unique_ptr<QuotientFilter> filter;
  for (const QuotientFilterOptions& options :
       {Capacity(0), Capacity(1000, 0), Capacity(1000, 57),
        Capacity(uint64_t{1} << 40), Capacity(1 << 20, 50)}) {
    EXPECT_TRUE(QuotientFilter::Create(options, &filter).IsInvalidArgument());
    EXPECT_EQ(nullptr, filter);
  }
  EXPECT_TRUE(QuotientFilter::Merge({}, &filter).IsInvalidArgument());
  const auto a = NewFilter(Capacity(1000));
  for (const QuotientFilterOptions& other :
       {Capacity(1000, 30, 8), Capacity(1000, 31)}) {
    const auto b = NewFilter(other);
    EXPECT_TRUE(
        QuotientFilter::Merge({a.get(), b.get()}, &filter).IsInvalidArgument());
  }
  // The seed is in the hashes.
  const auto b = NewFilter(Capacity(1000, 30, 8));
  a->Insert("key");
  b->Insert("key");
  uint64_t of_a = 0, of_b = 0;
  a->ForEach([&](uint64_t fingerprint, uint64_t) { of_a = fingerprint; });
  b->ForEach([&](uint64_t fingerprint, uint64_t) { of_b = fingerprint; });
  EXPECT_NE(of_a, of_b);
}

// ---- Saved filters ----

std::string Saved(const QuotientMultiset& filter) {
  std::string bytes;
  SaveQuotientMultiset(filter, &bytes);
  return bytes;
}

// Gives damaged bytes the checksum that they should have.
void Repair(std::string* bytes) {
  if (bytes->size() < 12) return;
  const uint32_t before = crc32c::Value(bytes->data(), 8);
  EncodeFixed32(bytes->data() + 8,
                crc32c::Extend(before, bytes->data() + 12, bytes->size() - 12));
}

// Reads all that a filter of sound bytes allows.
void ReadAll(const QuotientMultiset& filter) {
  const QuotientShape& shape = filter.blocks().shape();
  uint64_t count = 0;
  for (QuotientCursor cursor(filter.blocks()); cursor.Valid(); cursor.Next()) {
    cursor.Fingerprint();
    count++;
  }
  ASSERT_EQ(filter.size(), count);
  for (uint64_t quotient = 0; quotient < shape.num_quotients(); quotient++) {
    for (const uint64_t remainder : {uint64_t{0}, ~uint64_t{0}}) {
      const uint64_t fingerprint =
          shape.Join(quotient, shape.Remainder(remainder));
      ASSERT_EQ(filter.blocks().Count(fingerprint) > 0,
                filter.Contains(HashFor(shape, fingerprint)));
    }
  }
}

std::string FromHex(const std::vector<const char*>& lines) {
  std::string bytes;
  for (const char* line : lines) {
    std::string part;
    EXPECT_TRUE(Slice(line).DecodeHex(&part));
    bytes += part;
  }
  return bytes;
}

// Some filters of one and of several blocks, whose clusters cross the blocks
// and reach into the tail.
std::vector<std::string> SavedFilters() {
  std::vector<std::string> saved;
  Random64 rnd(7);
  for (const QuotientShape shape :
       {QuotientShape{2, 4}, QuotientShape{6, 1}, QuotientShape{7, 5},
        QuotientShape{8, 11}}) {
    saved.push_back(Saved(*NewQuotientFilter(shape)));
    for (const uint64_t quotient : {0u, 61u, ~0u}) {
      const auto filter = NewQuotientFilter(shape, {rnd.Next(), rnd.Next()});
      for (uint64_t i = 0; i < shape.capacity() / 3; i++) {
        filter->Insert(HashFor(
            shape, shape.Join(quotient % shape.num_quotients(), i % 2)));
      }
      while (filter->Insert(rnd.Next())) {
      }
      saved.push_back(Saved(*filter));
    }
  }
  return saved;
}

// The fingerprints 01|0010, 01|0101 and 11|0011, a bar before the remainder.
TEST(SavedQuotientTest, BytesOfTheFormat) {
  const QuotientShape shape{2, 4};
  const auto filter = NewQuotientFilter(shape, {0x1111, 0x2222});
  for (const uint64_t fingerprint : {0x33, 0x15, 0x12}) {
    ASSERT_TRUE(filter->Insert(HashFor(shape, fingerprint)));
  }
  const std::vector<const char*> expected = {
      "50525451",  // magic "PRTQ"
      "01",        // format version
      "02",
      "04",
      "00",                // q, r
      "fd639128",          // checksum
      "00000000",          //
      "0300000000000000",  // hashes
      "1111000000000000",
      "2222000000000000",  // salt
      "0100000000000000",  // blocks
      "0a00000000000000",  // occupied: quotients 1 and 3
      "0c00000000000000",  // runends: slots 2 and 3
      "00000000",          // offset
      // Remainders of 4 bits: 2 and 5 in slots 1 and 2, 3 in slot 3.
      "2035000000000000",
      "0000000000000000",
      "0000000000000000",
      "0000000000000000",
      // Padding.
      "0000000000000000",
      "0000000000000000",
  };
  EXPECT_EQ(Slice(FromHex(expected)).ToString(true),
            Slice(Saved(*filter)).ToString(true));
}

TEST(SavedQuotientTest, LoadedFiltersGoOn) {
  Random64 rnd(3);
  for (const QuotientShape shape :
       {QuotientShape{3, 5}, QuotientShape{6, 1}, QuotientShape{10, 9}}) {
    auto filter = NewQuotientFilter(shape, {5, 6});
    Fingerprints held;
    for (int round = 0; round < 200; round++) {
      for (uint64_t i = rnd.Uniform(shape.capacity() / 2 + 2); i > 0; i--) {
        // Many hashes have the last quotient, and make the tail long.
        const uint64_t hash = rnd.OneIn(2) ? ~rnd.Uniform(99) : rnd.Next();
        if (filter->Insert(hash)) held.insert(shape.Fingerprint(hash));
      }
      const std::string bytes = Saved(*filter);
      const GuardedBlock guarded(bytes, round);
      const Status s = LoadQuotientMultiset(guarded.slice(), &filter);
      ASSERT_TRUE(s.ok()) << s.ToString();
      ASSERT_NO_FATAL_FAILURE(ReadAll(*filter));
      for (const uint64_t fingerprint : held) {
        ASSERT_TRUE(filter->Contains(HashFor(shape, fingerprint)));
      }
      ASSERT_TRUE(filter->salt() == (FilterSalt{5, 6}));
      ASSERT_NO_FATAL_FAILURE(ExpectHolds(*filter, held));
      ASSERT_EQ(bytes, Saved(*filter));
      for (auto it = held.begin(); it != held.end();) {
        const bool is_deleted = rnd.OneIn(2);
        if (is_deleted) {
          ASSERT_TRUE(filter->Delete(HashFor(shape, *it)));
        }
        it = is_deleted ? held.erase(it) : std::next(it);
      }
    }
  }
}

TEST(SavedQuotientTest, EveryTruncationIsFound) {
  for (const std::string& bytes : SavedFilters()) {
    for (size_t size = 0; size < bytes.size(); size++) {
      std::string cut = bytes.substr(0, size);
      for (int repaired = 0; repaired < 2; repaired++) {
        const GuardedBlock guarded(cut);
        std::unique_ptr<QuotientMultiset> filter;
        ASSERT_TRUE(
            LoadQuotientMultiset(guarded.slice(), &filter).IsCorruption())
            << size;
        ASSERT_EQ(nullptr, filter);
        Repair(&cut);
      }
    }
  }
}

TEST(SavedQuotientTest, EveryFlippedBitIsFound) {
  for (const std::string& bytes : SavedFilters()) {
    std::string damaged = bytes;
    std::unique_ptr<QuotientMultiset> filter;
    for (size_t bit = 0; bit < 8 * bytes.size(); bit++) {
      damaged[bit / 8] ^= 1 << (bit % 8);
      const Status s = LoadQuotientMultiset(damaged, &filter);
      ASSERT_TRUE(s.IsCorruption() || (bit / 8 == 4 && s.IsNotSupported()))
          << bit << " " << s.ToString();
      ASSERT_EQ(nullptr, filter);
      damaged[bit / 8] ^= 1 << (bit % 8);
    }
    ASSERT_TRUE(LoadQuotientMultiset(damaged, &filter).ok());
  }
}

// A checksum keeps no one from writing whatever bytes: they may be a filter or
// not, but a query must not leave them.
// A checksum keeps no one from writing whatever bytes: they may be a filter or
// not, but a query must not leave them.
TEST(SavedQuotientTest, DamageBehindARightChecksum) {
  DamageStride stride;
  Random64 rnd(11);
  for (const std::string& bytes : SavedFilters()) {
    GuardedMemory memory(bytes.size());
    uint64_t opened = 0;
    const auto try_bytes = [&](std::string damaged) {
      Repair(&damaged);
      std::unique_ptr<QuotientMultiset> filter;
      if (!LoadQuotientMultiset(memory.PlaceAtEnd(damaged), &filter).ok()) {
        return;
      }
      opened++;
      ASSERT_NO_FATAL_FAILURE(ReadAll(*filter));
      // The filter can also be changed.
      const uint64_t size = filter->size();
      const uint64_t hash = rnd.Next();
      if (filter->Insert(hash)) {
        ASSERT_EQ(size + 1, filter->size());
      }
      filter->Delete(~hash);
    };
    for (size_t bit = 0; bit < 8 * bytes.size(); bit++) {
      if (!stride.TryNext()) continue;
      std::string damaged = bytes;
      damaged[bit / 8] ^= 1 << (bit % 8);
      ASSERT_NO_FATAL_FAILURE(try_bytes(damaged)) << bit;
    }
    EXPECT_GT(opened, 0u);
    for (int round = 0; round < 2000; round++) {
      std::string damaged = bytes;
      for (uint64_t i = 1 + rnd.Uniform(4); i > 0; i--) {
        const size_t at = 16 + rnd.Uniform(damaged.size() - 16);
        damaged[at] = static_cast<char>(rnd.Next());
      }
      ASSERT_NO_FATAL_FAILURE(try_bytes(damaged)) << round;
    }
  }
}

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean
