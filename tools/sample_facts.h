// SPDX-License-Identifier: Apache-2.0

//  Facts about sample queries, by themselves and relative to the keys of a
//  file. These facts decide which filter suits the queries.

#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "filter_policy/samples/query_queue.h"
#include "tools/file_facts.h"

namespace ROCKSDB_NAMESPACE::protean {

struct QueryShapes {
  uint64_t points = 0;
  uint64_t ranges = 0;
  // Whether the bounds of all ranges have the same length, of at most 8 bytes;
  // they are then taken for big-endian numbers.
  bool numbers = false;
  // If `numbers`: for each k, the number of ranges that span at least 2^k but
  // fewer than 2^(k+1) values.
  std::map<int, uint64_t> spans;
  // Otherwise: for each length, the number of ranges whose bounds have a common
  // prefix of that length in bytes.
  std::map<size_t, uint64_t> shared_bytes;
};

QueryShapes ShapesOf(const std::vector<SampleQuery>& queries);

struct QueriesInFile {
  // Queries that begin between the file's smallest and largest key.
  uint64_t queries = 0;
  // Number of these that match no key of the file.
  uint64_t empty = 0;
  // Median number of leading bits that the lower bound of an empty query shares
  // with the next key below it: what a filter must tell apart. Negative if
  // there is none.
  int64_t shared_bits = -1;
};

// Compares queries, in ascending order of their lower bounds, with a file whose
// smallest and largest keys are known from the MANIFEST. Reads a block or two
// for each query that begins in the file. Returns Corruption if a block is
// damaged.
Status CompareWithFile(const std::vector<SampleQuery>& queries,
                       const FileFacts& facts, const TargetFile& file,
                       QueriesInFile* result);

// Merges lists of samples, each of which is ordered from oldest to newest.
// Takes queries from each list in turn, the newest first: at most `max` in all,
// or all of them if `max` is 0. Duplicates are taken once, where they come
// first. The result is also ordered from oldest to newest.
std::vector<SampleQuery> MergeSamples(
    std::vector<std::vector<SampleQuery>> lists, uint64_t max);

}  // namespace ROCKSDB_NAMESPACE::protean
