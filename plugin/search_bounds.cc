#include "plugin/search_bounds.h"

#include <memory>

#include "table/search_bounds.h"

namespace ROCKSDB_NAMESPACE::protean {

void SetSearchBounds(const Slice* lower, const Slice* upper) {
  SearchBounds::OfThread() = std::make_shared<const SearchBounds>(lower, upper);
}

void ClearSearchBounds() { SearchBounds::OfThread().reset(); }

}  // namespace ROCKSDB_NAMESPACE::protean
