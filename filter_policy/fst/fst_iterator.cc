#include "filter_policy/fst/fst_iterator.h"

namespace ROCKSDB_NAMESPACE::protean {

void FstIterator::Push(const Fst::Node& node, const Fst::Edge& edge) {
  cursors_.push_back({node, edge});
  if (!edge.IsTerminator()) path_.push_back(static_cast<char>(edge.label));
}

void FstIterator::Pop() {
  if (!cursors_.back().edge.IsTerminator()) path_.pop_back();
  cursors_.pop_back();
}

// Descents are bounded by the height, so that not even a damaged trie can make
// them run for long.
bool FstIterator::EnterChild(Fst::Node* node) const {
  const Cursor& top = cursors_.back();
  if (!fst_->HasChild(top.node, top.edge) ||
      cursors_.size() >= fst_->height()) {
    return false;
  }
  *node = fst_->NodeAt(fst_->Child(top.node, top.edge));
  return true;
}

void FstIterator::DescendFirst() {
  Cursor next;
  while (EnterChild(&next.node) && fst_->First(next.node, &next.edge)) {
    Push(next.node, next.edge);
  }
  valid_ = !fst_->HasChild(cursors_.back().node, cursors_.back().edge);
}

void FstIterator::DescendLast() {
  Cursor next;
  while (EnterChild(&next.node) && fst_->Last(next.node, &next.edge)) {
    Push(next.node, next.edge);
  }
  valid_ = !fst_->HasChild(cursors_.back().node, cursors_.back().edge);
}

void FstIterator::Reset() {
  cursors_.clear();
  path_.clear();
  prefix_of_target_ = false;
  valid_ = false;
}

void FstIterator::SeekToFirst() { SeekToEnd(/*first=*/true); }

void FstIterator::SeekToLast() { SeekToEnd(/*first=*/false); }

void FstIterator::SeekToEnd(bool first) {
  Reset();
  if (fst_->num_nodes() == 0) {
    valid_ = fst_->num_leaves() > 0;
    return;
  }
  Cursor root;
  root.node = fst_->NodeAt(Fst::kRoot);
  if (first ? fst_->First(root.node, &root.edge)
            : fst_->Last(root.node, &root.edge)) {
    Push(root.node, root.edge);
    first ? DescendFirst() : DescendLast();
  }
}

void FstIterator::Seek(const Slice& target) {
  Reset();
  if (fst_->num_nodes() == 0) {
    // The only key, if any, is the empty one.
    valid_ = fst_->num_leaves() > 0 && target.empty();
    return;
  }
  Fst::Node node = fst_->NodeAt(Fst::kRoot);
  for (size_t depth = 0; depth < fst_->height(); depth++) {
    Fst::Edge edge;
    if (depth == target.size()) {
      // All below this node is the target or extends it.
      if (fst_->First(node, &edge)) {
        Push(node, edge);
        DescendFirst();
      }
      return;
    }
    const auto label = static_cast<uint8_t>(target[depth]);
    if (!fst_->LowerBound(node, label, &edge)) {
      Advance();
      return;
    }
    Push(node, edge);
    if (edge.label != label) {
      DescendFirst();
      return;
    }
    if (!fst_->HasChild(node, edge)) {
      valid_ = true;
      prefix_of_target_ = depth + 1 < target.size();
      return;
    }
    node = fst_->NodeAt(fst_->Child(node, edge));
  }
}

void FstIterator::Advance() {
  valid_ = false;
  while (!cursors_.empty()) {
    Cursor next = cursors_.back();
    Pop();
    if (fst_->Next(next.node, &next.edge)) {
      Push(next.node, next.edge);
      DescendFirst();
      return;
    }
  }
}

void FstIterator::Next() {
  prefix_of_target_ = false;
  Advance();
}

void FstIterator::Prev() {
  prefix_of_target_ = false;
  valid_ = false;
  while (!cursors_.empty()) {
    Cursor next = cursors_.back();
    Pop();
    if (fst_->Prev(next.node, &next.edge)) {
      Push(next.node, next.edge);
      DescendLast();
      return;
    }
  }
}

uint32_t FstIterator::leaf() const {
  if (cursors_.empty()) return 0;
  return fst_->Leaf(cursors_.back().node, cursors_.back().edge);
}

bool FstIterator::IsTerminator() const {
  return cursors_.empty() || cursors_.back().edge.IsTerminator();
}

// Where this iterator stands on a level, given where it stands on the level
// above. Below its leaf, that is in front of the first node that comes after
// the leaf, and behind the last leaf it is the end of every level: in both
// cases, the node that the next edge to a node leads to.
FstIterator::Boundary FstIterator::BoundaryAt(size_t level,
                                              const Boundary& above) const {
  if (valid_ && level < cursors_.size()) {
    const Cursor& cursor = cursors_[level];
    return {fst_->EdgesToNodesBefore(cursor.node, cursor.edge),
            fst_->LeavesBefore(cursor.node, cursor.edge)};
  }
  const uint32_t number = above.edges_to_nodes + 1;
  Cursor next;
  if (number < fst_->num_nodes()) {
    next.node = fst_->NodeAt(number);
    if (fst_->First(next.node, &next.edge)) {
      return {fst_->EdgesToNodesBefore(next.node, next.edge),
              fst_->LeavesBefore(next.node, next.edge)};
    }
  }
  return {fst_->num_nodes() - 1, fst_->num_leaves()};
}

uint64_t FstIterator::CountBetween(const FstIterator& from,
                                   const FstIterator& to) {
  const Fst* fst = from.fst_;
  if (fst->num_nodes() == 0) return from.valid_ && !to.valid_ ? 1 : 0;
  // The end of level -1: one edge, that to the root, is behind it if and only
  // if the iterator is behind the last leaf.
  Boundary low{0, 0};
  Boundary high{0, 0};
  uint64_t count = 0;
  for (size_t level = 0; level < fst->height(); level++) {
    low = from.BoundaryAt(level, low);
    high = to.BoundaryAt(level, high);
    count += high.leaves - low.leaves;
  }
  return count;
}

}  // namespace ROCKSDB_NAMESPACE::protean
