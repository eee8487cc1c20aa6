#include "filter_policy/filter_kinds.h"

#include <array>

#include "filter_policy/surf/surf.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

class AlwaysTrue : public RangeFilter {
 public:
  bool KeyMayMatch(const Slice&) const override { return true; }
  bool RangeMayMatch(const Slice&, const Slice&, bool) const override {
    return true;
  }
  static Status Open(const Slice& /*payload*/,
                     std::unique_ptr<RangeFilter>* filter) {
    filter->reset(new AlwaysTrue);
    return Status::OK();
  }
};

using KindTable = std::array<FilterKindInfo, 256>;

KindTable& Kinds() {
  static KindTable* const table = [] {
    auto* kinds = new KindTable;
    auto add = [kinds](FilterKind kind, const FilterKindInfo& info) {
      (*kinds)[static_cast<uint8_t>(kind)] = info;
    };
    add(FilterKind::kAlwaysTrue, {"none", AlwaysTrue::Open});
    add(FilterKind::kSurf, {"SuRF", Surf::Open});
    return kinds;
  }();
  return *table;
}

}  // namespace

const FilterKindInfo* FindFilterKind(FilterKind kind) {
  const FilterKindInfo& info = Kinds()[static_cast<uint8_t>(kind)];
  return info.open != nullptr ? &info : nullptr;
}

void RegisterFilterKind(FilterKind kind, const FilterKindInfo& info) {
  Kinds()[static_cast<uint8_t>(kind)] = info;
}

}  // namespace ROCKSDB_NAMESPACE::protean
