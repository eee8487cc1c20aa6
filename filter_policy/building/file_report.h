// SPDX-License-Identifier: Apache-2.0

//  What is reported of a file's filter: sums over its blocks, and of the
//  designs the one that most keys have.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "filter_policy/filter_kinds.h"
#include "rocksdb/table_properties.h"

namespace ROCKSDB_NAMESPACE::protean {

class FileReport {
 public:
  // Adds a block of that kind, with that number of keys and bytes.
  void Add(FilterKind kind, uint64_t keys, uint64_t bytes,
           const FilterReport& report);

  // Adds the range of a block's keys.
  void AddRange(const Slice& smallest, const Slice& largest);
  // Forgets all blocks but not their range, and adds one.
  void Replace(FilterKind kind, uint64_t keys, uint64_t bytes,
               const FilterReport& report);

  // The sums over the blocks.
  uint64_t keys() const { return keys_; }
  uint64_t bytes() const { return bytes_; }
  uint32_t model_micros() const { return model_micros_; }

  // At least one block has been added.
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
  std::optional<std::pair<std::string, std::string>> range_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
