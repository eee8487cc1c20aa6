// SPDX-License-Identifier: Apache-2.0

#include "plugin/shared/load_protean.h"

#include <dlfcn.h>
#include <glob.h>
#include <link.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "plugin/shared/private_copy.h"

namespace protean_loader {

// ---- Loaded rocksdb ----

namespace {

// std::string GetRocksVersionAsString(bool with_patch) in both ABIs of
// libstdc++'s strings: the name that exists tells which ABI it is.
constexpr char kVersionNew[] = "_ZN7rocksdb23GetRocksVersionAsStringB5cxx11Eb";
constexpr char kVersionOld[] = "_ZN7rocksdb23GetRocksVersionAsStringEb";
// Exported by any RocksDB that can register Protean.
constexpr char kRegistry[] = "_ZN7rocksdb13ObjectLibrary7DefaultEv";
// Exported only if RocksDB's assertions are on.
constexpr char kSyncPoint[] = "_ZN7rocksdb9SyncPoint11GetInstanceEv";
// Exported only if RocksDB was compiled with RTTI.
constexpr char kTypeInfo[] = "_ZTIN7rocksdb12TableFactoryE";
// Exported by the libraries of Protean (binding.cc).
constexpr char kProteanRocksDB[] = "protean_rocksdb";

// A std::string of either ABI, as a function returns it: it begins with a
// pointer to its characters. It is not freed: it is short, and there are few.
struct ReturnedString {
  ~ReturnedString() {}
  const char* data;
  char rest[24];
};

// The ELF header of a loaded object, which is its first bytes.
const void* StartOf(const dl_phdr_info& object) {
  for (int i = 0; i < object.dlpi_phnum; i++) {
    if (object.dlpi_phdr[i].p_type == PT_LOAD) {
      return reinterpret_cast<const void*>(object.dlpi_addr +
                                           object.dlpi_phdr[i].p_vaddr);
    }
  }
  return nullptr;
}

// The start of the object that contains an address, or nullptr.
const void* BaseOf(const void* address) {
  Dl_info info;
  return dladdr(address, &info) == 0 ? nullptr : info.dli_fbase;
}

// The symbol if the object that starts at `base` defines it itself, else
// nullptr: what a handle finds may also come from a dependency of its object.
void* OwnSymbol(void* handle, const void* base, const char* symbol) {
  void* const address = dlsym(handle, symbol);
  return address != nullptr && BaseOf(address) == base ? address : nullptr;
}

// A loaded object.
struct Object {
  char name[kMaxPath];  // as the dynamic linker has it
  const void* base;
  Object* next;
};

// Visits the objects of the process, or only the one that `address` lies in if
// that is not nullptr. Each is opened once more; `visit` returns true if it
// keeps the object open. Objects are listed first and opened later: while
// dl_iterate_phdr holds its lock, dlopen would wait for a thread that loads
// something, and that thread for the lock.
template <typename Visit>
void VisitObjects(const void* address, const Visit& visit) {
  Object* first = nullptr;
  Object** end = &first;
  const auto add = [](dl_phdr_info* info, size_t /*size*/, void* data) {
    auto** const last = static_cast<Object***>(data);
    auto* const object = static_cast<Object*>(malloc(sizeof(Object)));
    if (object == nullptr) return 1;
    snprintf(object->name, sizeof(object->name), "%s", info->dlpi_name);
    object->base = StartOf(*info);
    object->next = nullptr;
    **last = object;
    *last = &object->next;
    return 0;
  };
  dl_iterate_phdr(add, &end);
  while (first != nullptr) {
    // The program itself has no name. The kernel's own objects (vDSO) have a
    // name that cannot be opened: nullptr.
    void* handle = nullptr;
    if (address == nullptr || first->base == BaseOf(address)) {
      handle = dlopen(first->name[0] == '\0' ? nullptr : first->name,
                      RTLD_LAZY | RTLD_NOLOAD);
    }
    if (handle != nullptr && !visit(*first, handle)) dlclose(handle);
    Object* const next = first->next;
    free(first);
    first = next;
  }
}

}  // namespace

int FindRocksDB(const void* address, LoadedRocksDB* found) {
  int count = 0;
  VisitObjects(address, [&](const Object& object, void* handle) {
    if (OwnSymbol(handle, object.base, kRegistry) == nullptr) return false;
    if (count++ > 0) return true;
    found->handle = handle;
    found->base = object.base;
    snprintf(found->name, sizeof(found->name), "%s", object.name);
    return true;
  });
  return count;
}

bool FindProteanOf(const LoadedRocksDB& rocksdb, char* name) {
  bool is_found = false;
  VisitObjects(/*address=*/nullptr, [&](const Object& object, void* handle) {
    using RocksDBOf = const void* (*)();
    const auto rocksdb_of = reinterpret_cast<RocksDBOf>(
        OwnSymbol(handle, object.base, kProteanRocksDB));
    if (!is_found && rocksdb_of != nullptr &&
        BaseOf(rocksdb_of()) == rocksdb.base) {
      is_found = true;
      snprintf(name, kMaxPath, "%s", object.name);
    }
    return false;
  });
  return is_found;
}

bool TagOf(const LoadedRocksDB& rocksdb, char* tag, char* reason, size_t size) {
  const auto find = [&rocksdb](const char* symbol) {
    return OwnSymbol(rocksdb.handle, rocksdb.base, symbol);
  };
  void* version = find(kVersionNew);
  const bool old_abi = version == nullptr;
  if (old_abi) version = find(kVersionOld);
  if (version == nullptr) {
    snprintf(reason, size, "the RocksDB in %s does not tell its version",
             rocksdb.Path());
    return false;
  }
  using GetVersion = ReturnedString (*)(bool with_patch);
  const ReturnedString number = reinterpret_cast<GetVersion>(version)(true);
  snprintf(tag, kMaxTag, "%s%s%s%s", number.data, old_abi ? "-oldabi" : "",
           find(kSyncPoint) != nullptr ? "-assert" : "",
           find(kTypeInfo) == nullptr ? "-nortti" : "");
  return true;
}

// ---- Load protean ----

namespace {

// The major version of Protean, part of the names of its libraries.
constexpr char kEnd[] = ".so." PROTEAN_SOVERSION;

// Returns true if the library's note (binding.cc) says that it is for this
// RocksDB: a file may have been renamed.
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

  // A symbol of the RocksDB that is visible to all libraries, if there is one.
  const void* const global = dlsym(RTLD_DEFAULT, kRegistry);
  if (global == nullptr) {
    return LoadDependingOn(path, rocksdb.name, reason, size) != nullptr;
  }
  // What all see comes before what a library depends on.
  if (BaseOf(global) != rocksdb.base) {
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
