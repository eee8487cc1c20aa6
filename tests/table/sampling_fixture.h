// SPDX-License-Identifier: Apache-2.0

//  A DB whose policy samples the queries that find nothing in a file.

#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "filter_policy/samples/query_file.h"
#include "filter_policy/surf/surf_policy.h"
#include "rocksdb/statistics.h"
#include "tests/table/twin_db.h"

namespace ROCKSDB_NAMESPACE::protean {

using Queries = std::vector<SampleQuery>;

class SampledSurf : public SurfFilterPolicy {
 public:
  SampledSurf(const SampleStoreOptions& samples, uint32_t real_suffix_bits)
      : SurfFilterPolicy({0, real_suffix_bits}),
        store_(std::make_shared<SampleStore>(samples)) {}
  std::shared_ptr<SampleStore> Samples() const override { return store_; }

 private:
  const std::shared_ptr<SampleStore> store_;
};

// A DB with the keys 1000, 2000, ..., big endian, in one sorted run of many
// files.
class SamplingTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kKeys = 2000;
  static constexpr uint64_t kGap = 1000;

  SamplingTest() {
    options_ = ManySmallFiles(3);
    options_.create_if_missing = true;
    options_.info_log = log_;
    options_.statistics = CreateDBStatistics();
    Destroy();
    for (const std::string& file : {file_, file_ + ".other"}) {
      env_->DeleteFile(file).PermitUncheckedError();
    }
  }
  ~SamplingTest() override { Destroy(); }

  void Destroy() {
    Close();
    EXPECT_OK(env_->CreateDirIfMissing(path_));
    EXPECT_OK(DestroyDB(path_, options_));
  }

  void SetPolicy(uint32_t sample_every, const std::string& samples_file = "") {
    samples_.sample_every = sample_every;
    samples_.samples_file = samples_file;
    policy_ = std::make_shared<SampledSurf>(samples_, real_suffix_bits_);
    table_.filter_policy = policy_;
    options_.table_factory = NewProteanTableFactory(table_);
  }
  void Open() { ASSERT_OK(OpenDB(&db_, options_, path_)); }
  void Close() {
    for (ColumnFamilyHandle* handle : handles_) {
      EXPECT_OK(db_->DestroyColumnFamilyHandle(handle));
    }
    handles_.clear();
    db_.reset();
  }

  // Opens a DB of one run, where no query has been made.
  void Fill(uint32_t sample_every, const std::string& samples_file = "") {
    SetPolicy(sample_every, samples_file);
    Open();
    for (uint64_t i = 1; i <= kKeys; i++) {
      ASSERT_OK(db_->Put(WriteOptions(), BigEndian(kGap * i), "a value"));
    }
    ASSERT_OK(db_->Flush(FlushOptions()));
    std::vector<LiveFileMetaData> files;
    db_->GetLiveFilesMetaData(&files);
    ASSERT_EQ(1u, files.size());
    CompactionOptions compaction;
    compaction.output_file_size_limit = 16 << 10;
    ASSERT_OK(db_->CompactFiles(compaction, {files[0].name}, 2));
    db_->GetLiveFilesMetaData(&files);
    ASSERT_GE(files.size(), 4u);
  }

  // Whether a point query for the key gets to a file.
  bool IsCovered(const std::string& key) {
    std::vector<LiveFileMetaData> files;
    db_->GetLiveFilesMetaData(&files);
    return std::any_of(files.begin(), files.end(), [&](const auto& file) {
      return file.smallestkey <= key && key <= file.largestkey;
    });
  }

  QueryQueue* queue(const std::string& name = kDefaultColumnFamilyName) {
    queue_ = policy_->Samples()->Queue(name, env_, nullptr);
    return queue_.get();
  }

  // Whether there is a key in [lo, hi).
  bool Seek(const std::string& lo, const std::string& hi,
            ReadOptions options = {}) {
    const Slice upper(hi);
    options.iterate_upper_bound = &upper;
    const std::unique_ptr<Iterator> it(db_->NewIterator(options));
    it->Seek(lo);
    EXPECT_OK(it->status());
    return it->Valid();
  }
  bool Get(const std::string& key) {
    std::string value;
    const Status s = db_->Get(ReadOptions(), key, &value);
    EXPECT_TRUE(s.ok() || s.IsNotFound()) << s.ToString();
    return s.ok();
  }
  size_t MultiGet(const Keys& keys) {
    const std::vector<Slice> slices(keys.begin(), keys.end());
    std::vector<PinnableSlice> values(keys.size());
    std::vector<Status> statuses(keys.size());
    db_->MultiGet(ReadOptions(), db_->DefaultColumnFamily(), keys.size(),
                  slices.data(), values.data(), statuses.data());
    return std::count_if(statuses.begin(), statuses.end(),
                         [](const Status& s) { return s.ok(); });
  }

  // Equal for equal queries, and readable where they are not.
  static Keys Lines(const Queries& queries) {
    Keys lines;
    for (const SampleQuery& query : queries) lines.push_back(QueryLine(query));
    return lines;
  }
  static SampleQuery Point(const std::string& key) { return {key, key, true}; }

  Env* const env_ = Env::Default();
  const std::string path_ = test::PerThreadDBPath("sampling");
  const std::string file_ = path_ + "_samples";
  const std::shared_ptr<RecordingLogger> log_ =
      std::make_shared<RecordingLogger>();
  Options options_;
  BlockBasedTableOptions table_;
  uint32_t real_suffix_bits_ = 16;  // which make the filters exact
  SampleStoreOptions samples_;
  std::shared_ptr<SampledSurf> policy_;
  std::shared_ptr<QueryQueue> queue_;
  std::unique_ptr<DB> db_;
  std::vector<ColumnFamilyHandle*> handles_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
