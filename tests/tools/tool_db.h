// SPDX-License-Identifier: Apache-2.0

//  Runs commands of protean as main() does, and makes a DB for them: two column
//  families under ProteanTable, with Proteus and with SuRF, and one with
//  RocksDB's Bloom filter. Each has files in two levels.

#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "file/filename.h"
#include "filter_policy/samples/query_queue.h"
#include "rocksdb/convenience.h"
#include "rocksdb/db.h"
#include "table/rocksdb_internals/versions.h"
#include "test_util/testharness.h"
#include "tests/key_families.h"
#include "tools/command.h"
#include "tools/manifest.h"
#include "tools/output.h"

namespace ROCKSDB_NAMESPACE::protean {

struct ToolRun {
  int code = 0;
  std::string out;
  std::string err;

  // The rows in the output of --json.
  std::vector<Json> Rows() const {
    std::vector<Json> rows;
    std::istringstream lines(out);
    for (std::string line; std::getline(lines, line);) {
      rows.push_back(Json::parse(line));
    }
    return rows;
  }
  // Checks that the command failed, with one line on stderr that has these
  // words.
  void ExpectRefused(const std::vector<std::string>& words) const {
    EXPECT_EQ(kCouldNot, code) << err;
    EXPECT_EQ(1, std::count(err.begin(), err.end(), '\n')) << err;
    for (const std::string& word : words) {
      EXPECT_NE(std::string::npos, err.find(word)) << word << ": " << err;
    }
  }
};

inline ToolRun RunTool(const std::vector<std::string>& arguments) {
  std::ostringstream out;
  std::ostringstream err;
  ToolRun run;
  run.code = ProteanMain(arguments, out, err);
  run.out = out.str();
  run.err = err.str();
  return run;
}

class ToolDBTest : public testing::Test {
 protected:
  static constexpr uint64_t kKeys = 3000;

  explicit ToolDBTest(const std::string& name)
      : path_(test::PerThreadDBPath(name)) {
    options_.create_if_missing = true;
    options_.create_missing_column_families = true;
    AddFamily(kDefaultColumnFamilyName,
              "table_factory={id=ProteanTable;filter_policy={id=protean."
              "Proteus;samples_file=" +
                  path_ + ".samples}}");
    AddFamily("surf", "table_factory={id=ProteanTable;filter_policy=surf:0:8}");
    AddFamily(
        "bloom",
        "table_factory={id=BlockBasedTable;filter_policy=bloomfilter:10}");
    EXPECT_OK(DestroyDB(path_, Options()));
  }
  ~ToolDBTest() override {
    Close();
    EXPECT_OK(
        DestroyDB(path_, Options(options_, families_[0].options), families_));
    std::vector<std::string> files;
    const std::string parent = path_.substr(0, path_.rfind('/'));
    EXPECT_OK(Env::Default()->GetChildren(parent, &files));
    for (const std::string& file : files) {
      const std::string full = parent + "/" + file;
      if (full.compare(0, path_.size() + 1, path_ + ".") == 0) {
        EXPECT_OK(Env::Default()->DeleteFile(full));
      }
    }
  }

  void AddFamily(const std::string& name, const std::string& options) {
    ColumnFamilyOptions family;
    EXPECT_OK(GetColumnFamilyOptionsFromString(ConfigOptions(),
                                               ColumnFamilyOptions(),
                                               "num_levels=4;compression="
                                               "kNoCompression;" +
                                                   options,
                                               &family));
    families_.emplace_back(name, family);
  }
  ColumnFamilyOptions& Family(size_t i) { return families_[i].options; }

  void Open() {
    ASSERT_OK(OpenDB(&db_, options_, path_, families_, &handles_));
  }
  void Close() {
    for (ColumnFamilyHandle* handle : handles_) {
      EXPECT_OK(db_->DestroyColumnFamilyHandle(handle));
    }
    handles_.clear();
    db_.reset();
  }

  // The key with number i, or the string `behind` places behind it.
  static std::string KeyOf(uint64_t i, uint64_t behind = 0) {
    return BigEndian(i * 0x10001000100 + behind);
  }

  // Writes a third of the keys to level 0, or the others to level 3.
  void WriteRun(ColumnFamilyHandle* handle, bool upper) {
    for (uint64_t i = 0; i < kKeys; i++) {
      if ((i % 3 == 0) != upper) continue;
      ASSERT_OK(db_->Put(WriteOptions(), handle, KeyOf(i), "a value"));
    }
    ASSERT_OK(db_->Flush(FlushOptions(), handle));
    if (upper) return;
    CompactRangeOptions down;
    down.change_level = true;
    down.target_level = 3;
    ASSERT_OK(db_->CompactRange(down, handle, nullptr, nullptr));
  }

  // Writes a third of the keys to level 0, the others to level 3, and closes
  // the DB.
  void Fill() {
    Open();
    for (ColumnFamilyHandle* handle : handles_) {
      for (const bool upper : {false, true}) {
        ASSERT_NO_FATAL_FAILURE(WriteRun(handle, upper));
      }
    }
    Close();
  }

  // Fills the DB, the first column family with filters of SuRF-Base. New files
  // of it get filters of Proteus.
  void FillWithSurfBase() {
    const auto proteus = Family(0).table_factory;
    ColumnFamilyOptions surf;
    ASSERT_OK(GetColumnFamilyOptionsFromString(
        ConfigOptions(), ColumnFamilyOptions(),
        "table_factory={id=ProteanTable;filter_policy=surf:0:0}", &surf));
    Family(0).table_factory = surf.table_factory;
    Fill();
    Family(0).table_factory = proteus;
  }
  // Queries right above keys, for which SuRF-Base is useless.
  static std::vector<SampleQuery> QueriesAboveKeys() {
    std::vector<SampleQuery> queries;
    for (uint64_t i = 0; i < kKeys - 1; i++) {
      queries.push_back({KeyOf(i, 0x41), KeyOf(i, 0x4e), true});
    }
    return queries;
  }

  // The DB gets an Env that encrypts, which kEncryptingEnv makes, too.
  static constexpr char kEncryptingEnv[] =
      "{id=EncryptedFileSystem;provider={id=CTR;cipher=ROT13:32}}";
  void Encrypt() {
    ConfigOptions strict;
    strict.ignore_unsupported_options = false;
    Env* env = Env::Default();
    ASSERT_OK(Env::CreateFromUri(strict, "", kEncryptingEnv, &env, &env_));
    options_.env = env;
  }

  // The paths of a column family's files, lowest level first.
  std::vector<std::string> Files(const std::string& family) const {
    std::vector<ManifestFamily> families;
    EXPECT_OK(ReadManifest(Env::Default(), path_, &families));
    std::vector<std::string> paths;
    for (const ManifestFamily& entry : families) {
      if (entry.name != family) continue;
      for (const ManifestFile& file : entry.files) {
        paths.push_back(MakeTableFileName(path_, file.number));
      }
    }
    return paths;
  }
  static std::string NameOf(const std::string& path) {
    return path.substr(path.rfind('/') + 1);
  }

  // Names and contents of the DB's files, except for the lock.
  std::map<std::string, std::string> Disk() const {
    std::map<std::string, std::string> contents;
    std::vector<std::string> names;
    EXPECT_OK(Env::Default()->GetChildren(path_, &names));
    for (const std::string& name : names) {
      if (name == "LOCK") continue;
      EXPECT_OK(ReadFileToString(Env::Default(), path_ + "/" + name,
                                 &contents[name]));
    }
    return contents;
  }
  // The latest OPTIONS file without its version.
  std::string OptionsOnDisk() const {
    std::string text;
    uint64_t latest = 0;
    for (const auto& [name, contents] : Disk()) {
      if (name.compare(0, 8, "OPTIONS-") != 0) continue;
      const uint64_t number = std::stoull(name.substr(8));
      if (number < latest) continue;
      latest = number;
      text = contents.substr(contents.find("[DBOptions]"));
    }
    return text;
  }
  // Checks that all keys of a column family can be read.
  void ExpectAllKeys(size_t family) {
    Open();
    for (uint64_t i = 0; i < kKeys; i++) {
      std::string value;
      ASSERT_OK(db_->Get(ReadOptions(), handles_[family], KeyOf(i), &value))
          << i;
    }
    Close();
  }

  const std::string path_;
  std::shared_ptr<Env> env_;  // of a DB that is encrypted
  DBOptions options_;
  std::vector<ColumnFamilyDescriptor> families_;
  std::unique_ptr<DB> db_;
  std::vector<ColumnFamilyHandle*> handles_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
