// SPDX-License-Identifier: Apache-2.0

//  Saved quotient filters: the bytes that the format fixes, filters that are
//  loaded and go on, and damage of all kinds.

#include "sets/quotient/saved_quotient.h"

#include <vector>

#include "sets/tests/checked_filter.h"
#include "tests/damage_stride.h"
#include "tests/guarded_block.h"
#include "util/crc32c.h"
#include "util/random.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

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
TEST(SavedQuotientTest, FlippedBitsBehindARightChecksum) {
  DamageStride stride;
  for (const std::string& bytes : SavedFilters()) {
    GuardedMemory memory(bytes.size());
    uint64_t opened = 0;
    for (size_t bit = 0; bit < 8 * bytes.size(); bit++) {
      if (!stride.TryNext()) continue;
      std::string damaged = bytes;
      damaged[bit / 8] ^= 1 << (bit % 8);
      Repair(&damaged);
      std::unique_ptr<QuotientMultiset> filter;
      if (!LoadQuotientMultiset(memory.PlaceAtEnd(damaged), &filter).ok()) {
        continue;
      }
      opened++;
      ASSERT_NO_FATAL_FAILURE(ReadAll(*filter));
      // The filter can also be changed.
      const uint64_t size = filter->size();
      const uint64_t hash = damaged.size() * bit * 0x9e3779b97f4a7c15u;
      if (filter->Insert(hash)) {
        ASSERT_EQ(size + 1, filter->size());
      }
      filter->Delete(~hash);
    }
    EXPECT_GT(opened, 0u);
  }
}

TEST(SavedQuotientTest, RandomDamageBehindARightChecksum) {
  Random64 rnd(11);
  for (const std::string& bytes : SavedFilters()) {
    GuardedMemory memory(bytes.size());
    for (int round = 0; round < 2000; round++) {
      std::string damaged = bytes;
      for (uint64_t i = 1 + rnd.Uniform(4); i > 0; i--) {
        const size_t at = 16 + rnd.Uniform(damaged.size() - 16);
        damaged[at] = static_cast<char>(rnd.Next());
      }
      Repair(&damaged);
      std::unique_ptr<QuotientMultiset> filter;
      if (LoadQuotientMultiset(memory.PlaceAtEnd(damaged), &filter).ok()) {
        ASSERT_NO_FATAL_FAILURE(ReadAll(*filter));
      }
    }
  }
}

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean
