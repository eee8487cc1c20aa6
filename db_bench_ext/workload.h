//  Keys and queries for filters in memory: read from files or generated after
//  the papers.

#pragma once

#include <string>
#include <utility>
#include <vector>

#include "rocksdb/status.h"

namespace ROCKSDB_NAMESPACE::protean {

// A closed range; a point query if lo == hi.
struct Query {
  std::string lo;
  std::string hi;
};

struct Workload {
  std::vector<std::string> keys;  // sorted, distinct
  std::vector<Query> queries;
};

// The key as 8 bytes, big endian, so that bytes order as numbers do.
std::string BigEndianKey(uint64_t number);

// Reads keys: SOSD format (a 64-bit count, then so many 64-bit numbers, little
// endian) or, if `text`, one key a line. Sorts them and drops duplicates.
Status ReadKeys(const std::string& file, bool text,
                std::vector<std::string>* keys);

// Reads queries: a 64-bit count and so many pairs lo, hi, or, if `text`, a line
// each, of one key or lo<TAB>hi. InvalidArgument names the first inverted one.
Status ReadQueries(const std::string& file, bool text,
                   std::vector<Query>* queries);

// The names that Generate knows, for messages.
extern const char kWorkloadNames[];

// The workloads of the SuRF paper, section 4.2: half of a random data set of
// 2 * num_keys is stored, and the queries are drawn from all of it.
//   point  its keys
//   range  integers: [K + r, K + 2r] where a stored key falls in about as many
//          as in the paper; text: [K, K with its last byte + 1]
//   mixed  half of each
// Text keys are generated emails, host first: com.example.mail@jane.doe12.
Status Generate(const std::string& workload, bool text, uint64_t num_keys,
                uint64_t num_queries, uint64_t seed, Workload* result);

}  // namespace ROCKSDB_NAMESPACE::protean
