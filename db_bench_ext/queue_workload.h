// SPDX-License-Identifier: Apache-2.0

//  The workload queue: reads across deletions that compactions have not dropped
//  yet. Three applications leave them behind:
//
//    queue  Producers append to queues, and consumers delete the first item of
//           a queue. A queue always holds few items, in front of which lie the
//           deletions of all items before.
//    ttl    Entries are ordered by time, and the oldest ones are deleted. So a
//           scan from the beginning steps over all that have expired.
//    clear  A state is filled, and then cleared by deleting each of its keys.
//           Neighbors were filled at other times; a quarter of them stay.
//
//  The history of the writes is known, so loading does not seek. The history is
//  cut into as many parts as there are levels, oldest first, each of them
//  flushed several times. A part is compacted to its own level and no further,
//  and the latest one stays on level 0. So deletions are on all levels but the
//  last one.
//
//  Three kinds of reads, each with a new iterator:
//
//    head    a seek without a bound to where a queue, all entries or a cleared
//            state begin, and the first key from there on
//    closed  whether a queue or a cleared state is empty, or whether an entry
//            is before a certain time; by a seek with an upper bound
//    scan    as head, for the first ten keys
//
//  Afterwards everything is compacted to the last level, where no deletion is
//  left, and all reads are measured once more.

#pragma once

#include <string>
#include <vector>

#include "db_bench_ext/db_workload.h"
#include "db_bench_ext/query_source.h"
#include "db_bench_ext/values.h"

namespace ROCKSDB_NAMESPACE::protean {

enum class Deletions { kQueue, kTtl, kClear };

struct QueueOptions {
  Deletions deletions = Deletions::kQueue;
  uint64_t items = 0;    // appended in all
  uint64_t queues = 20;  // and the states that are filled at a time
  uint64_t backlog = 5;  // items of a queue; ttl: per queue, together
  uint64_t queries = 0;  // of each kind
  uint64_t samples = 0;  // for filters that design themselves
  size_t value_bytes = 512;
  SortedRuns runs;
  uint64_t seed = 42;
};

class QueueWorkload : public DbWorkload {
 public:
  // InvalidArgument if there are too few items to clear a state.
  static Status Create(const QueueOptions& options,
                       std::unique_ptr<DbWorkload>* workload);

  std::string Describe() const override;
  uint64_t record_bytes() const override;
  uint64_t loaded_records() const override { return options_.items; }
  // Deletions are small: with files of the usual size, each level would have
  // one.
  void Adjust(BenchDbOptions* options) const override;
  Status Load(BenchDb* db, const BenchDb::Progress& progress) const override;
  Status WarmUp(BenchDb* db) const override;
  // Reports a row for each kind of read in the tree that was loaded, followed
  // by the row of the compacted tree.
  Status Run(BenchDb* db, BenchReport* report,
             ProgressLine* line) const override;

 private:
  // A group is a queue or a state; ttl has one.
  struct Write {
    uint64_t group;
    uint64_t item;
    bool is_deletion;
  };
  struct ReadKind {
    const char* name;
    bool closed;
    size_t keys;
  };
  struct Read {
    std::string target;
    std::string bound;  // of a closed seek
  };

  static const ReadKind kReadKinds[];

  explicit QueueWorkload(const QueueOptions& options);

  // Draw the history.
  void Put(uint64_t group, uint64_t item);
  void Delete(uint64_t group, uint64_t item);
  void DrawQueues();
  void DrawExpiry();
  void DrawClears();

  // Keys of a group lie in [Prefix, End).
  std::string Prefix(uint64_t group) const;
  std::string End(uint64_t group) const;
  std::string Key(uint64_t group, uint64_t item) const;

  void DrawReads();
  // Writes the history from `begin` to `end`, and flushes.
  Status WritePart(BenchDb* db, size_t begin, size_t end) const;
  bool ReadIsRight(BenchDb* db, const ReadKind& kind, const Read& read) const;
  QueryResult Measure(BenchDb* db, const ReadKind& kind,
                      ProgressLine* line) const;
  // Measures all kinds of reads, a row for each.
  Status MeasureTree(BenchDb* db, bool compacted, std::vector<QueueRow>* rows,
                     ProgressLine* line) const;

  const QueueOptions options_;
  Rng rng_;  // draws data and reads
  const Values values_;
  std::vector<Write> history_;
  std::vector<uint64_t> cleared_;  // states
  std::vector<std::string> live_;  // the keys in the end, ascending
  std::vector<Read> reads_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
