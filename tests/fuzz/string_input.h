// SPDX-License-Identifier: Apache-2.0

//  Inputs that are strings: keys and queries, or the words of a text; and their
//  mutations.

#pragma once

#include <string>
#include <vector>

#include "tests/fuzz/fuzz_input.h"

namespace ROCKSDB_NAMESPACE::protean {

using Strings = std::vector<std::string>;

// ---- Keys and queries ----

// Reads all strings, and stores them, for FuzzInput::String. The stored strings
// take at most `max_size` bytes: those that do not fit are left out, and long
// ones that are not one repeated byte are cut.
Strings ParseStrings(FuzzInput input);
std::string StoreStrings(const Strings& strings, size_t max_size = ~size_t{0});

// Makes one change.
void MutateStrings(Strings* strings, Dice* random, GenericMutator generic);

// A few parameters and a list of strings.
struct ListInput {
  static constexpr size_t kParameters = 16;

  std::string parameters;  // kParameters bytes
  Strings strings;

  static ListInput Parse(const Slice& input);
  std::string Join(size_t max_size = ~size_t{0}) const;
};

// The functions of a FuzzTarget.
std::string MutateListInput(const Slice& input, size_t max_size, Dice* random,
                            GenericMutator generic);
std::string CrossListInputs(const Slice& a, const Slice& b, size_t max_size,
                            Dice* random);

// ---- Texts ----

// The tokens of a language.
struct TextLanguage {
  // Each separator is a token of its own, and ends a word.
  std::string separators;
  // Words with a meaning, and whole phrases.
  Strings words;
};

std::string MutateText(const TextLanguage& language, const Slice& text,
                       size_t max_size, Dice* random, GenericMutator generic);
std::string CrossTexts(const TextLanguage& language, const Slice& a,
                       const Slice& b, size_t max_size, Dice* random);

// The words as a dictionary file of libFuzzer.
std::string DictionaryOf(const TextLanguage& language);

}  // namespace ROCKSDB_NAMESPACE::protean
