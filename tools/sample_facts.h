//  What sample queries look like, by themselves and next to the keys of a file:
//  on that rests which filter suits them.

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
  // Whether the bounds of all ranges have one length, of 8 bytes at most, and
  // are taken for big-endian numbers.
  bool numbers = false;
  // Of numbers: how many ranges span 2^k values or more, but fewer than
  // 2^(k+1), by k.
  std::map<int, uint64_t> spans;
  // Of anything else: how many ranges have bounds that share so many bytes at
  // their beginning.
  std::map<size_t, uint64_t> shared_bytes;
};

QueryShapes ShapesOf(const std::vector<SampleQuery>& queries);

struct QueriesInFile {
  uint64_t queries = 0;  // that begin within the file's keys
  uint64_t empty = 0;    // of these, that find nothing in it
  // The median of how many bits the lower bounds of the empty ones share with
  // the next key below: what a filter must tell apart. Negative if there are
  // none.
  int64_t shared_bits = -1;
};

// Compares queries, in ascending order of their lower bounds, with a file of
// which the MANIFEST tells the smallest and largest key. Reads a block or two
// for each query that begins in it. Corruption if one is damaged.
Status CompareWithFile(const std::vector<SampleQuery>& queries,
                       const FileFacts& facts, const TargetFile& file,
                       QueriesInFile* result);

}  // namespace ROCKSDB_NAMESPACE::protean
