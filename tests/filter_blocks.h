//  Filter blocks for tests: built by a policy or from a trie of any encoding,
//  damaged, and put where a sanitizer sees every read outside of them.

#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "filter_policy/filter_block.h"
#include "filter_policy/protean_filter_policy.h"
#include "filter_policy/surf/surf.h"
#include "rocksdb/table.h"
#include "tests/key_families.h"
#include "util/coding.h"
#include "util/crc32c.h"

namespace ROCKSDB_NAMESPACE::protean {

// Where the fields of the header are (filter_block.h).
constexpr size_t kVersionOffset = 4;
constexpr size_t kKindOffset = 5;
constexpr size_t kFlagsOffset = 6;
constexpr size_t kChecksumOffset = 8;
constexpr size_t kCheckedOffset = 12;
constexpr size_t kPayloadOffset = 12;
constexpr size_t kHeaderSize = 32;

inline std::unique_ptr<FilterBitsBuilder> NewBuilder(
    const FilterPolicy& policy, const BlockBasedTableOptions& options = {}) {
  return std::unique_ptr<FilterBitsBuilder>(
      policy.GetBuilderWithContext(FilterBuildingContext(options)));
}

inline std::string Finish(FilterBitsBuilder* builder) {
  std::unique_ptr<const char[]> buffer;
  return builder->Finish(&buffer).ToString();
}

// Completes the block of the keys added; false if they cannot be held.
inline bool FinishSurfBlock(SurfBuilder* builder, std::string* block) {
  FilterBlockHeader header;
  header.kind = FilterKind::kSurf;
  header.num_keys = builder->num_keys();
  header.smallest = builder->first_key();
  header.largest = builder->last_key();
  uint64_t payload_size = 0;
  if (!builder->Finish(&payload_size).ok()) return false;
  block->assign(FilterBlockSize(header, payload_size), '\0');
  builder->Write(StartFilterBlock(header, block->data()));
  FinishFilterBlock(block->data(), block->size());
  return true;
}

// The block of a SuRF with these options, which a policy might never choose;
// empty if there can be none.
inline std::string BuildSurfBlock(const std::vector<std::string>& keys,
                                  const SurfSuffix& suffix,
                                  const FstOptions& options) {
  SurfBuilder builder(suffix, options);
  for (const std::string& key : keys) builder.AddKey(key);
  std::string block;
  FinishSurfBlock(&builder, &block);
  return block;
}

// A damaged block whose checksum is right, so that only the checks of what it
// says are left.
inline std::string WithRightChecksum(std::string block) {
  if (block.size() >= kCheckedOffset) {
    const uint32_t before = crc32c::Value(block.data(), kChecksumOffset);
    EncodeFixed32(block.data() + kChecksumOffset,
                  crc32c::Extend(before, block.data() + kCheckedOffset,
                                 block.size() - kCheckedOffset));
  }
  return block;
}

// A copy of bytes that ends where its allocation does, at an address that is
// `misalignment` past an aligned one, so that a sanitizer sees any read beyond.
class ExactCopy {
 public:
  explicit ExactCopy(const Slice& bytes, size_t misalignment = 0)
      : buffer_(new char[misalignment + bytes.size()]),
        slice_(buffer_.get() + misalignment, bytes.size()) {
    std::copy(bytes.data(), bytes.data() + bytes.size(),
              buffer_.get() + misalignment);
  }
  const Slice& slice() const { return slice_; }

 private:
  std::unique_ptr<char[]> buffer_;
  Slice slice_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
