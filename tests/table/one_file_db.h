// SPDX-License-Identifier: Apache-2.0

//  A DB of one file, whose data blocks are never in the cache: what an attacker
//  can see of it.

#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "rocksdb/convenience.h"
#include "rocksdb/perf_context.h"
#include "rocksdb/utilities/checkpoint.h"
#include "table/rocksdb_internals/versions.h"
#include "test_util/testharness.h"

namespace ROCKSDB_NAMESPACE::protean {

class OneFileDB {
 public:
  // `table` are more options of the table, each with a semicolon behind it.
  OneFileDB(const std::string& policy, const std::vector<std::string>& keys,
            const std::string& name, const std::string& table = "")
      : path_(test::PerThreadDBPath(name)) {
    options_.create_if_missing = true;
    // Blocks are read again and again.
    options_.compression = kNoCompression;
    EXPECT_OK(GetColumnFamilyOptionsFromString(
        ConfigOptions(), options_,
        "table_factory={id=ProteanTable;" + table + "filter_policy=" + policy +
            "}",
        &options_));
    EXPECT_OK(DestroyDB(path_, options_));
    Open();
    for (const std::string& key : keys) {
      EXPECT_OK(db_->Put(WriteOptions(), key, "value"));
    }
    EXPECT_OK(db_->Flush(FlushOptions()));
    EXPECT_OK(db_->CompactRange(CompactRangeOptions(), nullptr, nullptr));
  }
  ~OneFileDB() {
    db_.reset();
    EXPECT_OK(DestroyDB(path_, options_));
  }

  void Open() {
    db_.reset();
    EXPECT_OK(OpenDB(&db_, options_, path_));
  }
  // Continues with a copy of the files.
  void Restore() {
    const std::string copy = path_ + "_copy";
    EXPECT_OK(DestroyDB(copy, options_));
    Checkpoint* checkpoint = nullptr;
    ASSERT_OK(Checkpoint::Create(db_.get(), &checkpoint));
    const std::unique_ptr<Checkpoint> guard(checkpoint);
    ASSERT_OK(checkpoint->CreateCheckpoint(copy));
    db_.reset();
    EXPECT_OK(DestroyDB(path_, options_));
    path_ = copy;
    Open();
  }

  // Whether a key is stored. Stores whether any data block was read.
  bool Has(const std::string& key, bool* read) {
    bool found = false;
    *read = Read([&] {
      const Status s = db_->Get(Uncached(), key, &value_);
      found = s.ok();
      EXPECT_TRUE(found || s.IsNotFound()) << s.ToString();
    });
    return found;
  }
  // Whether any data block is read for an absent key, or for an empty range
  // [lo, hi).
  bool IsRead(const std::string& key) {
    bool read = false;
    EXPECT_FALSE(Has(key, &read));
    return read;
  }
  bool IsRead(const std::string& lo, const std::string& hi) const {
    const Slice bound = hi;
    ReadOptions options = Uncached();
    options.iterate_upper_bound = &bound;
    return Read([&] {
      const std::unique_ptr<Iterator> it(db_->NewIterator(options));
      it->Seek(lo);
      EXPECT_FALSE(it->Valid());
      EXPECT_OK(it->status());
    });
  }

  // The design of the file's filter; empty if the filter is not Protean's.
  std::string Design() const {
    TablePropertiesCollection files;
    EXPECT_OK(db_->GetPropertiesOfAllTables(&files));
    if (files.size() != 1) return "several files";
    const auto& properties = files.begin()->second->user_collected_properties;
    const auto design = properties.find("protean.design");
    return design == properties.end() ? "" : design->second;
  }

 private:
  static ReadOptions Uncached() {
    ReadOptions options;
    options.fill_cache = false;
    return options;
  }

  template <class Query>
  static bool Read(const Query& query) {
    const PerfLevel before = GetPerfLevel();
    SetPerfLevel(kEnableCount);
    get_perf_context()->Reset();
    query();
    const uint64_t blocks = get_perf_context()->block_read_count;
    SetPerfLevel(before);
    // The index and the filter are in memory.
    return blocks > 0;
  }

  std::string path_;
  Options options_;
  std::unique_ptr<DB> db_;
  std::string value_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
