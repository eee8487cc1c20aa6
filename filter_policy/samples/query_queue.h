//  The sample query queue (Proteus paper, section 6.1): a bounded, first in
//  first out queue of recent queries that found nothing. Readers of a column
//  family fill it, every Nth time; a filter that designs itself takes a
//  snapshot when it is built.

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "port/port.h"
#include "rocksdb/slice.h"
#include "rocksdb/status.h"

namespace ROCKSDB_NAMESPACE::protean {

// A query for the keys in [lo, hi], or in [lo, hi) unless `hi_inclusive`. A
// point query if lo == hi.
struct SampleQuery {
  std::string lo;
  std::string hi;
  bool hi_inclusive = true;
};

// Thread safe.
class QueryQueue {
 public:
  static constexpr size_t kDefaultCapacity = 20000;
  static constexpr uint32_t kDefaultSampleEvery = 100;

  // Holds the `capacity` latest queries, of which Tick asks for every
  // `sample_every`-th. Both must be positive.
  explicit QueryQueue(size_t capacity = kDefaultCapacity,
                      uint32_t sample_every = kDefaultSampleEvery);

  // Adds a query, dropping the oldest one if the queue is full.
  void Add(SampleQuery query);

  // All queries, oldest first.
  std::vector<SampleQuery> Snapshot() const;

 private:
  const size_t capacity_;
  const uint32_t sample_every_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
