// SPDX-License-Identifier: Apache-2.0

//  Bloom filters on flash, with which cascade_bench compares a cascade filter
//  (Don't Thrash, section 3): the traditional one sets each bit where it is,
//  and the elevator one collects the positions of bits in memory, and sets them
//  in the order of their offsets when memory is full. Pages are read and
//  written past the operating system's cache.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "rocksdb/status.h"

namespace ROCKSDB_NAMESPACE::protean {

class FlashBloom {
 public:
  struct Options {
    uint64_t bits = 0;  // a multiple of 8 * chunk_bytes
    unsigned probes = 1;
    // Positions that are collected before they are set; 1 for the traditional
    // filter.
    uint64_t buffered_positions = 1;
    // What is read and written at once, a multiple of 4096. Chunks without a
    // new bit are skipped.
    size_t chunk_bytes = 4096;
  };

  // Makes a filter of zeros in a new file.
  static Status Create(const Options& options, const std::string& file,
                       std::unique_ptr<FlashBloom>* filter);
  FlashBloom(const FlashBloom&) = delete;
  FlashBloom& operator=(const FlashBloom&) = delete;
  ~FlashBloom();

  Status Insert(uint64_t hash);
  // Sets the bits that are still in memory.
  Status Flush();
  // Sets half of all bits at random, besides those that are set.
  Status FillHalf();
  // Stores the answer, and adds the pages that were read to `*pages_read`. Does
  // not look at positions in memory.
  Status MayContain(uint64_t hash, bool* may_contain, uint64_t* pages_read);

  uint64_t bytes_written() const { return bytes_written_; }

 private:
  FlashBloom(const Options& options, int descriptor);
  uint64_t Position(uint64_t hash, unsigned probe) const;
  // Reads or writes a piece of `bytes` bytes: the one of that number, if the
  // file is cut into pieces of this size.
  enum class Transfer { kRead, kWrite };
  Status Move(Transfer transfer, uint64_t number, size_t bytes);

  struct Free {
    void operator()(char* memory) const;
  };

  const Options options_;
  const int descriptor_;
  std::unique_ptr<char, Free> chunk_;
  std::vector<uint64_t> positions_;
  uint64_t bytes_written_ = 0;
};

}  // namespace ROCKSDB_NAMESPACE::protean
