// SPDX-License-Identifier: Apache-2.0

//  The files that queries are kept in, and the store that ties them to the
//  queues of column families.

#include "filter_policy/samples/sample_store.h"

#include <sys/stat.h>
#include <utime.h>

#include <ctime>
#include <filesystem>

#include "filter_policy/samples/query_file.h"
#include "filter_policy/samples/query_queue.h"
#include "tests/protean_db.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

using Queries = std::vector<SampleQuery>;

SampleQuery Point(const std::string& key) { return {key, key, true}; }

class QueryFileTest : public ::testing::Test {
 protected:
  QueryFileTest() {
    std::filesystem::remove_all(dir_);
    std::filesystem::create_directories(dir_);
  }
  ~QueryFileTest() override { std::filesystem::remove_all(dir_); }

  void Write(const std::string& file, const std::string& contents) {
    ASSERT_OK(WriteStringToFile(env_, contents, file));
  }
  // The queries of the file. Its refused lines are kept.
  Queries Read(const std::string& file) {
    Queries queries;
    refused_.clear();
    EXPECT_OK(ReadQueryFile(env_, file, &queries, &refused_));
    return queries;
  }
  Keys Files() {
    Keys children;
    EXPECT_OK(env_->GetChildren(dir_, &children));
    SortUnique(&children);
    return children;
  }

  Env* const env_ = Env::Default();
  const std::string dir_ = test::PerThreadDBPath("query_files");
  const std::string file_ = dir_ + "/queries";
  Keys refused_;
};

// ---- Files of queries ----

TEST_F(QueryFileTest, RoundTrip) {
  std::string all_bytes;
  for (int i = 0; i < 256; i++) all_bytes += static_cast<char>(i);
  const std::string zero(1, '\0');
  const Queries queries = {Point(""),
                           Point(zero),
                           Point("\xff"),
                           Point("#"),
                           Point("0x"),
                           Point("0xzz"),
                           Point("tab\tnewline\nreturn\r"),
                           Point(all_bytes),
                           Point(std::string(100000, 'l')),
                           {"", zero, true},
                           {"", zero, false},
                           {"a\tb", "a\tc\n", true},
                           {"#1", "exclusive", false}};
  for (int time = 0; time < 2; time++) {  // the second one replaces the file
    ASSERT_OK(WriteQueryFile(env_, file_, queries));
    EXPECT_EQ(Keys{"queries"}, Files());
  }
  Queries read;
  for (const size_t times : {1, 2}) {  // the second one appends
    ASSERT_OK(ReadQueryFile(env_, file_, &read, &refused_));
    EXPECT_EQ(times * queries.size(), read.size());
    EXPECT_EQ(queries, Queries(read.end() - queries.size(), read.end()));
  }
  EXPECT_TRUE(refused_.empty());

  ASSERT_OK(WriteQueryFile(
      env_, file_, {Point("k\xff"), {"a", "b", true}, {"", "z", false}}));
  const std::string contents = ContentsOf(file_);
  EXPECT_EQ('#', contents[0]);
  EXPECT_EQ("0x6BFF\n0x61\t0x62\n0x\t0x7A\texclusive\n",
            contents.substr(contents.find('\n') + 1));
}

TEST_F(QueryFileTest, WrittenByHand) {
  Write(file_,
        "# a comment\n\nkey\nlo\tmid\n0x6c6F\t0x7a\n0x61\traw\n"
        "apple\tpear\texclusive\n0x\n\tz\n with blanks \n"
        "same\tsame\nexclusive\n0\nx\ncr\r\nno newline at the end");
  Queries expected = {
      Point("key"),       {"lo", "mid", true},      {"lo", "z", true},
      {"a", "raw", true}, {"apple", "pear", false}, Point(""),
      {"", "z", true}};
  for (const char* point : {" with blanks ", "same", "exclusive", "0", "x",
                            "cr\r", "no newline at the end"}) {
    expected.push_back(Point(point));
  }
  EXPECT_EQ(expected, Read(file_));
  EXPECT_TRUE(refused_.empty());
}

TEST_F(QueryFileTest, MalformedLines) {
  struct Case {
    const char* line;
    const char* message;
  };
  for (const Case& c : {Case{"0x1", "first field that is not hexadecimal"},
                        {"0x0g", "first field that is not hexadecimal"},
                        {"0x61 ", "first field that is not hexadecimal"},
                        {"a\t0xb", "second field that is not hexadecimal"},
                        {"a\tb\tinclusive", "third field that is not"},
                        {"a\tb\t", "third field that is not"},
                        {"a\tb\tEXCLUSIVE", "third field that is not"},
                        {"a\tb\texclusive\t", "more than three fields"},
                        {"a\tb\tc\td", "more than three fields"}}) {
    SCOPED_TRACE(c.line);
    Write(file_, std::string("# comment\ngood\n") + c.line + "\nz\ta\n");
    Queries queries;
    ExpectRefused(ReadQueryFile(env_, file_, &queries, &refused_),
                  {file_ + ", line 3 ", c.message,
                   "allowed: key, lo<TAB>hi, or lo<TAB>hi<TAB>exclusive"});
    EXPECT_TRUE(queries.empty());
  }
}

TEST_F(QueryFileTest, InvertedLinesAreLeftOut) {
  Write(file_, "b\ta\nfirst\na\ta\texclusive\nx\t\na\tb\texclusive\nb\tb\n");
  EXPECT_EQ((Queries{Point("first"), {"a", "b", false}, Point("b")}),
            Read(file_));
  ASSERT_EQ(3u, refused_.size());
  for (const size_t i : {0, 1, 2}) {
    const char* const lines[] = {", line 1 ", ", line 3 ", ", line 4 "};
    ExpectHas(refused_[i], {file_ + lines[i]});
  }
}

TEST_F(QueryFileTest, UnreadableFiles) {
  for (const std::string& file : {dir_ + "/missing", dir_}) {
    Queries queries;
    ExpectRefused(ReadQueryFile(env_, file, &queries, &refused_), {file});
  }
  EXPECT_NOK(WriteQueryFile(env_, dir_ + "/missing/queries", {}));
  EXPECT_TRUE(Files().empty());
}

// Processes that died while they saved.
TEST_F(QueryFileTest, AbandonedFilesAreDeleted) {
  const std::string id = env_->GenerateUniqueId();
  Keys kept = {"queries", "queries." + id + ".old", "queries." + id + "0.tmp",
               "queries.family." + id + ".tmp"};
  SortUnique(&kept);
  for (const std::string& file : kept) Write(dir_ + "/" + file, "0x");
  Write(dir_ + "/queries." + id + ".tmp", "0x");
  ASSERT_OK(WriteQueryFile(env_, file_, {}));
  EXPECT_EQ(5u, Files().size());  // none of them is old
  const time_t old = time(nullptr) - 60 * 60 - 10;
  const utimbuf times = {old, old};
  for (const std::string& file : Files()) {
    ASSERT_EQ(0, utime((dir_ + "/" + file).c_str(), &times));
  }
  ASSERT_OK(WriteQueryFile(env_, file_, {}));
  EXPECT_EQ(kept, Files());
}

// ---- The store ----

class SampleStoreTest : public QueryFileTest {
 protected:
  static constexpr char kDefault[] = "default";

  SampleStoreTest() {
    options_.sample_capacity = 3;
    options_.sample_every = 1;
  }
  std::shared_ptr<SampleStore> NewStore(bool seed = false,
                                        bool save = false) const {
    SampleStoreOptions options = options_;
    if (seed) options.seed_file = seeds_;
    if (save) options.samples_file = file_;
    return std::make_shared<SampleStore>(options);
  }
  using Store = std::shared_ptr<SampleStore>;
  std::shared_ptr<QueryQueue> Open(const Store& store,
                                   const std::string& name = kDefault) {
    return store->Open(name, env_, nullptr);
  }
  // Opens a queue for one point.
  void Record(const Store& store, const std::string& key,
              const std::string& name = kDefault) {
    Open(store, name)->Record(key, key, true);
  }
  Queries Held(const Store& store, const std::string& name = kDefault) {
    return store->Queue(name, env_, nullptr)->Snapshot();
  }
  Queries Saved(const std::string& name = kDefault) {
    return Held(NewStore(false, true), name);
  }

  const std::string seeds_ = dir_ + "/seeds";
  SampleStoreOptions options_;
  const Queries kSaved = {{"a", "b", true}, Point("key"), {"", "z", false}};
};

TEST_F(SampleStoreTest, SavedAfterLastSession) {
  const auto store = NewStore(false, true);
  ASSERT_OK(store->Validate(env_));
  auto first = Open(store);
  auto second = Open(store);
  EXPECT_EQ(first, second);
  EXPECT_EQ(3u, first->capacity());
  EXPECT_EQ(1u, first->sample_every());
  first->Record("a", "b", false);
  first.reset();
  EXPECT_TRUE(Files().empty());
  second->Record("c", "c", true);
  second.reset();
  EXPECT_EQ(Keys{"queries"}, Files());
  const Queries expected = {{"a", "b", false}, Point("c")};
  // The file is read by the same store, by another one, and with less room.
  EXPECT_EQ(expected, Held(store));
  EXPECT_EQ(expected, Saved());
  options_.sample_capacity = 1;
  EXPECT_EQ(Queries{Point("c")}, Saved());
  // A session outlives its owner.
  first = Open(NewStore(false, true));
  first->Record("d", "d", true);
  first.reset();
  EXPECT_EQ(Queries{Point("d")}, Saved());
}

TEST_F(SampleStoreTest, NothingNewIsNotSaved) {
  Write(seeds_, "s\n");
  const auto store = NewStore(true, true);
  Open(store).reset();
  ASSERT_OK(store->Save(kDefault, env_));
  EXPECT_EQ(Keys{"seeds"}, Files());
}

// Such as an instance of the same DB that only reads.
TEST_F(SampleStoreTest, OthersSaveToo) {
  const auto first = NewStore(false, true);
  Record(first, "old");
  const auto second = NewStore(false, true);
  auto session = Open(first);
  auto other = Open(second);
  session->Record("a", "a", true);
  session.reset();
  other->Record("b", "b", true);
  ASSERT_OK(second->Save(kDefault, env_));
  EXPECT_EQ((Queries{Point("old"), Point("a"), Point("b")}), Saved());
  // The queue has three places.
  other->Record("c", "c", true);
  Record(first, "d");
  other.reset();
  EXPECT_EQ((Queries{Point("b"), Point("d"), Point("c")}), Saved());
}

TEST_F(SampleStoreTest, SeededUnlessRestored) {
  Write(seeds_, "s1\ns2\ns3\ns4\nz\ta\n");
  const Queries last = {Point("s2"), Point("s3"), Point("s4")};
  {
    const auto store = NewStore(true, true);
    ASSERT_OK(store->Validate(env_));
    EXPECT_EQ(last, Held(store));
    // Read once, and used for each column family.
    ASSERT_OK(env_->DeleteFile(seeds_));
    EXPECT_EQ(last, Held(store, "other"));
    Record(store, "k");
  }
  Write(seeds_, "s5\n");
  const Queries saved = {Point("s3"), Point("s4"), Point("k")};
  EXPECT_EQ(saved, Held(NewStore(true, true)));
  EXPECT_EQ(Queries{Point("s5")}, Held(NewStore(true, true), "other"));
  EXPECT_EQ(Queries{Point("s5")}, Held(NewStore(true, false)));
}

TEST_F(SampleStoreTest, FilesOfColumnFamilies) {
  const auto store = NewStore(false, true);
  const std::string odd("a/b.\0%", 6);
  std::string long_name;
  for (int i = 0; i < 26; i++) long_name += "\xe4\xb8\xad";
  const Keys names = {kDefault, "Cf1", odd, long_name, long_name + "!"};
  for (const std::string& name : names) {
    Record(store, name, name);
  }
  const Keys files = Files();
  ASSERT_EQ(5u, files.size());
  EXPECT_EQ("queries", files[0]);
  for (const std::string& file : {files[1], files[2]}) {
    EXPECT_EQ(strlen("queries.") + SampleStore::kMaxNameBytes, file.size());
    EXPECT_EQ(0u, file.find("queries.%E4%B8%AD")) << file;
  }
  EXPECT_EQ("queries.Cf1", files[3]);
  EXPECT_EQ("queries.a%2Fb%2E%00%25", files[4]);
  for (const std::string& name : names) {
    EXPECT_EQ(Queries{Point(name)}, Saved(name));
  }
}

// A DB opens whatever has become of its files, with good seeds of the options.
TEST_F(SampleStoreTest, UnusableSeedFilesAreLogged) {
  options_.seed_file = seeds_;
  for (const char* seeds : {"", "a-b,0x63,0x64-0x65-exclusive"}) {
    options_.seeds = seeds;
    const Queries expected =
        *seeds == '\0'
            ? Queries()
            : Queries{{"a", "b", true}, Point("c"), {"d", "e", false}};
    for (const char* contents : {"", "good\n0x0\n"}) {
      if (*contents != '\0') Write(seeds_, contents);
      const auto store = NewStore();
      ASSERT_OK(store->Validate(env_));
      // There may be no logger at first.
      EXPECT_EQ(expected, Held(store));
      const auto log = std::make_shared<RecordingLogger>();
      for (const char* family : {"a", "b"}) {
        EXPECT_EQ(expected, store->Queue(family, env_, log.get())->Snapshot());
      }
      EXPECT_EQ(1u,
                log->Lines({"the DB does without its seed_file: ", seeds_,
                            *contents == '\0' ? "cannot be read" : "line 2"})
                    .size());
    }
    ASSERT_OK(env_->DeleteFile(seeds_));
  }
}

TEST_F(SampleStoreTest, SeedsOfOptions) {
  Queries queries;
  for (int i = 0; i < 30000; i++) {
    const std::string key = "key" + std::to_string(i);
    const bool is_point = i % 2 == 0;
    queries.push_back(
        {key, key + (is_point ? "" : "z"), is_point || i % 3 != 1});
  }
  const auto parsed = [](const std::string& text) {
    Queries read;
    EXPECT_OK(ParseSeeds(text, &read));
    return read;
  };
  EXPECT_EQ(Queries(), parsed(SeedsText({})));
  const Queries few(queries.begin(), queries.begin() + 100);
  EXPECT_EQ(few, parsed(SeedsText(few)));
  // A part of many.
  const Queries part = parsed(SeedsText(queries));
  EXPECT_EQ(kMaxSeeds, part.size());
  EXPECT_GT(part.back().lo, "key29");
  for (SampleQuery& query : queries) query.lo.insert(0, 1000, 'x');
  const std::string text = SeedsText(queries);
  EXPECT_LE(text.size(), kMaxSeedBytes);
  EXPECT_GT(text.size(), kMaxSeedBytes / 2);
  // What RocksDB cannot write into an OPTIONS file as it is.
  EXPECT_EQ(std::string::npos, text.find_first_of(";:{}#\\\n\t "));

  for (const char* bad :
       {"0x0", "a,b-0xc", "a-b-c", "a-b-exclusive-", "0x61,key", "0x61\\n"}) {
    options_.seeds = bad;
    const auto store = NewStore();
    SCOPED_TRACE(bad);
    ExpectRefused(store->Validate(env_), {"Invalid argument: seeds"});
    EXPECT_TRUE(Held(store).empty());
  }
}

// A device would never end, or be replaced by a file, and a pipe would block.
TEST_F(SampleStoreTest, DevicesAndPipesAreRefused) {
  ASSERT_EQ(0, mkfifo(file_.c_str(), 0600));
  for (const std::string& file : {std::string("/dev/zero"), file_}) {
    for (const bool seed : {false, true}) {
      options_.seed_file = seed ? file : "";
      options_.samples_file = seed ? "" : file;
      const auto store = NewStore();
      ExpectRefused(store->Validate(env_),
                    {(seed ? "seed_file=" : "samples_file=") + file});
      // What becomes one later is neither read nor written.
      EXPECT_TRUE(Held(store).empty());
      Record(store, "k");
      EXPECT_EQ(Queries{Point("k")}, Held(store));
    }
  }
}

// Bad files keep no DB from opening. A store may be opened that was not
// validated.
TEST_F(SampleStoreTest, BadFilesAreLeftAlone) {
  const auto log = std::make_shared<RecordingLogger>();
  Write(seeds_, "s\n");
  Write(file_, "0x0\n");
  for (const bool is_folder : {false, true}) {
    const auto store = NewStore(true, true);
    if (is_folder) {
      EXPECT_EQ("0x0\n", ContentsOf(file_));
      ASSERT_OK(env_->DeleteFile(file_));
      ASSERT_OK(env_->CreateDir(file_));
      ASSERT_OK(store->Validate(env_));
    }
    store->Open(kDefault, env_, log.get())->Record("k", "k", true);
    EXPECT_EQ((Queries{Point("s"), Point("k")}), Held(store));
  }
  EXPECT_EQ(2u, log->Lines({"samples are not restored", file_}).size());
}

TEST_F(SampleStoreTest, FailingSaveKeepsTheQueue) {
  options_.samples_file = dir_ + "/missing/queries";
  const auto store = NewStore();
  EXPECT_TRUE(store->Validate(env_).IsInvalidArgument());
  ASSERT_OK(env_->CreateDir(dir_ + "/missing"));
  ASSERT_OK(store->Validate(env_));
  // The folder goes while the DB is open.
  ASSERT_OK(env_->DeleteDir(dir_ + "/missing"));
  Record(store, "k");
  EXPECT_NOK(store->Save(kDefault, env_));
  EXPECT_EQ(Queries{Point("k")}, Held(store));
  ASSERT_OK(env_->CreateDir(dir_ + "/missing"));
  EXPECT_OK(store->Save(kDefault, env_));
}

// A saved file may end anywhere: whole lines are restored, and saved again.
// Where its bytes are others, what is left is restored.
TEST_F(SampleStoreTest, TornAndDamagedFiles) {
  ASSERT_OK(WriteQueryFile(env_, file_, kSaved));
  const std::string contents = ContentsOf(file_);
  const auto held_of = [&](const std::string& damaged, Store* store) {
    Write(file_, damaged);
    *store = NewStore(false, true);
    EXPECT_OK((*store)->Validate(env_));
    return Held(*store);
  };
  Store store;
  for (size_t size = 0; size <= contents.size(); size++) {
    SCOPED_TRACE(size);
    const auto lines = static_cast<size_t>(
        std::count(contents.begin(), contents.begin() + size, '\n'));
    const size_t whole = lines == 0 ? 0 : lines - 1;  // the first is a comment
    EXPECT_EQ(Queries(kSaved.begin(), kSaved.begin() + whole),
              held_of(contents.substr(0, size), &store));
    Record(store, "new");
    const Queries saved = Read(file_);
    EXPECT_EQ(std::min(whole + 1, size_t{3}), saved.size());
    EXPECT_EQ(Point("new"), saved.back());
  }
  for (const char flip : {'\x15', '\x80'}) {
    for (size_t width : {1, 40}) {
      for (size_t begin = 0; begin + width <= contents.size(); begin++) {
        SCOPED_TRACE(std::to_string(begin) + ", " + std::to_string(width));
        std::string damaged = contents;
        for (size_t i = 0; i < width; i++) damaged[begin + i] ^= flip;
        const size_t held = held_of(damaged, &store).size();
        EXPECT_GE(held, width == 1 ? kSaved.size() - 2 : 0);
      }
    }
  }
}

// Column families come and go: what those leave behind has a bound.
TEST_F(SampleStoreTest, IdleQueuesAreForgotten) {
  options_.sample_capacity = 10;
  const auto store = NewStore();
  const auto used = Open(store, "in use");
  used->Record("a", "a", true);
  for (int i = 0; i < 1200; i++) Record(store, "a", std::to_string(i));
  EXPECT_EQ(1u, Held(store, "in use").size());
  EXPECT_EQ(1u, Held(store, "1170").size());
  EXPECT_EQ(0u, Held(store, "0").size());
  EXPECT_TRUE(Files().empty());
}

// What they hold has a bound, too: the latest queries of each.
TEST_F(SampleStoreTest, IdleQueuesShareThePoolOfTheProcess) {
  constexpr size_t kPool = 64 << 10;
  KeptMemory::SetMaxOfProcess(kPool);
  options_.sample_capacity = SampleStoreOptions().sample_capacity;
  const auto store = NewStore();
  for (int i = 0; i < 30; i++) {
    const auto session = Open(store, std::to_string(i));
    for (int query = 0; query < 1000; query++) {
      session->Record(std::to_string(query), std::to_string(query), true);
    }
    EXPECT_LE(KeptMemory::UsageOf(nullptr).bytes, kPool);
  }
  for (int i = 0; i < 30; i++) {
    const Queries queries = Held(store, std::to_string(i));
    ASSERT_GE(queries.size(), kPool / 30 / 100) << i;
    EXPECT_EQ(Point("999"), queries.back()) << i;
  }
  KeptMemory::SetMaxOfProcess(KeptMemory::kMaxOfProcess);
}

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean
