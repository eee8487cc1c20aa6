// SPDX-License-Identifier: Apache-2.0

//  Bounds that a thread sets for its seeks, where ReadOptions have none.
//  (Scopes within scopes: c_program.c.)

#include "plugin/search_bounds.h"

#include <unistd.h>

#include <thread>

#include "rocksdb/slice_transform.h"
#include "tests/protean_db.h"

namespace ROCKSDB_NAMESPACE::protean {

class SearchBoundsTest : public OwnDBTest {
 protected:
  ~SearchBoundsTest() override { ClearSearchBounds(); }

  void OpenWith(const std::string& policy) {
    SetPolicy(policy, "block_size=256;no_block_cache=true");
    OpenNew();
    model_.clear();
  }
  void Put(const std::string& key) {
    OwnDB::Put(key, std::string(20, 'v'));
    model_.insert(key);
  }
  void Delete(const std::string& key) {
    OwnDB::Delete(key);
    model_.erase(key);
  }
  void DeleteRange(const std::string& begin, const std::string& end) {
    ASSERT_OK(db_->DeleteRange(WriteOptions(), begin, end));
    model_.erase(model_.lower_bound(begin), model_.lower_bound(end));
  }
  // In files of some blocks each.
  void FlushTo(int level) {
    Flush();
    if (level > 0) CompactLevel0Into(level);
  }
  FilterSeeks Closed() { return FilterStats().total.bounded_seeks; }
  // Does something under these bounds of the thread.
  static void Within(const Slice& lower, const Slice& upper,
                     const std::function<void()>& act) {
    const SearchBoundsScope scope(&lower, &upper);
    act();
  }
  std::unique_ptr<Iterator> NewIterator() {
    return std::unique_ptr<Iterator>(db_->NewIterator(ReadOptions()));
  }

  Random64 random_{1};
  std::set<std::string> model_;
};

// On all levels, in the memtable, under deletions of keys and of ranges, with
// every filter. Turns, and a bound on one side alone: concurrency_test.
TEST_F(SearchBoundsTest, KeysWithinAreFound) {
  for (const char* policy :
       {"surf:0:4", "surf:0:0", "surf:0:0:8", "proteus:12", "proteus:6",
        "prefixbloom:12", "levels:surf:0:4,proteus:10", "nullptr"}) {
    SCOPED_TRACE(policy);
    // The number of versions of a key after which the iterator seeks again.
    options_.max_sequential_skip_in_iterations =
        (options_.max_sequential_skip_in_iterations + 1) % 4;
    OpenWith(policy);
    Random rnd(17);
    const auto any_key = [&] {
      std::string key = BigEndian(uint64_t{rnd.Uniform(40)} << 40 |
                                  rnd.Uniform(4) << 16 | rnd.Uniform(300));
      key.resize(rnd.OneIn(3) ? rnd.Uniform(8) : 8);
      if (rnd.OneIn(5))
        key.append(1 + rnd.Uniform(2), rnd.OneIn(2) ? '\xff' : '\0');
      return key;
    };
    for (const int level : {3, 3, 2, 0, 0, 1, 0, 0, -1}) {
      for (int i = 0; i < 600; i++) {
        if (rnd.OneIn(150)) {
          std::string begin = any_key();
          std::string end = any_key();
          if (end < begin) begin.swap(end);
          if (end.size() > 2 && begin < end) DeleteRange(begin, end);
        } else if (rnd.OneIn(4)) {
          Delete(any_key());
        } else {
          Put(any_key());
        }
      }
      if (level >= 0) FlushTo(level);
    }
    ASSERT_GT(model_.size(), 100u);

    std::unique_ptr<Iterator> it = NewIterator();
    for (int search = 0; search < 3000; search++) {
      std::string lower = any_key();
      std::string upper = rnd.OneIn(2) ? any_key() : lower;
      if (upper < lower) lower.swap(upper);
      if (rnd.OneIn(2)) upper.push_back('\1');
      SCOPED_TRACE(Hex(lower) + ".." + Hex(upper));
      const bool back = rnd.OneIn(2);
      const auto begin = model_.lower_bound(lower);
      const auto end = model_.lower_bound(upper);
      constexpr size_t kMost = 20;
      Keys expected;
      for (auto at = back ? end : begin;
           at != (back ? begin : end) && expected.size() < kMost;) {
        expected.push_back(Hex(back ? *--at : *at++));
      }
      if (rnd.OneIn(3)) it = NewIterator();
      Keys found;
      Within(lower, upper, [&] {
        back ? it->SeekForPrev(upper) : it->Seek(lower);
        if (back && it->Valid() && it->key() == upper) it->Prev();
        while (it->Valid() && found.size() < kMost &&
               it->key().compare(lower) >= 0 && it->key().compare(upper) < 0) {
          found.push_back(Hex(it->key()));
          back ? it->Prev() : it->Next();
        }
      });
      ASSERT_OK(it->status());
      ASSERT_EQ(expected, found);
      // A seek that begins beyond the bounds and leads away from them is not
      // affected, nor is a seek without bounds.
      const std::string target = any_key();
      const bool is_above = target > upper;
      if (!is_above && !rnd.OneIn(4)) continue;
      if (is_above) {
        Within(lower, upper, [&] { it->Seek(target); });
      } else {
        it->Seek(target);
      }
      const auto next = model_.lower_bound(target);
      ASSERT_EQ(next == model_.end() ? "none" : Hex(*next),
                it->Valid() ? Hex(it->key()) : "none");
    }
  }
}

TEST_F(SearchBoundsTest, EmptyRangesAreNotRead) {
  OpenWith("surf:0:8");
  for (const int level : {2, 1, 0, 0}) {
    for (int i = 0; i < 1000; i++) Put(BigEndian(random_.Next()));
    FlushTo(level);
  }
  const uint64_t width = uint64_t{1} << 30;
  int empty = 0;
  uint64_t read = 0;
  uint64_t read_without = 0;
  for (int i = 0; i < 1000; i++) {
    const uint64_t begin = random_.Next() >> 1;
    const std::string lower = BigEndian(begin);
    const std::string upper = BigEndian(begin + width);
    if (model_.lower_bound(lower) != model_.lower_bound(upper)) continue;
    empty++;
    const auto search = [&] {
      const uint64_t before = BlocksRead();
      const std::unique_ptr<Iterator> it = NewIterator();
      i % 2 == 0 ? it->Seek(lower) : it->SeekForPrev(upper);
      EXPECT_OK(it->status());
      return BlocksRead() - before;
    };
    read_without += search();
    Within(lower, upper, [&] { read += search(); });
  }
  ASSERT_GT(empty, 900);
  EXPECT_LT(read, empty / 20);
  EXPECT_GT(read_without, empty);
}

// An iterator that comes to the next file of a level is not affected by bounds
// of another seek, however many iterators there are. (By those of its own
// earlier seek: run_search_test.)
TEST_F(SearchBoundsTest, StepsAreNotSearches) {
  OpenWith("surf:0:8");
  for (int i = 0; i < 1000; i++) Put("k" + std::to_string(10000 + i));
  FlushTo(2);
  ASSERT_GT(NumFiles(), 8u);
  const Slice first("k10000");
  const Slice middle("k10010");
  const Slice end("l");
  std::vector<std::unique_ptr<Iterator>> iterators;
  std::vector<int> found(12);
  for (int i = 0; i < 12; i++) {
    iterators.push_back(NewIterator());
    if (i % 3 == 1) SetSearchBounds(&first, &end);
    if (i % 3 == 2) SetSearchBounds(nullptr, &end);
    i % 2 == 0 ? iterators.back()->Seek(first)
               : iterators.back()->SeekForPrev("k10999");
    ClearSearchBounds();
  }
  // All are stepped under bounds of others, in turns, by another thread.
  std::thread([&] {
    for (bool goes_on = true; goes_on;) {
      goes_on = false;
      for (size_t i = 0; i < iterators.size(); i++) {
        if (!iterators[i]->Valid()) continue;
        goes_on = true;
        found[i]++;
        const Slice below("a");
        i % 2 == 0 ? SetSearchBounds(&first, &middle)
                   : SetSearchBounds(&end, nullptr);
        if (i % 4 == 2) SetSearchBounds(nullptr, &below);
        i % 2 == 0 ? iterators[i]->Next() : iterators[i]->Prev();
      }
    }
  }).join();
  for (size_t i = 0; i < iterators.size(); i++) {
    EXPECT_OK(iterators[i]->status());
    EXPECT_EQ(1000, found[i]) << i;
  }
}

// A backward seek with a lower bound does not go through all files below it,
// whether or not filters can be asked.
TEST_F(SearchBoundsTest, FilesBelowAreNotAllLookedAt) {
  for (const std::string policy : {"surf:0:8", "proteus:12", "nullptr", ""}) {
    SCOPED_TRACE(policy);
    if (policy.empty()) {
      options_.prefix_extractor.reset(NewFixedPrefixTransform(2));
    }
    OpenWith(policy.empty() ? "surf:0:8" : policy);
    for (int i = 0; i < 20000; i++) Put("k" + std::to_string(1000000 + 10 * i));
    FlushTo(2);
    ASSERT_GT(NumFiles(), 100u);
    for (const bool from_last : {false, true}) {
      const FilterSeeks before = Closed();
      const uint64_t read = BlocksRead();
      const Slice lower(from_last ? "l" : "k1199901");
      const Slice upper("k1199905");
      SetSearchBounds(&lower, from_last ? nullptr : &upper);
      // None, or one below the bounds.
      EXPECT_LT(LastIn("", from_last ? Slice() : upper), lower.ToString());
      ClearSearchBounds();
      EXPECT_LE(Closed().negatives - before.negatives, 10u);
      // An index block, and one or two data blocks; or as many for each file.
      EXPECT_LE(BlocksRead() - read,
                policy.empty() || policy == "nullptr" ? 30u : 4u);
    }
  }
}

// Backwards through more files than may be left out, each of which is read and
// has nothing within the bounds.
TEST_F(SearchBoundsTest, ManyFilesAreReadInVain) {
  // The trie has the first two bytes of the keys.
  OpenWith("surf:0:0");
  for (int file = 0; file < 20; file++) {
    for (const char* key : {"k0xxxx", "k1xxxx", "k5xxxx"}) Put(key);
    FlushTo(0);
  }
  ASSERT_EQ(20u, NumFiles());
  std::unique_ptr<Iterator> it = NewIterator();
  Within("k1a", "k1b", [&] { it->SeekForPrev("k1b"); });
  ASSERT_OK(it->status());
  EXPECT_TRUE(!it->Valid() || it->key().compare("k1a") < 0);
  // The iterator may be sought again.
  it->SeekForPrev("k1b");
  ASSERT_TRUE(it->Valid());
  EXPECT_EQ("k0xxxx", it->key().ToString());
  it.reset();  // hands over what it has counted
  EXPECT_EQ(20u, Closed().false_positives);
}

// Filters know only the first bytes of the largest key, if it is long.
TEST_F(SearchBoundsTest, FilesAboveAreNotAllLookedAt) {
  OpenWith("surf:0:8");
  const std::string prefix(100, 'p');
  for (int i = 0; i < 4000; i++) Put(prefix + std::to_string(1000000 + 10 * i));
  FlushTo(2);
  ASSERT_GT(NumFiles(), 50u);
  const FilterSeeks before = Closed();
  const std::string lower = prefix + "1000101";
  Within(lower, prefix + "1000105", [&] { EXPECT_EQ("", FirstFrom(lower)); });
  EXPECT_LE(Closed().negatives - before.negatives, 2u);
}

// Seeks under the thread's bounds count as closed seeks, and teach filters.
TEST_F(SearchBoundsTest, AreClosedSeeks) {
  OpenWith("{id=protean.Proteus;bits_per_key=12;sample_every=1}");
  for (int i = 0; i < 1000; i++) Put(BigEndian(random_.Next()));
  FlushTo(0);
  std::unique_ptr<Iterator> it = NewIterator();
  for (int i = 0; i < 100; i++) {
    const uint64_t begin = random_.Next() >> 1;
    const std::string lower = BigEndian(begin);
    Within(lower, BigEndian(begin + 1000), [&] { it->Seek(lower); });
    EXPECT_FALSE(it->Valid()) << Hex(it->key()) << " " << Hex(lower) << i;
  }
  it.reset();
  const FilterStatistics statistics = FilterStats();
  EXPECT_EQ(100, statistics.total.bounded_seeks.asked());
  EXPECT_GT(statistics.total.bounded_seeks.negatives, 95);
  EXPECT_EQ(0, statistics.total.unbounded_seeks.asked());
  EXPECT_EQ(100, statistics.samples.sampled);
}

// Tailing iterators never come back to a file in which a search has ended.
TEST_F(SearchBoundsTest, TailingIteratorsTakeNoNotice) {
  OpenWith("surf:0:8");
  for (const char* key : {"a", "c", "e"}) {
    Put(key);
    FlushTo(0);
  }
  ReadOptions read_options;
  read_options.tailing = true;
  const std::unique_ptr<Iterator> it(db_->NewIterator(read_options));
  Within("a1", "b", [&] { it->Seek("a1"); });
  for (const auto& [target, next] : Records{{"a2", "c"}, {"d", "e"}}) {
    it->Seek(target);
    ASSERT_TRUE(it->Valid());
    EXPECT_EQ(next, it->key());
  }
}

// Deletions beyond the bounds are not walked over.
TEST_F(SearchBoundsTest, SearchesEndThere) {
  OpenWith("surf:0:8");
  Put("b");
  for (uint64_t i = 0; i < 5000; i++) Put("c" + BigEndian(i));
  FlushTo(0);
  for (uint64_t i = 0; i < 5000; i++) Delete("c" + BigEndian(i));
  Put("d");
  FlushTo(0);
  const std::unique_ptr<Iterator> it = NewIterator();
  const uint64_t skipped = get_perf_context()->internal_delete_skipped_count;
  Within("a", "b\1", [&] {
    it->Seek("a");
    ASSERT_TRUE(it->Valid());
    it->Next();
    EXPECT_FALSE(it->Valid());
  });
  Within("cz", "e", [&] {
    it->SeekForPrev("e");
    ASSERT_TRUE(it->Valid());
    EXPECT_EQ("d", it->key().ToString());
    it->Prev();
    EXPECT_FALSE(it->Valid());
  });
  EXPECT_EQ(skipped, get_perf_context()->internal_delete_skipped_count);
}

// Iterators that write (min_tombstones_for_range_conversion) would write that
// keys are deleted which bounds of the thread hide from them. They are ignored
// in the process from then on, so this is a process of its own. The first DB
// with the option decides.
TEST_F(SearchBoundsTest, WritingIteratorsDeleteNothing) {
  const std::string option = "min_tombstones_for_range_conversion";
  const Options plain = options_;
  if (!AddOptions(option + "=2", &options_).ok()) {
    GTEST_SKIP() << "this RocksDB has no such option";
  }
  const Options converting = options_;
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto read = [&] {
    for (const bool by_set_options : {true, false}) {
      options_ = by_set_options ? plain : converting;
      SetPolicy("surf:0:8");
      OpenNew();
      if (by_set_options) {
        EXPECT_OK(db_->SetOptions({{option, "2"}}));
      }
      WriteFile({"a", "m1", "m3", "m5", "m7", "m9"});
      for (const char* key : {"m1", "m3", "m7", "m9"}) Delete(key);
      const Slice lower("b");
      const Slice upper("c");
      SetSearchBounds(&lower, &upper);
      std::unique_ptr<Iterator> it = NewIterator();
      it->Seek("b");
      EXPECT_TRUE(!it->Valid() || it->key().compare("c") >= 0);
      ClearSearchBounds();
      it.reset();
      EXPECT_TRUE(Has("m5"));
      EXPECT_FALSE(ThreadBounds::AreUsed());
      // A process says it once.
      EXPECT_EQ(by_set_options ? 1u : 0u,
                log_->Lines({"ignores the bounds of threads"}).size());
      log_->Clear();
    }
    _exit(HasFailure() ? 1 : 0);
  };
  EXPECT_EXIT(read(), testing::ExitedWithCode(0), "");
}

// Also on the thread that has set them. (Other threads: concurrency_test.)
TEST_F(SearchBoundsTest, CompactionsSeeEverything) {
  OpenWith("surf:0:8");
  const std::string value(20, 'v');
  for (const Keys& keys : {Keys{"a", "z"}, {"bb"}}) WriteFile(keys, 0, value);
  Within("b", "c", [this] {
    EXPECT_EQ("bb", FirstFrom("b"));
    EXPECT_EQ("", FirstFrom("bc"));
    Compact();
    ASSERT_OK(db_->VerifyChecksum());
  });
  ExpectRecords(db_.get(), {{"a", value}, {"bb", value}, {"z", value}});
}

}  // namespace ROCKSDB_NAMESPACE::protean
