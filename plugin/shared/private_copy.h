// SPDX-License-Identifier: Apache-2.0

//  Binds a library to one object of the process and to no other.
//
//  A Java VM, an interpreter or an application server loads libraries with
//  local scope: others do not see their symbols, and several copies of RocksDB
//  live side by side. Raising one of them to global scope (RTLD_GLOBAL) would
//  bind all that is loaded later to it, the other copies of RocksDB included.
//  So the library that is loaded depends on its RocksDB instead, like a library
//  that was linked to it. RocksDB's path is known only now, and the dynamic
//  linker takes dependencies from the file. Therefore a copy of the file, which
//  only this process sees, gets one more entry DT_NEEDED; its own name
//  (DT_SONAME) makes room for it, which a private copy must not have anyway. A
//  dependency with the name of a loaded object is that object.

#pragma once

#include <cstddef>

namespace protean_loader {

// The place in a library for the name of one more object that it depends on:
// empty in the file, and set in a private copy. A library that is to be bound
// to something without a name of its own (SONAME) cannot be linked to it.
struct Dependency {
  char mark[32];
  char name[4096];
};

// How the place is found in the file.
constexpr char kDependencyMark[] = "protean: it also depends on ...";
static_assert(sizeof(kDependencyMark) == sizeof(Dependency::mark));

// Loads the library in the file `path` with local scope and for good, so that
// it depends on the loaded object named `dependency` (as the dynamic linker has
// it). A library without a place for a dependency depends on
// what it was linked to; the file itself is loaded then.
//
// Returns its handle, or nullptr; `reason` then says why.
void* LoadDependingOn(const char* path, const char* dependency, char* reason,
                      size_t size);

}  // namespace protean_loader
