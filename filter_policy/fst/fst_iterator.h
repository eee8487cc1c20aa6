//  Walks the leaves of a Fast Succinct Trie in key order (SuRF paper,
//  section 2.4), and counts them between two places.
//
//  The iterator keeps a cursor a level, so that moving on costs no rank or
//  select until it enters a new node. Because of the level order, each cursor
//  only ever moves forward when the iterator does, which is also why two
//  iterators tell how many leaves lie between them: the leaves that their
//  cursors enclose, added up level by level.

#pragma once

#include <string>
#include <vector>

#include "filter_policy/fst/fst.h"

namespace ROCKSDB_NAMESPACE::protean {

class FstIterator {
 public:
  // The trie must outlive the iterator. Not valid until positioned.
  explicit FstIterator(const Fst* fst) : fst_(fst) {}

  bool Valid() const { return valid_; }
  void SeekToFirst();
  void SeekToLast();

  // Moves to the first leaf whose path is not below `target`: it is a proper
  // prefix of `target`, or `target` itself, or above it. In the first case
  // IsPrefixOfTarget() is true, and keys of that leaf may lie on either side of
  // the target, unless the leaf is a terminator, which is passed over.
  void Seek(const Slice& target);
  bool IsPrefixOfTarget() const { return prefix_of_target_; }

  // REQUIRES: Valid()
  void Next();
  void Prev();

  // The bytes on the path to the leaf. REQUIRES: Valid()
  Slice path() const { return path_; }
  // The leaf's number, in level order. REQUIRES: Valid()
  uint32_t leaf() const;
  // Whether the leaf is a terminator: its key is its path, nothing more.
  // REQUIRES: Valid()
  bool IsTerminator() const;

  // The number of leaves from `from`, included, to `to`, excluded. An invalid
  // `to` stands behind the last leaf, and so does an invalid `from`.
  // REQUIRES: both walk the same trie, and `from` is not behind `to`.
  static uint64_t CountBetween(const FstIterator& from, const FstIterator& to);

 private:
  struct Cursor {
    Fst::Node node;
    Fst::Edge edge;
  };

  // A place between the edges of one level: the edges to nodes and the leaves
  // that come before it in level order.
  struct Boundary {
    uint32_t edges_to_nodes;
    uint32_t leaves;
  };

  void Reset();
  void SeekToEnd(bool first);
  void Push(const Fst::Node& node, const Fst::Edge& edge);
  void Pop();
  // Descends from the edge on top to its first (last) leaf.
  void DescendFirst();
  void DescendLast();
  // The node that the edge on top leads to, if it does and is not too deep.
  bool EnterChild(Fst::Node* node) const;
  // Moves on from the edge on top, which leads or belongs to what has been
  // visited, to the next leaf.
  void Advance();
  Boundary BoundaryAt(size_t level, const Boundary& above) const;

  const Fst* fst_;
  std::vector<Cursor> cursors_;
  std::string path_;
  bool valid_ = false;
  bool prefix_of_target_ = false;
};

}  // namespace ROCKSDB_NAMESPACE::protean
