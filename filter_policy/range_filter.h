//  What every filter of Protean can do, and how it is built. A filter belongs
//  to one SST file and knows its user keys, without timestamps, in bytewise
//  order. It errs on one side only: it may say that a key is there when it is
//  not, never the reverse.

#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>

#include "filter_policy/bits/bit_util.h"
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

// The build side: takes the keys of one file in ascending order, then writes
// the filter's payload, which the open function of its kind (filter_kinds.h)
// takes. Not thread safe.
class RangeFilterBuilder {
 public:
  virtual ~RangeFilterBuilder() = default;

  // Adds a key. Returns false, ignoring it, if it is not above all keys added
  // before in bytewise order; a repeated key is ignored too, but fine.
  bool AddKey(const Slice& key) {
    size_t shared = 0;
    if (num_keys_ > 0) {
      const size_t shorter = std::min(key.size(), last_key_.size());
      shared = SharedPrefix(key.data(), last_key_.data(), shorter);
      if (shared == shorter) {
        if (key.size() <= last_key_.size()) {
          return key.size() == last_key_.size();
        }
      } else if (static_cast<uint8_t>(key[shared]) <
                 static_cast<uint8_t>(last_key_[shared])) {
        return false;
      }
      Add(last_key_, shared_, shared);
    }
    num_keys_++;
    shared_ = shared;
    last_key_.assign(key.data(), key.size());
    return true;
  }

  uint64_t num_keys() const { return num_keys_; }
  // The largest key.
  const std::string& last_key() const { return last_key_; }

  // Stores the size of the payload in bytes. Called once, after the last key.
  // An error means that these keys cannot be held.
  Status Finish(uint64_t* payload_size) {
    if (num_keys_ > 0) AddLast(last_key_, shared_);
    return Prepare(payload_size);
  }

  // Writes the payload into so many zero bytes, which are followed by
  // kReadPadding zero bytes. Called once, after Finish returned OK.
  virtual void Write(char* payload) = 0;

  // Bytes allocated at present.
  size_t MemoryUsage() const { return last_key_.capacity() + Memory(); }

  // The bits that a key costs, roughly, so that RocksDB can plan sizes.
  virtual double ApproximateBitsPerKey() const = 0;

 protected:
  // Takes the next key, which shares its first `shared` bytes with the one
  // before it (0 if there is none), and `next_shared` with the one after it.
  virtual void Add(const Slice& key, size_t shared, size_t next_shared) = 0;
  // Takes the last key.
  virtual void AddLast(const Slice& key, size_t shared) = 0;
  virtual Status Prepare(uint64_t* payload_size) = 0;
  virtual size_t Memory() const = 0;

 private:
  // The last key waits here for its successor, which decides how long a prefix
  // tells the two apart.
  std::string last_key_;
  size_t shared_ = 0;  // with the key before it
  uint64_t num_keys_ = 0;
};

}  // namespace ROCKSDB_NAMESPACE::protean
