// SPDX-License-Identifier: Apache-2.0

//  Builds a Fast Succinct Trie of sorted keys: records its nodes
//  (fst_records.h), then decides on the encoding of its levels, and writes each
//  level from its end.

#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "filter_policy/fst/alphabet.h"
#include "filter_policy/fst/fst_digit_nodes.h"
#include "filter_policy/fst/fst_encoding.h"
#include "filter_policy/fst/fst_records.h"
#include "filter_policy/fst/key_code_builder.h"
#include "rocksdb/slice.h"

namespace ROCKSDB_NAMESPACE::protean {

class FstBuilder {
 public:
  // Makes a key's value out of the two numbers that were added with it and, in
  // a trie of digits, the digit that follows the path in the code of the last
  // byte; 0 if there is none.
  using CompleteValue = std::function<uint64_t(uint64_t value, uint64_t draft,
                                               uint64_t next_digit)>;

  // Values that depend on what is known only after the last key: until then,
  // the builder keeps the lowest bits of two numbers for each key. In a trie of
  // digits, a value has `digit_bits` more bits.
  struct Unfinished {
    unsigned value_bits;
    unsigned draft_bits;
    unsigned digit_bits;
  };

  // The trie stores the lowest `value_bits` bits of a value with each key.
  explicit FstBuilder(unsigned value_bits, FstOptions options = {})
      : FstBuilder(value_bits, std::move(options), {value_bits, 0, 0}) {}
  FstBuilder(unsigned value_bits, FstOptions options, Unfinished unfinished);

  // Adds the key up to the byte that tells it from its neighbours, or to its
  // end if the next key starts with it. It shares its first `shared` bytes with
  // the key before it (0 for the first one), and `next_shared` with the next.
  // Keys ascend.
  void Add(const Slice& key, size_t shared, size_t next_shared, uint64_t value,
           uint64_t draft = 0) {
    records_.Add(key, shared, next_shared, value, draft);
  }

  // Adds the last key.
  void AddLast(const Slice& key, size_t shared, uint64_t value,
               uint64_t draft = 0) {
    records_.AddLast(key, shared, value, draft);
  }

  // The maximum size of the serialized trie if `last_key` is the last key,
  // which comes with AddLast. Not for tries that must be of digits.
  uint64_t MaxSize(const Slice& last_key) const;

  // Decides on the encoding, and stores the size of the serialized trie
  // (fst.h). Must be called once, after the last key; there may be no key at
  // all. False if the trie is too large for 32-bit numbers.
  bool Prepare(uint64_t* size);

  // Writes the trie into that many zero bytes at `out`, which are followed by
  // kReadPadding zero bytes. Values are what `complete` makes of them, if it is
  // given. Called once, after Prepare returned true.
  void Write(char* out, const CompleteValue& complete = nullptr);

  // Whether the trie is one of digits. Then its code comes first. REQUIRES:
  // Prepare has returned true
  bool UsesDigits() const { return !code_.empty(); }

  // The bytes allocated now, and the bytes that Prepare will allocate.
  size_t MemoryUsage() const;

 private:
  using Record = FstRecord;
  static constexpr uint16_t kLeadsToNode = Record::kLeadsToNode;
  static constexpr uint16_t kTerminator = Record::kTerminator;
  // A group of nodes of four bits fills a cache line.
  static constexpr uint8_t kDigitGroupShift = 7;

  // The nodes of a level, from the last to the first.
  struct LevelNodes {
    struct Node {
      uint16_t labels;
      uint16_t children;
    };

    FstLevelCounts counts;
    std::vector<Node> nodes;
  };

  // A section while it is written into the block.
  struct Section {
    FstSectionHeader header;
    FstSectionLayout layout;
    std::vector<uint64_t> index;
    char* arrays = nullptr;
  };

  // The numbers of what precedes the visited nodes of a level, which are
  // visited from the last one on: counted in the section, but leaves in the
  // whole trie.
  struct LevelRest {
    size_t section;
    uint32_t nodes;
    uint32_t edges;
    uint32_t children;
    uint32_t leaves;
    uint32_t run_codes;

    void Take(const Record& record) {
      nodes--;
      edges -= record.labels();
      children -= record.children();
      leaves -= record.leaves;
      run_codes -= static_cast<uint32_t>(record.run.size());
    }
  };

  // Calls visit(level, record) for all nodes; those of each level come from the
  // last to the first. Returns the number of digits on the longest path, or 0
  // if the trie is one of bytes.
  template <FstDigitNodes::Detail kDetail, typename Visitor>
  uint32_t VisitBackward(const Visitor& visit) const;
  uint64_t NumNodes() const {
    return records_.nodes() + (split_runs_ ? records_.run_bytes() : 0);
  }
  bool MayUseDigits() const;
  bool UseDigitsIfSmaller(uint64_t* size);
  // Decides on the encoding of the nodes that VisitBackward visits.
  bool ChooseSections(uint64_t* size);
  ByteCounts CountBytes() const;
  std::vector<LevelNodes> ListLevels(uint32_t* longest_path) const;
  void FillIndex(const std::vector<LevelNodes>& levels);
  void ChooseChildEncoding(Section* section) const;
  void WriteLabels(const Record& node, const LevelRest& rest,
                   const Section& section) const;
  void WriteChildren(const Record& node, const LevelRest& rest,
                     const Section& section) const;
  void WriteNode(const Record& node, const LevelRest& rest,
                 const CompleteValue& complete, char* values) const;

  unsigned value_bits_;
  const Unfinished unfinished_;
  FstOptions options_;
  FstRecords records_;

  // The decisions of Prepare.
  bool split_runs_ = false;  // whether each byte of a run becomes a node
  unsigned code_bits_ = 8;
  char alphabet_[Alphabet::kSize] = {};
  uint8_t codes_[256] = {};
  std::string code_;  // of keys; empty if the trie is one of bytes
  KeyCode key_code_;  // the code, opened
  std::vector<Section> sections_;
  std::vector<LevelRest> levels_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
