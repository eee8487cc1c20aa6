//  The reads of an application, by which filters are judged.

#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "filter_policy/samples/query_queue.h"
#include "util/random.h"

namespace ROCKSDB_NAMESPACE::protean {

enum class ReadKind {
  kGet,
  kClosedSeek,  // under an upper bound
  kOpenSeek,
  kClosedSeekForPrev,  // under a lower bound
  kOpenSeekForPrev,
};
constexpr size_t kReadKinds = 5;

// Such as "closed seeks".
const char* ToString(ReadKind kind);

struct ReadQuery {
  ReadKind kind = ReadKind::kGet;
  std::string target;
  // Of a closed seek: the key from which on nothing is looked for. Backwards:
  // the smallest key that is looked for.
  std::string bound;
  // Backwards: whether the target itself is looked for.
  bool inclusive = true;
};

// What a filter was asked: a point is a Get, a range is a closed seek.
ReadQuery ReadOf(const SampleQuery& query);

// Keeps at most `capacity` of the reads that come along, each as likely as any
// other, and always the same ones.
class ReadSample {
 public:
  explicit ReadSample(size_t capacity) : capacity_(capacity), random_(301) {}

  void Add(ReadQuery query);
  // Those that came along.
  uint64_t seen() const { return seen_; }
  // Those that were kept, in their order.
  std::vector<ReadQuery> Take();

 private:
  const size_t capacity_;
  Random64 random_;
  uint64_t seen_ = 0;
  std::vector<std::pair<uint64_t, ReadQuery>> kept_;  // by their number
};

}  // namespace ROCKSDB_NAMESPACE::protean
