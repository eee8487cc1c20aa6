// SPDX-License-Identifier: Apache-2.0

//  libprotean.so.1: brings Protean into a process that already contains
//  RocksDB. The library is preloaded, linked, or loaded by dlopen, and has no
//  references to RocksDB, so that it can be loaded into any process. It looks
//  for the RocksDB in the process, finds out its version and build, and loads
//  the library of Protean that was compiled for it, from its own folder:
//
//      libprotean-rocksdb-TAG.so.1    for TAG see plugin/build_info.h
//
//  which checks the RocksDB that it binds to once more (binding.cc) and
//  registers itself. If there is none, a line on stderr says why, and nothing
//  is changed. PROTEAN_QUIET=1 suppresses that line: a preloaded library is
//  also loaded into the programs that a program starts.
//
//  The loader only looks at whether RocksDB exports a few symbols, and calls
//  the function that returns its version.

#include <dlfcn.h>
#include <glob.h>
#include <link.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

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

// The major version of Protean, part of the names of both libraries.
constexpr char kEnd[] = ".so." PROTEAN_SOVERSION;

constexpr size_t kMaxPath = 4096;

// Says why nothing has been loaded.
[[gnu::format(printf, 1, 2)]] void Refuse(const char* format, ...) {
  const char* const quiet = getenv("PROTEAN_QUIET");
  if (quiet != nullptr && strcmp(quiet, "1") == 0) return;
  char line[2 * kMaxPath];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(line, sizeof(line), format, arguments);
  va_end(arguments);
  fprintf(stderr, "protean: %s; Protean is not registered\n", line);
}

// A library or program that contains RocksDB.
struct RocksDB {
  void* handle;
  const void* base;  // where it has been loaded
  char path[kMaxPath];

  // The symbol if this object itself defines it, else nullptr.
  void* Find(const char* symbol) const {
    void* const address = dlsym(handle, symbol);
    Dl_info info;
    return address != nullptr && dladdr(address, &info) != 0 &&
                   info.dli_fbase == base
               ? address
               : nullptr;
  }
};

struct Search {
  RocksDB found;
  int count = 0;
};

// Looks for RocksDB in one of the loaded objects.
int LookInto(dl_phdr_info* object, size_t /*size*/, void* data) {
  auto* const search = static_cast<Search*>(data);
  // The program itself has no name. The kernel's own objects (vDSO) have a name
  // that cannot be opened.
  const char* const name =
      object->dlpi_name[0] == '\0' ? nullptr : object->dlpi_name;
  void* const handle = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return 0;
  void* const registry = dlsym(handle, kRegistry);
  Dl_info info;
  // The symbol may also come from a library that this object depends on, which
  // has its own turn.
  if (registry != nullptr && dladdr(registry, &info) != 0 &&
      (search->count == 0 || search->found.base != info.dli_fbase)) {
    // The first bytes of an object are its ELF header.
    ElfW(Addr) begin = 0;
    for (int i = 0; i < object->dlpi_phnum; i++) {
      if (object->dlpi_phdr[i].p_type == PT_LOAD) {
        begin = object->dlpi_addr + object->dlpi_phdr[i].p_vaddr;
        break;
      }
    }
    if (reinterpret_cast<ElfW(Addr)>(info.dli_fbase) == begin) {
      search->count++;
      search->found.handle = handle;
      search->found.base = info.dli_fbase;
      snprintf(search->found.path, sizeof(search->found.path), "%s",
               name == nullptr ? "the program itself" : name);
      return 0;  // keeps the handle, so that the library stays loaded
    }
  }
  dlclose(handle);
  return 0;
}

// A std::string of either ABI, as a function returns it: it begins with a
// pointer to its characters. It is not freed: it is short, and there is only
// one.
struct ReturnedString {
  ~ReturnedString() {}
  const char* data;
  char rest[24];
};

// Whether the library's note (binding.cc) says that it is for this RocksDB: a
// file may have been renamed.
bool IsFor(FILE* library, const char* tag) {
  static char text[1 << 16];
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

void Load() {
  static Search search;
  dl_iterate_phdr(LookInto, &search);
  if (search.count == 0) {
    Refuse(
        "there is no RocksDB in this process that lets others see its "
        "symbols; libprotean is loaded after RocksDB or together with it");
    return;
  }
  const RocksDB& rocksdb = search.found;
  if (search.count > 1) {
    Refuse("there are %d RocksDBs in this process, %s is one of them",
           search.count, rocksdb.path);
    return;
  }
  void* version = rocksdb.Find(kVersionNew);
  const bool old_abi = version == nullptr;
  if (old_abi) version = rocksdb.Find(kVersionOld);
  if (version == nullptr) {
    Refuse("the RocksDB in %s does not tell its version", rocksdb.path);
    return;
  }
  using GetVersion = ReturnedString (*)(bool with_patch);
  const ReturnedString number = reinterpret_cast<GetVersion>(version)(true);
  char tag[128];
  snprintf(tag, sizeof(tag), "%s%s%s%s", number.data, old_abi ? "-oldabi" : "",
           rocksdb.Find(kSyncPoint) != nullptr ? "-assert" : "",
           rocksdb.Find(kTypeInfo) == nullptr ? "-nortti" : "");

  Dl_info self;
  if (dladdr(reinterpret_cast<void*>(&Load), &self) == 0) return;
  const char* const slash = strrchr(self.dli_fname, '/');
  const int length =
      slash == nullptr ? 0 : static_cast<int>(slash + 1 - self.dli_fname);
  char path[kMaxPath];
  snprintf(path, sizeof(path), "%.*slibprotean-rocksdb-%s%s", length,
           self.dli_fname, tag, kEnd);
  FILE* const file = fopen(path, "rb");
  if (file == nullptr) {
    char others[kMaxPath] = "";
    size_t used = 0;
    glob_t all;
    char pattern[kMaxPath];
    snprintf(pattern, sizeof(pattern), "%.*slibprotean-rocksdb-*%s", length,
             self.dli_fname, kEnd);
    if (glob(pattern, 0, nullptr, &all) == 0) {
      for (size_t i = 0; i < all.gl_pathc && used < sizeof(others); i++) {
        const char* const name = all.gl_pathv[i] + length;
        used +=
            static_cast<size_t>(snprintf(others + used, sizeof(others) - used,
                                         "%s%s", i == 0 ? "" : ", ", name));
      }
      globfree(&all);
    }
    Refuse("the RocksDB in %s is %s, for which there is no %s; there is %s",
           rocksdb.path, tag, path, used == 0 ? "none" : others);
    return;
  }
  const bool fits = IsFor(file, tag);
  fclose(file);
  if (!fits) {
    Refuse("%s is for another RocksDB than its name says", path);
    return;
  }

  // A library that a program or the Java VM has loaded with local scope is not
  // visible to others until it is loaded again with global scope. It must then
  // stay loaded.
  if (strcmp(rocksdb.path, "the program itself") != 0) {
    dlopen(rocksdb.path, RTLD_LAZY | RTLD_NOLOAD | RTLD_GLOBAL | RTLD_NODELETE);
  }
  if (dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE) == nullptr) {
    const char* const reason = dlerror();
    Refuse("%s cannot be loaded: %s", path, reason == nullptr ? "" : reason);
  }
}

struct AtLoad {
  AtLoad() { Load(); }
} at_load;

}  // namespace
