// SPDX-License-Identifier: Apache-2.0

//  Loads the library of Protean that was compiled for a RocksDB, bound to that
//  RocksDB. The symbols of RocksDB stay as visible as they were.

#pragma once

#include <cstddef>

namespace protean_loader {

// ---- Loaded rocksdb ----

// The RocksDBs in a process, found by the symbols that they export. Nothing
// here refers to RocksDB or to the C++ library, so that it can be loaded into
// any process.

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

  // The symbol if this object itself defines it, else nullptr.
  void* Find(const char* symbol) const;
};

// Stores the first RocksDB of the process, and returns how many there are.
int FindRocksDB(LoadedRocksDB* found);

// Stores the RocksDB that contains an address. Returns false if the object that
// contains the address shows no symbols of RocksDB.
bool FindRocksDBAt(const void* address, LoadedRocksDB* found);

// The start of the RocksDB whose symbols are visible to all libraries of the
// process, or nullptr.
const void* GlobalRocksDB();

// Stores the name of the loaded library of Protean that uses this RocksDB.
// Returns false if there is none. `name` has kMaxPath bytes.
bool FindProteanOf(const LoadedRocksDB& rocksdb, char* name);

// Stores the build of a RocksDB, as BuildInfo::Tag() has it
// (plugin/build_info.h). Returns false if RocksDB does not tell its version;
// `reason` then says so. `tag` has kMaxTag bytes.
bool TagOf(const LoadedRocksDB& rocksdb, char* tag, char* reason, size_t size);

// The start of the object that contains an address, or nullptr.
const void* BaseOf(const void* address);

// ---- Load protean ----

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
