// SPDX-License-Identifier: Apache-2.0

//  Locates the pieces of a filter block, as docs/internals/file_format.md
//  describes them. Mutators know the format from here only: a new field of a
//  header is a name in a list of block_layout.cc.

#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "filter_policy/amq/amq_type.h"
#include "filter_policy/filter_block.h"
#include "filter_policy/fst/fst.h"
#include "filter_policy/proteus/proteus.h"
#include "rocksdb/slice.h"

namespace ROCKSDB_NAMESPACE::protean {

// A piece of a block, in bytes from the beginning of what is laid out.
struct BlockPiece {
  enum Kind : uint8_t {
    kNumber,  // little endian
    kVarint,
    kBits,   // a bit vector, numbers of some bits, or a set
    kBytes,  // bytes of keys, and bytes of unknown meaning
  };
  const char* name;
  Kind kind;
  size_t offset;
  size_t size;

  bool IsNumber() const { return kind == kNumber || kind == kVarint; }
};

// A number, and the block with another one of its fixed size in its place.
uint64_t NumberAt(const std::string& block, const BlockPiece& piece);
std::string WithNumber(std::string block, const BlockPiece& piece,
                       uint64_t number);

// The pieces of some bytes, which must outlive it.
class PieceLayout {
 public:
  // In ascending order, without overlaps and gaps.
  const std::vector<BlockPiece>& pieces() const { return pieces_; }
  // Whether all was found where it should be. Damaged bytes may end, or
  // contradict themselves, before the other pieces.
  bool whole() const { return whole_; }

 protected:
  explicit PieceLayout(const Slice& bytes) : bytes_(bytes) {}

  // Each adds the next piece, or pieces; false if the bytes end before it does.
  bool Add(const char* name, BlockPiece::Kind kind, uint64_t size);
  bool AddFields(uint32_t size, std::initializer_list<const char*> names);
  bool AddVarint(const char* name, uint32_t* value);
  bool AddString(const char* length_name, const char* name, Slice* string);
  // Adds what has not been found.
  void AddRest(const char* name, bool found);

  const char* At(size_t offset) const { return bytes_.data() + offset; }

  const Slice bytes_;
  std::vector<BlockPiece> pieces_;
  size_t at_ = 0;  // all pieces before this offset have been added
  bool whole_ = false;
};

class DirectoryLayout : public PieceLayout {
 public:
  // A part, and the sizes of its units' payloads, 0 if there is no second one.
  struct Entry {
    uint32_t sizes[2] = {};
    uint32_t num_keys = 0;
    uint8_t kind = 0;
    uint32_t design = 0;  // its index
    Slice begin;
  };

  explicit DirectoryLayout(const Slice& directory);

  // What could be found.
  const FilterBlockHeader& header() const { return header_; }
  const std::vector<Entry>& entries() const { return entries_; }
  // The design of a unit of an entry; empty if there is none with that index.
  std::string DesignOf(const Entry& entry, bool second) const;
  // Calls a function with the index of an entry, which of its units it is, and
  // the size of the unit's payload, in the order of the units in the block.
  template <typename Function>
  void ForEachUnit(const Function& function) const {
    for (const bool second : {false, true}) {
      for (size_t i = 0; i < entries_.size(); i++) {
        const uint32_t size = entries_[i].sizes[second];
        if (!second || size > 0) function(i, second, size);
      }
    }
  }

 private:
  bool AddHeader();
  bool AddEntry();

  FilterBlockHeader header_;
  uint32_t num_parts_ = 0;
  std::vector<Slice> designs_;
  std::vector<Entry> entries_;
};

class PayloadLayout : public PieceLayout {
 public:
  struct Section {
    size_t header;
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
    // A set of prefixes has at most one for each byte of a prefix.
    size_t alphabets;
  };

  // The part has this kind and design.
  PayloadLayout(const Slice& payload, uint8_t kind, const Slice& design);

  const std::optional<Trie>& trie() const { return trie_; }
  const std::optional<Uniform>& uniform() const { return uniform_; }
  const std::vector<Set>& sets() const { return sets_; }

 private:
  bool AddSurf();
  bool AddProteus(const Slice& design);
  bool AddSet(uint32_t prefix_bits);
  bool AddSetData();
  bool AddUniform();
  bool AddCode();
  bool AddTrie();
  bool AddSection(size_t header);

  std::optional<Trie> trie_;
  std::optional<Uniform> uniform_;
  std::vector<Set> sets_;
};

// The number of all suffix bits, by the table of the trie.
uint64_t SuffixBits(const Slice& payload, const PayloadLayout::Uniform& uniform,
                    uint32_t leaves);

// A block, cut where its directory says so.
struct SplitBlock {
  struct Unit {
    size_t entry = 0;  // the index of its part
    bool second = false;
    std::string payload;
    std::string end;
  };

  explicit SplitBlock(const Slice& block);
  std::string Join() const;

  std::string directory;
  // Fewer than the entries tell of, or shorter, if the block is.
  std::vector<Unit> units;
  std::string rest;
};

// All of a block.
class BlockLayout : public PieceLayout {
 public:
  struct Unit {
    size_t payload;  // its offset in the block
    PayloadLayout layout;
  };

  explicit BlockLayout(const Slice& block);

  const std::vector<Unit>& units() const { return units_; }

 private:
  void AddPieces(const PieceLayout& layout);

  std::vector<Unit> units_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
