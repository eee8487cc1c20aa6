// SPDX-License-Identifier: Apache-2.0

//  Records whose keys a KeySource draws, as the range workloads store them.

#pragma once

#include <string>
#include <vector>

#include "db_bench_ext/bench_db.h"
#include "db_bench_ext/key_source.h"
#include "db_bench_ext/query_source.h"
#include "db_bench_ext/values.h"

namespace ROCKSDB_NAMESPACE::protean {

class KeyedRecords {
 public:
  // `keys` are to be loaded, ascending; `source` has drawn them.
  KeyedRecords(KeySource source, std::vector<std::string> keys,
               size_t value_bytes, const SortedRuns& runs, uint64_t seed);

  const KeySource& source() const { return source_; }
  const std::vector<std::string>& keys() const { return keys_; }
  size_t record_bytes() const { return keys_.front().size() + values_.size(); }

  // Gives the policy the samples, then loads the records.
  Status Load(BenchDb* db, const std::vector<Query>& samples,
              const BenchDb::Progress& progress) const;
  Status WarmUp(BenchDb* db) const;
  // Writes a record that has not been loaded.
  Status Put(BenchDb* db, const std::string& key) const;

  // Seeks within the range of a query. Returns whether the seek finds the first
  // of `keys` in it; they ascend, and the database holds them.
  bool SeekIsRight(BenchDb* db, const std::vector<std::string>& keys,
                   const Query& query) const;
  // Seeks within the range of a query. Returns whether the seek finds nothing.
  bool SeekFindsNothing(BenchDb* db, const Query& query) const;

 private:
  void Fill(const std::string& key, std::string* value) const;
  BenchDb::RecordSource Records() const;
  SeekResult Seek(BenchDb* db, const Query& query) const;

  const KeySource source_;
  const std::vector<std::string> keys_;
  const uint64_t seed_;
  Rng rng_;
  const Values values_;
  std::vector<uint8_t> runs_;  // the sorted run of each record
};

}  // namespace ROCKSDB_NAMESPACE::protean
