// SPDX-License-Identifier: Apache-2.0

//  The golden blocks of SuRF hold what they are for: together, all that the
//  format has.

#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "test_util/testharness.h"
#include "tests/filter_policy/golden_fields.h"
#include "tests/filter_policy/golden_recipes.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

std::string SuffixFeature(const BlockFields& block) {
  if (block.hash_bits + block.real_bits == 0) return "no suffix";
  if (block.hash_bits + block.real_bits == 64) return "64 suffix bits";
  if (block.hash_bits == 0) return "real suffix";
  return block.real_bits == 0 ? "hash suffix" : "both suffixes";
}

// What a block is an example of.
std::set<std::string> FeaturesOf(const std::string& bytes) {
  if (bytes[kKindOffset] == 0) return {"no filter"};
  if (DecodeFixed32(&bytes[kNumPartsOffset]) == 0) return {"no keys"};
  const BlockFields block(bytes);
  std::set<std::string> features = {SuffixFeature(block)};
  if (block.prefix_bits > 0) features.insert("prefix bits");
  if (block.sections.size() > 3) features.insert("many sections");
  if (block.sections.empty()) return features;
  features.insert("codes of " + std::to_string(block.code_bits) + " bits");
  for (const SectionFields& section : block.sections) {
    features.insert(DescribeEncoding(block, section));
    // More than one entry of the tables counts.
    const bool many_nodes = section.nodes > 512;
    if (many_nodes && section.terminators > 0) features.insert("terminators");
    if (many_nodes && section.runs > 64) features.insert("runs");
    if (section.run_codes > 100 * section.runs) features.insert("long runs");
    if (section.child_encoding != 0 && section.exception_bits == 0) {
      features.insert("exceptions of no bits");
    }
  }
  return features;
}

}  // namespace

// All that the format has is in some block.
TEST(GoldenFormatTest, CoverTheFormat) {
  std::set<std::string> found;
  for (const Recipe& recipe : Recipes()) {
    const std::string bytes = ReadFile(GoldenPath(recipe, 1));
    ASSERT_FALSE(bytes.empty()) << recipe.name << " has no block yet";
    EXPECT_LE(bytes.size(), 8192u) << "golden blocks are small";
    found.merge(FeaturesOf(bytes));
  }
  const std::set<std::string> wanted = {"no filter",
                                        "no keys",
                                        "no suffix",
                                        "hash suffix",
                                        "real suffix",
                                        "both suffixes",
                                        "64 suffix bits",
                                        "prefix bits",
                                        "dense, child bits",
                                        "dense, children listed",
                                        "dense, leaves listed",
                                        "quotient, child bits",
                                        "quotient, children listed",
                                        "quotient, leaves listed",
                                        "sparse, child bits",
                                        "sparse, children listed",
                                        "sparse, leaves listed",
                                        "terminators",
                                        "runs",
                                        "long runs",
                                        "exceptions of no bits",
                                        "many sections",
                                        "codes of 1 bits",
                                        "codes of 2 bits",
                                        "codes of 3 bits",
                                        "codes of 4 bits",
                                        "codes of 5 bits",
                                        "codes of 6 bits",
                                        "codes of 7 bits",
                                        "codes of 8 bits"};
  for (const std::string& feature : wanted) {
    EXPECT_EQ(1u, found.count(feature)) << "no block has: " << feature;
  }
}

// golden_annotated.txt explains one block byte by byte.
TEST(GoldenFormatTest, AnnotatedBytes) {
  const std::string golden = ReadFile(GoldenFolder() / "annotated.block");
  std::istringstream lines(
      ReadFile(GoldenFolder().parent_path() / "golden_annotated.txt"));
  size_t end = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == '#') continue;
    SCOPED_TRACE(line);
    const size_t bar = line.find(" | ");
    ASSERT_EQ(end, std::stoul(line.substr(0, bar)));
    std::string hex = line.substr(bar + 3, line.find(" | ", bar + 3) - bar - 3);
    hex.erase(std::remove(hex.begin(), hex.end(), ' '), hex.end());
    EXPECT_EQ(hex, Hex(golden.substr(end, hex.size() / 2)));
    end += hex.size() / 2;
  }
  EXPECT_GT(end, 0u);
  EXPECT_EQ(golden.size(), end);
}

}  // namespace ROCKSDB_NAMESPACE::protean
