// SPDX-License-Identifier: Apache-2.0

//  What a golden block of SuRF holds, read as docs/internals/file_format.md
//  says, by code that shares nothing with the reader.

#pragma once

#include <string>
#include <vector>

#include "tests/filter_blocks.h"

namespace ROCKSDB_NAMESPACE::protean {

struct SectionFields {
  uint32_t levels, nodes, edges, children, terminators, runs, run_codes;
  unsigned remainder_bits, child_encoding, exception_bits;
};

struct BlockFields {
  explicit BlockFields(const std::string& block) {
    const char* at = block.data() + PayloadOffset(block);
    const bool is_coded = (at[0] & 0x80) != 0;
    hash_bits = at[0] & 0x7f;
    real_bits = static_cast<uint8_t>(at[1]);
    prefix_bits = static_cast<uint8_t>(at[2]);
    prefix_step = static_cast<uint8_t>(at[3]);
    at += 8;
    if (is_coded) {
      const uint32_t bytes = static_cast<uint8_t>(at[4]);
      codes = static_cast<uint8_t>(at[5]);
      code_size = 8 + 256 + (2 * bytes + 1 + 7) / 8 * 8 +
                  (2 * codes * (bytes + 2) + 7) / 8 * 8;
      at += code_size;
    }
    height = DecodeFixed32(at);
    nodes = DecodeFixed32(at + 4);
    leaves = DecodeFixed32(at + 8);
    const uint32_t num_sections = DecodeFixed32(at + 12);
    at += 24;
    for (int i = 0; i < 32; i++) {
      for (int bit = 0; bit < 8; bit++) alphabet_size += at[i] >> bit & 1;
    }
    while ((1u << code_bits) < alphabet_size) code_bits++;
    at += 32;
    for (uint32_t i = 0; i < num_sections; i++, at += 32) {
      auto number = [at](int n) { return DecodeFixed32(at + 4 * n); };
      auto byte = [at](int n) { return static_cast<uint8_t>(at[28 + n]); };
      sections.push_back({number(0), number(1), number(2), number(3), number(4),
                          number(5), number(6), byte(0), byte(1), byte(2)});
    }
  }

  unsigned hash_bits = 0;
  unsigned real_bits = 0;
  unsigned prefix_bits = 0;
  unsigned prefix_step = 0;
  unsigned codes = 0;  // of keys; 0 if the trie is one of bytes
  size_t code_size = 0;
  uint32_t height = 0;
  uint32_t nodes = 0;
  uint32_t leaves = 0;
  unsigned alphabet_size = 0;
  unsigned code_bits = 1;
  std::vector<SectionFields> sections;
};

// How the edges of a section are stored, and which of them lead to nodes.
inline std::string DescribeEncoding(const BlockFields& block,
                                    const SectionFields& section) {
  const std::string labels = section.remainder_bits == 0 ? "dense"
                             : section.remainder_bits == block.code_bits
                                 ? "sparse"
                                 : "quotient";
  const char* const children[] = {"child bits", "children listed",
                                  "leaves listed"};
  return labels + ", " + children[section.child_encoding];
}

inline std::string Describe(const std::string& bytes) {
  if (bytes[kKindOffset] == 0) return "no filter";
  if (DecodeFixed32(&bytes[kNumPartsOffset]) == 0) return "no keys";
  const BlockFields block(bytes);
  std::string text = std::to_string(block.leaves) + " leaves, " +
                     std::to_string(block.nodes) + " nodes, " +
                     std::to_string(block.alphabet_size) +
                     (block.codes > 0 ? " digits" : " bytes");
  if (block.codes > 0) text += " of " + std::to_string(block.codes) + " codes";
  if (block.prefix_bits > 0) {
    text += ", " + std::to_string(block.prefix_bits) + " prefix bits of step " +
            std::to_string(block.prefix_step);
  }
  for (const SectionFields& section : block.sections) {
    text += "; " + std::to_string(section.levels) + " levels " +
            DescribeEncoding(block, section);
    if (section.terminators > 0) {
      text += ", " + std::to_string(section.terminators) + " terminators";
    }
    if (section.runs > 0) text += ", " + std::to_string(section.runs) + " runs";
  }
  return text;
}

// Where in a block an offset lies, in words.
inline std::string PartOf(const std::string& block, size_t offset) {
  const size_t payload = PayloadOffset(block);
  if (offset < payload) return "the directory";
  if (offset < payload + 8) return "the SuRF header";
  const size_t trie = payload + 8 + BlockFields(block).code_size;
  if (offset < trie) return "the code";
  const size_t sections = trie + 24 + 32;
  if (offset < sections) return "the trie's header";
  if (offset < sections + 32 * BlockFields(block).sections.size()) {
    return "the header of section " + std::to_string((offset - sections) / 32);
  }
  return "the arrays";
}

// The first byte that differs, apart from the directory's checksum.
inline std::string FirstDifference(const std::string& golden,
                                   const std::string& written) {
  size_t offset = 0;
  while (offset < golden.size() && offset < written.size() &&
         (golden[offset] == written[offset] ||
          (offset >= kChecksumOffset && offset < kDirectorySizeOffset))) {
    offset++;
  }
  return "byte " + std::to_string(offset) + ", in " + PartOf(golden, offset);
}

}  // namespace ROCKSDB_NAMESPACE::protean
