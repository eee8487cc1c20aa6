// SPDX-License-Identifier: Apache-2.0

//  A DB whose filters were built for other queries than it gets.

#pragma once

#include "db_bench_ext/query_source.h"
#include "db_bench_ext/seed_samples.h"
#include "filter_policy/filter_properties.h"
#include "filter_policy/proteus/proteus_policy.h"
#include "plugin/refresh_filters.h"
#include "tests/protean_db.h"

namespace ROCKSDB_NAMESPACE::protean {

using Outcome = RefreshOutcome;

constexpr uint64_t kSstBytes = 64 << 10;
constexpr uint64_t kKeys = 30000;
constexpr double kNoise = 0.01;

inline uint64_t NumberOf(const std::string& key) {
  return EndianSwapValue(DecodeFixed64(key.data()));
}

// Seeks the range of each query, whose bounds are both inclusive; no range may
// hold a key.
inline void SeekEmptyRanges(DB* db, const std::vector<Query>& queries) {
  for (const Query& query : queries) {
    ASSERT_EQ("", FirstIn(db, query.lo, query.hi + '\0'));
  }
}

// A DB of numbers in many files of one level, and two kinds of queries that
// need different filters.
class RefreshTest : public OwnDBTest {
 protected:
  RefreshTest() : OwnDBTest(ManySmallFiles(4)) {
    options_.target_file_size_base = kSstBytes;
    options_.max_file_opening_threads = 1;
    policy_options_.sample_every = 1;
    policy_options_.sample_capacity = 2000;
    NewPolicy();
    keys_ = RandomNumbers(/*seed=*/61, kKeys);
    SortUnique(&keys_);
  }

  // Makes a policy of policy_options_, with which the DB is opened next.
  void NewPolicy() {
    policy_ = std::make_shared<ProteusFilterPolicy>(DesignSpace::kProteus,
                                                    policy_options_);
    UsePolicy(policy_);
  }

  // Opens a new DB and writes all keys.
  void Fill() {
    OpenNew();
    WriteFile(keys_, /*level=*/3, "a value of thirty bytes or so");
    ASSERT_GT(NumFiles(), 10u);
  }
  // Builds filters for wide queries.
  void FillForWide() {
    SeedSamples(policy_.get(), Queries(/*close=*/false, 1));
    Fill();
  }
  // The queries shift.
  void FillForWideAndAskClose() {
    FillForWide();
    Run(Queries(/*close=*/true, 2));
  }

  // Long ranges anywhere, or short ranges right after a key, among the lowest
  // keys only; none holds a key.
  std::vector<Query> Queries(bool close, uint64_t seed, size_t count = 3000,
                             double lowest = 0.4) const {
    Random64 random(seed);
    std::vector<Query> queries;
    const auto bases =
        static_cast<uint64_t>(lowest * static_cast<double>(keys_.size()));
    while (queries.size() < count) {
      uint64_t lo = random.Next();
      uint64_t width = random.Next() >> 16;
      if (close) {
        lo = NumberOf(keys_[random.Uniform(bases)]) + 1 + random.Uniform(4096);
        width = random.Uniform(16);
      }
      const Query query = {BigEndian(lo), BigEndian(lo + width)};
      if (lo + width < lo || Holds(keys_, query) || query.hi < keys_.front() ||
          query.lo > keys_.back()) {
        continue;
      }
      queries.push_back(query);
    }
    return queries;
  }

  void Run(const std::vector<Query>& queries) {
    SeekEmptyRanges(db_.get(), queries);
  }

  // The share of the queries for which the DB reads a file in vain.
  double RateInDB(const std::vector<Query>& queries) {
    // Opened with another policy, which takes no samples.
    const auto own = options_.table_factory;
    SetPolicy("surf:0:0");
    Open();
    const auto positives = [this] {
      return Ticks(LAST_LEVEL_SEEK_FILTER_MATCH) +
             Ticks(NON_LAST_LEVEL_SEEK_FILTER_MATCH);
    };
    const uint64_t before = positives();
    Run(queries);
    const auto passed = static_cast<double>(positives() - before);
    options_.table_factory = own;
    Open();
    return passed / static_cast<double>(queries.size());
  }

  std::map<std::string, int> Levels() const {
    std::map<std::string, int> levels;
    for (const LiveFileMetaData& file : Files()) {
      levels[file.relative_filename] = file.level;
    }
    return levels;
  }
  uint64_t Bytes() const {
    uint64_t bytes = 0;
    for (const LiveFileMetaData& file : Files()) bytes += file.size;
    return bytes;
  }

  Status Refresh(const RefreshOptions& options = {}) {
    return RefreshFilters(db_.get(), db_->DefaultColumnFamily(), options,
                          &result_);
  }
  Status RefreshAll() { return Refresh(AllFiles()); }
  // The number of files that are rewritten, or would be.
  size_t Rewritten(const RefreshOptions& options = {}) {
    EXPECT_OK(Refresh(options));
    return result_.files_rewritten;
  }
  static RefreshOptions With(const std::string& text) {
    RefreshOptions options;
    EXPECT_OK(options.Parse(text));
    return options;
  }
  static RefreshOptions AllFiles() { return With("all_files=true"); }
  static RefreshOptions DryRun() { return With("dry_run=true"); }
  size_t Count(Outcome outcome) const {
    return static_cast<size_t>(std::count_if(
        result_.files.begin(), result_.files.end(),
        [&](const RefreshedFile& f) { return f.outcome == outcome; }));
  }

  // Checks that the DB holds exactly its keys.
  void ExpectAllKeys() const {
    Keys found;
    for (const auto& record : AllRecords(db_.get())) {
      found.push_back(record.first);
    }
    EXPECT_TRUE(found == keys_) << found.size() << " keys";
    for (size_t k = 0; k < keys_.size(); k += 7) ASSERT_TRUE(Has(keys_[k]));
  }
  // The texts of all files' properties of that name.
  std::set<std::string> Properties(const char* name) const {
    std::set<std::string> texts;
    for (const auto& [file, properties] : PropertiesOf(db_.get())) {
      texts.insert(PropertyText(properties->user_collected_properties, name));
    }
    return texts;
  }
  // The number of files for each name of a filter policy.
  std::map<std::string, size_t> Policies() const {
    std::map<std::string, size_t> policies;
    for (const auto& [path, properties] : PropertiesOf(db_.get())) {
      policies[properties->filter_policy_name]++;
    }
    return policies;
  }

  QueryQueue* queue() const {
    return policy_->Samples()
        ->Queue(kDefaultColumnFamilyName, Env::Default(), nullptr)
        .get();
  }

  ProteusPolicyOptions policy_options_;
  std::shared_ptr<ProteusFilterPolicy> policy_;
  Keys keys_;
  RefreshResult result_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
