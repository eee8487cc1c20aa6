// SPDX-License-Identifier: Apache-2.0

//  Filter blocks for tests: built by a policy or from a trie of any encoding,
//  and damaged.

#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "filter_policy/filter_block.h"
#include "filter_policy/protean_filter_policy.h"
#include "filter_policy/proteus/proteus_builder.h"
#include "filter_policy/segments/segmented_filter.h"
#include "filter_policy/surf/surf.h"
#include "rocksdb/table.h"
#include "tests/guarded_block.h"
#include "tests/key_families.h"
#include "util/coding.h"
#include "util/crc32c.h"

namespace ROCKSDB_NAMESPACE::protean {

// The offsets of the header's fields (filter_block.h).
constexpr size_t kVersionOffset = 4;
constexpr size_t kKindOffset = 5;
constexpr size_t kFlagsOffset = 6;
constexpr size_t kChecksumOffset = 8;
constexpr size_t kCheckedOffset = 12;
constexpr size_t kPayloadOffset = 12;
constexpr size_t kHeaderSize = 32;
constexpr size_t kSaltedHeaderSize = 48;

// Whether `block` answers correctly about the first of these ascending keys
// that is at or above `target`.
template <typename SortedKeys>
bool LowerBoundHolds(const FilterBlock& block, const SortedKeys& keys,
                     const std::string& target) {
  const auto first = std::lower_bound(keys.begin(), keys.end(), target);
  std::string bound;
  if (!block.LowerBound(target, &bound)) return first == keys.end();
  if (bound < target || (first != keys.end() && bound > *first) ||
      (bound != target && bound > *keys.rbegin())) {
    return false;
  }
  std::string again;
  return block.LowerBound(bound, &again) && again == bound;
}

inline std::unique_ptr<FilterBitsBuilder> NewBuilder(
    const FilterPolicy& policy, const BlockBasedTableOptions& options = {}) {
  return std::unique_ptr<FilterBitsBuilder>(
      policy.GetBuilderWithContext(FilterBuildingContext(options)));
}

inline std::string Finish(FilterBitsBuilder* builder) {
  std::unique_ptr<const char[]> buffer;
  return builder->Finish(&buffer).ToString();
}

// Completes the block of the added keys; returns false if a filter cannot hold
// them.
inline bool FinishBlock(FilterKind kind, RangeFilterBuilder* builder,
                        std::string* block) {
  FilterBlockHeader header;
  header.kind = kind;
  header.num_keys = builder->num_keys();
  header.smallest = builder->first_key();
  header.largest = builder->last_key();
  uint64_t payload_size = 0;
  if (!builder->Finish(&payload_size).ok()) return false;
  header.salt = builder->Salt();
  block->assign(FilterBlockSize(header, payload_size), '\0');
  builder->Write(StartFilterBlock(header, block->data()));
  FinishFilterBlock(block->data(), block->size());
  return true;
}

// The block of a SuRF with these options, which a policy might never choose;
// empty if there can be none.
inline std::string BuildSurfBlock(const std::vector<std::string>& keys,
                                  const SurfSuffix& suffix,
                                  const FstOptions& options,
                                  const FilterSalt& salt = {}) {
  SurfBuilder builder(suffix, options);
  builder.SetSalt(salt);
  for (const std::string& key : keys) builder.AddKey(key);
  std::string block;
  FinishBlock(kSurfKind, &builder, &block);
  return block;
}

// The block of a Proteus, 1PBF or 2PBF; empty if there can be none.
inline std::string BuildProteusBlock(const std::vector<std::string>& keys,
                                     const ProteusSettings& settings,
                                     std::vector<SampleQuery> samples = {},
                                     const FilterSalt& salt = {}) {
  ProteusBuilder builder(
      settings, [&samples](const Slice&, const Slice&, size_t /*most*/) {
        return SamplesOfFile{samples};
      });
  builder.SetSalt(salt);
  for (const std::string& key : keys) builder.AddKey(key);
  std::string block;
  FinishBlock(kProteusKind, &builder, &block);
  return block;
}

// The parts of a partitioned Proteus of this design, each over `part_keys`
// keys, as RocksDB would have them written.
inline std::vector<std::string> BuildProteusParts(
    const std::vector<std::string>& keys, size_t part_keys,
    const ProteusDesign& design, double bits_per_key, const FilterSalt& salt) {
  struct Part {
    std::unique_ptr<RangeFilterBuilder> builder;
    FilterBlockHeader header;
    uint64_t payload_size = 0;
  };
  ProteusSettings settings;
  settings.bits_per_key = bits_per_key;
  settings.forced = design;
  std::vector<Part> parts;
  for (size_t begin = 0; begin < keys.size(); begin += part_keys) {
    Part part;
    part.builder = parts.empty() ? std::make_unique<ProteusBuilder>(
                                       settings, ProteusBuilder::Samples())
                                 : parts.back().builder->NextPart();
    part.builder->ExpectParts();
    part.builder->SetSalt(salt);
    for (size_t i = begin; i < std::min(begin + part_keys, keys.size()); i++) {
      part.builder->AddKey(keys[i]);
      part.header.key_lengths |= FilterBlockHeader::LengthBit(keys[i]);
    }
    EXPECT_TRUE(part.builder->Finish(&part.payload_size).ok());
    part.header.kind = kProteusKind;
    part.header.is_part = true;
    part.header.salt = salt;
    part.header.num_keys = part.builder->num_keys();
    part.header.keys_before = begin;
    part.header.smallest = part.builder->first_key();
    part.header.largest = part.builder->last_key();
    parts.push_back(std::move(part));
  }
  std::vector<std::string> blocks;
  for (Part& part : parts) {
    std::string block(FilterBlockSize(part.header, part.payload_size), '\0');
    const uint64_t size =
        part.builder->WritePart(PayloadOfPart(block.data()), part.payload_size);
    FinishPart(part.header, size, block.data(), block.size());
    blocks.push_back(std::move(block));
  }
  return blocks;
}

// The block of a Proteus of this design in segments of `segment_keys` keys.
inline std::string BuildSegmentedProteus(const std::vector<std::string>& keys,
                                         size_t segment_keys,
                                         const ProteusDesign& design,
                                         double bits_per_key,
                                         const FilterSalt& salt) {
  SegmentWriter segments;
  size_t begin = 0;
  for (const std::string& part :
       BuildProteusParts(keys, segment_keys, design, bits_per_key, salt)) {
    if (begin > 0) segments.EndLast(keys[begin - 1], keys[begin]);
    std::unique_ptr<char[]> block(new char[part.size()]);
    memcpy(block.get(), part.data(), part.size());
    segments.Add(std::move(block), part.size());
    begin += segment_keys;
  }
  segments.EndLast(keys.back(), Slice());
  FilterBlockHeader header;
  header.kind = kProteusKind;
  header.is_segmented = true;
  header.salt = salt;
  header.num_keys = keys.size();
  for (const std::string& key : keys) {
    header.key_lengths |= FilterBlockHeader::LengthBit(key);
  }
  header.smallest = keys.front();
  header.largest = keys.back();
  std::string block(FilterBlockSize(header, segments.PayloadSize()), '\0');
  segments.Write(StartFilterBlock(header, block.data()));
  FinishFilterBlock(block.data(), block.size());
  return block;
}

// A Proteus of this design, whatever the queries are.
inline std::string BuildProteusBlock(const std::vector<std::string>& keys,
                                     const ProteusDesign& design,
                                     double bits_per_key,
                                     const FilterSalt& salt = {}) {
  ProteusSettings settings;
  settings.bits_per_key = bits_per_key;
  settings.forced = design;
  return BuildProteusBlock(keys, settings, {}, salt);
}

// A design of a trie (or none, for 0) and, after it, a set. The trie's leading
// zeros vary with the lengths.
inline ProteusDesign TrieAndSet(uint32_t trie_bits, uint32_t prefix_bits,
                                AmqKind amq = kBloomAmq,
                                uint32_t stride_bits = 0) {
  ProteusDesign design;
  design.trie_bits = trie_bits;
  const uint32_t lead = (3 * trie_bits + prefix_bits) % 8;
  if (trie_bits > 0 && trie_bits + lead <= 64) design.trie_lead = lead;
  design.prefix_bits = prefix_bits;
  design.stride_bits = stride_bits;
  design.amq = amq;
  return design;
}

// A design of two sets, which share the memory.
inline ProteusDesign TwoSets(uint32_t first_bits, uint32_t prefix_bits,
                             AmqKind amq = kBloomAmq,
                             double first_share = 0.5) {
  ProteusDesign design;
  design.first_prefix_bits = first_bits;
  design.prefix_bits = prefix_bits;
  design.amq = amq;
  design.first_share = first_share;
  return design;
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

// A Proteus of a forced design in a block that is read at an odd address.
class ForcedProteus {
 public:
  ForcedProteus(const std::vector<std::string>& keys,
                const ProteusDesign& design, double bits_per_key)
      : bytes_(BuildProteusBlock(keys, design, bits_per_key), 1),
        block_(bytes_.slice()) {
    EXPECT_TRUE(block_.status().ok()) << block_.status().ToString();
  }

  const FilterBlock& block() const { return block_; }
  const Proteus& filter() const {
    return static_cast<const Proteus&>(*block_.filter());
  }

 private:
  const GuardedBlock bytes_;
  const FilterBlock block_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
