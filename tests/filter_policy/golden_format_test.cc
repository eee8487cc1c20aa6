// SPDX-License-Identifier: Apache-2.0

//  The golden blocks of SuRF hold what they are for: together, all that the
//  format has. One of them is explained byte by byte.

#include <gtest/gtest.h>

#include <set>

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

// ---- One block, byte by byte ----
//
// The keys are app, apple, apply and band, with 4 hash and 8 real suffix bits,
// and each level has another encoding:
//
//   node 0, dense         a -> node 1       b: leaf 0 (band)
//   node 1, quotient      run pp, terminator: leaf 1 (app), l -> node 2
//   node 2, sparse        e: leaf 2 (apple)                 y: leaf 3 (apply)

struct Annotation {
  size_t offset;
  const char* bytes;  // in hex
  const char* meaning;
};

const Annotation kAnnotated[] = {
    // The directory.
    {0, "50 52 54 4E", "magic: PRTN"},
    {4, "01", "format version"},
    {5, "01", "kind: SuRF"},
    {6, "00 00", "flags"},
    {8, "A8 55 45 64", "CRC-32C of the directory"},
    {12, "43 00 00 00", "size of the directory: 67"},
    {16, "04 00 00 00 00 00 00 00", "keys"},
    {24, "00 00 00 00 00 00 00 00", "the file's number in the salt: none"},
    {32, "00 00 00 00 00 00 00 00", "the process's number"},
    {40, "00 00 00 00", "lengths of the keys: not known"},
    {44, "01 00 00 00", "parts"},
    {48, "03 61 70 70", "the smallest key: app"},
    {52, "04 62 61 6E 64", "the largest key: band"},
    {57, "01", "designs"},
    {58, "00", "the design: empty"},
    // The entry of the part.
    {59, "C0 02", "size of the payload: 320"},
    {61, "00", "no second unit"},
    {62, "04", "keys"},
    {63, "01", "kind: SuRF"},
    {64, "00", "entries: all"},
    {65, "00", "index of the design"},
    {66, "00", "the part begins with the empty string"},
    // The payload.
    {67, "04", "hash suffix bits"},
    {68, "08", "real suffix bits"},
    {69, "00 00 00 00 00 00", "zeros"},
    // The trie's header.
    {75, "03 00 00 00", "height"},
    {79, "03 00 00 00", "nodes"},
    {83, "04 00 00 00", "leaves"},
    {87, "03 00 00 00", "sections"},
    {91, "0C 00 00 00", "bits of a value: 12"},
    {95, "00 00 00 00", "zero"},
    {99, "00 00 00 00 00 00 00 00 00 00 00 00", "no bytes below 60"},
    {111, "26 10 01 02", "61 a, 62 b, 65 e, 6C l, 70 p, 79 y: codes 0 to 5"},
    {115, "00 00 00 00 00 00 00 00", "no bytes from 80"},
    {123, "00 00 00 00 00 00 00 00", "no bytes from C0"},
    // The header of section 0.
    {131, "01 00 00 00", "levels"},
    {135, "01 00 00 00", "nodes"},
    {139, "02 00 00 00", "edges: a, b"},
    {143, "01 00 00 00", "edges that lead to nodes: a"},
    {147, "00 00 00 00", "nodes with a terminator"},
    {151, "00 00 00 00", "nodes with a run"},
    {155, "00 00 00 00", "codes in runs"},
    {159, "00", "remainder bits: none, LOUDS-Dense"},
    {160, "01", "the edges that lead to nodes are listed"},
    {161, "01", "bits of each one listed"},
    {162, "00", "zero"},
    // The header of section 1.
    {163, "01 00 00 00", "levels"},
    {167, "01 00 00 00", "nodes"},
    {171, "01 00 00 00", "edges: l"},
    {175, "01 00 00 00", "edges that lead to nodes: l"},
    {179, "01 00 00 00", "nodes with a terminator"},
    {183, "01 00 00 00", "nodes with a run"},
    {187, "02 00 00 00", "codes in runs: pp"},
    {191, "01", "remainder bits: one of three, LOUDS-Quotient"},
    {192, "02", "the edges that lead to no node are listed"},
    {193, "00", "bits of each one listed: none, the group has one edge"},
    {194, "00", "zero"},
    // The header of section 2.
    {195, "01 00 00 00", "levels"},
    {199, "01 00 00 00", "nodes"},
    {203, "02 00 00 00", "edges: e, y"},
    {207, "00 00 00 00", "edges that lead to nodes"},
    {211, "00 00 00 00", "nodes with a terminator"},
    {215, "00 00 00 00", "nodes with a run"},
    {219, "00 00 00 00", "codes in runs"},
    {223, "03", "remainder bits: all three, LOUDS-Sparse"},
    {224, "01", "the edges that lead to nodes are listed"},
    {225, "01", "bits of each one listed"},
    {226, "00", "zero"},
    // The arrays of section 0.
    {227, "00 00 00 00 00 00 00 00", "before node 0: no edges"},
    {235, "02 00 00 00 01 00 00 00", "in all: 2 edges, 1 leads to a node"},
    {243, "03 00 00 00 00 00 00 00", "labels: codes 0 (a) and 1 (b)"},
    {251, "00 00 00 00 00 00 00 00", "listed: edge 0"},
    // The arrays of section 1.
    {259, "00 00 00 00 00 00 00 00", "before the only group: no edges"},
    {267, "01 00 00 00 01 00 00 00", "in all: 1 edge, which leads to a node"},
    {275, "1D 00 00 00 00 00 00 00", "labels, first bit first: 1, 01, 1, 1"},
    {283, "01 00 00 00 00 00 00 00", "remainder 1 of quotient 1: code 3 (l)"},
    {291, "01 00 00 00 00 00 00 00", "the node has a terminator"},
    {299, "00 00 00 00 00 00 00 00", "none before the first 512 nodes"},
    {307, "01 00 00 00 00 00 00 00", "the node has a run"},
    {315, "00 00 00 00 00 00 00 00", "none before the first 512 nodes"},
    {323, "01 00 00 00 00 00 00 00", "a run begins at the first of 2 codes"},
    {331, "00 00 00 00 00 00 00 00", "the first run begins at 0"},
    {339, "24 00 00 00 00 00 00 00", "the run: codes 4, 4 (pp)"},
    // The arrays of section 2.
    {347, "00 00 00 00 00 00 00 00", "before the only group: no edges"},
    {355, "02 00 00 00 00 00 00 00", "in all: 2 edges"},
    {363, "02 00 00 00 00 00 00 00", "labels: the second edge is the last"},
    {371, "2A 00 00 00 00 00 00 00", "remainders: codes 2 (e) and 5 (y)"},
    // The values, of 12 bits: what follows the stored prefix, and the hash.
    {379, "10 16 00 00 40 00 00 00",
     "61'0 band, 00'1 app, 00'0 apple, 00'4 apply"},
    // Behind the payload.
    {387, "C1 8E 0F BD", "CRC-32C of the part"},
    {391, "00 00 00 00", "number of the part"},
    {395, "00", "number of the unit"},
    {396, "00 00 00 00 00 00 00", "zeros that queries may read"},
    {403, "00 00 00 00 00", "no compression, and zeros"},
};

std::string BytesOf(const Annotation& annotation) {
  std::string hex = annotation.bytes;
  hex.erase(std::remove(hex.begin(), hex.end(), ' '), hex.end());
  std::string bytes;
  EXPECT_TRUE(Slice(hex).DecodeHex(&bytes));
  return bytes;
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

TEST(GoldenFormatTest, AnnotatedBytes) {
  const std::string golden = ReadFile(GoldenFolder() / "annotated.block");
  ASSERT_FALSE(golden.empty());
  size_t end = 0;
  for (const Annotation& annotation : kAnnotated) {
    SCOPED_TRACE(annotation.meaning);
    ASSERT_EQ(end, annotation.offset);
    const std::string bytes = BytesOf(annotation);
    EXPECT_EQ(Hex(bytes), Hex(golden.substr(end, bytes.size())));
    end += bytes.size();
  }
  EXPECT_EQ(golden.size(), end);
}

}  // namespace ROCKSDB_NAMESPACE::protean
