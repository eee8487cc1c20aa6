// SPDX-License-Identifier: Apache-2.0

//  The reads of an application, with which filters are judged: from files of
//  queries, or from traces of a DB's operations, as DB::StartTrace writes them.

#pragma once

#include <algorithm>
#include <cstdint>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "filter_policy/samples/query_queue.h"
#include "rocksdb/env.h"
#include "rocksdb/status.h"
#include "util/random.h"

namespace ROCKSDB_NAMESPACE::protean {

enum class ReadKind {
  kGet,
  kClosedSeek,  // with an upper bound
  kOpenSeek,
  kClosedSeekForPrev,  // with a lower bound
  kOpenSeekForPrev,
};

// The name of a kind for people, such as "closed seeks".
const char* ToString(ReadKind kind);

struct ReadQuery {
  ReadKind kind = ReadKind::kGet;
  std::string target;
  // The bound of a closed seek: forwards, the exclusive upper bound; backwards,
  // the inclusive lower bound.
  std::string bound{};
  // For SeekForPrev: whether the target itself is a possible result.
  bool inclusive = true;
};

inline bool IsForwardSeek(const ReadQuery& read) {
  return read.kind == ReadKind::kOpenSeek || read.kind == ReadKind::kClosedSeek;
}

// Appends the queries of a file (filter_policy/samples/query_file.h). Prints to
// `err` which lines are left out.
Status ReadQueries(const std::string& file, std::ostream& err,
                   std::vector<SampleQuery>* queries);

// The read that a sample query stands for: a point is a Get, a range is a
// closed seek.
ReadQuery ReadOf(const SampleQuery& query);

// Keeps a uniform random sample of at most `capacity` reads from a stream. The
// same stream always gives the same sample.
class ReadSample {
 public:
  explicit ReadSample(size_t capacity) : capacity_(capacity), random_(301) {}

  // Reservoir sampling by algorithm R (Vitter 1985).
  void Add(ReadQuery query) {
    const uint64_t number = seen_++;
    if (kept_.size() < capacity_) {
      kept_.emplace_back(number, std::move(query));
      return;
    }
    const uint64_t place = random_.Uniform(seen_);
    if (place < capacity_) kept_[place] = {number, std::move(query)};
  }
  // Number of reads in the stream.
  uint64_t seen() const { return seen_; }
  // Returns the sample, in the order of the stream.
  std::vector<ReadQuery> Take() {
    std::sort(kept_.begin(), kept_.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<ReadQuery> queries;
    for (auto& [number, query] : kept_) queries.push_back(std::move(query));
    kept_.clear();
    return queries;
  }

 private:
  const size_t capacity_;
  Random64 random_;
  uint64_t seen_ = 0;
  std::vector<std::pair<uint64_t, ReadQuery>> kept_;  // with position
};

// Reads a trace, and adds the reads of the column family with this id to
// `reads`: each key of a Get or MultiGet, each Seek and SeekForPrev. Reads
// whose bounds leave nothing to look for are left out. `*others` gets the
// number of reads of other column families.
//
// A trace that is damaged or has no end, because the process died before
// DB::EndTrace, is read up to there; `*cut_off` says so in words, and is empty
// otherwise.
//
// Returns NotFound if there is no such file, InvalidArgument if it is not a
// trace or of a version that this RocksDB cannot read, Corruption if it is
// damaged or cut off before its first record.
Status ReadTrace(Env* env, const std::string& file, uint32_t column_family,
                 ReadSample* reads, uint64_t* others, std::string* cut_off);

}  // namespace ROCKSDB_NAMESPACE::protean
