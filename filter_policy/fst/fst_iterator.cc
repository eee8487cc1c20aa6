// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/fst/fst_iterator.h"

namespace ROCKSDB_NAMESPACE::protean {

FstIterator::FstIterator(const Fst* fst) : fst_(fst), cursors_(few_cursors_) {
  if (fst->height() > kInlineCursors) {
    many_cursors_.reset(new Cursor[fst->height()]);
    cursors_ = many_cursors_.get();
  }
}

// Descents are bounded by the height, so that not even a damaged trie can make
// them run for long.
inline bool FstIterator::EnterChild(Fst::Node* node) const {
  const Cursor& top = cursors_[depth_ - 1];
  return depth_ < fst_->height() && fst_->Follow(top.node, top.edge, node);
}

inline void FstIterator::Descend(bool forward) {
  Fst::Node node;
  while (EnterChild(&node)) {
    if (!PushEnd(node, forward)) return;
  }
  valid_ = true;
}

inline bool FstIterator::PushEnd(const Fst::Node& node, bool first) {
  Fst::Edge edge;
  if (!(first ? fst_->First(node, &edge) : fst_->Last(node, &edge))) {
    return false;
  }
  Push(node, edge);
  return true;
}

inline void FstIterator::Enter(const Fst::Node& node, bool forward) {
  if (PushEnd(node, forward)) Descend(forward);
}

inline void FstIterator::Reset() {
  depth_ = 0;
  prefix_of_target_ = false;
  valid_ = false;
}

inline void FstIterator::Move(bool forward) {
  valid_ = false;
  prefix_of_target_ = false;
  while (depth_ > 0) {
    Cursor& top = cursors_[depth_ - 1];
    if (forward ? fst_->Next(top.node, &top.edge)
                : fst_->Prev(top.node, &top.edge)) {
      Descend(forward);
      return;
    }
    depth_--;
  }
}

void FstIterator::SeekToFirst() { SeekToEnd(/*first=*/true); }

void FstIterator::SeekToLast() { SeekToEnd(/*first=*/false); }

void FstIterator::SeekToEnd(bool first) {
  Reset();
  if (fst_->num_nodes() == 0) {
    valid_ = fst_->num_leaves() > 0;
  } else {
    Enter(fst_->Root(), first);
  }
}

template <typename Key>
inline void FstIterator::SeekTo(const Key& target) {
  Reset();
  if (fst_->num_nodes() == 0) {
    // The only key, if any, is the empty one.
    valid_ = fst_->num_leaves() > 0 && target.size() == 0;
    prefix_of_target_ = valid_;
    prefix_length_ = 0;
    return;
  }
  Fst::Node node = fst_->Root();
  size_t matched = 0;
  while (depth_ < fst_->height()) {
    const int run = fst_->CompareRun(node, target, &matched);
    if (run < 0) {
      Move(/*forward=*/true);
      return;
    }
    if (run > 0 || matched == target.size()) {
      // All below this node is the target or above it.
      Enter(node, /*forward=*/true);
      prefix_of_target_ = run == 0 && fst_->HasTerminator(node);
      prefix_length_ = matched;
      return;
    }
    const int symbol = fst_->SymbolAt(target, matched);
    Fst::Edge edge;
    if (!fst_->LowerBound(node, symbol, &edge)) {
      Move(/*forward=*/true);
      return;
    }
    Push(node, edge);
    if (edge.Symbol() != symbol) {
      Descend(/*forward=*/true);
      return;
    }
    matched++;
    if (!fst_->Follow(node, edge, &node)) {
      valid_ = true;
      prefix_of_target_ = true;
      prefix_length_ = matched;
      return;
    }
  }
}

PROTEAN_CLONED void FstIterator::Seek(const Slice& target) { SeekTo(target); }

PROTEAN_CLONED void FstIterator::Seek(const CodedKey& target) {
  SeekTo(target);
}

PROTEAN_CLONED void FstIterator::Next() { Move(/*forward=*/true); }

void FstIterator::Prev() { Move(/*forward=*/false); }

Slice FstIterator::path() const {
  path_.clear();
  for (size_t level = 0; level < depth_; level++) {
    const Cursor& cursor = cursors_[level];
    fst_->AppendRun(cursor.node, &path_);
    if (!cursor.edge.is_terminator) path_.push_back(fst_->Byte(cursor.edge));
  }
  return path_;
}

uint32_t FstIterator::leaf() const {
  if (depth_ == 0) return 0;
  return fst_->Leaf(cursors_[depth_ - 1].node, cursors_[depth_ - 1].edge);
}

}  // namespace ROCKSDB_NAMESPACE::protean
