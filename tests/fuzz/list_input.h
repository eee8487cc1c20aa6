// SPDX-License-Identifier: Apache-2.0

//  Inputs that are a few parameters and a list of strings: queries and keys.
//
//    16 bytes  parameters, whose meaning depends on the target
//              strings (FuzzInput::String)

#pragma once

#include <string>
#include <vector>

#include "tests/fuzz/fuzz_input.h"

namespace ROCKSDB_NAMESPACE::protean {

struct ListInput {
  static constexpr size_t kParameters = 16;

  std::string parameters;  // kParameters bytes
  // The stored form, each string with its length.
  std::vector<std::string> strings;

  static ListInput Parse(const Slice& input);
  // The input, with all strings that fit.
  std::string Join(size_t max_size) const;
};

// Appends a string of at most FuzzInput::kMaxLength bytes as it is stored.
void AppendString(const Slice& string, std::string* out);

// The functions of a FuzzTarget.
size_t MutateListInput(uint8_t* data, size_t size, size_t max_size,
                       FuzzRandom* random, GenericMutator generic);
size_t CrossListInputs(const Slice& a, const Slice& b, uint8_t* out,
                       size_t max_size, FuzzRandom* random);

}  // namespace ROCKSDB_NAMESPACE::protean
