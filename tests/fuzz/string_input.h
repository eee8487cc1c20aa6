// SPDX-License-Identifier: Apache-2.0

//  Inputs that are strings, keys and queries, and their mutations.

#pragma once

#include <string>
#include <vector>

#include "tests/fuzz/fuzz_input.h"

namespace ROCKSDB_NAMESPACE::protean {

using Strings = std::vector<std::string>;

// Reads all strings, and stores them, for FuzzInput::String. The stored strings
// take at most `max_size` bytes: those that do not fit are left out, and long
// ones that are not one repeated byte are cut.
Strings ParseStrings(FuzzInput input);
std::string StoreStrings(const Strings& strings, size_t max_size = ~size_t{0});

// Makes one change to stored strings.
std::string MutateStrings(const Slice& stored, size_t max_size, Dice* random,
                          GenericMutator generic);

}  // namespace ROCKSDB_NAMESPACE::protean
