// SPDX-License-Identifier: Apache-2.0

//  Filter blocks for tests: built by a policy or from a trie of any encoding,
//  damaged, and examined. Tests need not include what this header includes.

#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "filter_policy/parted_filter.h"
#include "filter_policy/protean_filter_policy.h"
#include "filter_policy/proteus/key_store.h"
#include "filter_policy/proteus/proteus_policy.h"
#include "filter_policy/surf/surf.h"
#include "rocksdb/table.h"
#include "test_util/testharness.h"
#include "tests/guarded_block.h"
#include "tests/key_families.h"
#include "util/coding.h"
#include "util/crc32c.h"

namespace ROCKSDB_NAMESPACE::protean {

// The offsets of the directory's fixed fields (docs/internals/file_format.md).
constexpr size_t kVersionOffset = 4;
constexpr size_t kKindOffset = 5;
constexpr size_t kFlagsOffset = 6;
constexpr size_t kChecksumOffset = 8;
constexpr size_t kDirectorySizeOffset = 12;
constexpr size_t kNumKeysOffset = 16;
constexpr size_t kSaltOffset = 24;
constexpr size_t kKeyLengthsOffset = 40;
constexpr size_t kNumPartsOffset = 44;

// Returns true if `block` finds the first of these sorted keys from `target`.
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

// Checks that the block has these keys.
inline void ExpectHolds(const FilterBlock& block,
                        const std::vector<std::string>& keys) {
  ASSERT_OK(block.status());
  for (const std::string& key : keys) {
    ASSERT_TRUE(block.KeyMayMatch(key)) << Hex(key);
    ASSERT_TRUE(block.RangeMayMatch(key, key, true)) << Hex(key);
    ASSERT_TRUE(block.RangeMayMatch(key, key + '\0', false)) << Hex(key);
    for (const size_t size : {key.size(), key.size() / 2}) {
      ASSERT_TRUE(block.PrefixMayMatch(Slice(key.data(), size))) << Hex(key);
    }
  }
}

// Whether a count of keys is right but for the keys at its ends.
inline bool CountIsOf(uint64_t keys, const RangeCount& counted) {
  return keys <= counted.count &&
         counted.count <= keys + counted.low_ambiguous + counted.high_ambiguous;
}

// A block that opens, at an odd address.
class OwnBlock {
 public:
  explicit OwnBlock(const std::string& bytes)
      : bytes_(bytes, /*misalignment=*/1), block_(bytes_.slice()) {
    EXPECT_TRUE(block_.status().ok()) << block_.status().ToString();
  }

  const FilterBlock& operator*() const { return block_; }
  const FilterBlock* operator->() const { return &block_; }
  // The first part of a Proteus.
  const Proteus& proteus() const {
    return static_cast<const Proteus&>(*block_.filter());
  }

 private:
  const GuardedBlock bytes_;
  const FilterBlock block_;
};

// The answers of a block, or of a filter, to keys that are asked at once.
template <typename Filter>
std::vector<bool> AnswersToBatch(const Filter& filter,
                                 const std::vector<std::string>& keys) {
  std::vector<Slice> slices(keys.begin(), keys.end());
  std::vector<Slice*> pointers;
  for (Slice& slice : slices) pointers.push_back(&slice);
  const std::unique_ptr<bool[]> answers(new bool[keys.size()]());
  filter.KeysMayMatch(keys.size(), pointers.data(), answers.get());
  return std::vector<bool>(answers.get(), answers.get() + keys.size());
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

// Gives the prefix of a key, for a file with a prefix extractor.
using PrefixOfKey = std::string (*)(const std::string& key);

// Builds a filter as RocksDB builds that of a file.
inline std::string BuildBlock(const Keys& keys, const FilterPolicy& policy,
                              PrefixOfKey prefix = nullptr,
                              const BlockBasedTableOptions& options = {}) {
  const auto builder = NewBuilder(policy, options);
  for (const std::string& key : keys) {
    if (prefix == nullptr) {
      builder->AddKey(key);
    } else {
      builder->AddKeyAndAlt(key, prefix(key));
    }
  }
  return Finish(builder.get());
}

inline KeyStore Stored(const std::vector<std::string>& keys) {
  KeyStore store;
  for (const std::string& key : keys) store.Append(key);
  return store;
}

// The lengths of keys as the header of a block has them.
inline uint32_t KeyLengths(const std::vector<std::string>& keys) {
  uint32_t lengths = 0;
  for (const std::string& key : keys) {
    lengths |= FilterBlockHeader::LengthBit(key);
  }
  return lengths;
}

// The header of a block of these keys, but for their number.
inline FilterBlockHeader HeaderOf(FilterKind kind,
                                  const std::vector<std::string>& keys,
                                  const FilterSalt& salt, bool in_parts) {
  FilterBlockHeader header;
  header.kind = kind;
  if (!keys.empty()) {
    header.smallest = keys.front();
    header.largest = keys.back();
  }
  if (in_parts) header.key_lengths = KeyLengths(keys);
  header.salt = salt;
  return header;
}

inline std::string Written(const FilterBlockHeader& header,
                           FilterBlockWriter* writer) {
  std::string block(writer->Size(header), '\0');
  writer->Write(header, block.data());
  return block;
}

// The block of a SuRF with these options, which a policy might never choose, in
// parts of `part_keys` keys unless that is 0; empty if there can be none.
inline std::string BuildPartedSurf(const std::vector<std::string>& keys,
                                   size_t part_keys, const SurfSuffix& suffix,
                                   const FstOptions& options,
                                   const FilterSalt& salt = {}) {
  FilterBlockHeader header = HeaderOf(kSurfKind, keys, salt, part_keys > 0);
  if (part_keys == 0) part_keys = keys.size();
  FilterBlockWriter writer;
  std::string begin;
  for (size_t first = 0; first < keys.size(); first += part_keys) {
    SurfBuilder builder(suffix, options, {salt, 0});
    for (size_t i = first; i < std::min(first + part_keys, keys.size()); i++) {
      builder.AddKey(keys[i]);
    }
    if (first > 0) ShortestBegin(keys[first - 1], keys[first], &begin);
    std::vector<PlannedPart> plan;
    if (!builder.Finish(KeysEnd(), &plan).ok()) return "";
    builder.Write(0, writer.AddPart(plan[0].num_keys, begin, plan[0].design,
                                    plan[0].payload_size));
    header.num_keys += builder.num_keys();
  }
  return Written(header, &writer);
}
inline std::string BuildSurfBlock(const std::vector<std::string>& keys,
                                  const SurfSuffix& suffix,
                                  const FstOptions& options,
                                  const FilterSalt& salt = {}) {
  return BuildPartedSurf(keys, /*part_keys=*/0, suffix, options, salt);
}

// The block of a Proteus, 1PBF or 2PBF, in parts of about `part_bytes` bytes
// unless that is 0; empty if there can be none. May store the builder's report.
inline std::string BuildProteusBlock(const std::vector<std::string>& keys,
                                     const ProteusSettings& settings,
                                     std::vector<SampleQuery> samples = {},
                                     const FilterSalt& salt = {},
                                     uint64_t part_bytes = 0,
                                     FilterReport* report = nullptr) {
  ProteusBuilder builder(
      settings,
      [&samples](const Slice&, const Slice&, size_t /*most*/) {
        return SamplesOfFile{samples};
      },
      {salt, part_bytes});
  for (const std::string& key : keys) builder.AddKey(key);
  std::vector<PlannedPart> plan;
  if (!builder.Finish(KeysEnd(), &plan).ok()) return "";
  // A block of no keys has no parts.
  if (keys.empty()) plan.clear();
  FilterBlockWriter writer;
  for (size_t i = 0; i < plan.size(); i++) {
    builder.Write(i, writer.AddPart(plan[i].num_keys, plan[i].begin,
                                    plan[i].design, plan[i].payload_size));
    if (plan[i].second_size > 0) {
      builder.WriteSecond(i, writer.AddSecondUnit(plan[i].second_size));
    }
  }
  if (report != nullptr) *report = builder.Report();
  FilterBlockHeader header = HeaderOf(kProteusKind, keys, salt, part_bytes > 0);
  header.num_keys = builder.num_keys();
  return Written(header, &writer);
}

// The block of a Proteus of this design in parts of about `part_keys` keys, in
// two units if there is room for them, and if `in_units`.
inline std::string BuildPartedProteus(const std::vector<std::string>& keys,
                                      size_t part_keys,
                                      const ProteusDesign& design,
                                      double bits_per_key,
                                      const FilterSalt& salt = {},
                                      bool in_units = false) {
  ProteusSettings settings;
  settings.bits_per_key = bits_per_key;
  settings.forced = design;
  settings.forced_units = in_units;
  const double part_bytes = bits_per_key / 8 * static_cast<double>(part_keys);
  return BuildProteusBlock(keys, settings, {}, salt,
                           static_cast<uint64_t>(part_bytes));
}

// A Proteus of this design, whatever the queries are.
inline std::string BuildProteusBlock(const std::vector<std::string>& keys,
                                     const ProteusDesign& design,
                                     double bits_per_key,
                                     const FilterSalt& salt = {}) {
  return BuildPartedProteus(keys, /*part_keys=*/0, design, bits_per_key, salt);
}

// A trie (or none, for 0) and a set (or none). The trie's leading zeros vary.
inline ProteusDesign TrieAndSet(uint32_t trie_bits, uint32_t prefix_bits,
                                AmqKind amq = kBloomAmq, uint32_t stride = 0) {
  const uint32_t lead = (3 * trie_bits + prefix_bits) % 8;
  ProteusDesign design;
  design.amq = amq;
  if (trie_bits > 0) {
    design.Add(Layer::Trie(trie_bits, trie_bits + lead <= 64 ? lead : 0));
  }
  if (prefix_bits > 0) {
    design.Add(stride > 0 ? Layer::Series(prefix_bits, stride)
                          : Layer::Prefixes(prefix_bits));
  }
  return design;
}

// A design of two sets, which share the memory.
inline ProteusDesign TwoSets(uint32_t first_bits, uint32_t prefix_bits,
                             AmqKind amq = kBloomAmq, double share = 0.5) {
  return {{Layer::Prefixes(first_bits, share), Layer::Prefixes(prefix_bits)},
          amq};
}

// With a set of whole keys first, the only one that points ask if `alone`.
inline ProteusDesign WithKeys(ProteusDesign design, double share,
                              bool alone = false) {
  design.AddKeys(design.num_sets() == 0 ? 0 : share);
  if (alone) design.LeaveToRanges();
  return design;
}

inline std::string WithBitFlipped(std::string bytes, size_t bit) {
  bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
  return bytes;
}

// So that only the checks of what a damaged block says are left.
inline std::string WithRightChecksums(std::string block) {
  if (block.size() < FilterDirectory::kFixedSize) return block;
  const uint64_t size = std::min<uint64_t>(
      DecodeFixed32(&block[kDirectorySizeOffset]), block.size());
  if (size < FilterDirectory::kFixedSize) return block;
  const uint32_t before = crc32c::Value(block.data(), kChecksumOffset);
  EncodeFixed32(&block[kChecksumOffset],
                crc32c::Extend(before, &block[kDirectorySizeOffset],
                               size - kDirectorySizeOffset));
  FilterDirectory directory;
  directory.Read(block, block.size()).PermitUncheckedError();
  for (const FilterPart& part : directory.parts()) {
    for (const FilterUnit* unit : {&part.first, &part.second}) {
      if (unit == &part.second && !part.HasSecond()) continue;
      char* const behind = &block[unit->offset + unit->payload_size];
      uint32_t checksum = crc32c::Value(&block[kSaltOffset], 16);
      checksum =
          crc32c::Extend(checksum, &block[unit->offset], unit->payload_size);
      EncodeFixed32(behind, crc32c::Extend(checksum, behind + 4, 12));
    }
  }
  return block;
}

// Where the payload of the first part of a block is.
inline size_t PayloadOffset(const std::string& block) {
  return DecodeFixed32(&block[kDirectorySizeOffset]);
}

// An opened block is asked for what each of them promises, whatever its bytes
// are (block_contracts.cc). Damage that Open does not see breaks no promise.
struct BlockExam {
  // The first promise that the block has broken, in words; nullptr if none.
  const char* broken = nullptr;
  // A hash of all answers. The same bytes give the same one wherever they are.
  uint64_t answers = 0;
};

// Asks `block` all kinds of questions about the strings, one by one and in
// batches, and about the ranges from each string to every `range_step`th one
// (to the next one only if the block is refused).
// With the block's contents, also opens its parts one by one: those that cannot
// be opened let all queries through, which does not keep others from filtering.
// REQUIRES: strings is not empty
BlockExam Examine(const FilterBlock& block,
                  const std::vector<std::string>& strings,
                  size_t range_step = 1, const Slice* contents = nullptr);

}  // namespace ROCKSDB_NAMESPACE::protean
