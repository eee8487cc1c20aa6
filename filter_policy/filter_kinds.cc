#include "filter_policy/filter_kinds.h"

#include <array>

#include "filter_policy/proteus/proteus.h"
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

using KindTable = std::array<OpenFilterFunction, 256>;

KindTable& Kinds() {
  static KindTable* const table = [] {
    auto* kinds = new KindTable{};
    auto add = [kinds](FilterKind kind, OpenFilterFunction open) {
      (*kinds)[static_cast<uint8_t>(kind)] = open;
    };
    add(FilterKind::kAlwaysTrue, AlwaysTrue::Open);
    add(FilterKind::kSurf, Surf::Open);
    add(FilterKind::kProteus, Proteus::Open);
    return kinds;
  }();
  return *table;
}

}  // namespace

OpenFilterFunction FindFilterKind(FilterKind kind) {
  return Kinds()[static_cast<uint8_t>(kind)];
}

void RegisterFilterKind(FilterKind kind, OpenFilterFunction open) {
  Kinds()[static_cast<uint8_t>(kind)] = open;
}

}  // namespace ROCKSDB_NAMESPACE::protean
