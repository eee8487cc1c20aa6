// SPDX-License-Identifier: Apache-2.0

//  Surf::CountLeaves. The number of keys between two bounds is the sum of the
//  leaves that the bounds enclose on each level of the trie (SuRF paper,
//  section 3.5), without walking to the first leaf inside, and without
//  stepping.

#include "filter_policy/surf/surf.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// A bound on its way down. On each level it has a place: all leaves before the
// place are below the bound.
//
// While the path of the bound is in the trie, a lookup finds the place. Below
// that, all nodes on the edges before the place come before it, and all others
// after it. So the next place is in front of the first of the other nodes, for
// any bound.
template <typename Key>
class CountBound {
 public:
  enum Side { kLow, kHigh, kHighInclusive };

  CountBound(const Surf& surf, const Key& key, Side side)
      : surf_(surf),
        fst_(surf.fst()),
        key_(key),
        side_(side),
        node_(fst_.Root()) {}

  // The place on the next level.
  const Fst::Place& Descend() {
    // The place is in front of the node with this number, unless it is at an
    // edge of node_.
    uint32_t number = place_.edges_to_nodes + 1;
    bool ends_here = false;
    if (on_path_) {
      on_path_ = false;
      number = fst_.Number(node_);
      const int run = fst_.CompareRun(node_, key_, &depth_);
      ends_here = run == 0 && depth_ == key_.size();
      if (run == 0 && !ends_here) {
        const int symbol = fst_.SymbolAt(key_, depth_);
        Fst::Edge edge;
        if (fst_.LowerBound(node_, symbol, &edge)) {
          depth_++;
          return DescendAt(symbol, edge);
        }
      }
      if (run <= 0 && !ends_here) number++;
    }
    // The node is not above node_.
    if (number >= fst_.num_nodes()) {
      return place_ = {fst_.num_nodes() - 1, fst_.num_leaves()};
    }
    place_ = fst_.PlaceOf(fst_.NodeAt(number, node_));
    // The terminator is the bound itself.
    if (ends_here && side_ == kHighInclusive && fst_.HasTerminator(node_)) {
      place_.leaves++;
    }
    return place_;
  }

  // Returns true if the path of the bound is in the trie so far. If not, the
  // place alone decides all that follows.
  bool on_path() const { return on_path_; }
  // Stores what is known of the leaf at the bound: whether its key may lie on
  // either side of the bound, and how many bytes, or digits, the two share
  // then.
  void Describe(const Surf::RemovedLeaves& removed, bool* ambiguous,
                size_t* shared) const {
    *ambiguous = ambiguous_ && (!removed || removed(ambiguous_leaf_,
                                                    ambiguous_leaf_ + 1) == 0);
    *shared = depth_;
  }

 private:
  // The place at the first edge of node_ whose symbol is at least the bound's.
  const Fst::Place& DescendAt(int symbol, const Fst::Edge& edge) {
    Fst::Node child;
    if (edge.Symbol() == symbol && fst_.Follow(node_, edge, &child)) {
      on_path_ = true;
      place_ = fst_.PlaceOf(node_, edge, child);
      node_ = child;
    } else {
      place_ = fst_.PlaceOf(node_, edge);
      if (edge.Symbol() == symbol) PassLeaf();
    }
    return place_;
  }

  // Passes the leaf after the place if its suffix tells that it is on the other
  // side of the bound. The leaf's path is a prefix of the bound.
  void PassLeaf() {
    const SurfLeaf leaf = surf_.LeafOf(place_.leaves);
    const LeafBound bound = surf_.AtLeaf(key_, depth_);
    ambiguous_leaf_ = place_.leaves;
    if (side_ == kLow) {
      const bool reaches = leaf.MayReach(bound);
      ambiguous_ = reaches && leaf.MayBeBelow(bound);
      if (!reaches) place_.leaves++;
    } else {
      const bool within = leaf.MayStayWithin(bound, side_ == kHighInclusive);
      ambiguous_ = within && leaf.MayBeAbove(bound);
      if (within) place_.leaves++;
    }
  }

  const Surf& surf_;
  const Fst& fst_;
  const Key& key_;
  const Side side_;
  Fst::Node node_;
  size_t depth_ = 0;
  bool on_path_ = true;
  bool ambiguous_ = false;
  uint32_t ambiguous_leaf_ = 0;
  Fst::Place place_;
};

template <typename Key>
inline void CountBetween(const Surf& surf, const Key& lo, const Key& hi,
                         bool hi_inclusive, const Surf::RemovedLeaves& removed,
                         RangeCount* count) {
  using Bound = CountBound<Key>;
  Bound bounds[] = {
      {surf, lo, Bound::kLow},
      {surf, hi, hi_inclusive ? Bound::kHighInclusive : Bound::kHigh}};
  const Bound& low = bounds[0];
  const Bound& high = bounds[1];
  for (uint32_t level = 0; level < surf.fst().height(); level++) {
    Fst::Place places[2];
    for (int i = 0; i < 2; i++) places[i] = bounds[i].Descend();
    const auto& [from, to] = places;
    count->count += to.leaves - from.leaves;
    if (removed) count->count -= removed(from.leaves, to.leaves);
    // No node is between the two places, so the places below are the same.
    if (from.edges_to_nodes == to.edges_to_nodes && !low.on_path() &&
        !high.on_path()) {
      break;
    }
  }
  low.Describe(removed, &count->low_ambiguous, &count->low_shared);
  high.Describe(removed, &count->high_ambiguous, &count->high_shared);
}

PROTEAN_CLONED void CountKeys(const Surf& surf, const Slice& lo,
                              const SurfUpperBound& end,
                              const Surf::RemovedLeaves& removed,
                              RangeCount* count) {
  if (!surf.IsCoded()) {
    return CountBetween(surf, lo, end.hi, end.inclusive, removed, count);
  }
  CodedKey coded_lo;
  CodedKey coded_hi;
  surf.code().Encode(lo, end.hi, &coded_lo, &coded_hi);
  CountBetween(surf, coded_lo, coded_hi, end.inclusive, removed, count);
  // The bounds counted the digits that they share.
  const size_t low_digits = count->low_shared;
  const size_t high_digits = count->high_shared;
  count->low_shared = count->high_shared = 0;
  if (count->low_ambiguous) {
    surf.code().DescribePath(lo, low_digits, &count->low_shared,
                             &count->low_limit);
  }
  if (count->high_ambiguous) {
    surf.code().DescribePath(end.hi, high_digits, &count->high_shared,
                             &count->high_limit);
  }
}

}  // namespace

void Surf::CountLeaves(const Slice& lo, const Slice& hi, bool hi_inclusive,
                       const RemovedLeaves& removed, RangeCount* count) const {
  *count = RangeCount();
  const int order = lo.compare(hi);
  if (order > 0 || (order == 0 && !hi_inclusive)) return;
  if (fst_.num_nodes() == 0) {
    // The only key, if any, is the empty one.
    const bool has_key =
        fst_.num_leaves() > 0 && (!removed || removed(0, 1) == 0);
    count->count = has_key && lo.empty() ? 1 : 0;
    return;
  }
  const SurfUpperBound end(hi, hi_inclusive);
  CountKeys(*this, lo, end, removed, count);
  // Each bound alone leaves the key open; what the two have in common may rule
  // it out.
  if (suffix_.prefix_bits > 0 && count->count == 1 && count->low_ambiguous &&
      count->high_ambiguous && !RangeMayMatch(lo, hi, hi_inclusive)) {
    *count = RangeCount();
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
