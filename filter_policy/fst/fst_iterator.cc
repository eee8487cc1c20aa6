#include "filter_policy/fst/fst_iterator.h"

namespace ROCKSDB_NAMESPACE::protean {

void FstIterator::Push(const Fst::Node& node, uint32_t pos) {
  cursors_.push_back({node, pos});
  if (!fst_->IsTerminator(node, pos)) {
    path_.push_back(static_cast<char>(fst_->Label(node, pos)));
  }
}

void FstIterator::Pop() {
  const Cursor& top = cursors_.back();
  if (!fst_->IsTerminator(top.node, top.pos)) path_.pop_back();
  cursors_.pop_back();
}

// Both descents are bounded by the height, so that not even a damaged trie can
// make them run for long.
void FstIterator::DescendFirst() {
  while (fst_->HasChild(cursors_.back().node, cursors_.back().pos) &&
         cursors_.size() < fst_->height()) {
    const Fst::Node node =
        fst_->NodeAt(fst_->Child(cursors_.back().node, cursors_.back().pos));
    Push(node, fst_->First(node));
  }
  valid_ = !fst_->HasChild(cursors_.back().node, cursors_.back().pos);
}

void FstIterator::DescendLast() {
  while (fst_->HasChild(cursors_.back().node, cursors_.back().pos) &&
         cursors_.size() < fst_->height()) {
    const Fst::Node node =
        fst_->NodeAt(fst_->Child(cursors_.back().node, cursors_.back().pos));
    Push(node, fst_->Last(node));
  }
  valid_ = !fst_->HasChild(cursors_.back().node, cursors_.back().pos);
}

void FstIterator::SeekToFirst() {
  cursors_.clear();
  path_.clear();
  prefix_of_target_ = false;
  valid_ = fst_->num_leaves() > 0;
  if (fst_->num_nodes() == 0) return;
  const Fst::Node root = fst_->NodeAt(Fst::kRoot);
  Push(root, fst_->First(root));
  DescendFirst();
}

void FstIterator::SeekToLast() {
  cursors_.clear();
  path_.clear();
  prefix_of_target_ = false;
  valid_ = fst_->num_leaves() > 0;
  if (fst_->num_nodes() == 0) return;
  const Fst::Node root = fst_->NodeAt(Fst::kRoot);
  Push(root, fst_->Last(root));
  DescendLast();
}

void FstIterator::Seek(const Slice& target) {
  cursors_.clear();
  path_.clear();
  prefix_of_target_ = false;
  valid_ = false;
  if (fst_->num_leaves() == 0) return;
  if (fst_->num_nodes() == 0) {
    // The only key is the empty one.
    valid_ = target.empty();
    return;
  }
  uint32_t number = Fst::kRoot;
  for (size_t depth = 0; depth < fst_->height(); depth++) {
    const Fst::Node node = fst_->NodeAt(number);
    if (depth == target.size()) {
      // All below this node is the target or extends it.
      Push(node, fst_->First(node));
      DescendFirst();
      return;
    }
    const auto label = static_cast<uint8_t>(target[depth]);
    const uint32_t pos = fst_->LowerBound(node, label);
    if (pos == Fst::kNoEdge) {
      if (!cursors_.empty()) Advance();
      return;
    }
    Push(node, pos);
    if (fst_->Label(node, pos) != label) {
      DescendFirst();
      return;
    }
    if (!fst_->HasChild(node, pos)) {
      valid_ = true;
      prefix_of_target_ = depth + 1 < target.size();
      return;
    }
    number = fst_->Child(node, pos);
  }
}

void FstIterator::Advance() {
  valid_ = false;
  while (!cursors_.empty()) {
    const Fst::Node node = cursors_.back().node;
    const uint32_t pos = fst_->Next(node, cursors_.back().pos);
    Pop();
    if (pos != Fst::kNoEdge) {
      Push(node, pos);
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
    const Fst::Node node = cursors_.back().node;
    const uint32_t pos = fst_->Prev(node, cursors_.back().pos);
    Pop();
    if (pos != Fst::kNoEdge) {
      Push(node, pos);
      DescendLast();
      return;
    }
  }
}

uint32_t FstIterator::leaf() const {
  if (cursors_.empty()) return 0;
  return fst_->Leaf(cursors_.back().node, cursors_.back().pos);
}

bool FstIterator::IsTerminator() const {
  return cursors_.empty() ||
         fst_->IsTerminator(cursors_.back().node, cursors_.back().pos);
}

// Where this iterator stands on a level, given where it stands on the level
// above. Below its leaf, that is in front of the first node that comes after
// the leaf, and behind the last leaf it is the end of every level: in both
// cases, the node that the next edge to a node leads to.
FstIterator::Boundary FstIterator::BoundaryAt(size_t level,
                                              const Boundary& above) const {
  Fst::Node node;
  uint32_t pos;
  if (valid_ && level < cursors_.size()) {
    node = cursors_[level].node;
    pos = cursors_[level].pos;
  } else {
    const uint32_t number = above.edges_to_nodes + 1;
    if (number >= fst_->num_nodes()) {
      return {fst_->num_nodes() - 1, fst_->num_leaves()};
    }
    node = fst_->NodeAt(number);
    pos = number < fst_->header().dense_nodes ? 0 : node.begin;
  }
  return {fst_->EdgesToNodesBefore(node, pos), fst_->LeavesBefore(node, pos)};
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
