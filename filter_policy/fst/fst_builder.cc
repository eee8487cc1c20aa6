#include "filter_policy/fst/fst_builder.h"

#include <array>
#include <limits>

#include "filter_policy/fst/fst.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {
// The size of a dense node and of a sparse edge in bits, without the tables.
constexpr uint64_t kDenseNodeBits = 512 + 64 + 1;
constexpr uint64_t kSparseEdgeBits = 10;
}  // namespace

uint32_t FstBuilder::Add(const Slice& key, size_t shared, size_t depth) {
  num_leaves_++;
  if (depth == 0) return 0;
  if (levels_.size() < depth) {
    memory_usage_ += (depth - levels_.size()) * sizeof(Level);
    levels_.resize(depth);
  }
  for (size_t depth_of_edge = shared; depth_of_edge < depth; depth_of_edge++) {
    Level& level = levels_[depth_of_edge];
    const size_t before = level.labels.capacity() +
                          level.has_child.MemoryUsage() +
                          level.louds.MemoryUsage();
    // The path forks from the previous key's at `shared`, in a node that exists
    // unless this is the first key; below that, every node is new.
    const bool new_node = depth_of_edge > shared || num_leaves_ == 1;
    const bool terminator = depth_of_edge == key.size();
    level.labels.push_back(terminator ? static_cast<char>(Fst::kTerminatorLabel)
                                      : key[depth_of_edge]);
    level.has_child.Append(depth_of_edge + 1 < depth);
    level.louds.Append(new_node);
    level.nodes += new_node;
    memory_usage_ += level.labels.capacity() + level.has_child.MemoryUsage() +
                     level.louds.MemoryUsage() - before;
  }
  return static_cast<uint32_t>(depth - 1);
}

// The largest cutoff for which size_ratio_ times the dense levels is no more
// than the sparse levels (section 2.4), counted from the bottom up.
size_t FstBuilder::ChooseCutoff() const {
  uint64_t dense = 0;
  uint64_t sparse = 0;
  for (const Level& level : levels_) {
    dense += level.nodes * kDenseNodeBits;
  }
  for (size_t cutoff = levels_.size(); cutoff > 0; cutoff--) {
    if (dense * size_ratio_ <= sparse) return cutoff;
    dense -= levels_[cutoff - 1].nodes * kDenseNodeBits;
    sparse += levels_[cutoff - 1].labels.size() * kSparseEdgeBits;
  }
  return 0;
}

void FstBuilder::SerializeDense(size_t cutoff, std::string* out) const {
  std::string bases;
  BitBuffer prefix_keys;
  uint32_t edges_to_nodes = 0;
  uint32_t leaves = 0;
  for (size_t depth = 0; depth < cutoff; depth++) {
    const Level& level = levels_[depth];
    const size_t edges = level.labels.size();
    for (size_t begin = 0, end; begin < edges; begin = end) {
      end = begin + 1;
      while (end < edges && !level.louds.Get(end)) end++;
      PutFixed32(&bases, edges_to_nodes);
      PutFixed32(&bases, leaves);
      const bool terminator =
          end - begin > 1 &&
          static_cast<uint8_t>(level.labels[begin]) == Fst::kTerminatorLabel;
      prefix_keys.Append(terminator);
      if (terminator) leaves++;
      std::array<uint64_t, 8> bitmaps{};
      for (size_t edge = begin + terminator; edge < end; edge++) {
        const uint8_t label = level.labels[edge];
        const bool has_child = level.has_child.Get(edge);
        bitmaps[label / 64] |= uint64_t{1} << (label % 64);
        bitmaps[4 + label / 64] |= uint64_t{has_child} << (label % 64);
        has_child ? edges_to_nodes++ : leaves++;
      }
      for (uint64_t word : bitmaps) PutFixed64(out, word);
    }
  }
  out->append(bases);
  prefix_keys.SerializeTo(out);
}

bool FstBuilder::Finish(std::string* out) const {
  const size_t cutoff = ChooseCutoff();
  uint64_t dense_nodes = 0;
  uint64_t sparse_nodes = 0;
  uint64_t sparse_labels = 0;
  for (size_t depth = 0; depth < levels_.size(); depth++) {
    if (depth < cutoff) {
      dense_nodes += levels_[depth].nodes;
    } else {
      sparse_nodes += levels_[depth].nodes;
      sparse_labels += levels_[depth].labels.size();
    }
  }
  constexpr uint64_t kMax = std::numeric_limits<uint32_t>::max();
  if (num_leaves_ >= kMax || sparse_labels >= kMax ||
      dense_nodes + sparse_nodes >= kMax) {
    return false;
  }

  for (uint64_t field :
       {uint64_t{levels_.size()}, uint64_t{cutoff}, dense_nodes, sparse_nodes,
        sparse_labels, num_leaves_}) {
    PutFixed32(out, static_cast<uint32_t>(field));
  }
  SerializeDense(cutoff, out);
  BitBuffer has_child;
  BitBuffer louds;
  for (size_t depth = cutoff; depth < levels_.size(); depth++) {
    out->append(levels_[depth].labels);
    has_child.Append(levels_[depth].has_child);
    louds.Append(levels_[depth].louds);
  }
  out->append((8 - sparse_labels % 8) % 8, '\0');
  RankVector::Serialize(has_child, out);
  SelectVector::Serialize(louds, out);
  return true;
}

}  // namespace ROCKSDB_NAMESPACE::protean
