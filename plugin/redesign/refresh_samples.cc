// SPDX-License-Identifier: Apache-2.0

#include "plugin/redesign/refresh_samples.h"

#include <algorithm>
#include <chrono>
#include <memory>

#include "db/dbformat.h"
#include "filter_policy/samples/sample_store.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Lists the files that enclose the query, by the order of the files in the
// metadata.
//
// A query that begins or ends outside of a file's keys, and yet overlaps it,
// finds the file's first or last key. So a query can be empty only in a file
// that encloses it; in all other files it is decided without a filter.
std::vector<size_t> FilesThatEnclose(const SampleQuery& query,
                                     const ColumnFamilyMetaData& metadata,
                                     size_t timestamp_size) {
  const auto user_key = [timestamp_size](const std::string& key) {
    return StripTimestampFromUserKey(key, timestamp_size);
  };
  std::vector<size_t> enclosing;
  size_t level_begin = 0;
  for (const LevelMetaData& level : metadata.levels) {
    const std::vector<SstFileMetaData>& files = level.files;
    auto file = files.begin();
    auto end = files.end();
    if (level.level > 0) {
      file = std::partition_point(file, end, [&](const SstFileMetaData& f) {
        return user_key(f.largestkey).compare(query.lo) <= 0;
      });
      if (file != end) end = file + 1;
    }
    for (; file != end; ++file) {
      if (user_key(file->smallestkey).compare(query.lo) < 0 &&
          IsInverted(user_key(file->largestkey), query.hi,
                     query.hi_inclusive)) {
        enclosing.push_back(level_begin +
                            static_cast<size_t>(file - files.begin()));
      }
    }
    level_begin += files.size();
  }
  return enclosing;
}

size_t NumberOfFiles(const ColumnFamilyMetaData& metadata) {
  size_t files = 0;
  for (const LevelMetaData& level : metadata.levels) {
    files += level.files.size();
  }
  return files;
}

}  // namespace

RefreshSamples::RefreshSamples(const ProteanFilterPolicy& policy, DB* db,
                               ColumnFamilyHandle* column_family) {
  const std::shared_ptr<SampleStore> store = policy.Samples();
  if (store == nullptr) return;
  const std::shared_ptr<QueryQueue> queue =
      store->Queue(column_family->GetName(), db->GetEnv(), /*logger=*/nullptr);
  samples_ = queue->Snapshot();
  std::sort(
      samples_.begin(), samples_.end(),
      [](const SampleQuery& a, const SampleQuery& b) { return a.lo < b.lo; });
  rate_known_ = queue->sampled() > 0;
  const std::chrono::duration<double> elapsed =
      std::chrono::steady_clock::now() - queue->created();
  questions_per_second_ = static_cast<double>(queue->sampled()) *
                          queue->sample_every() /
                          std::max(elapsed.count(), 1e-6);
}

std::vector<SampledQueries> RefreshSamples::SpreadOver(
    const ColumnFamilyMetaData& metadata, size_t timestamp_size) {
  std::vector<SampledQueries> queries(NumberOfFiles(metadata));
  weights_.resize(samples_.size());
  for (size_t i = 0; i < samples_.size(); i++) {
    const std::vector<size_t> enclosing =
        FilesThatEnclose(samples_[i], metadata, timestamp_size);
    if (enclosing.empty()) continue;
    weights_[i] = 1 / static_cast<double>(enclosing.size());
    for (size_t file : enclosing) queries[file].push_back(&samples_[i]);
  }
  return queries;
}

double RefreshSamples::Share(const SampledQueries& queries) const {
  double sum = 0;
  for (const SampleQuery* query : queries) {
    sum += weights_[static_cast<size_t>(query - samples_.data())];
  }
  return sum / static_cast<double>(samples_.size());
}

}  // namespace ROCKSDB_NAMESPACE::protean
