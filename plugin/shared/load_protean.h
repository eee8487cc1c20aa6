// SPDX-License-Identifier: Apache-2.0

//  Finds the RocksDBs in a process by the symbols that they export, and loads
//  the library of Protean that was compiled for one of them, bound to it. The
//  symbols of RocksDB stay as visible as they were. Nothing here refers to
//  RocksDB or to the C++ library, so that it can be loaded into any process.

#pragma once

#include <cstddef>

namespace protean_loader {

constexpr size_t kMaxPath = 4096;
constexpr size_t kMaxTag = 128;

// A library or program that contains RocksDB.
struct LoadedRocksDB {
  void* handle;         // is never closed, so that the library stays loaded
  const void* base;     // where it has been loaded
  char name[kMaxPath];  // as the dynamic linker has it: a path; or ""

  // What messages call it.
  const char* Path() const {
    return name[0] == '\0' ? "the program itself" : name;
  }
};

// Stores the first RocksDB of the process, and returns how many there are.
// Unless `address` is nullptr, only the object that contains it counts.
int FindRocksDB(const void* address, LoadedRocksDB* found);

// Stores the name of the loaded library of Protean that uses this RocksDB.
// Returns false if there is none. `name` has kMaxPath bytes.
bool FindProteanOf(const LoadedRocksDB& rocksdb, char* name);

// Stores the build of a RocksDB, as BuildInfo::Tag() has it
// (plugin/build_info.h). Returns false if RocksDB does not tell its version;
// `reason` then says so. `tag` has kMaxTag bytes.
bool TagOf(const LoadedRocksDB& rocksdb, char* tag, char* reason, size_t size);

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
