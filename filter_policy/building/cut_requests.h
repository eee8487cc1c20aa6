// SPDX-License-Identifier: Apache-2.0

//  What RocksDB is told of the number of entries in a part, so that parts have
//  the size that is asked for.
//
//  Before each key, RocksDB asks, and if the part has as many entries as should
//  fit into it, requests a cut of the index. The request holds until the index
//  is cut, behind a data block, and then the filter is cut, too. But RocksDB
//  asks once more before that: a second request would stay behind, and cut off
//  a part of one data block. Therefore only one answer says that a part is
//  full. When RocksDB cuts, it asks again, and then wants the right number:
//  without a key in between, or with the prefix of the next key only.
//
//  The number that should fit is known before the first key. The parts that are
//  finished tell how many fit.

#pragma once

#include <algorithm>
#include <cstddef>

namespace ROCKSDB_NAMESPACE::protean {

class CutRequests {
 public:
  // A part is to have `bytes` bytes, for which RocksDB expects `entries`.
  void SetPartSize(size_t entries, size_t bytes) {
    expected_ = fitting_ = next_ = entries;
    part_bytes_ = bytes;
  }
  // A part of that size is finished; one without a filter has 0 bytes.
  void FinishPart(size_t entries, size_t bytes) {
    if (bytes > 0) {
      finished_entries_ += entries;
      finished_bytes_ += bytes;
    }
    if (finished_bytes_ > 0) {
      fitting_ = std::clamp(part_bytes_ * finished_entries_ / finished_bytes_,
                            expected_ / 4, 4 * expected_);
    }
    last_ = ~size_t{0};
    next_ = fitting_;
  }
  // `may_cut` tells that the last entry may be the prefix of the next key.
  size_t Answer(size_t entries, bool may_cut) {
    const bool is_repeated = entries == last_;
    last_ = entries;
    if (is_repeated || may_cut || expected_ < kMinExpected) return entries;
    // With a prefix extractor, RocksDB expects an entry less.
    if (entries < next_) return std::min(entries, expected_ - 2);
    // Should the request be lost, there is another one.
    next_ = entries + fitting_ / 4 + 1;
    return std::max(entries, expected_);
  }

 private:
  static constexpr size_t kMinExpected = 8;

  size_t expected_ = 0;
  size_t part_bytes_ = 0;
  size_t fitting_ = 0;
  size_t finished_entries_ = 0;
  size_t finished_bytes_ = 0;
  // The number at which RocksDB has asked last, and that of the next request.
  size_t last_ = ~size_t{0};
  size_t next_ = 0;
};

}  // namespace ROCKSDB_NAMESPACE::protean
