// SPDX-License-Identifier: Apache-2.0

//  Turns the nodes of a trie of bytes into those of a trie of digits
//  (key_code.h), one by one.
//
//  The codes of the bytes on a node's edges are a small trie of their own,
//  whose root takes the place of the node. A leaf's code is cut off after the
//  digit that tells it from the others. The digits that follow on the way to a
//  child are the beginning of the child's run. A terminator is the end of its
//  key.

#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "filter_policy/fst/fst_record.h"
#include "filter_policy/fst/key_code.h"

namespace ROCKSDB_NAMESPACE::protean {

class FstDigitNodes {
 public:
  static constexpr size_t kMaxValueBytes = 16;

  // What is needed of the nodes: all, or how many edges, nodes and digits there
  // are, which is found faster.
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
      const Pending node = pending_.back();
      pending_.pop_back();
      run_size_ = 0;
      if (node.is_child) {
        FstRecord record;
        next(&record);
        TakeRecord<kDetail>(node, record);
        VisitNode<kDetail>({node.begin, node.begin + record.num_edges, 0,
                            node.level, node.depth, false},
                           visit);
      } else {
        VisitNode<kDetail>(node, visit);
      }
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

  // Puts the branches of a child in the place of the one that leads to it, and
  // of those behind it, which have been visited.
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

}  // namespace ROCKSDB_NAMESPACE::protean
