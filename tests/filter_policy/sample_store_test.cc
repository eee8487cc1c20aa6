// SPDX-License-Identifier: Apache-2.0

//  Files that are read and replaced, whatever their names stand for, and
//  whatever goes wrong; the files that queries are kept in; and the store that
//  ties them to the queues of column families.

#include "filter_policy/samples/sample_store.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utime.h>

#include <csignal>
#include <cstdlib>
#include <ctime>
#include <filesystem>

#include "filter_policy/samples/files.h"
#include "filter_policy/samples/query_file.h"
#include "filter_policy/samples/query_queue.h"
#include "tests/protean_db.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

class ReplaceFileTest : public ::testing::Test {
 protected:
  ReplaceFileTest() {
    std::filesystem::remove_all(dir_);
    std::filesystem::create_directories(dir_);
  }
  ~ReplaceFileTest() override { std::filesystem::remove_all(dir_); }

  void Write(const std::string& file, const std::string& contents) {
    ASSERT_OK(WriteStringToFile(env_, contents, file));
  }
  Keys Files() {
    Keys children;
    EXPECT_OK(env_->GetChildren(dir_, &children));
    SortUnique(&children);
    return children;
  }
  static mode_t ModeOf(const std::string& file) {
    struct stat found = {};
    EXPECT_EQ(0, lstat(file.c_str(), &found)) << file;
    return found.st_mode;
  }

  Env* const env_ = Env::Default();
  const std::string dir_ = test::PerThreadDBPath("query_files");
  const std::string file_ = dir_ + "/queries";
};

// ---- Files that are read and replaced ----

TEST_F(ReplaceFileTest, NewAndOld) {
  ASSERT_OK(ReplaceFile(env_, file_, "old"));
  EXPECT_EQ("old", ContentsOf(file_));
  EXPECT_EQ(mode_t{0600}, ModeOf(file_) & 07777);
  for (const mode_t mode : {0600, 0640, 0444}) {
    ASSERT_EQ(0, chmod(file_.c_str(), mode));
    ASSERT_OK(ReplaceFile(env_, file_, "new"));
    EXPECT_EQ("new", ContentsOf(file_));
    EXPECT_EQ(S_IFREG | mode, ModeOf(file_));
  }
  EXPECT_EQ(Keys{"queries"}, Files());
}

TEST_F(ReplaceFileTest, LinksStay) {
  const std::string absolute = dir_ + "/absolute";
  const std::string relative = dir_ + "/relative";
  ASSERT_EQ(0, symlink(file_.c_str(), absolute.c_str()));
  ASSERT_EQ(0, symlink("absolute", relative.c_str()));
  // At first, they lead nowhere.
  for (const std::string& link : {relative, absolute}) {
    ASSERT_OK(CheckNoDevice(env_, link));
    ASSERT_OK(ReplaceFile(env_, link, link));
    EXPECT_EQ(link, ContentsOf(file_));
    EXPECT_TRUE(S_ISLNK(ModeOf(link)));
    EXPECT_TRUE(S_ISREG(ModeOf(file_)));
  }
  EXPECT_EQ(3u, Files().size());
}

// The disk is full.
TEST_F(ReplaceFileTest, OldContentsStay) {
  ASSERT_OK(ReplaceFile(env_, file_, "old"));
  struct rlimit before = {};
  ASSERT_EQ(0, getrlimit(RLIMIT_FSIZE, &before));
  struct rlimit small = before;
  small.rlim_cur = 100;
  const auto handler = signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(0, setrlimit(RLIMIT_FSIZE, &small));
  const Status s = ReplaceFile(env_, file_, std::string(1000, 'x'));
  ASSERT_EQ(0, setrlimit(RLIMIT_FSIZE, &before));
  signal(SIGXFSZ, handler);
  EXPECT_TRUE(s.IsIOError()) << s.ToString();
  EXPECT_EQ("old", ContentsOf(file_));
  EXPECT_EQ(Keys{"queries"}, Files());
}

TEST_F(ReplaceFileTest, OutputGoesToPipesAndTerminals) {
  ASSERT_EQ(0, mkfifo(file_.c_str(), 0600));
  EXPECT_TRUE(CheckNoDevice(env_, file_).IsInvalidArgument());
  EXPECT_TRUE(ReplaceFile(env_, file_, "refused").IsInvalidArgument());
  std::string read;
  std::thread reader([&] { read = ContentsOf(file_); });
  EXPECT_OK(WriteOutput(env_, file_, "through the pipe"));
  reader.join();
  EXPECT_EQ("through the pipe", read);
  EXPECT_TRUE(S_ISFIFO(ModeOf(file_)));
  EXPECT_EQ(Keys{"queries"}, Files());

  const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal < 0) GTEST_SKIP() << "this machine has no pseudoterminals";
  ASSERT_EQ(0, grantpt(terminal));
  ASSERT_EQ(0, unlockpt(terminal));
  const std::string device = ptsname(terminal);
  // Else what was written is gone when it is closed.
  const int open_device = open(device.c_str(), O_RDWR | O_NOCTTY);
  ASSERT_GE(open_device, 0);
  EXPECT_TRUE(CheckNoDevice(env_, device).IsInvalidArgument());
  EXPECT_TRUE(ReplaceFile(env_, device, "refused").IsInvalidArgument());
  EXPECT_OK(WriteOutput(env_, device, "to the device"));
  char text[100];
  const ssize_t size = ::read(terminal, text, sizeof(text));
  ASSERT_GT(size, 0);
  EXPECT_EQ("to the device", Slice(text, static_cast<size_t>(size)));
  EXPECT_TRUE(S_ISCHR(ModeOf(device)));
  close(open_device);
  close(terminal);
}

// Only a plain file of that name is replaced, and by a new one.
TEST_F(ReplaceFileTest, NewFilesReplacePlainOnesAlone) {
  const std::string other = dir_ + "/other";
  Write(other, "untouched");
  ASSERT_EQ(0, chmod(other.c_str(), 0640));
  ASSERT_EQ(0, symlink(other.c_str(), file_.c_str()));
  EXPECT_TRUE(WriteNewFile(env_, file_, "new").IsInvalidArgument());
  EXPECT_EQ("untouched", ContentsOf(other));
  EXPECT_EQ(S_IFREG | mode_t{0640}, ModeOf(other));
  ASSERT_OK(env_->DeleteFile(file_));
  ASSERT_EQ(0, mkfifo(file_.c_str(), 0600));
  EXPECT_TRUE(WriteNewFile(env_, file_, "new").IsInvalidArgument());
  ASSERT_OK(env_->DeleteFile(file_));
  ASSERT_OK(env_->CreateDirIfMissing(file_));
  EXPECT_TRUE(WriteNewFile(env_, file_, "new").IsInvalidArgument());
  const Status s = ReplaceFile(env_, file_, "contents");
  EXPECT_TRUE(s.IsIOError()) << s.ToString();
  ASSERT_OK(env_->DeleteDir(file_));
  EXPECT_EQ(Keys{"other"}, Files());

  for (const mode_t before : {0, 0666}) {
    if (before > 0) {
      ASSERT_EQ(0, chmod(file_.c_str(), before));
    }
    ASSERT_OK(WriteNewFile(env_, file_, "new"));
    EXPECT_EQ("new", ContentsOf(file_));
    EXPECT_EQ(S_IFREG | mode_t{0600}, ModeOf(file_));
  }
  EXPECT_EQ(2u, Files().size());
}

// No reader waits. The Env of a DB may wrap the operating system's.
TEST_F(ReplaceFileTest, OnlyPlainFilesAreRead) {
  constexpr uint64_t kMost = 1000;
  class Wrapped : public EnvWrapper {
   public:
    using EnvWrapper::EnvWrapper;
    const char* Name() const override { return "Wrapped"; }
  } wrapped(env_);
  std::string contents = "before";
  for (Env* const env : {env_, static_cast<Env*>(&wrapped)}) {
    const auto read = [&](const std::string& file) {
      return ReadPlainFile(env, file, kMost, &contents);
    };
    EXPECT_TRUE(read(file_).IsNotFound() || read(file_).IsPathNotFound());
    EXPECT_TRUE(contents.empty());
    for (const size_t size : {size_t{0}, size_t{7}, size_t{kMost}}) {
      Write(file_, std::string(size, 'x'));
      EXPECT_OK(read(file_));
      EXPECT_EQ(std::string(size, 'x'), contents);
    }
    const std::string link = dir_ + "/link";
    ASSERT_EQ(0, symlink(file_.c_str(), link.c_str()));
    EXPECT_OK(read(link));
    EXPECT_EQ(kMost, contents.size());
    ASSERT_OK(env_->DeleteFile(link));
    Write(file_, std::string(kMost + 1, 'x'));
    EXPECT_TRUE(read(file_).IsInvalidArgument());
    ASSERT_OK(env_->DeleteFile(file_));

    ASSERT_EQ(0, symlink("/dev/zero", link.c_str()));
    ASSERT_EQ(0, mkfifo(file_.c_str(), 0600));
    for (const std::string& file : {std::string("/dev/zero"), link, file_}) {
      const Status s = read(file);
      EXPECT_TRUE(env == env_ ? s.IsInvalidArgument() : s.ok()) << file;
      EXPECT_TRUE(contents.empty());
    }
    EXPECT_FALSE(read(dir_).ok());
    EXPECT_EQ(env == env_, read(dir_).IsInvalidArgument());
    ASSERT_OK(env_->DeleteFile(link));
    ASSERT_OK(env_->DeleteFile(file_));
  }
}

// ---- Files of queries ----

class QueryFileTest : public ReplaceFileTest {
 protected:
  // The queries of the file. Its refused lines are kept.
  Queries Read(const std::string& file) {
    Queries queries;
    refused_.clear();
    EXPECT_OK(ReadQueryFile(env_, file, &queries, &refused_));
    return queries;
  }

  Keys refused_;
};

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
  for (const auto& [line, message] :
       {std::pair{"0x1", "first field that is not hexadecimal"},
        {"0x0g", "first field that is not hexadecimal"},
        {"0x61 ", "first field that is not hexadecimal"},
        {"a\t0xb", "second field that is not hexadecimal"},
        {"a\tb\tinclusive", "third field that is not"},
        {"a\tb\t", "third field that is not"},
        {"a\tb\tEXCLUSIVE", "third field that is not"},
        {"a\tb\texclusive\t", "more than three fields"},
        {"a\tb\tc\td", "more than three fields"}}) {
    SCOPED_TRACE(line);
    Write(file_, std::string("# comment\ngood\n") + line + "\nz\ta\n");
    Queries queries;
    ExpectRefused(ReadQueryFile(env_, file_, &queries, &refused_),
                  {file_ + ", line 3 ", message,
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
  for (const std::string& name : names) Record(store, name, name);
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

// A DB opens with bad ones. A store may be opened that was not validated.
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

// Whole lines, or what is left of them, are restored, and saved again.
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
