// SPDX-License-Identifier: Apache-2.0

#include "db_bench_ext/arf.h"

#include <algorithm>
#include <mutex>
#include <string>
#include <vector>

#include "db_bench_ext/number_filter.h"
#include "filter_policy/bits/bit_array.h"
#include "util/coding.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr FilterKind kArfKind{253};
// All samples that a benchmark gives.
constexpr uint32_t kMaxSamples = 1 << 24;
// An inner node has two bits of shape and, less one, a leaf; 32 bits of a rank
// table count 512 of shape.
constexpr double kBitsPerNode = 3 + 2 * 32.0 / 512;

// A payload is the number of inner nodes, the shape, and a bit of each leaf,
// which is set if there are keys. Bits 2 i and 2 i + 1 of the shape are the
// children of inner node i, set for those that are inner nodes. Inner nodes and
// leaves are numbered in breadth-first order. All inner nodes have keys.
class Arf : public NumberFilter {
 public:
  static Status Open(const PartContents& part,
                     std::unique_ptr<RangeFilter>* filter) {
    auto arf = std::make_unique<Arf>();
    Slice in = part.payload;
    uint64_t& nodes = arf->nodes_;
    const char* shape = nullptr;
    if (!GetFixed64(&in, &nodes) || nodes == 0 || nodes > 4 * in.size() ||
        !TakeBytes(&in, RankVector::Bytes(2 * nodes, nodes - 1), &shape) ||
        !TakeBytes(&in, BitArrayBytes(nodes + 1), &arf->leaves_) ||
        !arf->shape_.Open(shape, 2 * nodes, nodes - 1)) {
      return Status::Corruption("arf: damaged");
    }
    *filter = std::move(arf);
    return Status::OK();
  }

  FilterReport Report() const override {
    FilterReport report;
    report.design = std::to_string(nodes_) + " inner nodes";
    return report;
  }

 protected:
  bool NumbersMayMatch(const NumberSpan& range) const override {
    return Search(0, 63, range.first, range.second);
  }

 private:
  // Searches [first, last], counted from the first number of the inner node.
  // Its children have 2^bits numbers each.
  bool Search(uint64_t node, int bits, uint64_t first, uint64_t last) const {
    const uint64_t most = (uint64_t{1} << bits) - 1;
    for (uint64_t half = first >> bits; half <= last >> bits; half++) {
      const uint64_t child = 2 * node + half;
      const uint64_t inner_before = shape_.Rank(child);
      if (!shape_.Get(child)) {
        if (GetBit(leaves_, child - inner_before)) return true;
        continue;
      }
      const uint64_t begin = half == first >> bits ? first & most : 0;
      const uint64_t end = half == last >> bits ? last & most : most;
      if ((begin == 0 && end == most) ||
          Search(inner_before + 1, bits - 1, begin, end)) {
        return true;
      }
    }
    return false;
  }

  uint64_t nodes_ = 0;
  RankVector shape_;
  const char* leaves_ = nullptr;
};

class ArfBuilder : public NumberFilterBuilder {
 public:
  using NumberFilterBuilder::NumberFilterBuilder;

  void Write(size_t /*part*/, char* payload) override {
    EncodeFixed64(payload, nodes());
    payload += 8;
    for (size_t i = 0; i < shape_.size(); i++) {
      if (shape_[i]) SetBit(payload, i);
    }
    RankVector::Complete(payload, shape_.size());
    payload += RankVector::Bytes(shape_.size(), nodes() - 1);
    for (size_t i = 0; i < leaves_.size(); i++) {
      if (leaves_[i]) SetBit(payload, i);
    }
  }
  uint64_t MaxSize() const override {
    return static_cast<uint64_t>(Bits()) / 8 + 64;
  }
  FilterReport Report() const override {
    FilterReport report;
    report.basis = "samples";
    report.samples = static_cast<uint32_t>(firsts_.size());
    return report;
  }

 protected:
  uint64_t PlanPayload() override {
    for (const auto& [first, last] : EmptySamples(kMaxSamples)) {
      firsts_.push_back(first);
      lasts_.push_back(last);
    }
    std::sort(firsts_.begin(), firsts_.end());
    std::sort(lasts_.begin(), lasts_.end());

    std::vector<uint64_t> nodes_by_uses(firsts_.size() + 1);
    const auto ignore = [](bool, bool) {};
    Descend(
        [&nodes_by_uses](size_t uses) {
          nodes_by_uses[uses]++;
          return uses > 0;
        },
        ignore);
    // All nodes with more uses fit, and of those with as many the first `left`
    // ones, which are next to the root.
    size_t threshold = firsts_.size();
    auto left = static_cast<uint64_t>(Bits() / kBitsPerNode);
    while (threshold > 0 && nodes_by_uses[threshold] <= left) {
      left -= nodes_by_uses[threshold--];
    }
    Descend(
        [threshold, &left](size_t uses) {
          if (uses != threshold) return uses > threshold;
          if (left == 0) return false;
          left--;
          return true;
        },
        [this](bool is_inner, bool has_keys) {
          shape_.push_back(is_inner);
          if (!is_inner) leaves_.push_back(has_keys);
        });
    return 8 + RankVector::Bytes(shape_.size(), nodes() - 1) +
           BitArrayBytes(leaves_.size());
  }

 private:
  uint64_t nodes() const { return shape_.size() / 2; }

  // Walks the tree in breadth-first order. An inner node is one for which
  // is_inner(uses) returns true. It is called for the nodes that have keys and
  // that other numbers share with them, if their parents are inner nodes. Calls
  // visit(is_inner, has_keys) for the children of all inner nodes.
  template <typename IsInner, typename Visit>
  void Descend(const IsInner& is_inner, const Visit& visit) const {
    std::vector<uint64_t> level;  // the leading bits of inner nodes
    std::vector<uint64_t> next;
    if (is_inner(firsts_.size())) level.push_back(0);
    for (int bits = 63; !level.empty(); bits--) {
      // All of these move on along the level.
      size_t begin = 0;  // of the keys of a node
      size_t end = 0;
      size_t begun = 0;  // samples that begin in a node or before it
      size_t ended = 0;  // samples that end before it
      const auto visit_child = [&](uint64_t child) {
        const uint64_t first = child << bits;
        const uint64_t last = first + ((uint64_t{1} << bits) - 1);
        begin = GoTo(keys(), first, end);
        end = GoPast(keys(), last, begin);
        begun = GoPast(firsts_, last, begun);
        ended = GoTo(lasts_, first, ended);
        const bool inner = begin < end && end - begin <= last - first &&
                           is_inner(begun - ended);
        if (inner) next.push_back(child);
        visit(inner, begin < end);
      };
      for (const uint64_t node : level) {
        visit_child(2 * node);
        visit_child(2 * node + 1);
      }
      level.swap(next);
      next.clear();
    }
  }

  // The first index from `from` on whose number is not below `number`.
  static size_t GoTo(const std::vector<uint64_t>& numbers, uint64_t number,
                     size_t from) {
    while (from < numbers.size() && numbers[from] < number) from++;
    return from;
  }
  // The first one whose number is above `number`.
  static size_t GoPast(const std::vector<uint64_t>& numbers, uint64_t number,
                       size_t from) {
    while (from < numbers.size() && numbers[from] <= number) from++;
    return from;
  }

  // The samples that find nothing.
  std::vector<uint64_t> firsts_;
  std::vector<uint64_t> lasts_;
  std::vector<bool> shape_;
  std::vector<bool> leaves_;
};

}  // namespace

void RegisterArf() {
  static std::once_flag once;
  std::call_once(once, [] {
    RegisterNumberFilter({kArfKind, "protean.Arf", "arf", Arf::Open,
                          MakeNumberFilterBuilder<ArfBuilder>, kMaxSamples});
  });
}

}  // namespace ROCKSDB_NAMESPACE::protean
