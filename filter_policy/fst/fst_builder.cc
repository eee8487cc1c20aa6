#include "filter_policy/fst/fst_builder.h"

#include <algorithm>
#include <array>
#include <limits>

#include "filter_policy/fst/fst.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Sizes in bits, tables included.
uint64_t DenseSize(uint64_t nodes) { return nodes * (512 + 64 + 1); }

uint64_t SparseSize(uint64_t nodes, uint64_t edges) {
  return edges * 10 + edges / 16 + nodes * 32 / SelectVector::kSampleRate;
}

constexpr uint32_t kMaxRemainderBits = 7;

}  // namespace

uint32_t FstBuilder::Add(const Slice& key, size_t shared, size_t depth) {
  // The path forks from the previous key's at `shared`, in a node that exists
  // unless this is the first key; below that, every node is new.
  bool new_node = num_leaves_++ == 0;
  if (depth == 0) return 0;
  if (levels_.size() < depth) levels_.resize(depth);
  for (size_t at = shared; at < depth; at++) {
    Level& level = levels_[at];
    const bool terminator = at == key.size();
    level.labels.push_back(terminator ? static_cast<char>(Fst::kTerminatorLabel)
                                      : key[at]);
    level.has_child.Append(at + 1 < depth);
    level.louds.Append(new_node);
    level.nodes += new_node;
    level.terminators += terminator;
    new_node = true;
  }
  return static_cast<uint32_t>(depth - 1);
}

size_t FstBuilder::MemoryUsage() const {
  size_t bytes = levels_.capacity() * sizeof(Level);
  for (const Level& level : levels_) {
    bytes += level.labels.capacity() + level.has_child.MemoryUsage() +
             level.louds.MemoryUsage();
  }
  return bytes;
}

// Minimizes the size, then moves the upper cutoff down as far as the size ratio
// lets it.
FstBuilder::Cutoffs FstBuilder::ChooseCutoffs() const {
  const size_t height = levels_.size();
  if (forced_.has_value()) {
    return {std::min(forced_->quotient_begin, height),
            std::min(forced_->sparse_begin, height), forced_->remainder_bits};
  }
  // What the levels from each one down would take, if they were sparse.
  std::vector<uint64_t> sparse(height + 1);
  for (size_t depth = height; depth-- > 0;) {
    sparse[depth] =
        sparse[depth + 1] +
        SparseSize(levels_[depth].nodes, levels_[depth].labels.size());
  }
  // The best use of LOUDS-Quotient right below each upper cutoff: for each
  // remainder size, the levels are taken as long as that pays.
  std::vector<Cutoffs> best(height + 1);
  std::vector<uint64_t> size(height + 1);
  uint64_t dense = 0;
  uint64_t smallest = std::numeric_limits<uint64_t>::max();
  for (size_t begin = 0; begin <= height; begin++) {
    best[begin] = {begin, begin, 0};
    size[begin] = dense + sparse[begin];
    for (uint32_t bits = 1; bits <= kMaxRemainderBits; bits++) {
      uint64_t quotient = 0;
      for (size_t end = begin + 1; end <= height; end++) {
        const Level& level = levels_[end - 1];
        const uint64_t level_size =
            QuotientLevelsBuilder::Size(level.nodes, level.labels.size(), bits);
        if (level_size >= sparse[end - 1] - sparse[end]) break;
        quotient += level_size;
        if (dense + quotient + sparse[end] < size[begin]) {
          best[begin] = {begin, end, bits};
          size[begin] = dense + quotient + sparse[end];
        }
      }
    }
    smallest = std::min(smallest, size[begin]);
    if (begin < height) dense += DenseSize(levels_[begin].nodes);
  }
  for (size_t begin = height;; begin--) {
    if (size[begin] <= smallest + smallest / kSizeRatio) return best[begin];
  }
}

// Calls start_node(has_terminator) and edge(label, has_child) for all nodes of
// a level.
template <typename StartNode, typename AddEdge>
void FstBuilder::ForEachNode(const Level& level, const StartNode& start_node,
                             const AddEdge& add_edge) {
  const size_t edges = level.labels.size();
  for (size_t pos = 0; pos < edges; pos++) {
    const auto label = static_cast<uint8_t>(level.labels[pos]);
    if (level.louds.Get(pos)) {
      const bool alone = pos + 1 == edges || level.louds.Get(pos + 1);
      const bool terminator = label == Fst::kTerminatorLabel && !alone;
      start_node(terminator);
      if (terminator) continue;
    }
    add_edge(label, level.has_child.Get(pos));
  }
}

void FstBuilder::SerializeDense(const Cutoffs& cutoffs,
                                std::string* out) const {
  std::string bases;
  BitBuffer prefix_keys;
  uint32_t edges_to_nodes = 0;
  uint32_t leaves = 0;
  std::array<uint64_t, 8> bitmaps{};
  bool started = false;
  auto finish_node = [&] {
    if (!started) return;
    for (uint64_t word : bitmaps) PutFixed64(out, word);
    bitmaps.fill(0);
  };
  for (size_t depth = 0; depth < cutoffs.quotient_begin; depth++) {
    ForEachNode(
        levels_[depth],
        [&](bool terminator) {
          finish_node();
          started = true;
          PutFixed32(&bases, edges_to_nodes);
          PutFixed32(&bases, leaves);
          prefix_keys.Append(terminator);
          leaves += terminator;
        },
        [&](uint8_t label, bool has_child) {
          bitmaps[label / 64] |= uint64_t{1} << (label % 64);
          bitmaps[4 + label / 64] |= uint64_t{has_child} << (label % 64);
          has_child ? edges_to_nodes++ : leaves++;
        });
  }
  finish_node();
  out->append(bases);
  prefix_keys.SerializeTo(out);
}

void FstBuilder::SerializeQuotient(const Cutoffs& cutoffs,
                                   std::string* out) const {
  if (cutoffs.quotient_begin == cutoffs.sparse_begin) return;
  QuotientLevelsBuilder builder(cutoffs.remainder_bits);
  for (size_t depth = cutoffs.quotient_begin; depth < cutoffs.sparse_begin;
       depth++) {
    ForEachNode(
        levels_[depth], [&](bool terminator) { builder.StartNode(terminator); },
        [&](uint8_t label, bool has_child) {
          builder.AddEdge(label, has_child);
        });
  }
  builder.Finish(out);
}

void FstBuilder::SerializeSparse(const Cutoffs& cutoffs,
                                 std::string* out) const {
  BitBuffer has_child;
  BitBuffer louds;
  for (size_t depth = cutoffs.sparse_begin; depth < levels_.size(); depth++) {
    out->append(levels_[depth].labels);
    has_child.Append(levels_[depth].has_child);
    louds.Append(levels_[depth].louds);
  }
  out->append((8 - louds.size() % 8) % 8, '\0');
  RankVector::Serialize(has_child, out);
  SelectVector::Serialize(louds, out);
}

bool FstBuilder::Finish(std::string* out) const {
  const Cutoffs cutoffs = ChooseCutoffs();
  uint64_t dense_nodes = 0;
  uint64_t quotient_nodes = 0;
  uint64_t quotient_edges = 0;
  uint64_t sparse_nodes = 0;
  uint64_t sparse_edges = 0;
  for (size_t depth = 0; depth < levels_.size(); depth++) {
    const Level& level = levels_[depth];
    if (depth < cutoffs.quotient_begin) {
      dense_nodes += level.nodes;
    } else if (depth < cutoffs.sparse_begin) {
      quotient_nodes += level.nodes;
      quotient_edges += level.labels.size() - level.terminators;
    } else {
      sparse_nodes += level.nodes;
      sparse_edges += level.labels.size();
    }
  }
  constexpr uint64_t kMax = std::numeric_limits<uint32_t>::max();
  const uint64_t quotient_bits =
      quotient_edges + (quotient_nodes << (8 - cutoffs.remainder_bits));
  if (num_leaves_ >= kMax || sparse_edges >= kMax || quotient_bits >= kMax ||
      dense_nodes + quotient_nodes + sparse_nodes >= kMax) {
    return false;
  }

  const uint64_t fields[] = {levels_.size(), cutoffs.quotient_begin,
                             dense_nodes,    quotient_nodes,
                             quotient_edges, cutoffs.remainder_bits,
                             sparse_nodes,   sparse_edges,
                             num_leaves_,    0};
  for (uint64_t field : fields) PutFixed32(out, static_cast<uint32_t>(field));
  SerializeDense(cutoffs, out);
  SerializeQuotient(cutoffs, out);
  SerializeSparse(cutoffs, out);
  return true;
}

}  // namespace ROCKSDB_NAMESPACE::protean
