//  What a kind of AMQ consists of (approximate membership query; Proteus paper,
//  section 2.1): a set of hashes that may answer "contained" for hashes that
//  are not in it. A new kind is one file that describes itself by an AmqType,
//  and one line in amq.cc.

#pragma once

#include <cstdint>
#include <memory>

#include "rocksdb/rocksdb_namespace.h"

namespace ROCKSDB_NAMESPACE::protean {

// Stored in filter blocks: never reuse a number. Each kind's own is beside its
// AmqType.
enum class AmqKind : uint8_t { kNone = 0 };

// What is stored of a set beside its data, in 16 bytes:
//
//    kind (1 byte), small[0] (1 byte), small[1] (1 byte), a zero byte,
//    large (4 bytes), size of the data in bytes (8 bytes)
//
// `small` and `large` are what the kind makes of them.
struct AmqHeader {
  static constexpr size_t kSize = 16;

  AmqKind kind = AmqKind::kNone;
  uint8_t small[2] = {0, 0};
  uint32_t large = 0;
  uint64_t bytes = 0;

  void EncodeTo(char* out) const;
  void DecodeFrom(const char* in);
};

// How a set is going to be kept.
struct AmqPlan : AmqHeader {
  uint64_t hashes = 0;
  // Of each query, by the formula of the kind.
  double false_positive_rate = 1;
};

// One of several hashes that are looked up together, and the index of what it
// is the hash of.
struct AmqLookup {
  uint64_t hash;
  uint32_t index;
};

// The query side of a set. Immutable and thread safe.
class AmqSet {
 public:
  virtual ~AmqSet() = default;

  // Whether the set may contain the hash.
  virtual bool MayContain(uint64_t hash) const = 0;
  // As Amq::Keep.
  virtual size_t Keep(size_t count, AmqLookup* lookups) const = 0;

  // No set takes more beside its data, so that a filter that has been opened
  // needs no memory but its own.
  static constexpr size_t kMostBytes = 64;
};

// The build side of a set.
class AmqSetBuilder {
 public:
  virtual ~AmqSetBuilder() = default;

  // Adds hashes, which may be repeated.
  virtual void Add(const uint64_t* hashes, size_t count) = 0;
  // Completes the data, of as many bytes as planned, and returns the header:
  // that of another kind if the hashes do not fit the one that was planned.
  virtual AmqHeader Finish() = 0;
};

struct AmqType {
  AmqKind kind;
  const char* name;  // in options and in designs

  // What a query takes for each hash that it looks up, in nanoseconds, as
  // `filter_micro --costs` measures it: the design search weighs it.
  double query_nanos;
  // No more hashes of each key are added, for the sake of building time.
  uint32_t most_hashes_per_key;

  // The best set for that many distinct hashes, at least one, in at most
  // `bytes` bytes. Of kind kNone if that is too little.
  AmqPlan (*plan)(uint64_t hashes, uint64_t bytes);

  // A builder that puts its data into `plan.bytes` zero bytes at `data`.
  std::unique_ptr<AmqSetBuilder> (*new_builder)(const AmqPlan& plan,
                                                char* data);
  // What a builder takes beside header and data, at most.
  size_t (*builder_memory)(const AmqPlan& plan);

  // Whether a header can be that of a set of this kind. It may be damaged.
  bool (*is_sane)(const AmqHeader& header);
  // Makes the set with that data in AmqSet::kMostBytes bytes at `memory`.
  // REQUIRES: is_sane(header)
  AmqSet* (*open)(const AmqHeader& header, const char* data, void* memory);
};

}  // namespace ROCKSDB_NAMESPACE::protean
