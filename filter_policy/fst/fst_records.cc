// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/fst/fst_records.h"

#include "util/coding.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// A record ends with the length of the run (4 bytes), the number of edges and
// the number of leaves (2 bytes each).
constexpr size_t kRecordEnd = 8;

constexpr size_t kSmallestChunk = 1 << 10;
constexpr size_t kLargestChunk = 1 << 18;

}  // namespace

void FstRecords::AddLast(const Slice& key, size_t shared, uint64_t value,
                         uint64_t draft) {
  if (open_.empty() && key.empty()) {
    // The empty key alone needs no node, and its value is never read.
    num_leaves_ = 1;
    return;
  }
  Add(key, shared, RootDepth(), value, draft);
  AppendRecord(open_.back(), Slice(key.data(), open_.back().depth));
  open_.clear();
}

void FstRecords::CloseLowest(const Slice& key, size_t fork) {
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

void FstRecords::AppendRecord(const OpenNode& node, const Slice& run) {
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

size_t FstRecords::MemoryUsage() const {
  return open_.capacity() * sizeof(OpenNode) + edges_.capacity() +
         values_.capacity() + records_bytes_ +
         records_.capacity() * sizeof(ByteStack);
}

// Reads the record that ends at `end`.
void FstRecords::ParseRecord(const char* end, FstRecord* record) const {
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

}  // namespace ROCKSDB_NAMESPACE::protean
