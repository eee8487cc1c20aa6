// SPDX-License-Identifier: Apache-2.0

//  Locates the parts of a filter block, as docs/file_format.md describes them.
//  Mutators know the format from here only: a new field of a header is a line
//  in a table of block_layout.cc.

#pragma once

#include <optional>
#include <vector>

#include "filter_policy/amq/amq_type.h"
#include "filter_policy/fst/fst.h"
#include "filter_policy/proteus/proteus.h"
#include "rocksdb/slice.h"

namespace ROCKSDB_NAMESPACE::protean {

// The last of the versions that filter_block.cc reads; the first one is 1.
constexpr int kLatestBlockVersion = 4;

// A field of a header.
struct BlockField {
  const char* name;
  uint32_t offset;  // in its header
  uint32_t size;
};

// A piece of a block, in bytes from its beginning.
struct BlockPart {
  enum Kind : uint8_t {
    kNumber,  // little endian
    kBits,    // a bit vector, numbers of some bits, or a set
    kBytes,   // bytes of keys, and bytes of unknown meaning
  };
  const char* name;
  Kind kind;
  size_t offset;
  size_t size;
};

class BlockLayout {
 public:
  struct Section {
    size_t header;  // offset in the block
    size_t arrays;
    FstSectionHeader fields;
    FstSectionLayout layout;
  };
  struct Trie {
    size_t header;
    FstHeader fields;
    unsigned code_bits;
    std::vector<Section> sections;
    size_t values;
    size_t end;
  };
  // The suffixes of a Proteus trie, whose leaves have prefixes of one length.
  struct Uniform {
    size_t header;
    uint32_t prefix_bits;
    uint32_t levels;
    size_t table;
    size_t suffixes;
    size_t end;
  };
  struct Set {
    size_t header;
    AmqHeader fields;
    size_t data;
    // A set of prefixes has at most one for each byte of a prefix.
    size_t alphabets;
  };

  explicit BlockLayout(const Slice& block);

  // Parts in ascending order, without overlaps and gaps.
  const std::vector<BlockPart>& parts() const { return parts_; }
  uint8_t kind() const { return kind_; }
  size_t payload() const { return payload_; }
  size_t payload_end() const { return payload_end_; }
  // Whether the payload is in segments, which are taken for bytes.
  bool is_segmented() const { return is_segmented_; }
  // Whether the payload is that of a part of a partitioned Proteus.
  bool is_proteus_part() const { return is_proteus_part_; }

  // The pieces that could be found. A damaged block may end, or contradict
  // itself, before the other pieces.
  const std::optional<Trie>& trie() const { return trie_; }
  const std::optional<Uniform>& uniform() const { return uniform_; }
  const std::vector<Set>& sets() const { return sets_; }
  // Whether the whole payload was found where it should be.
  bool whole() const { return whole_; }

 private:
  template <size_t kCount>
  void AddFields(const BlockField (&fields)[kCount], size_t header);
  void AddPart(const char* name, BlockPart::Kind kind, uint64_t size);
  bool Fits(uint64_t size) const { return size <= payload_end_ - at_; }
  const char* At(size_t offset) const { return block_.data() + offset; }

  bool AddEnvelope();
  bool AddEnvelopeOfPart();
  void AddEndOfPart();
  bool AddPayload();
  bool AddSegments();
  bool AddProteus();
  bool AddProteusPart();
  void AddSet(size_t header, uint32_t prefix_bits);
  bool AddSetData();
  bool AddUniform();
  bool AddCode();
  bool AddTrie();
  bool AddSection(size_t header);

  const Slice block_;
  std::vector<BlockPart> parts_;
  size_t at_ = 0;  // all parts before this offset have been added
  uint8_t kind_ = 0;
  size_t payload_ = 0;
  size_t payload_end_ = 0;
  std::optional<Trie> trie_;
  std::optional<Uniform> uniform_;
  std::vector<Set> sets_;
  bool whole_ = false;
  bool is_segmented_ = false;
  bool is_proteus_part_ = false;
};

// The number of all suffix bits, by the table of the trie.
uint64_t SuffixBits(const Slice& block, const BlockLayout::Uniform& uniform,
                    uint32_t leaves);

}  // namespace ROCKSDB_NAMESPACE::protean
