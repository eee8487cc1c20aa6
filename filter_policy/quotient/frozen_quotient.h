// SPDX-License-Identifier: Apache-2.0

//  The bytes of a quotient filter, to be kept and asked in place.
//
//    offset  size
//         0     4   magic "PRTQ"
//         4     1   format version: 1
//         5     1   bits of a quotient, q
//         6     1   bits of a remainder, r
//         7     1   zero
//         8     4   CRC-32C of all bytes but these four
//        12     4   zero
//        16     8   number of hashes, counting copies
//        24    16   the salt, the number of the file first
//        40     8   number of blocks
//        48         the blocks (quotient_blocks.h)
//                   16 zero bytes, so that queries may read whole words
//
//  All numbers are little endian. Filters of the same hashes and the same shape
//  have the same bytes, however the hashes got there.

#pragma once

#include <memory>
#include <string>

#include "filter_policy/quotient/quotient_filter.h"

namespace ROCKSDB_NAMESPACE::protean {

// Stores the filter's bytes in `*bytes`. Takes the time of a copy.
void FreezeQuotientFilter(const QuotientFilter& filter, std::string* bytes);

// Makes a filter that can be changed from the bytes of a frozen one, which are
// not needed afterwards. Returns what FrozenQuotientFilter::Open returns, and
// MemoryLimit if there is no memory.
Status ThawQuotientFilter(const Slice& bytes,
                          std::unique_ptr<QuotientFilter>* filter);

// A frozen filter, which is read in place, at any alignment. Immutable and
// thread safe once it is open.
class FrozenQuotientFilter {
 public:
  // Opens a filter. `bytes` must outlive this object. Looks at all bytes once:
  // no query leaves the blocks, whatever they hold. Returns Corruption if they
  // are damaged, and NotSupported if their version is not known. What is not
  // open contains everything.
  Status Open(const Slice& bytes);

  // Whether the hash may have been added.
  bool Contains(uint64_t hash) const {
    return !is_open_ || blocks_.Contains(blocks_.shape().Fingerprint(hash));
  }

  uint64_t size() const { return size_; }
  const FilterSalt& salt() const { return salt_; }
  const QuotientBlocks& blocks() const { return blocks_; }

 private:
  bool is_open_ = false;
  uint64_t size_ = 0;
  FilterSalt salt_;
  QuotientBlocks blocks_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
