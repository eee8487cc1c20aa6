// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/fst/fst_encoding.h"

#include <algorithm>
#include <limits>

#include "filter_policy/fst/fst.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max() / 4;

// The cost of one more section in bits: its header, the last entry of its
// index, and the memory that the reader allocates for it.
constexpr uint64_t kSectionCost = 8 * (FstSectionHeader::kSize + 8 + 256);

void AddLevel(const FstLevelCounts& level, FstSectionHeader* section) {
  section->levels++;
  section->nodes += level.nodes;
  section->edges += level.edges;
  section->children += level.children;
  section->terminators += level.terminators;
  section->runs += level.runs;
  section->run_codes += level.run_codes;
}

// The size of a level in bits, without the arrays that all encodings share.
uint64_t LevelSize(const FstLevelCounts& level, unsigned code_bits,
                   unsigned remainder_bits, const FstOptions& options) {
  FstSectionHeader section;
  section.remainder_bits = static_cast<uint8_t>(remainder_bits);
  if (remainder_bits == 0) {
    section.dense_group_shift = options.dense_group_shift;
  }
  AddLevel(level, &section);
  const FstSectionLayout layout(section, code_bits);
  uint64_t children = level.edges;
  if (options.list_exceptions) {
    // The largest group, which sets the bits of an exception, is not known yet:
    // it is somewhat larger than the average one.
    const uint64_t exceptions =
        std::min(level.children, level.edges - level.children);
    children = std::min(
        children,
        exceptions * BitsFor(uint64_t{3} * level.edges / (2 * layout.groups)));
  }
  return 64 * layout.groups + layout.label_bits +
         uint64_t{level.edges} * remainder_bits + children;
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

  // Choices from the bottom up, for each level and its number of remainder
  // bits: the smallest size of the levels from there on down, and the remainder
  // bits of the next level.
  struct Choice {
    uint64_t size = kNever;
    unsigned next = 0;
  };
  const size_t num_choices = code_bits + 1;
  std::vector<Choice> choices(height * num_choices);
  std::vector<uint64_t> dense_size(height);
  for (size_t depth = height; depth-- > 0;) {
    for (unsigned bits = 0; bits < num_choices; bits++) {
      Choice& choice = choices[depth * num_choices + bits];
      if (!allowed(depth, bits)) continue;
      const uint64_t size = LevelSize(levels[depth], code_bits, bits, options);
      if (bits == 0) dense_size[depth] = size;
      if (depth + 1 == height) {
        choice.size = size + section_cost;
        continue;
      }
      for (unsigned next = 0; next < num_choices; next++) {
        const uint64_t rest = choices[(depth + 1) * num_choices + next].size;
        const uint64_t all = size + rest + (next == bits ? 0 : section_cost);
        if (all < choice.size) choice = {all, next};
      }
    }
  }

  auto best_at = [&](size_t depth) {
    const auto begin = choices.begin() + depth * num_choices;
    return static_cast<unsigned>(
        std::min_element(
            begin, begin + num_choices,
            [](const Choice& a, const Choice& b) { return a.size < b.size; }) -
        begin);
  };
  auto size_at = [&](size_t depth) {
    return choices[depth * num_choices + best_at(depth)].size;
  };

  // LOUDS-Dense down to the lowest level that the size ratio allows.
  size_t dense_levels = 0;
  if (options.forced.empty() && options.dense) {
    const uint64_t smallest = size_at(0);
    const uint64_t limit = smallest + smallest / options.size_ratio;
    uint64_t above = section_cost;
    for (size_t depth = 0; depth < height && above <= limit; depth++) {
      above += dense_size[depth];
      const uint64_t below = depth + 1 < height ? size_at(depth + 1) : 0;
      if (above + below <= limit) dense_levels = depth + 1;
    }
  }

  std::vector<FstSectionHeader> sections;
  unsigned bits = 0;
  for (size_t depth = 0; depth < height; depth++) {
    if (depth < dense_levels) {
      bits = 0;
    } else if (depth == dense_levels) {
      bits = best_at(depth);
    } else {
      bits = choices[(depth - 1) * num_choices + bits].next;
    }
    if (sections.empty() || sections.back().remainder_bits != bits) {
      sections.emplace_back();
      sections.back().remainder_bits = static_cast<uint8_t>(bits);
      if (bits == 0) {
        sections.back().dense_group_shift = options.dense_group_shift;
      }
    }
    AddLevel(levels[depth], &sections.back());
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
      bits +=
          LevelSize(levels[depth], code_bits, section.remainder_bits, options);
    }
  }
  return (bits + 7) / 8;
}

}  // namespace ROCKSDB_NAMESPACE::protean
