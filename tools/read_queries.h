// SPDX-License-Identifier: Apache-2.0

//  The reads of an application, with which filters are judged.

#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "filter_policy/samples/query_queue.h"
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
constexpr size_t kReadKinds = 5;

// The name of a kind for people, such as "closed seeks".
const char* ToString(ReadKind kind);

struct ReadQuery {
  ReadKind kind = ReadKind::kGet;
  std::string target;
  // The bound of a closed seek: forwards, the exclusive upper bound; backwards,
  // the inclusive lower bound.
  std::string bound;
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

  void Add(ReadQuery query);
  // Number of reads in the stream.
  uint64_t seen() const { return seen_; }
  // Returns the sample, in the order of the stream.
  std::vector<ReadQuery> Take();

 private:
  const size_t capacity_;
  Random64 random_;
  uint64_t seen_ = 0;
  std::vector<std::pair<uint64_t, ReadQuery>> kept_;  // with position
};

}  // namespace ROCKSDB_NAMESPACE::protean
