//  What every filter of Protean can do, and how it is built. A filter belongs
//  to one SST file and knows its user keys, without timestamps, in bytewise
//  order. It errs on one side only: it may say that a key is there when it is
//  not, never the reverse.

#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "rocksdb/slice.h"
#include "rocksdb/status.h"

namespace ROCKSDB_NAMESPACE::protean {

// The query side. Immutable and safe for any number of threads at once.
class RangeFilter {
 public:
  virtual ~RangeFilter() = default;

  // False if the key is certainly absent.
  virtual bool KeyMayMatch(const Slice& key) const = 0;

  // False if certainly no key lies in [lo, hi], or in [lo, hi) unless
  // `hi_inclusive`. A range that holds nothing, because hi < lo, gives false.
  virtual bool RangeMayMatch(const Slice& lo, const Slice& hi,
                             bool hi_inclusive) const = 0;
};

// The build side. Not thread safe.
class RangeFilterBuilder {
 public:
  virtual ~RangeFilterBuilder() = default;

  // Adds a key, above all keys added before in bytewise order.
  virtual void AddKey(const Slice& key) = 0;

  // Appends the filter's payload to `out`: what the open function of its kind
  // (filter_kinds.h) takes. Called once, last. An error means that these keys
  // cannot be held; `out` is then unspecified.
  virtual Status Finish(std::string* out) = 0;

  // Bytes allocated at present.
  virtual size_t MemoryUsage() const = 0;

  // The bits that a key costs, roughly, so that RocksDB can plan sizes.
  virtual double ApproximateBitsPerKey() const = 0;
};

}  // namespace ROCKSDB_NAMESPACE::protean
