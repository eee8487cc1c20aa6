#include "filter_policy/fst/fst.h"

namespace ROCKSDB_NAMESPACE::protean {

bool Fst::Prev(const Node& node, Edge* edge) const {
  if (edge->IsTerminator()) return false;
  if (IsDense(node)) {
    if (DenseBefore(node, edge->label, edge)) return true;
  } else if (IsQuotient(node)) {
    QuotientLevels::Edge moved = ToQuotient(*edge);
    if (quotient_.Prev(Local(node), &moved)) return FromQuotient(moved, edge);
  } else {
    if (edge->pos == node.begin) return false;
    SparseEdge(node, edge->pos - 1, edge);
    if (edge->pos > node.begin || !HasTerminator(node)) return true;
  }
  if (!HasTerminator(node)) return false;
  edge->label = Edge::kTerminator;
  return true;
}

// The bases agree with the bitmaps, every node has an edge, and every edge to a
// node is a label and leads to a later node.
bool Fst::ValidateDense() {
  uint64_t nodes_below = 0;
  uint64_t leaves_below = 0;
  for (uint32_t number = 0; number < header_.dense_nodes; number++) {
    if (LoadWord32(dense_bases_, 2 * number) != nodes_below ||
        LoadWord32(dense_bases_, 2 * number + 1) != leaves_below) {
      return false;
    }
    uint64_t labels = 0;
    for (unsigned word = 0; word < 4; word++) {
      const uint64_t present = DenseWord(number, kLabels, word);
      const uint64_t has_child = DenseWord(number, kHasChild, word);
      if ((has_child & ~present) != 0) return false;
      if (has_child != 0 && nodes_below < number) return false;
      nodes_below += PopCount(has_child);
      leaves_below += PopCount(present & ~has_child);
      labels |= present;
    }
    if (labels == 0) return false;
    Node node;
    node.number = number;
    leaves_below += HasTerminator(node);
    if (nodes_below > std::numeric_limits<uint32_t>::max() ||
        leaves_below > std::numeric_limits<uint32_t>::max()) {
      return false;
    }
  }
  dense_edges_to_nodes_ = static_cast<uint32_t>(nodes_below);
  dense_leaves_ = static_cast<uint32_t>(leaves_below);
  return true;
}

// The levels, found one by one from the root, are as many as announced, hold
// all nodes, and end where the dense ones do.
bool Fst::ValidateHeight() const {
  uint64_t begin = 0;  // the nodes of the level
  uint64_t end = 1;
  uint32_t level = 0;
  while (begin < end && end <= num_nodes_) {
    if ((level == header_.dense_levels) != (begin == header_.dense_nodes)) {
      return false;
    }
    level++;
    uint64_t next = num_nodes_;
    if (end < num_nodes_) {
      const Node node = NodeAt(static_cast<uint32_t>(end));
      Edge edge;
      if (!First(node, &edge)) return false;
      next = uint64_t{EdgesToNodesBefore(node, edge)} + 1;
    }
    begin = end;
    end = next;
  }
  return begin == num_nodes_ && level == header_.height &&
         header_.dense_levels <= level;
}

Status Fst::Open(Slice* input) {
  const char* fixed;
  if (!TakeBytes(input, FstHeader::kSize, &fixed)) {
    return Status::Corruption("trie: header is cut short");
  }
  uint64_t field = 0;
  for (uint32_t* number :
       {&header_.height, &header_.dense_levels, &header_.dense_nodes,
        &header_.quotient_nodes, &header_.quotient_edges,
        &header_.remainder_bits, &header_.sparse_nodes, &header_.sparse_edges,
        &header_.leaves, &header_.unused}) {
    *number = LoadWord32(fixed, field++);
  }
  const uint64_t dense_nodes = header_.dense_nodes;
  const uint64_t padded_labels = (uint64_t{header_.sparse_edges} + 7) / 8 * 8;
  if (!TakeBytes(input, 8 * kDenseWords * dense_nodes, &dense_) ||
      !TakeBytes(input, 8 * dense_nodes, &dense_bases_) ||
      !TakeBytes(input, SerializedBitsSize(dense_nodes), &dense_prefix_keys_)) {
    return Status::Corruption("trie: dense levels are cut short");
  }
  if (header_.quotient_nodes == 0
          ? header_.quotient_edges != 0
          : header_.remainder_bits < 1 || header_.remainder_bits > 7) {
    return Status::Corruption("trie: quotient levels are inconsistent");
  }
  if (header_.quotient_nodes > 0 &&
      !quotient_.Open(input, header_.quotient_nodes, header_.quotient_edges,
                      header_.remainder_bits)) {
    return Status::Corruption("trie: quotient levels are damaged");
  }
  if (!TakeBytes(input, padded_labels, &labels_) ||
      !has_child_.Open(input, header_.sparse_edges) ||
      !louds_.Open(input, header_.sparse_edges, header_.sparse_nodes)) {
    return Status::Corruption("trie: sparse levels are damaged");
  }
  if (!ValidateDense()) {
    return Status::Corruption("trie: dense levels are inconsistent");
  }

  // Every node but the root has one edge that leads to it, the nodes cover all
  // edges, and every other edge is a leaf. A lone leaf without any node is the
  // empty key.
  const uint64_t nodes =
      dense_nodes + header_.quotient_nodes + header_.sparse_nodes;
  const uint64_t above_sparse =
      dense_edges_to_nodes_ + quotient_.edges_to_nodes();
  const uint64_t leaves_above_sparse =
      uint64_t{dense_leaves_} + header_.quotient_edges -
      quotient_.edges_to_nodes() + quotient_.terminators();
  const uint64_t leaves =
      leaves_above_sparse + header_.sparse_edges - has_child_.ones();
  const bool consistent =
      nodes == 0
          ? header_.height == 0 && header_.leaves <= 1 &&
                header_.sparse_edges == 0
          : nodes == above_sparse + has_child_.ones() + 1 &&
                nodes <= std::numeric_limits<uint32_t>::max() &&
                leaves == header_.leaves && header_.height > 0 &&
                (header_.sparse_nodes == 0) == (header_.sparse_edges == 0) &&
                (header_.sparse_nodes == 0 || louds_.Get(0));
  if (!consistent) return Status::Corruption("trie: counts do not add up");
  num_nodes_ = static_cast<uint32_t>(nodes);
  sparse_begin_ = header_.dense_nodes + header_.quotient_nodes;
  sparse_edges_to_nodes_ = static_cast<uint32_t>(above_sparse);
  sparse_leaves_ = static_cast<uint32_t>(leaves_above_sparse);
  if (nodes > 0 && !ValidateHeight()) {
    return Status::Corruption("trie: levels do not add up");
  }
  return Status::OK();
}

}  // namespace ROCKSDB_NAMESPACE::protean
