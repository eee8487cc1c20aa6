// SPDX-License-Identifier: Apache-2.0

//  Bloom filters, probed like RocksDB's (util/bloom_impl.h), in which the bits
//  of a hash lie in one cache line. Since some lines are fuller than others,
//  one line costs as much as 1.2 times the false positives of an ideal Bloom
//  filter at 10 bits a hash, and 2 times at 18. So a hash has one to three
//  lines here, with a part of its bits in each. Most queries still read one
//  line.
//
//  header: small[0] probes a line, small[1] lines a hash

#pragma once

#include <cstdint>

#include "filter_policy/amq/amq_type.h"
#include "util/hash.h"

namespace ROCKSDB_NAMESPACE::protean {

constexpr AmqKind kBloomAmq{1};

const AmqType& BloomAmqType();

class BloomSet final : public AmqSet {
 public:
  // The size of a cache line.
  static constexpr size_t kLineBytes = 64;

  BloomSet(const AmqHeader& header, const char* data)
      : data_(data),
        num_lines_(static_cast<uint32_t>(header.bytes / kLineBytes)),
        probes_(header.small[0]),
        lines_(header.small[1]) {}

  bool MayContain(uint64_t hash) const override {
    for (int line = 1;; line++) {
      if (!LineMayContain(Line(data_, num_lines_, hash), probes_, hash)) {
        return false;
      }
      if (line == lines_) return true;
      hash = NextLine(hash);
    }
  }
  size_t Keep(size_t count, AmqLookup* lookups) const override;

  // The hash that leads to the next line.
  static uint64_t NextLine(uint64_t hash) {
    hash *= 0x9fb21c651e98df25u;
    return hash ^ hash >> 32;
  }

 private:
  // The line that a hash leads to.
  static const char* Line(const char* data, uint32_t num_lines, uint64_t hash) {
    return data +
           size_t{FastRange32(Lower32of64(hash), num_lines)} * kLineBytes;
  }

  // FastLocalBloomImpl::HashMayMatch without a branch for each bit: a range
  // tests many prefixes, and the cache misses of the next ones overlap only if
  // the branch predictor knows where the test of each one ends.
  static bool LineMayContain(const char* line, int probes, uint64_t hash) {
    uint32_t h = Upper32of64(hash);
    unsigned found = 1;
    for (int i = 0; i < probes; i++, h *= 0x9e3779b9u) {
      const uint32_t bit = h >> (32 - 9);
      found &= static_cast<uint8_t>(line[bit / 8]) >> (bit % 8);
    }
    return found != 0;
  }

  const char* const data_;
  const uint32_t num_lines_;
  const int probes_;
  const int lines_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
