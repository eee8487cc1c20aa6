// SPDX-License-Identifier: Apache-2.0

//  Files in the form of SOSD's data sets: a 64-bit count, then numbers of 64
//  bits, little endian.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rocksdb/status.h"

namespace ROCKSDB_NAMESPACE::protean {

// Reads as many entries as the file's count says.
Status ReadNumbers(const std::string& file, size_t numbers_per_entry,
                   std::vector<uint64_t>* numbers);

}  // namespace ROCKSDB_NAMESPACE::protean
