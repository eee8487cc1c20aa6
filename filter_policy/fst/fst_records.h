// SPDX-License-Identifier: Apache-2.0

//  Records the nodes of a Fast Succinct Trie in one pass over sorted keys.
//
//  The paper (section 2.4) lets every level grow at its end. The level of an
//  edge must then be known when a key arrives. It is not known if runs are
//  skipped: a later key may leave the path in the middle of a run, and push
//  down what lies below. So nodes are recorded in post-order instead, as soon
//  as all keys below them have come. Only the nodes on the path of the last key
//  are open.
//
//    open nodes   a stack; their edges lie one after the other on a second
//                 stack, because only the lowest node grows
//    records      for each node its edges, values and run, 2 bytes an edge
//
//  Read from the end, the records are the nodes in pre-order, from right to
//  left. Their levels follow from that order (fst_builder.h).

#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "filter_policy/bits/bit_util.h"
#include "rocksdb/slice.h"
#include "util/coding_lean.h"

namespace ROCKSDB_NAMESPACE::protean {

// A node as it is recorded.
struct FstRecord {
  // An edge is its label, perhaps with one of these flags.
  static constexpr uint16_t kLeadsToNode = 0x100;
  static constexpr uint16_t kTerminator = 0x200;
  static constexpr size_t kEdgeBytes = 2;

  const char* edges = nullptr;  // kEdgeBytes each; the terminator is first
  uint32_t num_edges = 0;
  const char* values = nullptr;
  uint32_t leaves = 0;  // edges to leaves, and the terminator
  // For each leaf of a trie of digits, the digit that follows in the code of
  // the byte, or 0.
  const uint8_t* next_digits = nullptr;
  bool has_terminator = false;
  Slice run;

  uint16_t edge(uint32_t i) const {
    return DecodeFixed16(edges + kEdgeBytes * i);
  }
  uint32_t labels() const { return num_edges - (has_terminator ? 1 : 0); }
  uint32_t children() const { return num_edges - leaves; }
};

// A growing sequence of bytes. Numbers and short runs of bytes are copied in
// pieces of constant size, hence without branches: a copy may extend past their
// end, and is overwritten there by what follows.
class ByteStack : public KeyBytes {
 public:
  // Returns true if `bytes` more bytes fit without growing.
  bool HasRoomFor(size_t bytes) const {
    return size_ + bytes + kSlack <= capacity_;
  }
  // Makes room for `bytes` more bytes, and for `least` bytes in all.
  void Reserve(size_t bytes, size_t least) {
    if (!HasRoomFor(bytes)) Grow(std::max(size_ + bytes + kSlack, least));
  }

  // Appends the lowest `bytes` bytes of `number`, lowest first; bytes <= 8.
  void PushNumber(uint64_t number, size_t bytes) {
    if (!HasRoomFor(bytes)) Grow(2 * capacity_ + 4 * kSlack);
    EncodeFixed64(&bytes_[size_], number);
    size_ += bytes;
  }

  // Appends the bytes of `other` from `begin` on. REQUIRES: room for them
  void PushTop(const ByteStack& other, size_t begin) {
    const size_t size = other.size_ - begin;
    if (size == 0) return;
    memcpy(&bytes_[size_], &other.bytes_[begin], kPiece);
    if (size > kPiece) memcpy(&bytes_[size_], &other.bytes_[begin], size);
    size_ += size;
  }

  // Appends `size` bytes. REQUIRES: room for them
  void PushBytes(const char* bytes, size_t size) {
    if (size == 0) return;
    memcpy(&bytes_[size_], bytes, size);
    size_ += size;
  }

  // Drops all but the first `size` bytes.
  void Truncate(size_t size) { size_ = size; }

 private:
  static constexpr size_t kPiece = 64;
  // Room past the end that is always kept.
  static constexpr size_t kSlack = kPiece + 8;
};

class FstRecords {
 public:
  // For each key, the lowest bytes of two numbers are kept.
  FstRecords(unsigned value_bytes, unsigned draft_bytes)
      : value_bytes_(value_bytes), draft_bytes_(draft_bytes) {}

  // Adds the key up to the byte that tells it from its neighbours, or to its
  // end if the next key starts with it. It shares its first `shared` bytes with
  // the key before it (0 for the first one), and `next_shared` with the next.
  // Keys ascend.
  void Add(const Slice& key, size_t shared, size_t next_shared, uint64_t value,
           uint64_t draft = 0) {
    if (next_shared > shared || num_leaves_ == 0) Open(next_shared);
    AddLeaf(key, std::max(shared, next_shared), value, draft);
    if (lowest_depth_ > next_shared) CloseBelow(key, next_shared);
  }

  // Adds the last key.
  void AddLast(const Slice& key, size_t shared, uint64_t value,
               uint64_t draft = 0) {
    if (open_.empty() && key.empty()) {
      // The empty key alone needs no node, and its value is never read.
      num_leaves_ = 1;
      return;
    }
    Add(key, shared, RootDepth(), value, draft);
    AppendRecord(open_.back(), Slice(key.data(), open_.back().depth));
    open_.clear();
  }

  // Reads the records from the last one on. The records must outlive it.
  class Reader {
   public:
    explicit Reader(const FstRecords& records)
        : records_(records), chunk_(records.records_.rbegin()) {
      if (chunk_ != records.records_.rend()) left_ = chunk_->size();
    }
    // False if there is none.
    bool Next(FstRecord* record) {
      while (left_ == 0) {
        if (chunk_ == records_.records_.rend() ||
            ++chunk_ == records_.records_.rend()) {
          return false;
        }
        left_ = chunk_->size();
      }
      records_.ParseRecord(chunk_->data() + left_, record);
      left_ = static_cast<size_t>(record->edges - chunk_->data());
      return true;
    }

   private:
    const FstRecords& records_;
    std::vector<ByteStack>::const_reverse_iterator chunk_;
    size_t left_ = 0;
  };

  size_t MemoryUsage() const {
    return open_.capacity() * sizeof(OpenNode) + edges_.capacity() +
           values_.capacity() + records_bytes_ +
           records_.capacity() * sizeof(ByteStack);
  }

 protected:
  // The depth of the root: the bytes that all keys so far begin with.
  size_t RootDepth() const { return open_.empty() ? 0 : open_[0].depth; }

  // A node on the path of the last key.
  struct OpenNode {
    size_t depth;       // bytes before its edges, on the path
    size_t first_edge;  // in edges_, in bytes
    size_t first_value;
    uint32_t children;  // of the edges, those that lead to nodes
  };

  const unsigned value_bytes_;
  const unsigned draft_bytes_;
  std::vector<OpenNode> open_;  // their nodes are not recorded yet
  size_t lowest_depth_ = 0;     // depth of the last open node
  ByteStack edges_;   // of the open nodes: label and flags, 2 bytes each
  ByteStack values_;  // of their leaves, with the drafts
  std::vector<ByteStack> records_;  // in chunks
  size_t records_bytes_ = 0;
  bool occurs_[256] = {};  // whether the byte is in any edge or run
  uint64_t num_leaves_ = 0;
  // The nodes that have been recorded, those of them that have a run, and the
  // bytes of their runs: of all, and of the longest one.
  uint64_t num_nodes_ = 0;
  uint64_t num_runs_ = 0;
  uint64_t run_bytes_ = 0;
  size_t longest_run_ = 0;
  uint64_t num_terminators_ = 0;

 private:
  // A record ends with the length of the run (4 bytes), the number of edges and
  // the number of leaves (2 bytes each).
  static constexpr size_t kRecordEnd = 8;
  static constexpr size_t kSmallestChunk = 1 << 10;
  static constexpr size_t kLargestChunk = 1 << 18;

  // Code that few keys need is out of line, so that Add needs no registers for
  // it.
  [[gnu::noinline]] void Open(size_t depth) {
    open_.push_back({depth, edges_.size(), values_.size(), 0});
    lowest_depth_ = depth;
  }
  [[gnu::noinline]] void CloseBelow(const Slice& key, size_t depth) {
    while (lowest_depth_ > depth) CloseLowest(key, depth);
  }
  void AddEdge(uint16_t edge) {
    edges_.PushNumber(edge, FstRecord::kEdgeBytes);
  }
  void AddLeaf(const Slice& key, size_t depth, uint64_t value, uint64_t draft) {
    if (depth < key.size()) {
      const auto label = static_cast<uint8_t>(key[depth]);
      occurs_[label] = true;
      AddEdge(label);
    } else {
      AddEdge(FstRecord::kTerminator);
      num_terminators_++;
    }
    if (value_bytes_ > 0) values_.PushNumber(value, value_bytes_);
    if (draft_bytes_ > 0) values_.PushNumber(draft, draft_bytes_);
    num_leaves_++;
  }
  // Closes the lowest open node, and gives the node above an edge to it. That
  // node is made if the path forks between the two, at `fork`.
  void CloseLowest(const Slice& key, size_t fork) {
    const OpenNode node = open_.back();
    open_.pop_back();
    const bool forks = open_.empty() || open_.back().depth < fork;
    if (!forks) fork = open_.back().depth;
    AppendRecord(node, Slice(key.data() + fork + 1, node.depth - fork - 1));
    edges_.Truncate(node.first_edge);
    values_.Truncate(node.first_value);
    if (forks) Open(fork);
    lowest_depth_ = fork;
    open_.back().children++;
    const auto label = static_cast<uint8_t>(key[fork]);
    occurs_[label] = true;
    AddEdge(label | FstRecord::kLeadsToNode);
  }
  [[gnu::noinline]] void AppendRecord(const OpenNode& node, const Slice& run) {
    const size_t edge_bytes = edges_.size() - node.first_edge;
    const size_t size = edge_bytes + (values_.size() - node.first_value) +
                        run.size() + kRecordEnd;
    if (records_.empty() || !records_.back().HasRoomFor(size)) {
      // Chunks are never copied. They get larger up to a limit, so that a few
      // keys take little memory, and many keys are not in many chunks.
      records_.emplace_back();
      records_.back().Reserve(
          size, std::clamp(records_bytes_ / 2, kSmallestChunk, kLargestChunk));
      records_bytes_ += records_.back().capacity();
    }
    ByteStack& chunk = records_.back();
    chunk.PushTop(edges_, node.first_edge);
    chunk.PushTop(values_, node.first_value);
    chunk.PushBytes(run.data(), run.size());
    for (size_t i = 0; i < run.size(); i++) {
      occurs_[static_cast<uint8_t>(run[i])] = true;
    }
    const size_t num_edges = edge_bytes / FstRecord::kEdgeBytes;
    chunk.PushNumber(run.size(), 4);
    chunk.PushNumber(num_edges, 2);
    chunk.PushNumber(num_edges - node.children, 2);
    num_nodes_++;
    run_bytes_ += run.size();
    num_runs_ += run.empty() ? 0 : 1;
    longest_run_ = std::max(longest_run_, run.size());
  }
  // Reads the record that ends at `end`.
  void ParseRecord(const char* end, FstRecord* record) const {
    const char* trailer = end - kRecordEnd;
    const uint32_t run_length = DecodeFixed32(trailer);
    record->num_edges = DecodeFixed16(trailer + 4);
    record->leaves = DecodeFixed16(trailer + 6);
    record->run = Slice(trailer - run_length, run_length);
    record->values =
        record->run.data() - record->leaves * (value_bytes_ + draft_bytes_);
    record->edges = record->values - FstRecord::kEdgeBytes * record->num_edges;
    record->has_terminator = (record->edge(0) & FstRecord::kTerminator) != 0;
  }
};

}  // namespace ROCKSDB_NAMESPACE::protean
