// SPDX-License-Identifier: Apache-2.0

//  The parts of a kind of AMQ (approximate membership query; Proteus paper,
//  section 2.1): a set of hashes that may answer "contained" for hashes that it
//  does not hold. A new kind is one file that describes itself by an AmqType,
//  and one line in amq.cc.
//
//  Prefixes that follow each other may have hashes that do, too: those of
//  *neighbours* are the numbers of a *group*, which differ in their last
//  kNeighbourBits bits alone. The other bits are random. So a set of such a
//  kind can keep a group in one place, and look at it once for a range of
//  prefixes (Costa et al., "Grafite: Taming Adversarial Queries with Optimal
//  Range Filters", SIGMOD 2024, has this idea for ranges of any length).

#pragma once

#include <cstdint>
#include <memory>

#include "rocksdb/rocksdb_namespace.h"
#include "util/coding_lean.h"

namespace ROCKSDB_NAMESPACE::protean {

// The last bits of the hash of a neighbour.
constexpr unsigned kNeighbourBits = 6;

// The number of a kind, as stored in filter blocks: never reuse one. Each
// kind's number is defined next to its AmqType.
enum class AmqKind : uint8_t { kNone = 0 };

// The header of a set, which is stored apart from its data, in 16 bytes:
//
//    kind (1 byte), small[0] (1 byte), small[1] (1 byte), 5 zero bytes,
//    size of the data in bytes (8 bytes)
//
// Each kind gives its own meaning to `small`.
struct AmqHeader {
  static constexpr size_t kSize = 16;

  AmqKind kind = AmqKind::kNone;
  uint8_t small[2] = {0, 0};
  uint64_t bytes = 0;

  // Byte 3 is left to the filter that has the set.
  void EncodeTo(char* out) const {
    out[0] = static_cast<char>(kind);
    out[1] = static_cast<char>(small[0]);
    out[2] = static_cast<char>(small[1]);
    EncodeFixed64(out + 8, bytes);
  }
  void DecodeFrom(const char* in) {
    kind = static_cast<AmqKind>(in[0]);
    small[0] = static_cast<uint8_t>(in[1]);
    small[1] = static_cast<uint8_t>(in[2]);
    bytes = DecodeFixed64(in + 8);
  }
};

// The header of a set to be built, and its expected properties.
struct AmqPlan : AmqHeader {
  uint64_t hashes = 0;
  // The expected rate, by the formula of the kind.
  double false_positive_rate = 1;
};

// One of several hashes that are looked up together, and the index of the key
// or prefix that it is the hash of.
struct AmqLookup {
  uint64_t hash;
  uint32_t index;
};

// Moves the lookups whose hashes `may_contain` accepts to the front, in the
// same order, and returns their number. It does so without a branch.
template <typename MayContain>
size_t KeepThose(size_t count, AmqLookup* lookups,
                 const MayContain& may_contain) {
  size_t kept = 0;
  for (size_t i = 0; i < count; i++) {
    const AmqLookup lookup = lookups[i];
    lookups[kept] = lookup;
    kept += may_contain(lookup.hash) ? 1 : 0;
  }
  return kept;
}

// The query side of a set. Immutable and thread safe.
class AmqSet {
 public:
  virtual ~AmqSet() = default;

  // Returns true if the set may contain the hash.
  virtual bool MayContain(uint64_t hash) const = 0;
  // Does what Amq::FindNeighbours does.
  virtual uint64_t FindNeighbours(uint64_t hash, unsigned count) const {
    uint64_t found = 0;
    for (unsigned i = 0; i < count; i++) {
      found |= uint64_t{MayContain(hash + i)} << i;
    }
    return found;
  }
  // Does what Amq::Keep does.
  virtual size_t Keep(size_t count, AmqLookup* lookups) const = 0;

  // The memory that a set takes at most besides its data. A filter reserves it
  // within itself, so opening a set allocates nothing.
  static constexpr size_t kMaxBytes = 64;
};

// The build side of a set.
class AmqSetBuilder {
 public:
  virtual ~AmqSetBuilder() = default;

  // Adds hashes, which may be repeated.
  virtual void Add(const uint64_t* hashes, size_t count) = 0;
  // Completes the data, of as many bytes as planned.
  virtual void Finish() {}
};

struct AmqType {
  AmqKind kind;
  const char* name;  // in options and in designs

  // Whether the hashes of prefixes are those of neighbours.
  bool takes_neighbours;
  // The times in nanoseconds that a query takes for the first of successive
  // prefixes, and for each further one, as `filter_micro --costs` measures
  // them. The design search weighs them.
  double query_nanos;
  double next_nanos;
  // The time that building takes for each hash, measured in the same way.
  double build_nanos;
  // Limit of the hashes per key, which bounds the time of building.
  uint32_t max_hashes_per_key;

  // The best set for `hashes` distinct hashes, at least one, in at most `bytes`
  // bytes. The plan has the kind kNone if the bytes are too few.
  AmqPlan (*plan)(uint64_t hashes, uint64_t bytes);

  // A builder that puts its data into `plan.bytes` zero bytes at `data`.
  std::unique_ptr<AmqSetBuilder> (*new_builder)(const AmqPlan& plan,
                                                char* data);
  // The memory that a builder takes at most, besides header and data.
  size_t (*builder_memory)(const AmqPlan& plan);

  // Whether a header, which may be damaged, can be that of a set of this kind.
  bool (*is_sane)(const AmqHeader& header);
  // Makes the set with that data in AmqSet::kMaxBytes bytes at `memory`.
  // Returns nullptr if it is damaged, and so may contain anything. REQUIRES:
  // is_sane(header)
  AmqSet* (*open)(const AmqHeader& header, const char* data, void* memory);
};

}  // namespace ROCKSDB_NAMESPACE::protean
