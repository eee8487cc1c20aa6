// SPDX-License-Identifier: Apache-2.0

//  Makes the code of the keys of a trie (key_code.h).

#pragma once

#include <string>
#include <vector>

#include "filter_policy/fst/key_code.h"

namespace ROCKSDB_NAMESPACE::protean {

// How often each byte occurs in a trie after each other byte: on the edges and
// in the runs. Contexts and symbols are columns of the code: 0 is the beginning
// of a key as a context, and its end as a symbol.
class ByteCounts {
 public:
  explicit ByteCounts(unsigned bytes)
      : columns_(KeyCode::Columns(bytes)), counts_(columns_ * columns_) {}

  void Add(unsigned context, unsigned column) {
    counts_[context * columns_ + column]++;
  }
  unsigned columns() const { return columns_; }
  // The counts after a context.
  const uint32_t* After(unsigned context) const {
    return &counts_[size_t{context} * columns_];
  }

 private:
  const unsigned columns_;
  std::vector<uint32_t> counts_;
};

// Returns the code for keys with these counts, as it is stored in a filter
// block. `occurs` tells which bytes are in the trie. A context that is too rare
// for a code of its own shares one with all others of that kind.
std::string MakeKeyCode(const bool (&occurs)[256], const ByteCounts& counts);

// Stores the number of digits on the longest path in a code.
void SetLongestPath(uint32_t digits, std::string* code);

}  // namespace ROCKSDB_NAMESPACE::protean
