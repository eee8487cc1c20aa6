#include "plugin/search_bounds.h"

#include <memory>

#include "table/search_bounds.h"

namespace ROCKSDB_NAMESPACE::protean {

void SetSearchBounds(const Slice* lower, const Slice* upper) {
  SearchBounds::SetOfThread(std::make_shared<const SearchBounds>(lower, upper));
}

void ClearSearchBounds() { SearchBounds::SetOfThread(nullptr); }

}  // namespace ROCKSDB_NAMESPACE::protean
