// SPDX-License-Identifier: Apache-2.0

//  Mutates texts by their tokens: words, and the separators between them.

#pragma once

#include <string>
#include <vector>

#include "tests/fuzz/fuzz_input.h"

namespace ROCKSDB_NAMESPACE::protean {

// The tokens of a language.
struct TextLanguage {
  // Each separator is a token of its own, and ends a word.
  const char* separators;
  // Words with a meaning, and whole phrases.
  std::vector<std::string> words;
};

size_t MutateText(const TextLanguage& language, uint8_t* data, size_t size,
                  size_t max_size, FuzzRandom* random, GenericMutator generic);
size_t CrossTexts(const TextLanguage& language, const Slice& a, const Slice& b,
                  uint8_t* out, size_t max_size, FuzzRandom* random);

// The words as a dictionary file of libFuzzer.
std::string DictionaryOf(const TextLanguage& language);

}  // namespace ROCKSDB_NAMESPACE::protean
