// SPDX-License-Identifier: Apache-2.0

//  A DB whose policy samples the queries that find nothing in a file.

#pragma once

#include <functional>

#include "filter_policy/samples/query_file.h"
#include "filter_policy/surf/surf_policy.h"
#include "tests/protean_db.h"

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
class SamplingTest : public NumberedDBTest {
 protected:
  static constexpr uint64_t kKeys = 2000;

  SamplingTest() : NumberedDBTest(ManySmallFiles(3)) {
    for (const std::string& file : {file_, file_ + ".other"}) {
      env_->DeleteFile(file).PermitUncheckedError();
    }
  }

  void SetPolicy(uint32_t sample_every, const std::string& samples_file = "") {
    samples_.sample_every = sample_every;
    samples_.samples_file = samples_file;
    policy_ = std::make_shared<SampledSurf>(samples_, real_suffix_bits_);
    UsePolicy(policy_);
  }
  void UsePolicy(std::shared_ptr<const FilterPolicy> policy) {
    table_.filter_policy = std::move(policy);
    options_.table_factory = NewProteanTableFactory(table_);
  }

  // Opens a DB of one run, where no query has been made.
  void Fill(uint32_t sample_every, const std::string& samples_file = "") {
    SetPolicy(sample_every, samples_file);
    Open();
    WriteNumbers(1, kKeys);
    CompactLevel0Into(2, 8 << 10);
    ASSERT_GE(NumFiles(), 4u);
  }

  // Whether a point query for the key gets to a file.
  bool IsCovered(const std::string& key) {
    const std::vector<LiveFileMetaData> files = Files();
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
            const ReadOptions& options = {}) {
    return !FirstIn(lo, hi, options).empty();
  }
  size_t MultiGet(const Keys& keys) {
    std::vector<PinnableSlice> values;
    const std::vector<Status> statuses =
        protean::MultiGet(db_.get(), keys, &values);
    return std::count_if(statuses.begin(), statuses.end(),
                         [](const Status& s) { return s.ok(); });
  }

  // Runs the reads, and returns the samples that they have left.
  Keys SampledBy(const std::function<void()>& reads) {
    const uint64_t before = queue()->recorded();
    reads();
    EXPECT_EQ(0u, queue()->dropped());
    const Queries all = queue()->Snapshot();
    const auto added = static_cast<ptrdiff_t>(queue()->recorded() - before);
    return Lines(Queries(all.end() - added, all.end()));
  }

  // Checks that these queries are saved in the file.
  void ExpectSaved(const Queries& expected, const std::string& file) {
    Queries saved;
    Keys refused;
    ASSERT_OK(ReadQueryFile(env_, file, &saved, &refused));
    EXPECT_EQ(Lines(expected), Lines(saved));
  }
  void ExpectSampled(const Queries& expected) {
    EXPECT_EQ(Lines(expected), Lines(queue()->Snapshot()));
  }

  // Equal for equal queries, and readable where they are not.
  static Keys Lines(const Queries& queries) {
    Keys lines;
    for (const SampleQuery& query : queries) lines.push_back(QueryLine(query));
    return lines;
  }
  static SampleQuery Point(const std::string& key) { return {key, key, true}; }

  Env* const env_ = Env::Default();
  const std::string file_ = path_ + "_samples";
  BlockBasedTableOptions table_;
  uint32_t real_suffix_bits_ = 16;  // which make the filters exact
  SampleStoreOptions samples_;
  std::shared_ptr<SampledSurf> policy_;
  std::shared_ptr<QueryQueue> queue_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
