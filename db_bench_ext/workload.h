//  Keys and queries for filters in memory: read from files or generated after
//  the papers.

#pragma once

#include <functional>
#include <random>
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
  // For filters that design themselves; drawn as the queries, but on their own.
  std::vector<Query> samples;
};

using Rng = std::mt19937_64;

// The families of generated keys.
enum class KeyType {
  kU64,         // random 64-bit numbers, big endian
  kText,        // emails, host first: com.example.mail@jane.doe12
  kDense,       // 64-bit numbers, big endian, with small gaps
  kTimeseries,  // a 64-bit time in ns and a 64-bit sensor, big endian
  kUrl,         // http://www.DOMAIN/products/category-N/item-WORD-N.html
  kDomain,      // many hosts of few names each: com.foo.bar@word12
};

// The names that ParseKeyType knows, for messages.
extern const char kKeyTypeNames[];

// InvalidArgument if `name` is no family.
Status ParseKeyType(const std::string& name, KeyType* type);

// Draws keys of a family; may depend on those drawn before.
using KeyMaker = std::function<std::string(Rng*)>;
KeyMaker MakerOf(KeyType type, Rng* rng);

// What the queries on a data set are.
enum class WorkloadKind {
  kPoint,       // keys of the data set
  kRange,       // numbers: [K + r, K + 2r] after a key, where a stored key
                // falls in about as many as in the SuRF paper; times: the same
                // as a window over all sensors; text: [K, K with its last
                // byte + 1]
  kMixed,       // half of each
  kShortRange,  // numbers and times only: [N, N + 1 to N + 1024], N anywhere
};

// The names that ParseWorkloadKind knows, for messages.
extern const char kWorkloadNames[];

// InvalidArgument if `name` is no workload, or none for keys of this type.
Status ParseWorkloadKind(const std::string& name, KeyType type,
                         WorkloadKind* kind);

// A random data set of 2 * num_keys of which a random half is stored, as in the
// SuRF paper, section 4.2. Queries are drawn from all of it, so that about half
// of them find nothing.
class DataSet {
 public:
  // `num_keys` must be positive.
  DataSet(KeyType type, uint64_t num_keys, uint64_t seed);

  // The stored keys, sorted. They lie one after the other in memory, so that
  // reading them costs a filter's build as little as reading a block.
  std::vector<std::string> StoredKeys() const;

  // Draws further queries.
  std::vector<Query> MakeQueries(WorkloadKind kind, uint64_t num_queries);

 private:
  void MeasureNumbers();
  Query RangeBehind(const std::string& key) const;
  Query ShortRange();
  Query NumberRange(uint64_t lo, uint64_t hi) const;

  const KeyType type_;
  const uint64_t num_keys_;
  Rng rng_;
  std::vector<std::string> all_;  // stored keys first
  // Of numbers: where they lie, and the r of kRange.
  uint64_t smallest_ = 0;
  uint64_t largest_ = 0;
  uint64_t range_size_ = 0;
};

// The key as 8 bytes, big endian, so that bytes order as numbers do.
std::string BigEndianKey(uint64_t number);

// [key, key with its last byte + 1], for text.
Query TextRange(const std::string& key);

// Reads keys: SOSD format (a 64-bit count, then that many 64-bit numbers,
// little endian) or, if `text`, one key a line. Sorts them and drops
// duplicates.
Status ReadKeys(const std::string& file, bool text,
                std::vector<std::string>* keys);

// Reads queries: a 64-bit count and that many pairs lo, hi, or, if `text`, a
// line each, of one key or lo<TAB>hi. InvalidArgument names the first inverted
// one.
Status ReadQueries(const std::string& file, bool text,
                   std::vector<Query>* queries);

// The stored keys of a data set and queries on it, and that many samples that
// find nothing, if that many can be drawn. InvalidArgument if there is no such
// workload or no key.
Status Generate(const std::string& workload, KeyType type, uint64_t num_keys,
                uint64_t num_queries, uint64_t num_samples, uint64_t seed,
                Workload* result);

// Whether any of the keys, which are sorted, lies in the query's range.
bool Holds(const std::vector<std::string>& keys, const Query& query);

// Parts queries into those that find none of the keys, which are sorted, and
// those that do.
std::pair<std::vector<Query>, std::vector<Query>> SplitByTruth(
    const std::vector<std::string>& keys, const std::vector<Query>& queries);

}  // namespace ROCKSDB_NAMESPACE::protean
