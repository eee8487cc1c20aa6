//  Inputs that are a few parameters and a list of strings: queries and keys.
//
//    16 bytes  parameters, which the target makes something of
//              strings (FuzzInput::String)

#pragma once

#include <string>
#include <vector>

#include "tests/fuzz/fuzz_input.h"

namespace ROCKSDB_NAMESPACE::protean {

struct ListInput {
  static constexpr size_t kParameters = 16;

  std::string parameters;  // kParameters bytes
  // As they are stored, each with its length.
  std::vector<std::string> strings;

  static ListInput Parse(const Slice& input);
  // As many of the strings as fit.
  std::string Join(size_t max_size) const;
};

// Appends a string of at most FuzzInput::kMaxLength bytes as it is stored.
void AppendString(const Slice& string, std::string* out);

// As FuzzTarget's.
size_t MutateListInput(uint8_t* data, size_t size, size_t max_size,
                       FuzzRandom* random, GenericMutator generic);
size_t CrossListInputs(const Slice& a, const Slice& b, uint8_t* out,
                       size_t max_size, FuzzRandom* random);

}  // namespace ROCKSDB_NAMESPACE::protean
