// SPDX-License-Identifier: Apache-2.0

#include "table/rocksdb_internals/get_progress.h"

#include "db/merge_context.h"

namespace ROCKSDB_NAMESPACE::protean {

// Explicit instantiation may name private members. A friend function of the
// instantiated class lends this one to the rest of the file.
const MergeContext* MergeOf(const GetContext& get);

template <auto kMergeContext>
struct MergeContextOf {
  friend const MergeContext* MergeOf(const GetContext& get) {
    return get.*kMergeContext;
  }
};

template struct MergeContextOf<&GetContext::merge_context_>;

size_t MergeOperandsOf(const GetContext& get) {
  const MergeContext* const merge = MergeOf(get);
  return merge == nullptr ? 0 : merge->GetNumOperands();
}

}  // namespace ROCKSDB_NAMESPACE::protean
