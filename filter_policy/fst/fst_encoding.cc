// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <limits>

#include "filter_policy/fst/fst.h"
#include "filter_policy/fst/fst_builder.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max() / 4;

// The cost of one more section in bits: its header, the last entry of its
// index, and the memory that the reader allocates for it.
constexpr uint64_t kSectionCost = 8 * (FstSectionHeader::kSize + 8 + 256);

// The sizes of a level in bits, for each FstSectionHeader::ChildEncoding,
// without the arrays that all encodings share.
constexpr size_t kChildEncodings = 3;
using LevelSizes = std::array<uint64_t, kChildEncodings>;

LevelSizes SizesOf(const FstLevelCounts& level, unsigned code_bits,
                   unsigned remainder_bits, const FstOptions& options) {
  FstSectionHeader section;
  section.remainder_bits = static_cast<uint8_t>(remainder_bits);
  if (remainder_bits == 0) {
    section.dense_group_shift = options.dense_group_shift;
  }
  section.Add(level);
  const FstSectionLayout layout(section, code_bits);
  const uint64_t labels = 64 * layout.groups + layout.label_bits +
                          uint64_t{level.edges} * remainder_bits;
  LevelSizes sizes = {labels + level.edges, kNever, kNever};
  if (options.list_exceptions) {
    // The largest group, which sets the bits of an exception, is not known yet:
    // it is somewhat larger than the average one.
    const uint64_t bits =
        BitsFor(uint64_t{3} * level.edges / (2 * layout.groups));
    sizes[FstSectionHeader::kChildrenListed] = labels + level.children * bits;
    sizes[FstSectionHeader::kLeavesListed] =
        labels + (level.edges - level.children) * bits;
  }
  return sizes;
}

// ChooseEncoding, where one more section costs `section_cost` bits.
std::vector<FstSectionHeader> Partition(
    const std::vector<FstLevelCounts>& levels, unsigned code_bits,
    const FstOptions& options, uint64_t section_cost) {
  const size_t height = levels.size();
  auto allowed = [&](size_t depth, unsigned bits) {
    if (!options.forced.empty()) {
      const unsigned forced =
          options.forced[std::min(depth, options.forced.size() - 1)];
      return bits == std::min(forced, code_bits);
    }
    return bits == code_bits || (bits == 0 ? options.dense : options.quotient);
  };

  // The form of a section: its remainder bits, and how it stores HasChild.
  const size_t num_forms = (code_bits + 1) * kChildEncodings;
  const auto remainder_bits = [](size_t form) {
    return static_cast<unsigned>(form / kChildEncodings);
  };
  // Choices from the bottom up, for each level and its form: the smallest size
  // of the levels from there on down, and the form of the next level.
  struct Choice {
    uint64_t size = kNever;
    size_t next = 0;
  };
  std::vector<Choice> choices(height * num_forms);
  auto best_at = [&](size_t depth) {
    const auto begin = choices.begin() + depth * num_forms;
    return static_cast<size_t>(
        std::min_element(
            begin, begin + num_forms,
            [](const Choice& a, const Choice& b) { return a.size < b.size; }) -
        begin);
  };
  auto size_at = [&](size_t depth) {
    return depth < height ? choices[depth * num_forms + best_at(depth)].size
                          : 0;
  };
  std::vector<uint64_t> dense_size(height, kNever);
  for (size_t depth = height; depth-- > 0;) {
    // A section may end at each level.
    const bool is_last = depth + 1 == height;
    const size_t next = is_last ? 0 : best_at(depth + 1);
    const Choice* const below =
        is_last ? nullptr : &choices[(depth + 1) * num_forms];
    const uint64_t apart = section_cost + (is_last ? 0 : below[next].size);
    for (unsigned bits = 0; bits <= code_bits; bits++) {
      if (!allowed(depth, bits)) continue;
      const LevelSizes sizes = SizesOf(levels[depth], code_bits, bits, options);
      if (bits == 0) {
        dense_size[depth] = *std::min_element(sizes.begin(), sizes.end());
      }
      for (size_t i = 0; i < sizes.size(); i++) {
        if (sizes[i] == kNever) continue;
        const size_t form = bits * kChildEncodings + i;
        const bool ends = is_last || apart <= below[form].size;
        choices[depth * num_forms + form] =
            ends ? Choice{sizes[i] + apart, next}
                 : Choice{sizes[i] + below[form].size, form};
      }
    }
  }

  // LOUDS-Dense down to the lowest level that the size ratio allows.
  size_t dense_levels = 0;
  if (options.forced.empty() && options.dense) {
    const uint64_t smallest = size_at(0);
    const uint64_t limit = smallest + smallest / FstOptions::kSizeRatio;
    uint64_t above = section_cost;
    for (size_t depth = 0; depth < height && above <= limit; depth++) {
      above += dense_size[depth];
      if (above + size_at(depth + 1) <= limit) dense_levels = depth + 1;
    }
  }

  std::vector<FstSectionHeader> sections;
  size_t form = 0;
  for (size_t depth = 0; depth < height; depth++) {
    bool begins = depth == 0;
    if (depth == dense_levels) {
      form = best_at(depth);
      begins = begins || remainder_bits(form) > 0;
    } else if (depth > dense_levels) {
      const size_t above = form;
      form = choices[(depth - 1) * num_forms + form].next;
      begins = form != above;
    }
    if (begins) {
      sections.emplace_back();
      const unsigned bits = depth < dense_levels ? 0 : remainder_bits(form);
      sections.back().remainder_bits = static_cast<uint8_t>(bits);
      if (bits == 0) {
        sections.back().dense_group_shift = options.dense_group_shift;
      }
    }
    sections.back().levels++;
    sections.back().Add(levels[depth]);
  }
  return sections;
}

}  // namespace

std::vector<FstSectionHeader> ChooseEncoding(
    const std::vector<FstLevelCounts>& levels, unsigned code_bits,
    const FstOptions& options) {
  // Levels that need another encoding each than their neighbors are rare. If
  // the sections are too many, a higher cost leads to fewer.
  for (uint64_t section_cost = kSectionCost;; section_cost *= 4) {
    std::vector<FstSectionHeader> sections =
        Partition(levels, code_bits, options, section_cost);
    if (sections.size() <= FstHeader::kMaxSections || !options.forced.empty()) {
      return sections;
    }
  }
}

uint64_t EstimateSections(const std::vector<FstLevelCounts>& levels,
                          unsigned code_bits, const FstOptions& options) {
  uint64_t bits = 0;
  size_t depth = 0;
  for (const FstSectionHeader& section :
       ChooseEncoding(levels, code_bits, options)) {
    // Each array is rounded up to words, and the index has one more entry.
    constexpr uint64_t kArrays = 5;
    bits += 8 * (FstSectionHeader::kSize + 8 + 8 * kArrays);
    for (uint32_t i = 0; i < section.levels; i++, depth++) {
      const LevelSizes sizes =
          SizesOf(levels[depth], code_bits, section.remainder_bits, options);
      bits += *std::min_element(sizes.begin(), sizes.end());
    }
  }
  return (bits + 7) / 8;
}

}  // namespace ROCKSDB_NAMESPACE::protean
