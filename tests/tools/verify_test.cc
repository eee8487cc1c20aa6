// SPDX-License-Identifier: Apache-2.0

//  protean verify: faults, DBs and files that testdata/verify.txt cannot make.

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <functional>

#include "rocksdb/file_system.h"
#include "rocksdb/utilities/object_registry.h"
#include "tests/filter_blocks.h"
#include "tests/sst_damage.h"
#include "tests/tools/tool_db.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

class VerifyTest : public ToolDBTest {
 protected:
  ToolRun Verify(Keys more = {}) {
    more.insert(more.begin(), {"verify", "--db=" + path_, "--json"});
    return RunTool(more);
  }
  // The row of an SST file outside of a DB.
  static Json VerifyFile(const std::string& path, int code) {
    const ToolRun run = RunTool({"verify", path, "--json"});
    EXPECT_EQ(code, run.code) << run.out << run.err;
    EXPECT_EQ(1u, run.Rows().size());
    return run.Rows().at(0);
  }
  // Checks that all `files` files but this one are fine. Returns its row.
  static Json ExpectOnly(const ToolRun& run, const std::string& path,
                         const std::string& status, size_t files = 6) {
    EXPECT_EQ(kFoundSomething, run.code) << run.err;
    EXPECT_EQ(files, run.Rows().size());
    for (const auto& [file, row] : run.FileRows()) {
      EXPECT_EQ(file == NameOf(path) ? status : "ok", row["status"]) << row;
    }
    return run.FileRows()[NameOf(path)];
  }
};

}  // namespace

TEST_F(VerifyTest, FixesOnlyWhatIsWrong) {
  Fill();
  // There will be more files in level 0 than may stay there, so RocksDB would
  // compact them at the next opening; but --fix must not compact them.
  Open();
  ASSERT_OK(db_->PauseBackgroundWork());
  ASSERT_OK(db_->SetOptions(handles_[0],
                            {{"level0_file_num_compaction_trigger", "1"}}));
  ASSERT_OK(db_->Put(WriteOptions(), handles_[1], KeyOf(4), "in the log"));
  Close();
  Family(0).level0_file_num_compaction_trigger = 1;
  const std::vector<std::string> others = Files(kDefaultColumnFamilyName);
  ASSERT_EQ(2u, others.size());
  const std::vector<std::string> before = Files("surf");
  ASSERT_EQ(2u, before.size());
  const std::string options_before = OptionsOnDisk();
  // One file gets the filter of another one, which has another key in the
  // place of one of its own: they differ in the byte of which the filter has a
  // suffix.
  const std::string path = before.back();
  Keys keys;
  for (uint64_t i = 0; i < kKeys; i++) {
    if (i % 3 != 0) keys.push_back(KeyOf(i, i == 1001 ? 1ull << 32 : 0));
  }
  const std::string other = path_ + ".other";
  WriteSstFile(Options(options_, Family(1)), other, keys);
  ChangeFilter(path, /*right_checksum=*/true,
               [&](std::string* bytes) { *bytes = FilterBytes(other); });
  const Json found = ExpectOnly(Verify(), path, "false negatives");
  EXPECT_EQ(1u, found["false_negatives"]);
  EXPECT_EQ(PrintedKey(KeyOf(1001)), found["first_key"]);
  EXPECT_EQ(kKeys / 3 * 2, found["keys"]);
  EXPECT_EQ(FilterHandle(path).offset(), found["offset"]);

  const ToolRun run = Verify({"--fix"}).ExpectFine();
  const auto is_fix = [](const Json& row) { return row.contains("fix"); };
  const std::vector<Json> rows = run.Rows();
  const auto row = std::find_if(rows.begin(), rows.end(), is_fix);
  ASSERT_EQ(1, std::count_if(rows.begin(), rows.end(), is_fix));
  EXPECT_EQ("rewritten", (*row)["fix"]) << *row;
  EXPECT_EQ("surf", (*row)["column_family"]);
  EXPECT_EQ(NameOf(path), (*row)["file"]);
  EXPECT_EQ(options_before, OptionsOnDisk());
  EXPECT_EQ(others, Files(kDefaultColumnFamilyName));
  EXPECT_EQ(kFine, Verify().code);
  for (const Json& fixed : Verify({"--column_family=surf"}).Rows()) {
    EXPECT_TRUE(fixed["level"] == 0 || fixed["level"] == 3) << fixed;
  }
  ExpectAllKeys(1);
  // The application's own opening does compact them.
  Open();
  ASSERT_OK(db_->WaitForCompact(WaitForCompactOptions()));
  Close();
  EXPECT_NE(others, Files(kDefaultColumnFamilyName));
}

TEST_F(VerifyTest, FindsWrongHeaders) {
  Fill();
  const std::string path = Files("surf")[0];
  ChangeFilter(path, /*right_checksum=*/true, [](std::string* bytes) {
    // The number of keys stands in the directory, and with its only part.
    FilterDirectory directory;
    ASSERT_OK(directory.Read(*bytes, bytes->size()));
    std::string of_part;
    PutVarint32(&of_part, 1000);
    const size_t entry = bytes->find(
        of_part,
        static_cast<size_t>(directory.header().largest.data() - bytes->data()));
    ASSERT_LT(entry, directory.parts()[0].first.offset);
    (*bytes)[entry]++;
    EncodeFixed64(&(*bytes)[kNumKeysOffset], 1001);
    *bytes = WithRightChecksums(*bytes);
  });
  EXPECT_EQ("it was built from 1001 keys, the file has 1000",
            ExpectOnly(Verify(), path, "wrong header")["detail"]);
}

TEST_F(VerifyTest, FindsWhatBloomFiltersDeny) {
  constexpr char kBlock[] = "fullfilter.rocksdb.BuiltinBloomFilter";
  Fill();
  const std::string path = Files("bloom")[0];
  ChangeFilter(
      path, /*right_checksum=*/true,
      [](std::string* bytes) {
        // Clears all bytes but the last five, which say how the filter is read.
        std::fill(bytes->begin(), bytes->end() - 5, '\0');
      },
      kBlock);
  const Json row = ExpectOnly(Verify(), path, "false negatives");
  EXPECT_EQ(kKeys / 3, row["false_negatives"]);
  EXPECT_EQ("the key", row["question"]);
  ChangeFilter(
      path, /*right_checksum=*/false,
      [](std::string* bytes) { (*bytes)[7] = 1; }, kBlock);
  ExpectOnly(Verify(), path, "damaged filter");
  EXPECT_EQ(kFine, Verify({"--fix"}).code);
}

// Without a checksum of the footer, RocksDB trusts the size of the index in it.
TEST_F(VerifyTest, SizesThatCannotBe) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers end the process where it cannot get memory";
#endif
  AddFamily("old",
            "table_factory={id=ProteanTable;filter_policy=surf:0:8;"
            "format_version=5}");
  Fill();
  const std::string path = Files("old")[0];
  std::string contents = ContentsOf(path);
  constexpr size_t kHandles = 2 * BlockHandle::kMaxEncodedLength;
  const size_t begin = contents.size() - Footer::kNewVersionsEncodedLength + 1;
  Slice handles(&contents[begin], kHandles);
  BlockHandle meta;
  BlockHandle index;
  ASSERT_OK(meta.DecodeFrom(&handles));
  ASSERT_OK(index.DecodeFrom(&handles));
  std::string damaged;
  meta.EncodeTo(&damaged);
  BlockHandle(index.offset(), uint64_t{1} << 62).EncodeTo(&damaged);
  damaged.resize(kHandles);
  contents.replace(begin, kHandles, damaged);
  ASSERT_OK(WriteStringToFile(Env::Default(), contents, path));

  ExpectOnly(Verify(), path, "damaged", /*files=*/8);
  const ToolRun inspect = RunTool({"inspect", "--db=" + path_});
  EXPECT_EQ(kFoundSomething, inspect.code) << inspect.err;
  ExpectHas(inspect.out, {"the file is damaged"});
}

// A MANIFEST that was copied too early. The last change has replaced all files
// of a column family.
TEST_F(VerifyTest, CutOffManifest) {
  Fill();
  Open();
  ASSERT_OK(
      db_->CompactRange(CompactRangeOptions(), handles_[1], nullptr, nullptr));
  Close();
  const std::string manifest = Manifest();
  const std::string contents = ContentsOf(manifest);
  const auto write = [&](const std::string& changed) {
    ASSERT_OK(WriteStringToFile(Env::Default(), changed, manifest));
  };
  const std::vector<ColumnFamilyDescriptor> only_default = {
      {kDefaultColumnFamilyName, Family(0)}};
  size_t refused = 0;
  for (size_t size = 0; size < contents.size(); size += 1 + size / 16) {
    write(contents.substr(0, size));
    std::unique_ptr<DB> db;
    std::vector<ColumnFamilyHandle*> handles;
    const Status s = OpenReadOnly(&db, options_, path_, only_default, &handles);
    if (s.ok()) {
      EXPECT_OK(db->DestroyColumnFamilyHandle(handles[0]));
      continue;
    }
    // Verify must not call a DB well that RocksDB does not open.
    refused++;
    const ToolRun run = Verify({"--column_family=default"});
    EXPECT_NE(kFine, run.code) << size << s.ToString() << "\n" << run.out;
  }
  EXPECT_GT(refused, 3u);
  refused = 0;
  for (size_t cut = 7; cut < contents.size() / 2; cut += 7) {
    write(contents.substr(0, contents.size() - cut));
    const ToolRun run = Verify({"--column_family=surf"});
    if (run.err.find("none of the files") == std::string::npos) continue;
    refused++;
    run.ExpectRefused({"ends within a record", "restore it from a backup"});
  }
  EXPECT_GT(refused, 0u);
  // Zeros behind the last record are none.
  write(contents + std::string(9, '\0'));
  EXPECT_EQ(kFine, Verify().code);
}

// A folder without write permission is no sign of another process.
TEST_F(VerifyTest, FolderThatCannotBeWritten) {
  Fill();
  DamageFilter(Files("surf")[0], 100, false);
  std::filesystem::permissions(std::filesystem::path(path_).parent_path(),
                               std::filesystem::perms(0755));
  std::filesystem::permissions(path_, std::filesystem::perms(0555));
  const uid_t user = geteuid();
  constexpr uid_t kNobody = 65534;
  const bool other = user == 0 && seteuid(kNobody) == 0;
  const ToolRun fix = Verify({"--fix"});
  const ToolRun refresh =
      RunTool({"refresh", "--db=" + path_, "--without_samples"});
  if (other) {
    ASSERT_EQ(0, seteuid(user));
  }
  std::filesystem::permissions(path_, std::filesystem::perms(0755));
  for (const ToolRun& run : {fix, refresh}) {
    EXPECT_EQ(kCouldNot, run.code);
    ExpectHas(run.err, {"cannot be written", "Permission denied"});
    EXPECT_EQ(std::string::npos, run.err.find("has it open")) << run.err;
  }
}

// ---- What cannot be looked at, and where to look ----

// A file system that lets the DB do something when an SST file is first opened.
class InterveningFileSystem : public FileSystemWrapper {
 public:
  using FileSystemWrapper::FileSystemWrapper;

  static std::function<void()> intervene;

  static const char* kClassName() { return "InterveningFileSystem"; }
  const char* Name() const override { return kClassName(); }

  IOStatus NewRandomAccessFile(const std::string& name,
                               const FileOptions& options,
                               std::unique_ptr<FSRandomAccessFile>* result,
                               IODebugContext* debug) override {
    if (name.find(".sst") != std::string::npos) {
      std::call_once(once_, [] { intervene(); });
    }
    return FileSystemWrapper::NewRandomAccessFile(name, options, result, debug);
  }

 private:
  std::once_flag once_;
};

std::function<void()> InterveningFileSystem::intervene;

// What compaction has taken away is read where it is now.
TEST_F(VerifyTest, SuccessorsOfFilesThatAreGone) {
  ObjectLibrary::Default()->AddFactory<FileSystem>(
      InterveningFileSystem::kClassName(),
      [](const std::string&, std::unique_ptr<FileSystem>* guard, std::string*) {
        guard->reset(new InterveningFileSystem(FileSystem::Default()));
        return guard->get();
      });
  Fill();
  const std::vector<std::string> before = Files("surf");
  Open();
  InterveningFileSystem::intervene = [this] {
    EXPECT_OK(db_->CompactRange(CompactRangeOptions(), handles_[1], nullptr,
                                nullptr));
  };
  const ToolRun run =
      Verify({"--env_uri=InterveningFileSystem", "--column_family=surf"});
  Close();
  EXPECT_EQ(kFine, run.code) << run.out << run.err;
  const std::vector<std::string> after = Files("surf");
  EXPECT_NE(before, after);
  auto rows = run.FileRows();
  for (const std::string& path : before) {
    EXPECT_EQ("gone", rows[NameOf(path)]["status"]);
  }
  uint64_t keys = 0;
  for (const std::string& path : after) {
    EXPECT_EQ("ok", rows[NameOf(path)]["status"]);
    keys += rows[NameOf(path)]["keys"].get<uint64_t>();
  }
  EXPECT_EQ(kKeys, keys);
}

// Every flipped byte is found.
TEST_F(VerifyTest, AnyFlippedByte) {
  Fill();
  for (const char* family : {"default", "surf", "bloom"}) {
    const std::string path = Files(family)[0];
    uint64_t size = 0;
    ASSERT_OK(Env::Default()->GetFileSize(path, &size));
    for (uint64_t where = 0; where < size; where += 97) {
      FlipByte(path, where);
      const ToolRun run = RunTool({"verify", path, "--json"});
      EXPECT_EQ(kFoundSomething, run.code) << family << where << run.err;
      FlipByte(path, where);
    }
  }
}

// A filter for which Get finds every key, but seeks do not.
TEST_F(VerifyTest, AsksForRangesToo) {
  Fill();
  const std::string path = Files("surf")[0];
  const std::string contents = ContentsOf(path);
  for (const bool upper : {false, true}) {
    ChangeFilter(path, /*right_checksum=*/true, [upper](std::string* bytes) {
      // The smallest key, followed by the largest, each behind its length.
      bytes->replace(FilterDirectory::kFixedSize + (upper ? 10 : 1), 8,
                     KeyOf(1500));
      *bytes = WithRightChecksums(*bytes);
    });
    const Json row = ExpectOnly(Verify(), path, "false negatives");
    EXPECT_EQ(upper ? "keys from it on" : "a seek to key-1", row["question"]);
    EXPECT_EQ(PrintedKey(KeyOf(upper ? 1503 : 0)), row["first_key"]);
    EXPECT_EQ(upper ? 499u : 500u, row["false_negatives"]);
    ASSERT_OK(WriteStringToFile(Env::Default(), contents, path));
  }
}

TEST_F(VerifyTest, UnknownComparator) {
  AddFamily("odd", "table_factory={id=ProteanTable;filter_policy=surf:0:8}");
  const OddComparator odd;
  families_.back().options.comparator = &odd;
  Fill();
  const ToolRun run = Verify().ExpectFine();
  EXPECT_EQ(8u, run.Rows().size());
  for (const Json& row : run.Rows()) EXPECT_EQ(0u, row["false_negatives"]);
  // The file alone, without the options of its DB.
  VerifyFile(Files("odd")[0], kFine);
}

// Keys with timestamps, in a file alone and in a column family which strips the
// timestamps from the keys in its files.
TEST_F(VerifyTest, Timestamps) {
  AddFamily("stripped",
            "table_factory={id=ProteanTable;filter_policy=surf:0:8}");
  ColumnFamilyOptions& options = families_.back().options;
  options.comparator = BytewiseComparatorWithU64Ts();
  const std::string path = path_ + ".sst";
  SstFileWriter writer(EnvOptions(), Options(options_, options));
  ASSERT_OK(writer.Open(path));
  options.persist_user_defined_timestamps = false;
  options_.allow_concurrent_memtable_write = false;
  Open();
  for (uint64_t i = 0; i < kKeys; i++) {
    std::string timestamp;
    PutFixed64(&timestamp, i);
    ASSERT_OK(writer.Put(KeyOf(i), timestamp, "value"));
    ASSERT_OK(db_->Put(WriteOptions(), handles_.back(), KeyOf(i), timestamp,
                       "value"));
  }
  ASSERT_OK(writer.Finish());
  ASSERT_OK(db_->Flush(FlushOptions(), handles_.back()));
  Close();
  const ToolRun run = Verify().ExpectFine();
  EXPECT_EQ(kKeys, run.Rows()[0]["keys"]);
  VerifyFile(Files("stripped")[0], kFine);
  EXPECT_EQ(kKeys, VerifyFile(path, kFine)["keys"]);
}

}  // namespace ROCKSDB_NAMESPACE::protean
