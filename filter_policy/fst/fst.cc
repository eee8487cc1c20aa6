#include "filter_policy/fst/fst.h"

namespace ROCKSDB_NAMESPACE::protean {

uint32_t Fst::EdgesToNodesBefore(const Node& node, uint32_t pos) const {
  if (!IsDense(node.number)) {
    return dense_edges_to_nodes_ + static_cast<uint32_t>(has_child_.Rank(pos));
  }
  uint32_t count = LoadWord32(dense_bases_, 2 * node.number);
  if (pos == 0) return count;
  const unsigned label = pos - 1;
  for (unsigned word = 0; word < label / 64; word++) {
    count += PopCount(DenseWord(node.number, kHasChild, word));
  }
  return count + PopCount(DenseWord(node.number, kHasChild, label / 64) &
                          LowBits(label % 64));
}

uint32_t Fst::LeavesBefore(const Node& node, uint32_t pos) const {
  if (!IsDense(node.number)) {
    return dense_leaves_ + pos - static_cast<uint32_t>(has_child_.Rank(pos));
  }
  uint32_t count = LoadWord32(dense_bases_, 2 * node.number + 1);
  if (pos == 0) return count;
  if (HasTerminator(node)) count++;
  const unsigned label = pos - 1;
  for (unsigned word = 0; word < label / 64; word++) {
    count += PopCount(DenseWord(node.number, kLabels, word) &
                      ~DenseWord(node.number, kHasChild, word));
  }
  return count + PopCount(DenseWord(node.number, kLabels, label / 64) &
                          ~DenseWord(node.number, kHasChild, label / 64) &
                          LowBits(label % 64));
}

// The bases agree with the bitmaps, every node has an edge, and every edge to a
// node is a label and leads to a later node.
bool Fst::ValidateDense(uint32_t* edges_to_nodes, uint32_t* leaves) const {
  uint64_t nodes_below = 0;
  uint64_t leaves_below = 0;
  for (uint32_t number = 0; number < header_.dense_nodes; number++) {
    Node node;
    node.number = number;
    if (LoadWord32(dense_bases_, 2 * number) != nodes_below ||
        LoadWord32(dense_bases_, 2 * number + 1) != leaves_below) {
      return false;
    }
    uint64_t labels = HasTerminator(node) ? 1 : 0;
    leaves_below += labels;
    for (unsigned word = 0; word < 4; word++) {
      const uint64_t present = DenseWord(number, kLabels, word);
      const uint64_t has_child = DenseWord(number, kHasChild, word);
      if ((has_child & ~present) != 0) return false;
      if (has_child != 0 && nodes_below < number) return false;
      nodes_below += PopCount(has_child);
      leaves_below += PopCount(present & ~has_child);
      labels += PopCount(present);
    }
    if (labels == 0 || nodes_below > std::numeric_limits<uint32_t>::max() ||
        leaves_below > std::numeric_limits<uint32_t>::max()) {
      return false;
    }
  }
  *edges_to_nodes = static_cast<uint32_t>(nodes_below);
  *leaves = static_cast<uint32_t>(leaves_below);
  return true;
}

Status Fst::Open(Slice* input) {
  const char* fixed;
  if (!TakeBytes(input, FstHeader::kSize, &fixed)) {
    return Status::Corruption("trie: header is cut short");
  }
  header_.height = LoadWord32(fixed, 0);
  header_.dense_levels = LoadWord32(fixed, 1);
  header_.dense_nodes = LoadWord32(fixed, 2);
  header_.sparse_nodes = LoadWord32(fixed, 3);
  header_.sparse_labels = LoadWord32(fixed, 4);
  header_.leaves = LoadWord32(fixed, 5);

  const uint64_t dense_nodes = header_.dense_nodes;
  const uint64_t padded_labels = (uint64_t{header_.sparse_labels} + 7) / 8 * 8;
  if (!TakeBytes(input, 8 * kDenseWords * dense_nodes, &dense_) ||
      !TakeBytes(input, 8 * dense_nodes, &dense_bases_) ||
      !TakeBytes(input, SerializedBitsSize(dense_nodes), &dense_prefix_keys_) ||
      !TakeBytes(input, padded_labels, &labels_)) {
    return Status::Corruption("trie: arrays are cut short");
  }
  if (!has_child_.Open(input, header_.sparse_labels) ||
      !louds_.Open(input, header_.sparse_labels, header_.sparse_nodes)) {
    return Status::Corruption("trie: rank or select table is wrong");
  }
  if (!ValidateDense(&dense_edges_to_nodes_, &dense_leaves_)) {
    return Status::Corruption("trie: dense levels are inconsistent");
  }

  // Every node but the root has one edge that leads to it, the sparse nodes
  // cover all sparse edges, and every other edge is a leaf. A lone leaf without
  // any node is the empty key.
  const uint64_t nodes = dense_nodes + header_.sparse_nodes;
  const uint64_t edges_to_nodes =
      uint64_t{dense_edges_to_nodes_} + has_child_.ones();
  const uint64_t leaves = uint64_t{dense_leaves_} + header_.sparse_labels -
                          has_child_.ones() + (nodes == 0 ? header_.leaves : 0);
  const bool consistent =
      nodes == 0
          ? header_.height == 0 && header_.leaves <= 1 &&
                header_.sparse_labels == 0
          : nodes == edges_to_nodes + 1 && leaves == header_.leaves &&
                header_.height > 0 && header_.dense_levels <= header_.height &&
                (header_.sparse_nodes == 0) == (header_.sparse_labels == 0) &&
                (header_.sparse_nodes == 0 || louds_.Get(0));
  if (!consistent) return Status::Corruption("trie: counts do not add up");
  return Status::OK();
}

}  // namespace ROCKSDB_NAMESPACE::protean
