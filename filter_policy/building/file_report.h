// SPDX-License-Identifier: Apache-2.0

//  The report of a file's filter: sums and averages over its builders, and the
//  design that most of the keys have.

#pragma once

#include <cstdint>
#include <vector>

#include "filter_policy/filter_kinds.h"
#include "rocksdb/table_properties.h"

namespace ROCKSDB_NAMESPACE::protean {

class FileReport {
 public:
  // Adds what a builder has built: parts of that kind, with that number of keys
  // and bytes.
  void Add(FilterKind kind, uint64_t keys, uint64_t bytes,
           const FilterReport& report);

  // Sets the bytes of the whole block.
  void SetBytes(uint64_t bytes) { bytes_ = bytes; }
  // Forgets what has been added, and adds this.
  void Replace(FilterKind kind, uint64_t keys, uint64_t bytes,
               const FilterReport& report);

  // The sums.
  uint64_t keys() const { return keys_; }
  uint64_t bytes() const { return bytes_; }
  uint32_t model_micros() const { return model_micros_; }

  // REQUIRES: something has been added.
  UserCollectedProperties Properties() const;

 private:
  struct Design {
    FilterReport report;
    FilterKind kind;
    uint64_t keys;
  };

  uint64_t keys_ = 0;
  uint64_t bytes_ = 0;
  uint32_t model_micros_ = 0;
  double predicted_ = 0;
  uint64_t predicted_keys_ = 0;
  std::vector<Design> designs_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
