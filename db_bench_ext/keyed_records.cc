// SPDX-License-Identifier: Apache-2.0

#include "db_bench_ext/keyed_records.h"

#include <algorithm>

#include "db_bench_ext/query_source.h"
#include "db_bench_ext/seed_samples.h"
#include "util/hash.h"

namespace ROCKSDB_NAMESPACE::protean {

KeyedRecords::KeyedRecords(KeySource source, std::vector<std::string> keys,
                           size_t value_bytes, const SortedRuns& runs,
                           uint64_t seed)
    : source_(std::move(source)),
      keys_(std::move(keys)),
      seed_(seed),
      rng_(seed),
      values_(value_bytes, &rng_) {
  runs_.reserve(keys_.size());
  for (size_t i = 0; i < keys_.size(); i++) {
    runs_.push_back(runs.Pick(rng_()));
  }
}

void KeyedRecords::Fill(const std::string& key, std::string* value) const {
  values_.Fill(GetSliceHash64(key), value);
}

BenchDb::RecordSource KeyedRecords::Records() const {
  return [this](size_t index, std::string* key, std::string* value) {
    *key = keys_[index];
    Fill(*key, value);
  };
}

Status KeyedRecords::Load(BenchDb* db, const std::vector<Query>& samples,
                          const BenchDb::Progress& progress) const {
  SeedSamples(db->filter_policy(), samples);
  return db->Load(runs_, Records(), progress);
}

Status KeyedRecords::WarmUp(BenchDb* db) const {
  return db->WarmUp(keys_.size(), Records(), seed_ + 1);
}

Status KeyedRecords::Put(BenchDb* db, const std::string& key) const {
  WriteOptions options;
  options.disableWAL = true;
  std::string value;
  Fill(key, &value);
  return db->db()->Put(options, key, value);
}

SeekResult KeyedRecords::Seek(BenchDb* db, const Query& query) const {
  const std::string bound = UpperBoundOf(query, source_);
  const Slice upper_bound = bound;
  return db->SeekFirst(query.lo, &upper_bound);
}

bool KeyedRecords::SeekIsRight(BenchDb* db,
                               const std::vector<std::string>& keys,
                               const Query& query) const {
  const SeekResult found = Seek(db, query);
  if (!found.status.ok()) return false;
  const auto first = std::lower_bound(keys.begin(), keys.end(), query.lo);
  return Holds(keys, query)
             ? found.key == *first && found.value_bytes == values_.size()
             : found.key.empty();
}

bool KeyedRecords::SeekFindsNothing(BenchDb* db, const Query& query) const {
  const SeekResult found = Seek(db, query);
  return found.status.ok() && found.key.empty();
}

}  // namespace ROCKSDB_NAMESPACE::protean
