// SPDX-License-Identifier: Apache-2.0

//  Quotient filters against multisets of fingerprints: after every sequence of
//  insertions and deletions if they are small, and after random operations up
//  to the capacity if they are large. The public quotient filter. Saved
//  filters, and damage of all kinds.

#include "sets/experimental/quotient_filter.h"

#include <functional>
#include <map>
#include <numeric>
#include <set>

#include "sets/quotient/quotient_appender.h"
#include "sets/quotient/quotient_cursor.h"
#include "sets/quotient/quotient_merge.h"
#include "sets/quotient/quotient_multiset.h"
#include "sets/quotient/saved_quotient.h"
#include "tests/filter_blocks.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

using Fingerprints = std::multiset<uint64_t>;
using Multiset = std::unique_ptr<QuotientMultiset>;

using Shape = QuotientShape;

constexpr FilterSalt kSalt = {5, 6};

std::string Saved(const QuotientMultiset& filter) {
  std::string bytes;
  SaveQuotientMultiset(filter, &bytes);
  return bytes;
}

Multiset NewMultiset(const Shape& shape, const FilterSalt& salt = {}) {
  Multiset filter;
  EXPECT_OK(QuotientMultiset::Create(shape, salt, &filter));
  return filter;
}

// A filter of these fingerprints, which are appended in order.
Multiset Appended(const Shape& shape, const Fingerprints& fingerprints) {
  auto filter = NewMultiset(shape);
  QuotientAppender appender(filter.get());
  for (const uint64_t fingerprint : fingerprints) {
    EXPECT_TRUE(appender.Append(fingerprint));
  }
  appender.Finish();
  return filter;
}

uint64_t HashFor(const Shape& shape, uint64_t fingerprint) {
  return fingerprint << (64 - shape.fingerprint_bits());
}

void ExpectHolds(const QuotientMultiset& filter, const Fingerprints& held) {
  ASSERT_EQ(held.size(), filter.size());
  QuotientCursor cursor(filter.blocks());
  for (const uint64_t fingerprint : held) {
    ASSERT_TRUE(cursor.Valid());
    ASSERT_EQ(fingerprint, cursor.Fingerprint());
    cursor.Next();
  }
  ASSERT_FALSE(cursor.Valid());
}

// Without the zeros at their end: a tail may be longer than it must be.
std::string BlockBytes(const QuotientMultiset& filter) {
  std::string bytes(filter.blocks().data(), filter.blocks().bytes());
  bytes.resize(bytes.find_last_not_of('\0') + 1);
  return bytes;
}

// The set holds these alone, and its bytes depend on nothing but them.
void ExpectCanonical(const QuotientMultiset& filter, const Fingerprints& held) {
  ASSERT_NO_FATAL_FAILURE(ExpectHolds(filter, held));
  ASSERT_EQ(BlockBytes(*Appended(filter.shape(), held)), BlockBytes(filter));
}

// ---- Every state ----

// The bytes of a filter depend only on the multiset that it holds. These tests
// show so for each multiset and each operation on it: the bytes after the
// operation are those of a filter that was filled in order. So every sequence
// of operations, of any length, ends in a state that is examined here.

void TryEachOperation(const Shape& shape, const Fingerprints& held,
                      const std::vector<uint64_t>& fingerprints) {
  const auto filter = Appended(shape, held);
  ASSERT_NO_FATAL_FAILURE(ExpectHolds(*filter, held));
  const std::string before = BlockBytes(*filter);
  for (const uint64_t fingerprint : fingerprints) {
    const uint64_t hash = HashFor(shape, fingerprint);
    const uint64_t count = held.count(fingerprint);
    ASSERT_EQ(count > 0, filter->Contains(hash));
    ASSERT_EQ(count, filter->Count(hash));
    if (count == 0) {
      ASSERT_FALSE(filter->Delete(hash));
      ASSERT_EQ(before, BlockBytes(*filter));
    }
    if (held.size() == shape.capacity()) {
      ASSERT_FALSE(filter->Insert(hash));
      ASSERT_EQ(before, BlockBytes(*filter));
      continue;
    }
    Fingerprints more = held;
    more.insert(fingerprint);
    ASSERT_TRUE(filter->Insert(hash));
    ASSERT_NO_FATAL_FAILURE(ExpectCanonical(*filter, more));
    // Every state that holds something is reached so, for each deletion.
    ASSERT_TRUE(filter->Delete(hash));
    ASSERT_EQ(before, BlockBytes(*filter));
    ASSERT_EQ(held.size(), filter->size());
  }
}

// Visits `held` with each multiset of up to `most` of the fingerprints added.
void ForEachMultiset(const std::vector<uint64_t>& fingerprints, size_t most,
                     Fingerprints* held,
                     const std::function<void(const Fingerprints&)>& visit,
                     size_t first = 0) {
  visit(*held);
  if (most == 0 || testing::Test::HasFatalFailure()) return;
  for (size_t i = first; i < fingerprints.size(); i++) {
    const auto added = held->insert(fingerprints[i]);
    ForEachMultiset(fingerprints, most - 1, held, visit, i);
    held->erase(added);
  }
}

std::vector<uint64_t> AllFingerprints(const Shape& shape) {
  std::vector<uint64_t> all(size_t{1} << shape.fingerprint_bits());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

TEST(QuotientStatesTest, AllStatesOfSmallFilters) {
  for (const Shape shape : {Shape{1, 1}, Shape{1, 3}, Shape{2, 1}, Shape{2, 2},
                            Shape{2, 3}, Shape{3, 1}}) {
    const std::vector<uint64_t> all = AllFingerprints(shape);
    Fingerprints held;
    size_t states = 0;
    ForEachMultiset(all, shape.capacity(), &held, [&](const Fingerprints& f) {
      TryEachOperation(shape, f, all);
      states++;
    });
    ASSERT_FALSE(HasFatalFailure());
    // The multisets of at most 7 out of 16.
    if (shape == Shape{3, 1}) {
      EXPECT_EQ(245'157u, states);
    }
  }
}

// Clusters that lead over one or several borders of blocks, and into the tail.
TEST(QuotientStatesTest, ClustersAcrossBlocks) {
  for (const unsigned remainder_bits : {1u, 7u, 32u, 37u, 56u}) {
    const Shape shape{8, remainder_bits};
    const uint64_t largest = shape.Remainder(~uint64_t{0});
    std::vector<uint64_t> tried;
    for (const uint64_t quotient : {0, 61, 63, 64, 65, 127, 128, 255}) {
      for (const uint64_t remainder : {largest / 2, largest}) {
        tried.push_back(shape.Join(quotient, remainder));
      }
    }
    for (const uint64_t quotient : {60, 63, 64, 253, 255}) {
      for (const size_t copies : {0, 1, 3, 4, 61, 64, 65, 128, 190}) {
        Fingerprints held;
        for (size_t i = 0; i < copies; i++) {
          held.insert(shape.Join(quotient, i % 3));
        }
        // Runs of one in all slots between.
        for (uint64_t q = 50; copies == 3 && q < 140; q++) {
          held.insert(shape.Join(q, q % 2));
        }
        const size_t most = copies % 2 == 1 ? 2 : 1;
        ForEachMultiset(tried, most, &held, [&](const Fingerprints& f) {
          TryEachOperation(shape, f, tried);
        });
        ASSERT_FALSE(HasFatalFailure());
      }
    }
  }
}

TEST(QuotientStatesTest, MergesAndSizes) {
  const Shape shape{2, 2};
  const std::vector<uint64_t> all = AllFingerprints(shape);
  std::vector<Fingerprints> states;
  Fingerprints none;
  ForEachMultiset(all, shape.capacity(), &none,
                  [&](const Fingerprints& f) { states.push_back(f); });
  for (const Fingerprints& a : states) {
    const auto of_a = Appended(shape, a);
    for (unsigned quotient_bits = 1; quotient_bits <= 3; quotient_bits++) {
      const Shape other{quotient_bits, 4 - quotient_bits};
      Multiset resized;
      const Status s = ResizeQuotientMultiset(*of_a, quotient_bits, &resized);
      ASSERT_EQ(a.size() > other.capacity(), s.IsNoSpace()) << s.ToString();
      if (!s.ok()) continue;
      ASSERT_EQ(other, resized->shape());
      ASSERT_NO_FATAL_FAILURE(ExpectCanonical(*resized, a));
    }
    for (const Fingerprints& b : states) {
      const auto of_b = Appended(shape, b);
      Fingerprints both = a;
      both.insert(b.begin(), b.end());
      Multiset merged;
      ASSERT_OK(MergeQuotientMultisets({of_a.get(), of_b.get()}, &merged));
      ASSERT_EQ(both.size() > shape.capacity() ? 3u : 2u,
                merged->shape().quotient_bits);
      ASSERT_NO_FATAL_FAILURE(ExpectCanonical(*merged, both));
    }
  }
}

// ---- Random operations ----

// A filter, the fingerprints that it holds, and those added in turn.
class Checked {
 public:
  Checked(const Shape& shape, Random64* rnd)
      : filter_(NewMultiset(shape, kSalt)), rnd_(rnd) {}

  QuotientMultiset* filter() { return filter_.get(); }
  const Fingerprints& held() const { return held_; }

  // Inserts random hashes up to `size` of them. Some are copies, and many may
  // have one quotient, often the last one, which makes the tail long.
  void FillTo(uint64_t size) {
    const uint64_t common = rnd_->OneIn(2) ? ~uint64_t{0} : rnd_->Next();
    const uint64_t share = rnd_->Uniform(8);
    while (held_.size() < size) {
      const uint64_t dice = rnd_->Uniform(8);
      uint64_t hash = rnd_->Next();
      if (dice == 7 && !added_.empty()) {
        hash = added_[rnd_->Uniform(added_.size())];
      } else if (dice < share) {
        hash = common ^ HashFor(filter_->shape(), rnd_->Uniform(5));
      }
      ASSERT_TRUE(filter_->Insert(hash));
      Held(hash);
    }
  }
  // Inserts a batch of random hashes. Those that find no room are left out.
  void InsertBatch(size_t count) {
    std::vector<uint64_t> hashes(count);
    for (uint64_t& hash : hashes) hash = rnd_->Next();
    const uint64_t room = filter_->capacity() - held_.size();
    const size_t inserted = filter_->InsertBatch(hashes.data(), count);
    ASSERT_EQ(std::min<uint64_t>(count, room), inserted);
    hashes.resize(inserted);
    for (const uint64_t hash : hashes) Held(hash);
  }
  void DeleteSome(size_t count) {
    for (; count > 0 && !added_.empty(); count--) {
      std::swap(added_[rnd_->Uniform(added_.size())], added_.back());
      ASSERT_TRUE(filter_->Delete(added_.back()));
      held_.erase(held_.find(filter_->shape().Fingerprint(added_.back())));
      added_.pop_back();
    }
  }

  // Also saves and loads the filter, which goes on.
  void Check() {
    const std::string bytes = Saved(*filter_);
    const GuardedBlock guarded(bytes, rnd_->Uniform(8));
    ASSERT_OK(LoadQuotientMultiset(guarded.slice(), &filter_));
    ASSERT_EQ(kSalt, filter_->salt());
    ASSERT_EQ(bytes, Saved(*filter_));
    ASSERT_NO_FATAL_FAILURE(ExpectCanonical(*filter_, held_));
    std::vector<uint64_t> hashes = added_;
    for (size_t i = 0; i < 1000; i++) hashes.push_back(rnd_->Next());
    const std::unique_ptr<bool[]> contained(new bool[hashes.size()]);
    filter_->ContainsBatch(hashes.data(), hashes.size(), contained.get());
    QuotientCursor cursor(filter_->blocks());
    for (size_t i = 0; i < hashes.size(); i++) {
      const uint64_t fingerprint = filter_->shape().Fingerprint(hashes[i]);
      const uint64_t count = held_.count(fingerprint);
      ASSERT_EQ(count, filter_->Count(hashes[i]));
      ASSERT_EQ(count > 0, filter_->Contains(hashes[i]));
      ASSERT_EQ(count > 0, contained[i]);
      ASSERT_FALSE(count == 0 && filter_->Delete(hashes[i]));
      cursor.Seek(fingerprint);
      const auto next = held_.lower_bound(fingerprint);
      ASSERT_EQ(next != held_.end(), cursor.Valid());
      ASSERT_TRUE(!cursor.Valid() || *next == cursor.Fingerprint());
    }
  }

  void Resize(unsigned quotient_bits) {
    Multiset resized;
    ASSERT_OK(ResizeQuotientMultiset(*filter_, quotient_bits, &resized));
    ASSERT_EQ(filter_->shape().fingerprint_bits(),
              resized->shape().fingerprint_bits());
    filter_ = std::move(resized);
  }

 private:
  void Held(uint64_t hash) {
    held_.insert(filter_->shape().Fingerprint(hash));
    added_.push_back(hash);
  }

  Multiset filter_;
  Fingerprints held_;
  std::vector<uint64_t> added_;
  Random64* const rnd_;
};

TEST(QuotientMultisetTest, RandomOperationsUpToCapacity) {
  Random64 rnd(1);
  for (const Shape shape :
       {Shape{3, 5}, Shape{6, 1}, Shape{10, 9}, Shape{11, 1}, Shape{11, 8},
        Shape{10, 11}, Shape{9, 16}, Shape{9, 32}, Shape{8, 56}}) {
    Checked checked(shape, &rnd);
    const uint64_t capacity = shape.capacity();
    const int rounds = capacity < 100 ? 200 : 12;
    for (int round = 0; round < rounds; round++) {
      checked.FillTo(capacity - rnd.Uniform(capacity / 8 + 1));
      checked.InsertBatch(rnd.Uniform(capacity / 4 + 1));
      const bool is_full = round % 4 == 3;
      if (is_full) checked.FillTo(capacity);
      ASSERT_NO_FATAL_FAILURE(checked.Check()) << round;
      ASSERT_FALSE(is_full && checked.filter()->Insert(rnd.Next()));
      if (is_full && shape.remainder_bits > 1) {
        // The filter grows, full as it is, and shrinks again.
        checked.Resize(shape.quotient_bits + 1);
        ASSERT_NO_FATAL_FAILURE(checked.Check()) << round;
        checked.Resize(shape.quotient_bits);
        ASSERT_NO_FATAL_FAILURE(checked.Check()) << round;
      }
      checked.DeleteSome(rnd.Uniform(capacity));
      ASSERT_NO_FATAL_FAILURE(checked.Check()) << round;
    }
    checked.DeleteSome(capacity);
    ASSERT_NO_FATAL_FAILURE(checked.Check());
    ASSERT_EQ("", BlockBytes(*checked.filter()));
  }
}

TEST(QuotientMultisetTest, MergesFiltersOfAllSizes) {
  Random64 rnd(3);
  for (size_t num_filters = 1; num_filters <= 6; num_filters++) {
    std::vector<Checked> parts;
    std::vector<const QuotientMultiset*> filters;
    Fingerprints all;
    unsigned largest = 0;
    for (size_t i = 0; i < num_filters; i++) {
      const auto quotient_bits = static_cast<unsigned>(5 + rnd.Uniform(6));
      largest = std::max(largest, quotient_bits);
      parts.emplace_back(Shape{quotient_bits, 20 - quotient_bits}, &rnd);
      parts.back().FillTo(rnd.Uniform(parts.back().filter()->capacity() + 1));
      all.insert(parts.back().held().begin(), parts.back().held().end());
    }
    for (Checked& part : parts) filters.push_back(part.filter());
    Multiset merged;
    ASSERT_OK(MergeQuotientMultisets(filters, &merged));
    ASSERT_LE(largest, merged->shape().quotient_bits);
    ASSERT_LE(all.size(), merged->capacity());
    ASSERT_NO_FATAL_FAILURE(ExpectCanonical(*merged, all));
  }
}

TEST(QuotientMultisetTest, MemoryIsNearlyThatOfTheBits) {
  const Shape shape{20, 11};
  const double bits = 8.0 * NewMultiset(shape)->MemoryUsage();
  EXPECT_LT(bits / shape.num_quotients(), 13.51);
}

// QuotientFilterTest.BadArguments has those that users can give.
TEST(QuotientMultisetTest, BadArguments) {
  Multiset filter;
  for (const Shape shape : {Shape{0, 8}, Shape{33, 8}, Shape{8, 0},
                            Shape{8, 57}, Shape{32, 33}, Shape{}}) {
    EXPECT_TRUE(
        QuotientMultiset::Create(shape, {}, &filter).IsInvalidArgument());
    EXPECT_EQ(nullptr, filter);
  }
  for (const unsigned quotient_bits : {0u, 16u, 17u, ~0u}) {
    EXPECT_TRUE(
        ResizeQuotientMultiset(*NewMultiset({8, 8}), quotient_bits, &filter)
            .IsInvalidArgument());
  }
  // Fingerprints of two bits allow two slots, of which one may be taken.
  const auto full = NewMultiset({1, 1});
  ASSERT_TRUE(full->Insert(0));
  EXPECT_FALSE(full->Insert(0));
  EXPECT_TRUE(MergeQuotientMultisets({full.get(), full.get()}, &filter)
                  .IsInvalidArgument());
}

// ---- The public filter ----

using Filter = std::unique_ptr<QuotientFilter>;
using Copies = std::map<std::string, uint64_t>;

Filter NewFilter(const QuotientFilterOptions& options) {
  Filter filter;
  EXPECT_OK(QuotientFilter::Create(options, &filter));
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

std::string KeyOf(uint64_t number) {
  static const std::string hurtful[] = {
      "", std::string(1, '\0'), std::string(2, '\0'), std::string(300, '\xff')};
  return number < 4 ? hurtful[number] : "key " + std::to_string(number);
}

// With fingerprints this long, different keys do not collide here.
void ExpectHolds(const QuotientFilter& filter, const Copies& copies) {
  uint64_t sum = 0;
  for (const auto& [key, n] : copies) {
    ASSERT_TRUE(filter.MayContain(key));
    ASSERT_EQ(n, filter.Count(key)) << key;
    sum += n;
  }
  ASSERT_EQ(sum, filter.size());
  uint64_t last = 0, visited = 0, keys = 0;
  filter.ForEach([&](uint64_t fingerprint, uint64_t n) {
    EXPECT_TRUE(keys == 0 || fingerprint > last);
    EXPECT_EQ(0, fingerprint >> filter.fingerprint_bits());
    last = fingerprint;
    visited += n;
    keys++;
  });
  ASSERT_EQ(copies.size(), keys);
  ASSERT_EQ(sum, visited);
}

// QuotientMultisetTest has random operations.
TEST(QuotientFilterTest, MergesAndResizesWithoutTheKeys) {
  const auto a = NewFilter(Capacity(100, 34));
  const auto b = NewFilter(Capacity(1000, 30));
  ASSERT_EQ(a->fingerprint_bits(), b->fingerprint_bits());
  Copies copies;
  const auto insert = [&](uint64_t begin, uint64_t end, QuotientFilter* into) {
    for (uint64_t i = begin; i < end; i++) {
      ASSERT_TRUE(into->Insert(KeyOf(i)));
      copies[KeyOf(i)]++;
    }
  };
  insert(0, 100, a.get());
  insert(50, 900, b.get());
  Filter merged, resized, loaded;
  ASSERT_OK(QuotientFilter::Merge({a.get(), b.get()}, &merged));
  ASSERT_NO_FATAL_FAILURE(ExpectHolds(*merged, copies));
  for (const uint64_t capacity : {100'000, 950}) {
    ASSERT_OK(merged->Resize(capacity, &resized));
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
  ASSERT_OK(QuotientFilter::Load(bytes, &loaded));
  ASSERT_NO_FATAL_FAILURE(ExpectHolds(*loaded, copies));
  loaded->Save(&again);
  EXPECT_EQ(bytes, again);
  EXPECT_FALSE(loaded->Delete("another key"));
  for (auto it = copies.begin(); it != copies.end();) {
    ASSERT_TRUE(loaded->Delete(it->first));
    it = --it->second == 0 ? copies.erase(it) : std::next(it);
  }
  ASSERT_NO_FATAL_FAILURE(ExpectHolds(*loaded, copies));
  bytes.back() ^= 1;
  EXPECT_TRUE(QuotientFilter::Load(bytes, &loaded).IsCorruption());
}

// Many keys at once have the answers of each. The paper, section 2: the rate at
// load a is 1 - e^(-a / 2^r).
TEST(QuotientFilterTest, BatchesAndFalsePositives) {
  const auto filter = NewFilter(Capacity(60'000, 7));
  const uint64_t capacity = filter->capacity();
  constexpr uint64_t kQueries = 400'000;
  std::vector<std::string> keys;
  for (uint64_t i = 0; i < capacity + kQueries; i++) keys.push_back(KeyOf(i));
  const std::vector<Slice> slices(keys.begin(), keys.end());
  ASSERT_EQ(capacity, filter->InsertEach(slices.data(), capacity + 100));
  EXPECT_FALSE(filter->Insert("one more"));
  const std::unique_ptr<bool[]> answers(new bool[keys.size()]);
  filter->MayContainEach(slices.data(), keys.size(), answers.get());
  uint64_t found = 0;
  for (uint64_t i = 0; i < keys.size(); i++) {
    ASSERT_EQ(filter->MayContain(keys[i]), answers[i]);
    ASSERT_TRUE(answers[i] || i >= capacity);
    if (i >= capacity) found += answers[i];
  }
  EXPECT_NEAR(0.95 / 128, static_cast<double>(found) / kQueries, 0.0005);
}

TEST(QuotientFilterTest, BadArguments) {
  Filter filter;
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

// Gives damaged bytes the checksum that they should have.
void Repair(std::string* bytes) {
  if (bytes->size() < 12) return;
  const uint32_t before = crc32c::Value(bytes->data(), 8);
  EncodeFixed32(bytes->data() + 8,
                crc32c::Extend(before, bytes->data() + 12, bytes->size() - 12));
}

void ReadAll(const QuotientMultiset& filter) {
  const Shape& shape = filter.blocks().shape();
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

// Filters whose clusters cross the blocks, and reach into the tail.
std::vector<std::string> SavedFilters() {
  std::vector<std::string> saved;
  Random64 rnd(7);
  for (const Shape shape :
       {Shape{2, 4}, Shape{6, 1}, Shape{7, 5}, Shape{8, 11}}) {
    saved.push_back(Saved(*NewMultiset(shape)));
    for (const uint64_t quotient : {0u, 61u, ~0u}) {
      const auto filter = NewMultiset(shape, {rnd.Next(), rnd.Next()});
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
  const Shape shape{2, 4};
  const auto filter = NewMultiset(shape, {0x1111, 0x2222});
  for (const uint64_t fingerprint : {0x33, 0x15, 0x12}) {
    ASSERT_TRUE(filter->Insert(HashFor(shape, fingerprint)));
  }
  const std::string expected =
      "50525451"                          // magic "PRTQ"
      "01"                                // format version
      "020400"                            // q, r
      "FD63912800000000"                  // checksum
      "0300000000000000"                  // hashes
      "11110000000000002222000000000000"  // salt
      "0100000000000000"                  // blocks
      "0A00000000000000"                  // occupied: quotients 1 and 3
      "0C00000000000000"                  // runends: slots 2 and 3
      "00000000"                          // offset
      // Remainders of 4 bits: 2 and 5 in slots 1 and 2, 3 in slot 3.
      "2035000000000000" +
      std::string(48, '0') + std::string(32, '0');
  EXPECT_EQ(expected, Slice(Saved(*filter)).ToString(/*hex=*/true));
}

TEST(SavedQuotientTest, EveryTruncationAndFlippedBitIsFound) {
  Multiset filter;
  for (const std::string& bytes : SavedFilters()) {
    for (size_t size = 0; size < bytes.size(); size++) {
      std::string cut = bytes.substr(0, size);
      for (int repaired = 0; repaired < 2; repaired++) {
        const GuardedBlock guarded(cut);
        const Status s = LoadQuotientMultiset(guarded.slice(), &filter);
        ASSERT_TRUE(s.IsCorruption()) << size;
        ASSERT_EQ(nullptr, filter);
        Repair(&cut);
      }
    }
    for (size_t bit = 0; bit < 8 * bytes.size(); bit++) {
      const auto s = LoadQuotientMultiset(WithBitFlipped(bytes, bit), &filter);
      ASSERT_TRUE(s.IsCorruption() || (bit / 8 == 4 && s.IsNotSupported()))
          << bit << " " << s.ToString();
      ASSERT_EQ(nullptr, filter);
    }
    ASSERT_OK(LoadQuotientMultiset(bytes, &filter));
  }
}

// Damaged bytes may be a filter or not, but a query must not leave them.
TEST(SavedQuotientTest, DamageBehindARightChecksum) {
  DamageStride stride;
  Random64 rnd(11);
  for (const std::string& bytes : SavedFilters()) {
    GuardedMemory memory(bytes.size());
    uint64_t opened = 0;
    const auto try_bytes = [&](std::string damaged) {
      Repair(&damaged);
      Multiset filter;
      const Slice placed = memory.PlaceAtEnd(damaged);
      if (!LoadQuotientMultiset(placed, &filter).ok()) return;
      opened++;
      ASSERT_NO_FATAL_FAILURE(ReadAll(*filter));
      const uint64_t size = filter->size();
      const uint64_t hash = rnd.Next();
      if (filter->Insert(hash)) {
        ASSERT_EQ(size + 1, filter->size());
      }
      filter->Delete(~hash);
    };
    for (size_t bit = 0; bit < 8 * bytes.size(); bit++) {
      if (!stride.TryNext()) continue;
      ASSERT_NO_FATAL_FAILURE(try_bytes(WithBitFlipped(bytes, bit))) << bit;
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
