// SPDX-License-Identifier: Apache-2.0

//  Walks the leaves of a Fast Succinct Trie in key order (SuRF paper,
//  section 2.4). The iterator keeps a cursor for each level, so that moving on
//  costs no rank or select until it enters a new node.

#pragma once

#include <memory>
#include <new>
#include <string>

#include "filter_policy/fst/fst.h"

namespace ROCKSDB_NAMESPACE::protean {

class FstIterator {
 public:
  // The trie must outlive the iterator, which is not valid until positioned.
  explicit FstIterator(const Fst* fst);
  FstIterator(const FstIterator&) = delete;
  FstIterator& operator=(const FstIterator&) = delete;

  bool Valid() const { return valid_; }
  void SeekToFirst();
  void SeekToLast();

  // Moves to the first leaf whose path is a prefix of `target`, or `target`
  // itself, or above it. In the first two cases IsPrefixOfTarget() is true, and
  // unless the leaf is a terminator, its key may lie on either side of the
  // target. A terminator whose path is a proper prefix is skipped.
  void Seek(const Slice& target);
  // Seek in a trie of digits.
  void Seek(const CodedKey& target);
  bool IsPrefixOfTarget() const { return prefix_of_target_; }
  // The length of the path, in bytes or digits, if it is a prefix of the
  // target.
  size_t prefix_length() const { return prefix_length_; }

  // REQUIRES: Valid()
  void Next();
  void Prev();

  // The bytes, or digits, on the path to the leaf. Valid until the iterator
  // moves. REQUIRES: Valid()
  Slice path() const;
  // The leaf's number, in level order. REQUIRES: Valid()
  uint32_t leaf() const;
  // Whether the leaf is a terminator, whose key is its path.
  // REQUIRES: Valid()
  bool IsTerminator() const {
    return depth_ == 0 || cursors_[depth_ - 1].edge.is_terminator;
  }

 private:
  struct Cursor {
    Fst::Node node;
    Fst::Edge edge;
  };

  // The iterator allocates nothing for tries of at most this height, as most
  // are.
  static constexpr uint32_t kInlineCursors = 64;

  template <typename Key>
  void SeekTo(const Key& target);
  void Reset();
  void SeekToEnd(bool first);
  void Push(const Fst::Node& node, const Fst::Edge& edge) {
    new (&cursors_[depth_++]) Cursor{node, edge};
  }
  // The functions below move forward, towards later leaves, or backward.

  // Pushes the first (last) edge of the node; false if it has none.
  bool PushEnd(const Fst::Node& node, bool first);
  // Goes down to the first (last) leaf of the node, or below the edge on top.
  void Enter(const Fst::Node& node, bool forward);
  void Descend(bool forward);
  // Moves to the next (previous) leaf, from the edge on top, below which
  // everything has been visited.
  void Move(bool forward);
  // Stores the node that the edge on top leads to. False if it leads to none,
  // or too deep.
  bool EnterChild(Fst::Node* node) const;

  const Fst* fst_;
  Cursor* cursors_;
  size_t depth_ = 0;  // cursors in use
  bool valid_ = false;
  bool prefix_of_target_ = false;
  size_t prefix_length_ = 0;
  mutable std::string path_;
  std::unique_ptr<Cursor[]> many_cursors_;
  union {  // not initialized
    Cursor few_cursors_[kInlineCursors];
  };
};

}  // namespace ROCKSDB_NAMESPACE::protean
