// SPDX-License-Identifier: Apache-2.0

//  Loads the library of Protean that was compiled for a RocksDB, bound to that
//  RocksDB. The symbols of RocksDB stay as visible as they were.

#pragma once

#include <cstddef>

#include "plugin/shared/loaded_rocksdb.h"

namespace protean_loader {

// Stores the folder of the library that contains `address`, with the slash at
// its end; "" if it was not named with its folder. `folder` has kMaxPath bytes.
void FolderOf(const void* address, char* folder);

// Loads libprotean-rocksdb-TAG.so.1 of a folder, for TAG see
// plugin/build_info.h (the folder ends with a slash, or is ""). The library
// checks RocksDB once more and registers Protean; if it refuses, a line on
// stderr says why (binding.cc).
//
// Returns false if it was not loaded; `reason` then says why.
bool LoadProtean(const LoadedRocksDB& rocksdb, const char* folder, char* reason,
                 size_t size);

}  // namespace protean_loader
