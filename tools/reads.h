// SPDX-License-Identifier: Apache-2.0

//  The reads of an application, with which filters are judged: from files of
//  queries, or from traces of a DB's operations, as DB::StartTrace writes them.

#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "filter_policy/samples/query_queue.h"
#include "rocksdb/env.h"
#include "rocksdb/status.h"
#include "tools/target.h"
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
// `err` which lines are left out. Files of a DB's own are read with its Env.
Status ReadQueries(const std::string& file, std::ostream& err,
                   std::vector<SampleQuery>* queries,
                   Env* env = Env::Default());

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
Status ReadTrace(const std::string& file, uint32_t column_family,
                 ReadSample* reads, uint64_t* others, std::string* cut_off);

// ---- What reads find: read_truth.cc ----

// What reads find in the sorted runs of a column family, independent of
// filters: which files a read asks, which of them it asks in vain, and how
// many blocks a visit costs. The truth is found by reading the files without
// their filters.
//
// A sorted run is a file of level 0, or all files of a deeper level. Files
// given by path, whose levels are unknown, are a run each. The contents of
// memtables are unknown.

// One read that asks one file of a sorted run. The run's other files are ruled
// out by their key ranges.
struct Question {
  uint32_t read = 0;
  uint32_t file = 0;  // index in the column family
  // Number of data blocks that a visit to the file reads. A second block is
  // sometimes needed, where a key lies between two blocks.
  uint32_t blocks = 0;
  // Whether the file has nothing that matters to the read: not the key, no key
  // in the range, or no key before the one at which the seek ends. A perfect
  // filter would say so.
  bool in_vain = false;
  // Whether a seek finds a key in the run, and the first one; it may lie in a
  // later file of the run, and may have been deleted.
  bool found = false;
  std::string first_key;
};

struct ReadTruth {
  // Ordered by read.
  std::vector<Question> questions;
  // For each read, the key that a forward seek finds, if there is one.
  using End = std::optional<std::string>;
  std::vector<End> ends;
  // Number of files of a DB in use that were deleted before they could be read.
  size_t files_gone = 0;
};

// Called with the share of the work that is done.
using ReportShare = std::function<void(double done)>;

// Stores the smallest and largest key of files given by path, read from the
// files themselves. Corruption or NotFound names the file that cannot be read.
Status FindKeyRanges(TargetFamily* family);

// Finds the truth about `reads`, by reading a few blocks for each. REQUIRES:
// the comparator of the family is the bytewise one. Corruption names a file
// that is damaged.
Status FindTruth(const TargetFamily& family,
                 const std::vector<ReadQuery>& reads,
                 const ReportShare& progress, ReadTruth* truth);

}  // namespace ROCKSDB_NAMESPACE::protean
