// SPDX-License-Identifier: Apache-2.0

//  The filters that the benchmarks compare, by the names of their --filter and
//  --filters flags.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "rocksdb/filter_policy.h"
#include "rocksdb/status.h"

namespace ROCKSDB_NAMESPACE::protean {

// The layout of filters and indexes in a file, by the suffixes of a spec.
struct TableLayout {
  // +first_key: an index of the blocks' first keys (index_type=
  // kBinarySearchWithFirstKey), by which a seek without a filter skips blocks
  // that begin behind its range.
  bool first_key_index = false;
  // +partitioned: the filter and the index are cut into parts of 4 KB, which
  // the block cache holds one by one; their top levels are pinned.
  bool partitioned = false;
  // +decoupled, after +partitioned: the parts of the filter are cut
  // independently of those of the index.
  bool decoupled = false;
  // +prefixN: a prefix extractor that takes the first N bytes of a key.
  // RocksDB's own filters then also hold these prefixes, and a seek whose range
  // lies within a prefix asks for it (ReadOptions::auto_prefix_mode). 0 for
  // none.
  size_t prefix_bytes = 0;
};

// Removes the suffixes from the spec of an engine's filter. InvalidArgument if
// they contradict each other.
Status TakeTableLayout(std::string* spec, TableLayout* layout);

// Help for a flag that takes a list of filters: `what`, then the allowed specs.
const char* FiltersHelp(const std::string& what);

// Splits a comma-separated list, dropping empty parts.
std::vector<std::string> SplitList(const std::string& list);

// Makes the filter policy of `spec`: none (a null policy), bloom:BITS_PER_KEY
// and ribbon:BITS_PER_KEY (RocksDB's own), oracle (exact, see oracle.h),
// fst:STEP and design:BITS_PER_KEY:PART:... (parts of Protean's filters, see
// fst_steps.h and design_policy.h), or any filter_policy of Protean, in its
// short or its object form. InvalidArgument if it is none of these.
Status MakeFilterPolicy(const std::string& spec,
                        std::shared_ptr<const FilterPolicy>* policy);

}  // namespace ROCKSDB_NAMESPACE::protean
