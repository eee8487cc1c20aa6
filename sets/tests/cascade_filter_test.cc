// SPDX-License-Identifier: Apache-2.0

//  Cascade filters against a multiset, and faults. Fingerprints have 62 bits,
//  so that no two keys of a test share one and answers are exact.

#include "sets/experimental/cascade_filter.h"

#include <sys/stat.h>

#include <filesystem>
#include <random>

#include "tests/protean_db.h"
#include "tests/table/faults/fault_file_system.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Keys that hurt: empty, zeros, one a prefix of the next.
std::string KeyOf(uint64_t n) {
  if (n % 4 < 2) return std::string(n / 4 % 2000, n % 4 == 0 ? '\0' : '\xff');
  return n % 4 == 2 ? "a common prefix of keys/" + std::to_string(n)
                    : std::to_string(n * 0x9e3779b97f4a7c15);
}

class CascadeFilterTest : public testing::Test {
 protected:
  CascadeFilterTest() {
    options_.fingerprint_bits = 62;
    options_.memory = 64 << 10;
  }
  ~CascadeFilterTest() override {
    filter_.reset();
    std::filesystem::remove_all(folder_);
  }

  Status TryOpen() {
    filter_.reset();
    return CascadeFilter::Open(options_, folder_, &filter_);
  }
  void Open() { ASSERT_OK(TryOpen()); }

  void Insert(uint64_t begin, uint64_t end) {
    for (uint64_t n = begin; n < end; n++) {
      ASSERT_OK(filter_->Insert(std::to_string(n)));
    }
  }
  void Delete(uint64_t begin, uint64_t end, uint64_t step = 1) {
    for (uint64_t n = begin; n < end; n += step) {
      ASSERT_OK(filter_->Delete(std::to_string(n)));
    }
  }
  void FlushAndMerge() {
    ASSERT_OK(filter_->Flush());
    ASSERT_OK(filter_->WaitForMerges());
  }
  void OpenNew() {
    filter_.reset();
    std::filesystem::remove_all(folder_);
    Open();
  }
  // A new filter of keys from 0 on, in runs.
  void OpenWith(uint64_t keys) {
    OpenNew();
    Insert(0, keys);
    FlushAndMerge();
  }
  void Close() {
    ASSERT_OK(filter_->Close());
    filter_.reset();
  }
  CascadeFilterStatistics Stats() const { return filter_->GetStatistics(); }
  uint64_t Found(uint64_t begin, uint64_t end) {
    uint64_t found = 0;
    for (uint64_t n = begin; n < end; n++) {
      found += filter_->MayContain(std::to_string(n));
    }
    return found;
  }
  std::vector<std::string> RunFiles() const {
    std::vector<std::string> files;
    for (const auto& file : std::filesystem::directory_iterator(folder_)) {
      if (file.path().extension() == ".run") files.push_back(file.path());
    }
    std::sort(files.begin(), files.end());
    return files;
  }
  static void Write(const std::string& file, const Slice& contents) {
    ASSERT_OK(WriteStringToFile(Env::Default(), contents, file));
  }
  static void FlipByte(const std::string& file, uint64_t at) {
    std::string contents = ContentsOf(file);
    contents[at] = static_cast<char>(contents[at] ^ 0x10);
    Write(file, contents);
  }

  const std::string folder_ = PathInMemory("cascade");
  const std::string manifest_ = folder_ + "/MANIFEST";
  CascadeFilterOptions options_;
  std::unique_ptr<CascadeFilter> filter_;
};

TEST_F(CascadeFilterTest, RefusesOptions) {
  const auto expect_refused = [&](const std::string& what) {
    ExpectRefused(TryOpen(), {what});
    options_ = CascadeFilterOptions();
  };
  for (const uint32_t bits : {23, 63}) {
    options_.fingerprint_bits = bits;
    expect_refused("must be 0 or 24 to 62");
  }
  options_.memory = 65535;
  expect_refused("must be at least 65536");
  for (const int merges : {0, 65}) {
    options_.max_background_merges = merges;
    expect_refused("must be 1 to 64");
  }
  options_.env = nullptr;
  expect_refused("nullptr");

  options_.create_if_missing = false;
  EXPECT_TRUE(TryOpen().IsNotFound());
  options_.create_if_missing = true;
  options_.fingerprint_bits = 40;
  Open();
  filter_.reset();
  options_.fingerprint_bits = 41;
  expect_refused("40 bits");
  options_.fingerprint_bits = 0;
  Open();
}

TEST_F(CascadeFilterTest, OneProcessAtATime) {
  Open();
  std::unique_ptr<CascadeFilter> second;
  EXPECT_TRUE(CascadeFilter::Open(options_, folder_, &second).IsIOError());
  EXPECT_EQ(nullptr, second);
  EXPECT_TRUE(CascadeFilter::Destroy(options_.env, folder_).IsIOError());
  ASSERT_OK(filter_->Close());
  EXPECT_OK(CascadeFilter::Destroy(options_.env, folder_));
  EXPECT_FALSE(std::filesystem::exists(folder_));
  EXPECT_TRUE(CascadeFilter::Destroy(options_.env, folder_).IsNotFound());
}

TEST_F(CascadeFilterTest, IsAMultiset) {
  std::mt19937_64 random(17);
  std::map<std::string, uint64_t> expected;
  Open();
  for (int i = 0; i < 120000; i++) {
    const std::string key = KeyOf(random() % (random() % 2 == 0 ? 50 : 40000));
    uint64_t& copies = expected[key];
    const bool is_insert = random() % 5 < 3;
    ASSERT_OK(is_insert ? filter_->Insert(key) : filter_->Delete(key));
    if (is_insert || copies > 0) copies += is_insert ? 1 : -1;
    const std::string asked = KeyOf(random() % 40000);
    const auto found = expected.find(asked);
    ASSERT_EQ(found != expected.end() && found->second > 0,
              filter_->MayContain(asked))
        << i;
    if (random() % 20000 == 0) {
      ASSERT_OK(filter_->Flush());
    }
    if (random() % 20000 == 0) Open();
  }
  for (const auto& [key, copies] : expected) {
    ASSERT_EQ(copies > 0, filter_->MayContain(key));
  }
  FlushAndMerge();
  EXPECT_GT(Stats().flushes, 0u);
  EXPECT_EQ(0u, Stats().unreadable_pages);
  EXPECT_EQ(0u, Stats().entries_in_memory);
}

// Keys that come and go leave nothing that adds up.
TEST_F(CascadeFilterTest, TombstonesGo) {
  Open();
  constexpr uint64_t kKeys = 20000;
  for (int round = 0; round < 10; round++) {
    Insert(0, kKeys);
    Delete(0, kKeys);
  }
  FlushAndMerge();
  EXPECT_EQ(0u, Found(0, kKeys));
  // In each run, a key is an entry at most.
  EXPECT_LT(Stats().entries, 3 * kKeys);
}

// At most; the cache and keys in memory save reads.
TEST_F(CascadeFilterTest, ReadsAPageOfEachRun) {
  constexpr uint64_t kKeys = 300000;
  OpenWith(kKeys);
  const uint64_t runs = Stats().runs;
  EXPECT_GE(runs, 1u);
  EXPECT_LE(runs, 9u);
  EXPECT_EQ(0u, Found(kKeys, kKeys + 1000));
  EXPECT_LE(Stats().pages_read, 1000 * runs);
  EXPECT_EQ(1000u, Found(0, 1000));
  EXPECT_LE(Stats().pages_read, 2000 * runs);

  for (const bool clock : {false, true}) {
    options_.page_cache =
        clock ? HyperClockCacheOptions(32 << 20, 0).MakeSharedCache()
              : NewLRUCache(32 << 20);
    Open();
    EXPECT_EQ(0u, Found(kKeys, kKeys + 1000));
    const uint64_t before = Stats().pages_read;
    EXPECT_EQ(0u, Found(kKeys, kKeys + 1000));
    EXPECT_EQ(before, Stats().pages_read);
    EXPECT_GT(Stats().pages_in_cache, 0u);
  }
}

// Many keys get the answers that each gets alone. The cache holds few pages.
TEST_F(CascadeFilterTest, ReadsAPageOnceForManyKeys) {
  options_.page_cache = NewLRUCache(64 << 10, /*num_shard_bits=*/0);
  OpenWith(200000);
  Delete(0, 200000, 3);
  ASSERT_OK(filter_->WaitForMerges());
  std::vector<std::string> keys;
  for (uint64_t n = 0; n < 400000; n++) keys.push_back(std::to_string(n));
  std::vector<bool> may_contain(7, true);
  const uint64_t before = Stats().pages_read;
  filter_->MayContainEach({keys.begin(), keys.end()}, &may_contain);
  const CascadeFilterStatistics after = Stats();
  EXPECT_LE(after.pages_read - before, after.flash_bytes / 4096);
  ASSERT_EQ(keys.size(), may_contain.size());
  for (uint64_t n = 0; n < keys.size(); n++) {
    ASSERT_EQ(n < 200000 && n % 3 != 0, may_contain[n]) << n;
  }
  filter_->MayContainEach({}, &may_contain);
  EXPECT_TRUE(may_contain.empty());
}

TEST_F(CascadeFilterTest, FalsePositivesAreAsPromised) {
  options_.fingerprint_bits = 24;
  options_.page_cache = NewLRUCache(32 << 20);
  constexpr uint64_t kKeys = 200000;
  OpenWith(kKeys);
  EXPECT_EQ(kKeys, Found(0, kKeys));
  const double expected = 1.0 * kKeys * kKeys / (1 << 24);
  const auto found = static_cast<double>(Found(kKeys, 2 * kKeys));
  EXPECT_LT(std::abs(found - expected), 6 * std::sqrt(expected));
}

// One key, again and again: neither memory nor runs nor time grow with it.
TEST_F(CascadeFilterTest, ManyCopiesOfAKey) {
  Open();
  constexpr int kCopies = 300000;
  for (int i = 0; i < kCopies; i++) ASSERT_OK(filter_->Insert("again"));
  ASSERT_OK(filter_->Flush());
  EXPECT_EQ(1u, Stats().entries);
  for (int i = 0; i < kCopies; i++) {
    ASSERT_TRUE(filter_->MayContain("again"));
    ASSERT_OK(filter_->Delete("again"));
  }
  EXPECT_FALSE(filter_->MayContain("again"));
}

TEST_F(CascadeFilterTest, Threads) {
  Open();
  constexpr uint64_t kWriters = 3;
  constexpr uint64_t kKeysEach = 60000;
  std::array<std::atomic<uint64_t>, kWriters> inserted{};
  std::atomic<uint64_t> writing{kWriters};
  std::atomic<uint64_t> wrong{0};
  InThreads(kWriters + 2, [&](uint64_t thread) {
    for (uint64_t i = 0; thread < kWriters && i < kKeysEach; i++) {
      const uint64_t n = thread * kKeysEach + i;
      wrong += !filter_->Insert(std::to_string(n)).ok();
      if (n % 2 == 1) wrong += !filter_->Delete(std::to_string(n)).ok();
      inserted[thread] = i + 1;
      if (i % 20000 == 0) wrong += !filter_->Flush().ok();
    }
    if (thread < kWriters) {
      writing--;
      return;
    }
    std::mt19937_64 random(thread - kWriters);
    while (writing > 0) {
      const uint64_t writer = random() % kWriters;
      const uint64_t end = inserted[writer];
      if (end == 0) continue;
      const uint64_t n = writer * kKeysEach + random() % end;
      wrong += filter_->MayContain(std::to_string(n)) != (n % 2 == 0);
      wrong += filter_->MayContain("-" + std::to_string(n));
      Stats();
    }
  });
  EXPECT_EQ(0u, wrong);
  ASSERT_OK(filter_->Close());
  Open();
  EXPECT_EQ(kWriters * kKeysEach / 2, Found(0, kWriters * kKeysEach));
}

// ---- Bad files ----

TEST_F(CascadeFilterTest, MissingAndSwappedRuns) {
  OpenWith(20000);
  // A merge in the background may take a small run with it.
  uint64_t end = 20000;
  while (RunFiles().size() < 2) {
    ASSERT_LT(end, 40000u);
    Insert(end, end + 100);
    end += 100;
    FlushAndMerge();
  }
  Close();
  const std::vector<std::string> runs = RunFiles();
  const std::string kept = folder_ + "/kept";
  const auto swap = [&] {
    std::filesystem::rename(runs[0], kept);
    std::filesystem::rename(runs[1], runs[0]);
    std::filesystem::rename(kept, runs[1]);
  };
  const auto expect_corruption = [&](const std::string& file) {
    const Status s = TryOpen();
    EXPECT_TRUE(s.IsCorruption());
    ExpectHas(s.ToString(), {file});
  };
  swap();
  expect_corruption(".run");
  swap();
  std::filesystem::rename(runs[0], kept);
  expect_corruption(runs[0]);
  std::filesystem::rename(kept, runs[0]);
  // What is not the filter's stays, and what a process that died has left goes.
  Write(folder_ + "/notes.txt", "mine");
  Write(folder_ + "/999999.run", "left");
  Open();
  EXPECT_EQ(end, Found(0, end));
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/notes.txt"));
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/999999.run"));
}

// Any key may be in a damaged page, or in a run that cannot be read to its end.
// Merges leave such a run alone, and go on with the others.
TEST_F(CascadeFilterTest, DamagedRuns) {
  constexpr uint64_t kKeys = 40000;
  for (const bool is_cut : {false, true}) {
    SCOPED_TRACE(is_cut);
    OpenWith(kKeys);
    const auto size_of = [](const std::string& run) {
      return std::filesystem::file_size(run);
    };
    const std::vector<std::string> runs = RunFiles();
    const std::string largest = *std::max_element(
        runs.begin(), runs.end(),
        [&](const auto& a, const auto& b) { return size_of(a) < size_of(b); });
    uint64_t damaged = 0;
    for (const std::string& run : runs) {
      if (!is_cut || size_of(run) < 5 * 4096) continue;
      std::filesystem::resize_file(run, 4096);
      damaged++;
    }
    if (!is_cut) {
      Close();
      FlipByte(largest, 4096 + 1000);
      damaged = 1;
      Open();
    }
    EXPECT_EQ(kKeys, Found(0, kKeys));
    const uint64_t perhaps = Found(kKeys, 2 * kKeys);
    EXPECT_GT(perhaps, 0u);
    EXPECT_TRUE(is_cut || perhaps < kKeys / 4) << perhaps;
    EXPECT_GE(Stats().unreadable_pages, perhaps);
    Insert(kKeys, 4 * kKeys);
    FlushAndMerge();
    EXPECT_EQ(4 * kKeys, Found(0, 4 * kKeys));
    EXPECT_GE(Stats().damaged_runs, 1u);
    EXPECT_LE(Stats().damaged_runs, damaged);
    EXPECT_LT(Stats().runs, 12u);
    EXPECT_TRUE(std::filesystem::exists(largest));
  }
}

// The filter is not taken for a new one, and only Destroy deletes it.
TEST_F(CascadeFilterTest, DamagedAndLostManifests) {
  OpenWith(10000);
  Close();
  const std::vector<std::string> runs = RunFiles();
  const std::string old = ContentsOf(manifest_);
  for (size_t at = 0; at < old.size(); at++) {
    FlipByte(manifest_, at);
    EXPECT_TRUE(TryOpen().IsCorruption()) << at;
    Write(manifest_, Slice(old.data(), at));
    EXPECT_TRUE(TryOpen().IsCorruption()) << "cut to " << at;
    Write(manifest_, old);
  }
  std::filesystem::remove(manifest_);
  EXPECT_TRUE(TryOpen().IsCorruption());
  ASSERT_EQ(0, mkfifo(manifest_.c_str(), 0600));
  EXPECT_FALSE(TryOpen().ok());
  EXPECT_EQ(runs, RunFiles());
  std::filesystem::remove(manifest_);
  Write(manifest_, old);
  Open();
  EXPECT_EQ(10000u, Found(0, 10000));
  // An old manifest, of runs that are gone, deletes none of the new ones.
  Insert(10000, 60000);
  FlushAndMerge();
  Close();
  const std::string current = ContentsOf(manifest_);
  Write(manifest_, old);
  EXPECT_TRUE(TryOpen().IsCorruption());
  Write(manifest_, current);
  Open();
  EXPECT_EQ(60000u, Found(0, 60000));
  Close();
  std::filesystem::remove(manifest_);
  EXPECT_OK(CascadeFilter::Destroy(options_.env, folder_));
  EXPECT_FALSE(std::filesystem::exists(folder_));
}

// ---- Faults ----

class CascadeFaultsTest : public CascadeFilterTest {
 protected:
  CascadeFaultsTest()
      : fs_(std::make_shared<FaultFileSystem>()), env_(NewCompositeEnv(fs_)) {
    options_.env = env_.get();
  }
  ~CascadeFaultsTest() override { filter_.reset(); }

  const std::shared_ptr<FaultFileSystem> fs_;
  const std::unique_ptr<Env> env_;
};

// A write fails, or all from that one on because the disk is full. Inserts say
// so, nothing that they had accepted is lost, and Flush writes it later.
TEST_F(CascadeFaultsTest, AnyWriteFails) {
  for (const bool is_full : {true, false}) {
    const uint64_t keys = is_full ? 60000 : 20000;
    const uint64_t last = is_full ? 150 : 250;
    for (uint64_t at = 1; at < last; at += 1 + at / (is_full ? 8 : 4)) {
      SCOPED_TRACE(std::to_string(at) + (is_full ? ", full" : ""));
      OpenNew();
      fs_->FailMutations(at,
                         is_full ? IOStatus::NoSpace() : IOStatus::IOError(),
                         /*stays=*/is_full);
      uint64_t end = 0;
      Status s;
      while (end < keys && (s.ok() || !is_full)) {
        s = filter_->Insert(std::to_string(end));
        end += s.ok();
        if (!s.ok() && !is_full) filter_->Flush().PermitUncheckedError();
      }
      EXPECT_TRUE(s.ok() || s.IsNoSpace()) << s.ToString();
      EXPECT_EQ(end, Found(0, end));
      s = filter_->Flush();
      EXPECT_TRUE(s.ok() || !is_full || s.IsNoSpace()) << s.ToString();
      if (is_full) {
        filter_->WaitForMerges().PermitUncheckedError();
        fs_->HealMutations();
      }
      ASSERT_OK(s.ok() && !is_full ? s : filter_->Flush());
      EXPECT_EQ(end, Found(0, end));
      if (!filter_->WaitForMerges().ok()) {
        ASSERT_OK(filter_->Flush());
        ASSERT_OK(filter_->WaitForMerges());
      }
      // The write that failed may have been the deletion of a file.
      EXPECT_TRUE(is_full || RunFiles().size() <= Stats().runs + 1);
      fs_->HealMutations();
      Insert(end, end + 1000);
      ASSERT_OK(filter_->Close());
      Open();
      EXPECT_EQ(end + 1000, Found(0, end + 1000));
      EXPECT_EQ(0u, Found(end + 1000, end + 2000));
    }
  }
}

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean
