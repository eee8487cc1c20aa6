// SPDX-License-Identifier: Apache-2.0

//  Parts of cascade filters: entries, pages, runs, tables, choices of merges.

#include <cmath>
#include <random>

#include "sets/cascade/memory_table.h"
#include "sets/cascade/merge_choice.h"
#include "sets/cascade/run_store.h"
#include "tests/filter_blocks.h"
#include "tests/protean_db.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

using Entries = std::vector<Entry>;
enum Kinds { kInserts, kAll };  // of entries

Entries ReadAll(EntryStream* stream, size_t at_once = 100) {
  Entries all;
  Entries some(at_once);
  while (const size_t read = stream->Read(some.data(), at_once)) {
    all.insert(all.end(), some.begin(), some.begin() + read);
  }
  EXPECT_OK(stream->status());
  return all;
}

// In order: mostly insertions, some tombstones and large numbers.
Entries RandomEntries(size_t count, unsigned bits, Kinds kinds,
                      std::mt19937_64* random) {
  std::map<uint64_t, Entry> entries;
  while (entries.size() < count) {
    const uint64_t fingerprint = (*random)() >> (64 - bits);
    Entry entry{fingerprint, 0, 1};
    const uint64_t dice = kinds == kInserts ? 99 : (*random)() % 20;
    if (dice < 3) entry = {fingerprint, 1, 0};
    if (dice == 3) entry = {fingerprint, 2, 7};
    if (dice == 4) entry = {fingerprint, 0, UINT32_MAX};
    entries[fingerprint] = entry;
  }
  Entries list;
  for (const auto& [fingerprint, entry] : entries) list.push_back(entry);
  return list;
}

// ---- Entries ----

// All sequences of insertions and deletions up to a length, cut in two at each
// place, have the effect of their parts, combined, on any older copies.
TEST(EntryTest, CombinesStretchesOfTime) {
  const auto entry_of = [](unsigned operations, unsigned begin, unsigned end) {
    Entry entry;
    for (unsigned i = begin; i < end; i++) {
      const bool is_insert = (operations >> i & 1) != 0;
      entry = Combine(entry, is_insert ? Entry{0, 0, 1} : Entry{0, 1, 0});
    }
    return entry;
  };
  for (unsigned length = 0; length <= 9; length++) {
    for (unsigned operations = 0; operations < 1u << length; operations++) {
      for (unsigned cut = 0; cut <= length; cut++) {
        const Entry combined = Combine(entry_of(operations, 0, cut),
                                       entry_of(operations, cut, length));
        for (unsigned older = 0; older < 4; older++) {
          unsigned copies = older;
          for (unsigned i = 0; i < length; i++) {
            const bool is_insert = (operations >> i & 1) != 0;
            if (is_insert || copies > 0) copies += is_insert ? 1 : -1;
          }
          const Entry after = Combine({0, 0, older}, combined);
          ASSERT_EQ(copies, after.inserts);
        }
      }
    }
  }
}

TEST(EntryTest, NumbersThatCannotBeCountedStay) {
  constexpr uint32_t kMax = UINT32_MAX;
  EXPECT_EQ((Entry{0, 0, kMax}), Combine({0, 0, kMax - 1}, {0, 0, 5}));
  EXPECT_EQ((Entry{0, 0, kMax}), Combine({0, 0, kMax}, {0, 7, 0}));
  EXPECT_EQ((Entry{0, kMax, 0}), Combine({0, kMax - 1, 0}, {0, 5, 0}));
}

// ---- Pages ----

class PageTest : public ::testing::TestWithParam<unsigned> {
 protected:
  static constexpr PageId kId{0x123456789abcdef0, 17};

  std::string FirstPage(const Entries& entries, size_t* in_page) const {
    PageBuilder builder(GetParam());
    *in_page = 0;
    while (*in_page < entries.size() && builder.Add(entries[*in_page])) {
      ++*in_page;
    }
    std::string page(kPageBytes + kReadPadding, '\0');
    builder.Finish(kId, page.data());
    return page;
  }
  std::mt19937_64 random_{GetParam()};
};

TEST_P(PageTest, HoldsWhatWasAdded) {
  for (const Kinds kinds : {kInserts, kAll}) {
    for (const size_t count : {1, 2, 500, 40000}) {
      const unsigned bits = std::min(62u, GetParam() + BitsFor(count));
      const Entries entries = RandomEntries(
          std::min(count, size_t{1} << (bits - 2)), bits, kinds, &random_);
      size_t in_page;
      const std::string page = FirstPage(entries, &in_page);
      PageView view;
      ASSERT_TRUE(view.Open(page.data(), kId));
      ASSERT_EQ(in_page, view.size());
      PageView::Cursor cursor(view);
      for (size_t i = 0; i < in_page; i++) {
        Entry entry;
        ASSERT_TRUE(cursor.Next(&entry));
        ASSERT_EQ(entries[i], entry);
        Entry found;
        ASSERT_TRUE(view.Find(entry.fingerprint, &found));
        ASSERT_EQ(entry, found);
        for (const uint64_t other :
             {entry.fingerprint - 1, entry.fingerprint + 1}) {
          const bool is_there =
              (i > 0 && entries[i - 1].fingerprint == other) ||
              (i + 1 < in_page && entries[i + 1].fingerprint == other);
          ASSERT_EQ(is_there, view.Find(other, &found));
        }
      }
      Entry entry;
      EXPECT_FALSE(cursor.Next(&entry));
      EXPECT_FALSE(view.Find(0, &entry) && entries[0].fingerprint != 0);
      EXPECT_FALSE(view.Find(UINT64_MAX, &entry));
    }
  }
}

TEST_P(PageTest, NoticesDamage) {
  const Entries entries =
      RandomEntries(300, std::min(62u, GetParam() + 12), kAll, &random_);
  size_t in_page;
  const std::string page = FirstPage(entries, &in_page);
  PageView view;
  for (size_t bit = 0; bit < 8 * kPageBytes; bit += 7) {
    ASSERT_FALSE(view.Open(WithBitFlipped(page, bit).data(), kId)) << bit;
  }
  EXPECT_TRUE(view.Open(page.data(), kId));
  EXPECT_FALSE(view.Open(page.data(), {kId.run, kId.page + 1}));
  EXPECT_FALSE(view.Open(page.data(), {kId.run + 1, kId.page}));
}

INSTANTIATE_TEST_SUITE_P(RemainderBits, PageTest,
                         ::testing::Values(1, 2, 8, 13, 32, 57));

// Two bits are about what the information needs.
TEST(PageSizeTest, TakesTwoBitsMoreThanRemainders) {
  std::mt19937_64 random(5);
  constexpr size_t kCount = 1 << 16;
  constexpr unsigned kRemainderBits = 12;
  const Entries entries =
      RandomEntries(kCount, 16 + kRemainderBits, kInserts, &random);
  PageBuilder builder(kRemainderBits);
  size_t in_page = 0;
  while (builder.Add(entries[in_page])) in_page++;
  const double bits = 8.0 * kPageBytes / static_cast<double>(in_page);
  EXPECT_LT(bits, kRemainderBits + 2.25);
}

// ---- Streams ----

class ListStream : public EntryStream {
 public:
  explicit ListStream(Entries entries) : entries_(std::move(entries)) {}
  size_t Read(Entry* entries, size_t capacity) override {
    const size_t read = std::min(capacity, entries_.size() - next_);
    std::copy_n(entries_.data() + next_, read, entries);
    next_ += read;
    return read;
  }
  Status status() const override { return Status::OK(); }

 private:
  const Entries entries_;
  size_t next_ = 0;
};

TEST(MergeStreamsTest, CombinesWhatTheStreamsSay) {
  std::mt19937_64 random(3);
  for (const size_t streams : {1, 2, 3, 7}) {
    for (const bool drop_deletes : {false, true}) {
      std::map<uint64_t, Entry> expected;
      std::vector<std::unique_ptr<EntryStream>> newest_first;
      for (size_t i = 0; i < streams; i++) {  // the oldest first
        const size_t count = random() % 3000;
        const Entries entries = RandomEntries(count, 12, kAll, &random);
        for (const Entry& entry : entries) {
          const auto [at, is_new] = expected.emplace(entry.fingerprint, entry);
          if (!is_new) at->second = Combine(at->second, entry);
        }
        newest_first.insert(newest_first.begin(),
                            std::make_unique<ListStream>(entries));
      }
      Entries wanted;
      for (auto [fingerprint, entry] : expected) {
        if (drop_deletes) entry.deletes = 0;
        if (!entry.IsNothing()) wanted.push_back(entry);
      }
      const auto merged = MergeStreams(std::move(newest_first), drop_deletes);
      EXPECT_EQ(wanted, ReadAll(merged.get()));
    }
  }
}

// ---- Tables in memory ----

// The table holds the sum of the operations on each fingerprint, in order.
void ExpectSaysWhatHappened(unsigned bits) {
  SCOPED_TRACE(bits);
  std::unique_ptr<MemoryTable> table;
  ASSERT_OK(MemoryTable::Create(bits, 256 << 10, &table));
  std::map<uint64_t, Entry> expected;
  std::mt19937_64 random(bits);
  // Few fingerprints with many copies, and many with few.
  std::vector<uint64_t> fingerprints(3000);
  for (uint64_t& fingerprint : fingerprints) {
    fingerprint = random() >> (64 - bits);
  }
  for (int i = 0; i < 12000; i++) {
    const uint64_t fingerprint =
        fingerprints[random() % (i % 2 == 0 ? 10 : fingerprints.size())];
    Entry& entry = expected[fingerprint];
    const bool is_insert = random() % 3 != 0;
    ASSERT_TRUE(is_insert ? table->Insert(fingerprint)
                          : table->Delete(fingerprint));
    entry = Combine({fingerprint, entry.deletes, entry.inserts},
                    is_insert ? Entry{0, 0, 1} : Entry{0, 1, 0});
  }
  Entries wanted;
  uint64_t entries = 0;
  for (const auto& [fingerprint, entry] : expected) {
    ASSERT_EQ(entry, table->Find(fingerprint));
    entries += entry.inserts + entry.deletes;
    if (!entry.IsNothing()) wanted.push_back(entry);
  }
  EXPECT_EQ(entries, table->entries());
  EXPECT_EQ(wanted, ReadAll(table->NewStream().get()));
}

TEST(MemoryTableTest, SaysWhatHappened) {
  for (const unsigned bits : {24, 44, 62}) ExpectSaysWhatHappened(bits);
}

TEST(MemoryTableTest, IsFullWhenItIs) {
  for (const uint64_t bytes : {1 << 20, 3 << 20, 16 << 20}) {
    std::unique_ptr<MemoryTable> table;
    ASSERT_OK(MemoryTable::Create(44, bytes, &table));
    EXPECT_LE(MemoryTable::BytesOf(44, bytes), bytes);
    EXPECT_GT(MemoryTable::BytesOf(44, bytes), bytes / 3);
    std::mt19937_64 random(bytes);
    uint64_t inserted = 0;
    uint64_t fingerprint = random() >> 20;
    for (; table->Insert(fingerprint); inserted++) fingerprint = random() >> 20;
    EXPECT_EQ(inserted, table->entries());
    EXPECT_TRUE(table->Find(fingerprint).IsNothing());
    // Bits per fingerprint, everything included.
    EXPECT_LT(8.0 * table->MemoryUsage() / inserted, 44) << bytes;
  }
}

// ---- Choosing merges ----

// Adds a run, and makes all merges that are due. Returns the entries written.
uint64_t AddRun(uint64_t entries, std::vector<RunState>* runs) {
  runs->insert(runs->begin(), RunState{entries, false});
  uint64_t written = 0;
  while (const auto choice = ChooseMerge(*runs)) {
    const auto begin = runs->begin() + static_cast<ptrdiff_t>(choice->begin);
    const auto end = runs->begin() + static_cast<ptrdiff_t>(choice->end);
    uint64_t sum = 0;
    for (auto run = begin; run != end; ++run) sum += run->entries;
    *begin = {sum, false};
    runs->erase(begin + 1, end);
    written += sum;
  }
  return written;
}

// If nothing runs at the same time, runs are those of a binary counter.
TEST(ChooseMergeTest, CountsInBinary) {
  std::vector<RunState> runs;
  uint64_t written = 0;
  constexpr uint64_t kFlushes = 4096;
  for (uint64_t flush = 1; flush <= kFlushes; flush++) {
    written += AddRun(1, &runs);
    ASSERT_EQ(__builtin_popcountll(flush), static_cast<int>(runs.size()));
  }
  EXPECT_LE(written, 12 * kFlushes);  // log2
}

TEST(ChooseMergeTest, LeavesBusyRuns) {
  EXPECT_FALSE(ChooseMerge({}).has_value());
  EXPECT_FALSE(ChooseMerge({{1, false}}).has_value());
  EXPECT_FALSE(ChooseMerge({{1, false}, {1, true}, {1, false}}).has_value());
  const auto choice =
      ChooseMerge({{5, true}, {1, false}, {9, false}, {9, false}, {2, true}});
  ASSERT_TRUE(choice.has_value());
  EXPECT_EQ(1u, choice->begin);
  EXPECT_EQ(4u, choice->end);
}

// The number of runs of one size decides: it has 4 bits, or 5.
TEST(ChoosePaceTest, CountsRuns) {
  const auto pace = [](size_t runs, bool is_merging) {
    return ChoosePace(std::vector<RunState>(runs, {1000, false}), is_merging);
  };
  EXPECT_EQ(WriterPace::kFree, pace(0, true));
  EXPECT_EQ(WriterPace::kFree, pace(12, true));
  EXPECT_EQ(WriterPace::kDelayed, pace(13, true));
  EXPECT_EQ(WriterPace::kDelayed, pace(28, true));
  EXPECT_EQ(WriterPace::kHalted, pace(29, true));
  EXPECT_EQ(WriterPace::kFree, pace(1000, false));
  // With runs of different sizes, more of them are left when all is merged.
  std::vector<RunState> runs(28, {1000, false});
  runs.push_back({uint64_t{1} << 40, true});
  EXPECT_EQ(WriterPace::kFree, ChoosePace(runs, true));
}

// When no merge is due, each run is larger than all newer ones together.
TEST(ChooseMergeTest, RunsOfAnySizes) {
  std::mt19937_64 random(9);
  for (const int kind : {0, 1, 2}) {
    std::vector<RunState> runs;
    double written = 0;
    double flushed = 0;
    for (int flush = 0; flush < 2000; flush++) {
      const uint64_t sizes[] = {
          1000000 + random() % 20000, 1 + random() % 1000000,
          static_cast<uint64_t>(1e9 / std::pow(1.3, flush % 60))};
      const uint64_t size = sizes[kind];
      flushed += static_cast<double>(size);
      written += static_cast<double>(AddRun(size, &runs));
      uint64_t newer = 0;
      for (const RunState& run : runs) {
        ASSERT_GT(run.entries, newer);
        newer += run.entries;
      }
    }
    EXPECT_LT(written / flushed, 10);
  }
}

// ---- Runs ----

class RunTest : public testing::Test {
 protected:
  RunTest() : path_(test::PerThreadDBPath("run")) {
    files_.fs = FileSystem::Default();
    files_.fingerprint_bits = kBits;
  }
  void Write(const Entries& entries) {
    std::unique_ptr<RunWriter> writer;
    ASSERT_OK(RunWriter::Create(files_, path_, kId, entries.size(), &writer));
    for (const Entry& entry : entries) ASSERT_OK(writer->Add(entry));
    ASSERT_OK(writer->Finish());
    bytes_ = writer->file_bytes();
  }
  Status Open(std::shared_ptr<FlashRun>* run) const {
    return FlashRun::Open(files_, path_, 1, kId, nullptr, run);
  }

  void Replace(const Slice& contents) const {
    ASSERT_OK(WriteStringToFile(files_.fs.get(), contents, path_));
  }

  static constexpr unsigned kBits = 40;
  static constexpr uint64_t kId = 99;
  const std::string path_;
  RunFiles files_;
  uint64_t bytes_ = 0;
};

TEST_F(RunTest, FindsInOnePage) {
  std::mt19937_64 random(1);
  for (const bool direct : {false, true}) {
    files_.options.use_direct_reads = direct;
    files_.options.use_direct_writes = direct;
    for (const size_t count : {1, 1000, 600000}) {
      const Entries entries = RandomEntries(count, kBits, kAll, &random);
      Write(entries);
      std::shared_ptr<FlashRun> run;
      ASSERT_OK(Open(&run));
      EXPECT_EQ(count, run->entries());
      EXPECT_EQ(bytes_, run->file_bytes());
      RunReadCounts counts;
      uint64_t asked = 0;
      for (size_t i = 0; i < count; i += 1 + count / 5000) {
        Entry found;
        ASSERT_EQ(FlashRun::Found::kEntry,
                  run->Find(entries[i].fingerprint, &counts, &found));
        ASSERT_EQ(entries[i], found);
        asked++;
      }
      EXPECT_EQ(asked, counts.pages_read);
      EXPECT_EQ(entries, ReadAll(run->NewStream().get(), 1000));
      run->MakeObsolete();
      run.reset();
      EXPECT_TRUE(
          files_.fs->FileExists(path_, IOOptions(), nullptr).IsNotFound());
    }
  }
}

// Flipped bits: set_targets.cc, with the corpus and mutants.
TEST_F(RunTest, CutOffAnywhere) {
  std::mt19937_64 random(2);
  Write(RandomEntries(3000, kBits, kInserts, &random));
  std::string contents = ContentsOf(path_);
  std::shared_ptr<FlashRun> run;
  for (size_t size = 0; size < contents.size(); size += 509) {
    Replace(Slice(contents.data(), size));
    EXPECT_TRUE(Open(&run).IsCorruption()) << size;
  }
  Replace(contents);
  EXPECT_OK(Open(&run));
  EXPECT_TRUE(
      FlashRun::Open(files_, path_, 1, kId + 1, nullptr, &run).IsCorruption());
}

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean
