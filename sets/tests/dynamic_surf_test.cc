// SPDX-License-Identifier: Apache-2.0

//  DynamicSurf as applications use it: over a DB, with threads, and from files.

#include "sets/experimental/dynamic_surf.h"

#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <random>

#include "tests/protean_db.h"
#include "tests/set_iterator.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Behind all keys of these tests.
const std::string kEnd(20, '\xff');

class DynamicSurfTest : public testing::Test {
 protected:
  DynamicSurfTest() {
    options_.source = [this] {
      const std::lock_guard<std::mutex> lock(mutex_);
      return std::make_unique<SetIterator>(keys_, steps_to_failure_);
    };
  }

  void Build() { ASSERT_OK(DynamicSurf::Build(options_, &filter_)); }
  void Insert(const std::string& key) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      keys_.insert(key);
    }
    ASSERT_OK(filter_->Insert(key));
  }
  void Delete(const std::string& key) {
    ASSERT_OK(filter_->Delete(key));
    const std::lock_guard<std::mutex> lock(mutex_);
    keys_.erase(key);
  }
  // The keys are found. After a merge, all of them count once.
  void ExpectKeys(bool exactly = false) {
    for (const std::string& key : keys_) {
      ASSERT_TRUE(filter_->MayContain(key)) << key;
    }
    const DynamicSurfCount count = filter_->Count(Range("", kEnd));
    EXPECT_LE(count.least, keys_.size());
    EXPECT_GE(count.most, keys_.size());
    if (exactly) {
      EXPECT_EQ(count.least, count.most);
    }
  }
  void ExpectExactly() { ExpectKeys(/*exactly=*/true); }
  DynamicSurfStatistics Stats() const { return filter_->GetStatistics(); }

  DynamicSurfOptions options_;
  std::mutex mutex_;  // protects the source
  KeySet keys_;
  int steps_to_failure_ = -1;
  std::unique_ptr<DynamicSurf> filter_;
};

TEST_F(DynamicSurfTest, OptionsOutOfBounds) {
  std::vector<DynamicSurfOptions> bad(6, options_);
  bad[0].source = nullptr;
  bad[1].env = nullptr;
  bad[2].merge_ratio = 0;
  bad[3].merge_ratio = 1001;
  bad[4].hash_suffix_bits = 33;
  bad[5].real_suffix_bits = 33;
  for (const DynamicSurfOptions& options : bad) {
    EXPECT_TRUE(
        DynamicSurf::Load(options, "no file", &filter_).IsInvalidArgument());
    EXPECT_TRUE(DynamicSurf::Build(options, &filter_).IsInvalidArgument());
    EXPECT_EQ(filter_, nullptr);
  }
  options_.source = [] { return nullptr; };
  EXPECT_TRUE(DynamicSurf::Build(options_, &filter_).IsInvalidArgument());
}

TEST_F(DynamicSurfTest, EmptyAndBuilt) {
  Build();
  std::string bound;
  EXPECT_FALSE(filter_->MayContain(""));
  EXPECT_FALSE(filter_->RangeMayContain(Range("", kEnd)));
  EXPECT_FALSE(filter_->LowerBound("", &bound));
  ASSERT_OK(filter_->Merge());
  EXPECT_EQ(Stats().merges, 0);
  keys_ = {"", "a", "abc"};
  Build();
  ExpectExactly();
  EXPECT_FALSE(filter_->RangeMayContain(Range("b", kEnd)));
  EXPECT_FALSE(filter_->RangeMayContain(Range("b", "a")));
  ASSERT_TRUE(filter_->LowerBound("a", &bound));
  EXPECT_EQ(bound, "a");
  const std::string key(size_t{17} << 20, 'k');
  EXPECT_TRUE(filter_->Insert(key).IsInvalidArgument());
  EXPECT_TRUE(filter_->Delete(key).IsInvalidArgument());
  EXPECT_FALSE(filter_->MayContain(key));
}

TEST_F(DynamicSurfTest, MergesInTheBackground) {
  Build();
  for (uint64_t i = 0; i < 30000; i++) {
    Insert(BigEndian(i * 0x9e3779b97f4a7c15));
    if (i % 5000 == 0) {
      ASSERT_OK(filter_->WaitForMerge());
    }
  }
  ASSERT_OK(filter_->WaitForMerge());
  EXPECT_GT(Stats().merges, 2);
  ExpectKeys();
  ASSERT_OK(filter_->Merge());
  EXPECT_EQ(Stats().keys_in_front, 0);
  EXPECT_EQ(Stats().keys_in_surf, 30000);
  ExpectExactly();
  // Deletions of a quarter of the keys make a merge due.
  const uint64_t merges = Stats().merges;
  for (uint64_t i = 0; i < 9000; i++) Delete(BigEndian(i * 0x9e3779b97f4a7c15));
  ASSERT_OK(filter_->WaitForMerge());
  EXPECT_EQ(Stats().merges, merges + 1);
  EXPECT_LT(Stats().keys_in_surf, 23000);
  ExpectKeys();
}

TEST_F(DynamicSurfTest, SourceThatFails) {
  for (int i = 0; i < 1000; i++) keys_.insert("key " + std::to_string(i));
  Build();
  for (int i = 1000; i < 2000; i++) Insert("key " + std::to_string(i));
  for (int i = 0; i < 500; i++) Delete("key " + std::to_string(3 * i));
  steps_to_failure_ = 3;
  EXPECT_TRUE(filter_->Merge().IsIOError());
  EXPECT_TRUE(filter_->WaitForMerge().IsIOError());
  EXPECT_EQ(Stats().merges, 0);
  ExpectKeys();
  // Inserts go on, until there is no room. No merge begins by itself.
  Status s;
  int inserted = 0;
  while (s.ok()) {
    const std::string key = "more " + std::to_string(inserted++);
    keys_.insert(key);
    s = filter_->Insert(key);
    if (!s.ok()) keys_.erase(key);
  }
  EXPECT_TRUE(s.IsIOError());
  EXPECT_GT(inserted, 30000);
  ExpectKeys();
  steps_to_failure_ = -1;
  ASSERT_OK(filter_->Merge());
  ASSERT_OK(filter_->Insert("one more"));
  keys_.insert("one more");
  ExpectExactly();
  EXPECT_EQ(Stats().keys_not_found, 0);
}

// While a merge is stuck in the source, everything else goes on.
TEST_F(DynamicSurfTest, NobodyWaitsForAMerge) {
  Event gate;
  options_.source = [&] {
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::make_unique<SetIterator>(keys_, -1, [&gate] { gate.Wait(); });
  };
  keys_ = {"key of a leaf"};
  Build();
  // The first 4096 keys make a merge due, which seeks.
  for (int i = 0; i < 20000; i++) Insert("k" + std::to_string(i));
  for (int i = 0; i < 20000; i += 3) Delete("k" + std::to_string(i));
  ExpectKeys();
  EXPECT_EQ(Stats().merges, 0);
  EXPECT_EQ(Stats().waits, 0);
  // At eight times that number, inserts wait.
  std::thread writer([&] {
    for (int i = 20000; i < 60000; i++) Insert("k" + std::to_string(i));
  });
  while (Stats().waits == 0) std::this_thread::yield();
  EXPECT_EQ(Stats().merges, 0);
  gate.Set();
  writer.join();
  ASSERT_OK(filter_->Merge());
  ExpectExactly();
  EXPECT_EQ(Stats().keys_extra, 0);
}

// Keys that are always there are always found, and all is exact in the end.
TEST_F(DynamicSurfTest, ReadersAndWriters) {
  const auto key_of = [](uint64_t n) {
    return n % 2 == 0 ? BigEndian(n * 0x9e3779b97f4a7c15)
                      : "text " + std::to_string(n);
  };
  constexpr uint64_t kStays = 4000;
  for (uint64_t n = 0; n < kStays; n++) keys_.insert(key_of(n));
  Build();
  std::atomic<int> writing{2};
  InThreads(5, [&](size_t thread) {
    std::mt19937 random(static_cast<uint32_t>(thread));
    while (thread == 4 && writing > 0) {
      ASSERT_OK(filter_->Merge());
      Stats();
    }
    while (thread < 2 && writing > 0) {
      const std::string key = key_of(random() % kStays);
      ASSERT_TRUE(filter_->MayContain(key));
      ASSERT_TRUE(filter_->RangeMayContain(Range(key, key + '\0')));
      std::string bound;
      ASSERT_TRUE(filter_->LowerBound(key, &bound));
      ASSERT_EQ(bound, key);
      ASSERT_GE(filter_->Count(Range("", kEnd)).most, kStays);
    }
    if (thread < 2 || thread == 4) return;
    // Each of the two writers has keys of its own.
    for (int i = 0; i < 30000; i++) {
      const std::string key = key_of(kStays + 2 * (random() % 20000) + thread);
      const bool is_there = [&] {
        const std::lock_guard<std::mutex> lock(mutex_);
        return keys_.count(key) > 0;
      }();
      if (!is_there || random() % 8 == 0) {
        Insert(key);
      } else if (random() % 2 == 0) {
        Delete(key);
      }
    }
    writing--;
  });
  ASSERT_OK(filter_->Merge());
  EXPECT_EQ(Stats().keys_not_found, 0);
  ExpectKeys();
  // Keys that were being changed when a merge looked may stay.
  const DynamicSurfCount count = filter_->Count(Range("", kEnd));
  EXPECT_EQ(count.least, count.most);
  EXPECT_LE(count.most, keys_.size() + Stats().keys_extra);
}

TEST_F(DynamicSurfTest, OverADb) {
  PutOwnFolderInMemory();
  OwnDB own;
  own.OpenNew();
  options_.source = [&own] {
    return std::unique_ptr<Iterator>(own.db_->NewIterator(ReadOptions()));
  };
  Build();
  for (int i = 0; i < 20000; i++) {
    const std::string key = "user " + std::to_string(i * 7919 % 20011);
    own.Put(key);
    ASSERT_OK(filter_->Insert(key));
    if (i % 3 != 0) continue;
    ASSERT_OK(filter_->Delete(key));
    own.Delete(key);
  }
  ASSERT_OK(filter_->Merge());
  const Records stored = AllRecords(own.db_.get());
  for (const auto& [key, value] : stored) ASSERT_TRUE(filter_->MayContain(key));
  EXPECT_EQ(filter_->Count(Range("", kEnd)).least, stored.size());
  EXPECT_EQ(filter_->Count(Range("", kEnd)).most, stored.size());

  const std::string& folder = own.path_;
  const std::string file = folder + "/filter";
  ASSERT_OK(filter_->Insert("not merged"));
  ASSERT_OK(filter_->Save(file));
  const DynamicSurfStatistics saved = Stats();
  ASSERT_OK(DynamicSurf::Load(options_, file, &filter_));
  EXPECT_EQ(Stats().keys_in_surf, saved.keys_in_surf);
  EXPECT_EQ(Stats().keys_in_front, 1);
  EXPECT_TRUE(filter_->MayContain("not merged"));
  EXPECT_EQ(Stats().surf_bytes, saved.surf_bytes);

  EXPECT_TRUE(
      DynamicSurf::Load(options_, folder + "/none", &filter_).IsIOError() ||
      filter_ == nullptr);
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1);
  EXPECT_TRUE(DynamicSurf::Load(options_, file, &filter_).IsCorruption());
  EXPECT_EQ(filter_, nullptr);
  // Nothing but a file is read or written, and no thread waits for a pipe.
  const std::string pipe = folder + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& bad : {folder, pipe, std::string("/dev/zero")}) {
    EXPECT_TRUE(DynamicSurf::Load(options_, bad, &filter_).IsInvalidArgument());
  }
  Build();
  EXPECT_TRUE(filter_->Save(pipe).IsInvalidArgument());
  ASSERT_OK(options_.env->DeleteFile(pipe));
  filter_.reset();
}

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean
