// SPDX-License-Identifier: Apache-2.0

#include "plugin/shared/load_protean.h"

#include <dlfcn.h>
#include <glob.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "plugin/shared/private_copy.h"

namespace protean_loader {

namespace {

// The major version of Protean, part of the names of its libraries.
constexpr char kEnd[] = ".so." PROTEAN_SOVERSION;

// Whether the library's note (binding.cc) says that it is for this RocksDB: a
// file may have been renamed.
bool IsFor(FILE* library, const char* tag) {
  char text[1 << 14];
  char wanted[256];
  const auto size = static_cast<size_t>(
      snprintf(wanted, sizeof(wanted), " for RocksDB %s", tag) + 1);
  size_t kept = 0;
  while (true) {
    const size_t got = fread(text + kept, 1, sizeof(text) - kept, library);
    if (memmem(text, kept + got, wanted, size) != nullptr) return true;
    if (got == 0) return false;
    const size_t all = kept + got;
    kept = all < size ? all : size;
    memmove(text, text + all - kept, kept);
  }
}

// Stores the names of the libraries of a folder, separated by commas.
void ListLibraries(const char* folder, char* names, size_t size) {
  snprintf(names, size, "none");
  char pattern[kMaxPath];
  snprintf(pattern, sizeof(pattern), "%slibprotean-rocksdb-*%s", folder, kEnd);
  glob_t all;
  if (glob(pattern, 0, nullptr, &all) != 0) return;
  size_t used = 0;
  for (size_t i = 0; i < all.gl_pathc && used < size; i++) {
    used += static_cast<size_t>(snprintf(names + used, size - used, "%s%s",
                                         i == 0 ? "" : ", ",
                                         all.gl_pathv[i] + strlen(folder)));
  }
  globfree(&all);
}

}  // namespace

void FolderOf(const void* address, char* folder) {
  folder[0] = '\0';
  Dl_info self;
  if (dladdr(address, &self) == 0) return;
  snprintf(folder, kMaxPath, "%s", self.dli_fname);
  char* const slash = strrchr(folder, '/');
  *(slash == nullptr ? folder : slash + 1) = '\0';
}

bool LoadProtean(const LoadedRocksDB& rocksdb, const char* folder, char* reason,
                 size_t size) {
  char tag[kMaxTag];
  if (!TagOf(rocksdb, tag, reason, size)) return false;
  char path[kMaxPath];
  snprintf(path, sizeof(path), "%slibprotean-rocksdb-%s%s", folder, tag, kEnd);
  FILE* const file = fopen(path, "rb");
  if (file == nullptr) {
    char others[kMaxPath];
    ListLibraries(folder, others, sizeof(others));
    snprintf(reason, size,
             "the RocksDB in %s is %s, for which there is no %s; there is %s",
             rocksdb.Path(), tag, path, others);
    return false;
  }
  const bool fits = IsFor(file, tag);
  fclose(file);
  if (!fits) {
    snprintf(reason, size, "%s is for another RocksDB than its name says",
             path);
    return false;
  }

  const void* const global = GlobalRocksDB();
  if (global == nullptr) {
    return LoadDependingOn(path, rocksdb.name, reason, size) != nullptr;
  }
  // What all see comes before what a library depends on.
  if (global != rocksdb.base) {
    snprintf(reason, size,
             "Protean cannot be bound to the RocksDB in %s, since this process "
             "has another one whose symbols are visible to all libraries",
             rocksdb.Path());
    return false;
  }
  if (dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE) == nullptr) {
    snprintf(reason, size, "%s cannot be loaded: %s", path, dlerror());
    return false;
  }
  // Unless it is the program itself, which is never unloaded.
  if (rocksdb.name[0] != '\0') {
    dlopen(rocksdb.name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
  }
  return true;
}

}  // namespace protean_loader
