// SPDX-License-Identifier: Apache-2.0

//  Builds a Fast Succinct Trie of sorted keys: records its nodes
//  (fst_records.h), then decides on the encoding of its levels, and writes each
//  level from its end.

#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "filter_policy/fst/fst_records.h"
#include "filter_policy/fst/fst_section.h"
#include "filter_policy/fst/key_code.h"
#include "rocksdb/slice.h"

namespace ROCKSDB_NAMESPACE::protean {

// ---- The choice of encodings ----

// The encodings and devices that may be used: by default, all of them. Other
// choices are for comparison and for tests. The answers of a trie do not depend
// on them.
struct FstOptions {
  // The paper's R, section 2.4: to be faster, LOUDS-Dense at the top may make
  // the trie larger by one part in R than the smallest encoding.
  static constexpr uint64_t kSizeRatio = 64;

  bool reduce_alphabet = true;  // else every code has 8 bits
  bool dense = true;
  bool quotient = true;
  bool list_exceptions = true;  // else HasChild is always bits
  bool runs = true;             // else all runs are nodes with one edge each
  // When the trie is built over digits of keys (key_code.h) instead of bytes.
  // It never is without a reduced alphabet: the code of a key has digits for
  // the bytes that occur, and no others.
  enum Digits {
    kNever,
    kIfSmaller,  // for text, where that is clearly smaller
    kIfPossible,
  };
  Digits digits = kIfSmaller;
  // Log2 of the nodes that share an entry of the index in LOUDS-Dense.
  uint8_t dense_group_shift = 0;

  // If not empty, the remainder bits of each level. The last number counts for
  // all levels below too. Numbers above the bits of a code mean the latter.
  std::vector<unsigned> forced;
};

// Partitions the levels, root first, into sections of the smallest size, but
// with LOUDS-Dense as far down as the size ratio allows. There are at most
// FstHeader::kMaxSections, unless more are forced. The headers are complete,
// but for the encoding of the children.
std::vector<FstSectionHeader> ChooseEncoding(
    const std::vector<FstLevelCounts>& levels, unsigned code_bits,
    const FstOptions& options);

// The bytes that the sections of the chosen encoding take, headers included.
// The size of HasChild is a guess.
uint64_t EstimateSections(const std::vector<FstLevelCounts>& levels,
                          unsigned code_bits, const FstOptions& options);

// ---- The builder ----

// Turns the nodes of a trie of bytes into those of a trie of digits
// (key_code.h), one by one.
//
// The codes of the bytes on a node's edges are a small trie of their own,
// whose root takes the place of the node. A leaf's code is cut off after the
// digit that tells it from the others. The digits that follow on the way to a
// child are the beginning of the child's run. A terminator is the end of its
// key.
class FstDigitNodes {
 public:
  static constexpr size_t kMaxValueBytes = 16;

  // kAll makes the nodes. kNumbers only counts edges, nodes and digits, which
  // is faster.
  enum Detail { kAll, kNumbers };

  // A leaf has a value of `value_bytes` bytes, at most kMaxValueBytes. The code
  // must outlive this object.
  FstDigitNodes(const KeyCode& code, size_t value_bytes)
      : code_(code), value_bytes_(value_bytes) {}

  // Reads the records of a trie of bytes with next(&record), and calls
  // visit(level, record) for the nodes of the trie of digits, whose labels and
  // runs are digits, one in each byte. Both are in pre-order, from right to
  // left. With kNumbers, only the sizes in a record are set.
  template <Detail kDetail, typename Next, typename Visit>
  void VisitAll(const Next& next, const Visit& visit) {
    branches_.resize(1);
    pending_.push_back({0, 1, 0, 0, 0, true});
    while (!pending_.empty()) {
      Pending node = pending_.back();
      pending_.pop_back();
      run_size_ = 0;
      if (node.is_child) {
        FstRecord record;
        next(&record);
        TakeRecord<kDetail>(node, record);
        node.end = node.begin + record.num_edges;
        node.digits = 0;
      }
      VisitNode<kDetail>(node, visit);
    }
  }

  // The number of digits on the longest path.
  uint32_t longest_path() const { return longest_path_; }

 private:
  static constexpr size_t kMaxEdges = CodedKey::kDigitMask + 1;

  // An edge of a trie of bytes, or a terminator.
  struct Branch {
    uint16_t entry = 0;  // of the code
    uint8_t column = 0;  // of its byte
    bool leads_to_node = true;
    const char* value = nullptr;
  };

  // A node to come: that of some branches whose codes begin with the same
  // digits, or the child that a branch leads to.
  struct Pending {
    uint32_t begin;  // the branches
    uint32_t end;
    uint32_t digits;  // of their codes that have been visited
    uint32_t level;
    uint32_t depth;  // digits on the path to the node
    bool is_child;
  };

  unsigned DigitOf(const Branch& branch, uint32_t digit) const {
    return KeyCode::Digits(branch.entry) >> (CodedKey::kDigitBits * digit) &
           LowBits(CodedKey::kDigitBits);
  }
  // Appends the digits of a branch from one on to the run, which has room.
  template <Detail kDetail>
  void AppendToRun(const Branch& branch, uint32_t from) {
    if (kDetail == kNumbers) {
      run_size_ += KeyCode::Length(branch.entry) - from;
      return;
    }
    // Moves each digit into a byte of its own: eight bits of four digits go
    // into each half of the word, then half as many digits into each quarter.
    uint64_t digits =
        KeyCode::Digits(branch.entry) >> (CodedKey::kDigitBits * from);
    digits = (digits | digits << 24) & 0x000000ff000000ffu;
    digits = (digits | digits << 12) & 0x000f000f000f000fu;
    digits = (digits | digits << 6) & 0x0303030303030303u;
    EncodeFixed64(&run_[run_size_], digits);
    run_size_ += KeyCode::Length(branch.entry) - from;
  }

  // Puts the branches of a child in the place of the branch that leads to it,
  // and of later branches, which have been visited.
  template <Detail kDetail>
  void TakeRecord(const Pending& node, const FstRecord& record) {
    const Branch above = branches_[node.begin];
    const size_t end = size_t{node.begin} + record.num_edges;
    if (branches_.size() < end) branches_.resize(2 * end);
    // All branches below may share all digits but one. Digits are written eight
    // at a time.
    const size_t most = CodedKey::kMaxDigits * (record.run.size() + 2) + 8;
    if (run_.size() < most) run_.resize(2 * most);
    AppendToRun<kDetail>(above, node.digits);
    unsigned context = above.column;
    for (size_t i = 0; i < record.run.size(); i++) {
      const Branch byte = BranchOf(code_.CodeAfter(context), record.run[i]);
      AppendToRun<kDetail>(byte, 0);
      context = byte.column;
    }
    const char* const code = code_.CodeAfter(context);
    const char* value = record.values;
    Branch* branch = &branches_[node.begin];
    for (uint32_t i = 0; i < record.num_edges; i++, branch++) {
      const uint16_t edge = record.edge(i);
      *branch = (edge & FstRecord::kTerminator) != 0
                    ? Branch{static_cast<uint16_t>(KeyCode::EntryIn(code, 0))}
                    : BranchOf(code, static_cast<char>(edge & 0xff));
      branch->leads_to_node = (edge & FstRecord::kLeadsToNode) != 0;
      branch->value = value;
      if (!branch->leads_to_node) value += value_bytes_;
    }
  }
  Branch BranchOf(const char* code, char byte) const {
    Branch branch;
    branch.column = static_cast<uint8_t>(code_.Column(byte));
    branch.entry = static_cast<uint16_t>(KeyCode::EntryIn(code, branch.column));
    return branch;
  }

  template <Detail kDetail, typename Visit>
  void VisitNode(Pending node, const Visit& visit) {
    // Digits that all branches share belong to the run.
    const Branch* const branches = branches_.data();
    while (node.end - node.begin > 1) {
      const unsigned digit = DigitOf(branches[node.begin], node.digits);
      if (digit != DigitOf(branches[node.end - 1], node.digits)) break;
      if (kDetail == kAll) run_[run_size_] = static_cast<char>(digit);
      run_size_++;
      node.digits++;
    }
    const auto path = static_cast<uint32_t>(node.depth + run_size_ + 1);
    FstRecord record{};
    char* value = values_;
    for (uint32_t i = node.begin; i < node.end;) {
      const unsigned digit = DigitOf(branches[i], node.digits);
      uint32_t end = i + 1;
      while (end < node.end && DigitOf(branches[end], node.digits) == digit) {
        end++;
      }
      const bool is_leaf = end == i + 1 && !branches[i].leads_to_node;
      if (kDetail == kAll) {
        EncodeFixed16(edges_ + FstRecord::kEdgeBytes * record.num_edges,
                      static_cast<uint16_t>(
                          digit | (is_leaf ? 0 : FstRecord::kLeadsToNode)));
      }
      record.num_edges++;
      if (is_leaf) {
        if (kDetail == kAll) {
          next_digits_[record.leaves] =
              static_cast<uint8_t>(DigitOf(branches[i], node.digits + 1));
          if (value_bytes_ > 0) {
            memcpy(value, branches[i].value, value_bytes_);
            value += value_bytes_;
          }
        }
        record.leaves++;
      } else {
        pending_.push_back({i, end, node.digits + 1, node.level + 1, path,
                            /*is_child=*/end == i + 1});
      }
      i = end;
    }
    if (record.leaves > 0) longest_path_ = std::max(longest_path_, path);
    record.edges = edges_;
    record.values = values_;
    record.next_digits = next_digits_;
    record.run = Slice(run_.data(), run_size_);
    visit(node.level, record);
  }

  const KeyCode& code_;
  const size_t value_bytes_;
  std::vector<Branch> branches_;  // beyond those of nodes to come: anything
  std::vector<Pending> pending_;
  uint32_t longest_path_ = 0;
  // The record that is visited.
  char edges_[kMaxEdges * FstRecord::kEdgeBytes];
  char values_[kMaxEdges * kMaxValueBytes + 8];  // values are read as words
  uint8_t next_digits_[kMaxEdges];
  std::vector<char> run_;
  size_t run_size_ = 0;
};

class FstBuilder : private FstRecords {
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

  using FstRecords::Add;
  using FstRecords::AddLast;

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

  // Returns true if the trie is one of digits. Then its code comes first.
  // REQUIRES: Prepare has returned true
  bool UsesDigits() const { return !code_.empty(); }

  // The bytes allocated now, and the bytes that Prepare will allocate.
  size_t MemoryUsage() const;

 private:
  using Record = FstRecord;
  static constexpr uint16_t kLeadsToNode = Record::kLeadsToNode;
  static constexpr uint16_t kTerminator = Record::kTerminator;
  // A group of nodes of four bits fills a cache line.
  static constexpr uint8_t kDigitGroupShift = 7;

  // A node, as the sections are chosen.
  struct NodeCounts {
    uint16_t labels;
    uint16_t children;
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

    uint64_t IndexEntry() const { return uint64_t{children} << 32 | edges; }
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
    return num_nodes_ + (split_runs_ ? run_bytes_ : 0);
  }
  bool MayUseDigits() const;
  bool UseDigitsIfSmaller(uint64_t* size);
  // Decides on the encoding of the nodes that VisitBackward visits.
  bool ChooseSections(uint64_t* size);
  ByteCounts CountBytes() const;
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

  // The decisions of Prepare.
  // True if each byte of a run becomes a node, but for a long run of the root.
  bool split_runs_ = false;
  unsigned code_bits_ = 8;
  char alphabet_[Alphabet::kSize] = {};
  uint8_t codes_[256] = {};
  std::string code_;  // of keys; empty if the trie is one of bytes
  KeyCode key_code_;  // the code, opened
  std::vector<Section> sections_;
  std::vector<LevelRest> levels_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
