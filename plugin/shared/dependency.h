// SPDX-License-Identifier: Apache-2.0

//  The place in a library for the name of one more object that it depends on. A
//  library that is to be bound to something without a name of its own (SONAME)
//  cannot be linked to it. The place is empty in the file; a private copy of
//  the library gets the name of what it is bound to (private_copy.h).

#pragma once

namespace protean_loader {

struct Dependency {
  char mark[32];
  char name[4096];
};

// How the place is found in the file.
constexpr char kDependencyMark[] = "protean: it also depends on ...";
static_assert(sizeof(kDependencyMark) == sizeof(Dependency::mark));

}  // namespace protean_loader
