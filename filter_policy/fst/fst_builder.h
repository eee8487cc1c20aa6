//  Builds a Fast Succinct Trie in one pass over sorted keys (SuRF paper,
//  section 2.4).
//
//  Every level grows on its own, as LOUDS-Sparse: a byte and two bits an edge.
//  What a key adds is the path below the prefix that it shares with the key
//  before it. When all keys are in, the encoding of each level is chosen, and
//  the levels are written out.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "filter_policy/bits/bit_buffer.h"
#include "rocksdb/slice.h"

namespace ROCKSDB_NAMESPACE::protean {

class FstBuilder {
 public:
  // The paper's R, section 2.4: for the sake of speed, the LOUDS-Dense levels
  // may make the trie larger by one part in R than the smallest encoding would.
  static constexpr uint64_t kSizeRatio = 64;

  // Which levels are encoded how: LOUDS-Dense up to `quotient_begin`,
  // LOUDS-Quotient up to `sparse_begin`, LOUDS-Sparse from there.
  struct Cutoffs {
    size_t quotient_begin = 0;
    size_t sparse_begin = 0;
    uint32_t remainder_bits = 0;
  };

  // Encodes the levels so, whatever their size, up to the height of the trie.
  // For tests, since any cutoffs must give the same answers.
  void ForceCutoffs(const Cutoffs& cutoffs) { forced_ = cutoffs; }

  // Adds the first `depth` bytes of `key`, which share exactly their first
  // `shared` bytes with the key added before (0 for the first key). Keys
  // ascend. With `depth` == key.size() + 1, the key is a prefix of the next one
  // and ends in a terminator. Returns the level of the new leaf: its edge is
  // the last one of that level so far, and its number among the level's leaves
  // is what the calls returned this level before. Depth 0 adds the empty key,
  // as the only one.
  uint32_t Add(const Slice& key, size_t shared, size_t depth);

  // Appends the serialized trie to `out`; see FstHeader for the format. Returns
  // false, appending nothing, if it is too large for 32-bit numbers.
  bool Finish(std::string* out) const;

  // Bytes allocated at present. Takes time in proportion to the height.
  size_t MemoryUsage() const;

 private:
  struct Level {
    std::string labels;
    BitBuffer has_child;
    BitBuffer louds;
    uint32_t nodes = 0;
    uint32_t terminators = 0;
  };

  template <typename StartNode, typename AddEdge>
  static void ForEachNode(const Level& level, const StartNode& start_node,
                          const AddEdge& add_edge);

  Cutoffs ChooseCutoffs() const;
  void SerializeDense(const Cutoffs& cutoffs, std::string* out) const;
  void SerializeQuotient(const Cutoffs& cutoffs, std::string* out) const;
  void SerializeSparse(const Cutoffs& cutoffs, std::string* out) const;

  std::optional<Cutoffs> forced_;
  std::vector<Level> levels_;
  uint64_t num_leaves_ = 0;
};

}  // namespace ROCKSDB_NAMESPACE::protean
