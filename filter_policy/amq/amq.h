//  Approximate membership queries (Proteus paper, section 2.1): sets of hashes
//  that may answer "contained" for hashes that are not. The seam between what
//  a range filter hashes, and how the hashes are kept. Both implementations are
//  RocksDB's own:
//
//    Bloom    util/bloom_impl.h: the bits of a hash lie in one cache line.
//             Because some lines are fuller than others, that costs as much as
//             1.2 times the false positives of an ideal Bloom filter at 10 bits
//             a hash, and 2 times at 18; so a hash has one to three lines here,
//             with a part of its bits in each. Most queries still read one.
//    Ribbon   util/ribbon_impl.h: about 30 % fewer bits for the same false
//             positive rate, several times as long to build, twice to query
//
//    header   kind (1 byte), probes a line of Bloom or seed of Ribbon (1 byte),
//             lines a hash of Bloom (1 byte), a zero byte, 128-slot blocks of
//             Ribbon (4 bytes),
//             size of the data in bytes (8 bytes)
//    data     as RocksDB lays it out, without its trailer

#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "filter_policy/amq/ribbon_types.h"
#include "rocksdb/slice.h"
#include "rocksdb/status.h"
#include "util/bloom_impl.h"
#include "util/hash.h"

namespace ROCKSDB_NAMESPACE::protean {

// Stored in filter blocks: never reuse a number.
enum class AmqKind : uint8_t { kNone = 0, kBloom = 1, kRibbon = 2 };

// How a set is going to be kept.
struct AmqPlan {
  AmqKind kind = AmqKind::kNone;
  uint8_t probes = 0;   // of Bloom, in each line
  uint8_t lines = 0;    // of Bloom
  uint32_t blocks = 0;  // of Ribbon
  uint64_t hashes = 0;
  uint64_t bytes = 0;
  // Of each query, by the formula of the implementation.
  double false_positive_rate = 1;
};

// The best set of that kind for so many distinct hashes in at most `bytes`
// bytes. Of kind kNone, which contains everything, if that is too little.
AmqPlan PlanAmq(AmqKind kind, uint64_t hashes, uint64_t bytes);

// The query side. Immutable and thread safe.
class Amq {
 public:
  static constexpr size_t kHeaderSize = 16;
  // Of a Bloom filter's cache lines.
  static constexpr size_t kLineBytes = 64;

  // Reads a header. Corruption if it is inconsistent.
  Status DecodeHeader(const char* header);
  // Takes the data off the front of `input`, whose bytes must outlive this
  // object. False if there are too few.
  bool Open(Slice* input);

  AmqKind kind() const { return kind_; }
  // Of the data.
  uint64_t bytes() const { return bytes_; }

  // Whether the set may contain the hash.
  bool MayContain(uint64_t hash) const {
    if (kind_ == AmqKind::kBloom) return BloomMayContain(hash);
    return kind_ == AmqKind::kNone || solution_->FilterQuery(hash, hasher_);
  }

  // One of several hashes that are looked up together, and the index of what it
  // is the hash of.
  struct Lookup {
    uint64_t hash;
    uint32_t index;
  };
  // Moves those that the set may contain to the front, in the same order, and
  // returns their number. All are asked for before the first one is tested, so
  // that their cache misses overlap. What becomes of the hashes is not defined.
  size_t Keep(size_t count, Lookup* lookups) const;

  // The hash by which the next line of a hash is found.
  static uint64_t NextLine(uint64_t hash) {
    hash *= 0x9fb21c651e98df25u;
    return hash ^ hash >> 32;
  }

 private:
  // A Bloom filter's line that a hash leads to.
  static const char* Line(const char* data, uint32_t num_lines, uint64_t hash) {
    return data +
           size_t{FastRange32(Lower32of64(hash), num_lines)} * kLineBytes;
  }

  // As FastLocalBloomImpl::HashMayMatch, but without a branch for each bit: a
  // range tests many prefixes, and the cache misses of the next ones overlap
  // only if it is foreseen where the test of each one ends.
  static bool LineMayContain(const char* line, int probes, uint64_t hash) {
    uint32_t h = Upper32of64(hash);
    unsigned found = 1;
    for (int i = 0; i < probes; i++, h *= 0x9e3779b9u) {
      const uint32_t bit = h >> (32 - 9);
      found &= static_cast<uint8_t>(line[bit / 8]) >> (bit % 8);
    }
    return found != 0;
  }

  uint32_t NumLines() const {
    return static_cast<uint32_t>(bytes_ / kLineBytes);
  }

  bool BloomMayContain(uint64_t hash) const {
    for (int line = 1;; line++) {
      if (!LineMayContain(Line(data_, NumLines(), hash), probes_, hash)) {
        return false;
      }
      if (line == lines_) return true;
      hash = NextLine(hash);
    }
  }

  size_t KeepInBloom(size_t count, Lookup* lookups) const;
  size_t KeepInRibbon(size_t count, Lookup* lookups) const;

  AmqKind kind_ = AmqKind::kNone;
  int probes_ = 0;
  int lines_ = 0;
  uint32_t blocks_ = 0;
  uint64_t bytes_ = 0;
  const char* data_ = nullptr;
  RibbonHasher hasher_;
  std::optional<RibbonSolution> solution_;
};

// Collects the hashes of one set.
class AmqBuilder {
 public:
  // The set goes into `plan.bytes` zero bytes at `data`, its header into
  // Amq::kHeaderSize zero bytes at `header`.
  AmqBuilder(const AmqPlan& plan, char* header, char* data);

  // Adds a hash. Repeated hashes do no harm.
  void Add(uint64_t hash) {
    if (plan_.kind == AmqKind::kBloom) {
      for (int line = 1;; line++) {
        AddLine(hash);
        if (line == plan_.lines) break;
        hash = Amq::NextLine(hash);
      }
    } else if (plan_.kind == AmqKind::kRibbon) {
      hashes_.push_back(hash);
    }
  }

  // Completes the set. Should the hashes not fit a Ribbon, which is next to
  // impossible, it becomes a Bloom filter of the same size.
  void Finish();

  // What building takes beside header and data, at most.
  static size_t MemoryUsage(const AmqPlan& plan);

 private:
  // A line is asked for so many lines before its bits are set.
  static constexpr size_t kAhead = 16;

  void AddLine(uint64_t hash) {
    Pending& slot = pending_[next_++ % kAhead];
    if (slot.line != nullptr) {
      FastLocalBloomImpl::AddHashPrepared(slot.bits, plan_.probes, slot.line);
    }
    uint32_t offset;
    FastLocalBloomImpl::PrepareHash(
        Lower32of64(hash), static_cast<uint32_t>(plan_.bytes), data_, &offset);
    slot = {data_ + offset, Upper32of64(hash)};
  }
  bool FinishRibbon(uint8_t* seed);

  struct Pending {
    char* line = nullptr;
    uint32_t bits = 0;
  };

  AmqPlan plan_;
  char* const header_;
  char* const data_;
  Pending pending_[kAhead];
  size_t next_ = 0;
  std::vector<uint64_t> hashes_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
