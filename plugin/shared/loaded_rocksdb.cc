// SPDX-License-Identifier: Apache-2.0

#include "plugin/shared/loaded_rocksdb.h"

#include <dlfcn.h>
#include <link.h>

#include <cstdio>

namespace protean_loader {

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
const void* BaseOf(const dl_phdr_info& object) {
  for (int i = 0; i < object.dlpi_phnum; i++) {
    if (object.dlpi_phdr[i].p_type == PT_LOAD) {
      return reinterpret_cast<const void*>(object.dlpi_addr +
                                           object.dlpi_phdr[i].p_vaddr);
    }
  }
  return nullptr;
}

// The symbol if the object that starts at `base` defines it itself, else
// nullptr: what a handle finds may also come from a dependency of its object.
void* OwnSymbol(void* handle, const void* base, const char* symbol) {
  void* const address = dlsym(handle, symbol);
  return address != nullptr && protean_loader::BaseOf(address) == base
             ? address
             : nullptr;
}

// Opens a loaded object once more. The program itself has no name. The kernel's
// own objects (vDSO) have a name that cannot be opened: nullptr.
void* Reopen(const dl_phdr_info& object) {
  return dlopen(object.dlpi_name[0] == '\0' ? nullptr : object.dlpi_name,
                RTLD_LAZY | RTLD_NOLOAD);
}

struct RocksDBSearch {
  const void* base;  // of the wanted one; nullptr for any
  LoadedRocksDB* found;
  int count;
};

int LookForRocksDB(dl_phdr_info* object, size_t /*size*/, void* data) {
  auto* const search = static_cast<RocksDBSearch*>(data);
  const void* const base = BaseOf(*object);
  if (search->base != nullptr && search->base != base) return 0;
  void* const handle = Reopen(*object);
  if (handle == nullptr) return 0;
  if (OwnSymbol(handle, base, kRegistry) == nullptr) {
    dlclose(handle);
    return 0;
  }
  if (search->count++ == 0) {
    search->found->handle = handle;
    search->found->base = base;
    snprintf(search->found->name, sizeof(search->found->name), "%s",
             object->dlpi_name);
  }
  return 0;
}

struct ProteanSearch {
  const LoadedRocksDB* rocksdb;
  char* name;
  bool found;
};

int LookForProtean(dl_phdr_info* object, size_t /*size*/, void* data) {
  auto* const search = static_cast<ProteanSearch*>(data);
  void* const handle = Reopen(*object);
  if (handle == nullptr) return 0;
  using RocksDBOf = const void* (*)();
  const auto rocksdb_of = reinterpret_cast<RocksDBOf>(
      OwnSymbol(handle, BaseOf(*object), kProteanRocksDB));
  if (rocksdb_of != nullptr &&
      protean_loader::BaseOf(rocksdb_of()) == search->rocksdb->base) {
    search->found = true;
    snprintf(search->name, kMaxPath, "%s", object->dlpi_name);
  }
  dlclose(handle);
  return search->found ? 1 : 0;
}

}  // namespace

const void* BaseOf(const void* address) {
  Dl_info info;
  return dladdr(address, &info) == 0 ? nullptr : info.dli_fbase;
}

void* LoadedRocksDB::Find(const char* symbol) const {
  return OwnSymbol(handle, base, symbol);
}

int FindRocksDB(LoadedRocksDB* found) {
  RocksDBSearch search = {nullptr, found, 0};
  dl_iterate_phdr(LookForRocksDB, &search);
  return search.count;
}

bool FindRocksDBAt(const void* address, LoadedRocksDB* found) {
  RocksDBSearch search = {BaseOf(address), found, 0};
  if (search.base == nullptr) return false;
  dl_iterate_phdr(LookForRocksDB, &search);
  return search.count > 0;
}

const void* GlobalRocksDB() {
  const void* const registry = dlsym(RTLD_DEFAULT, kRegistry);
  return registry == nullptr ? nullptr : BaseOf(registry);
}

bool FindProteanOf(const LoadedRocksDB& rocksdb, char* name) {
  ProteanSearch search = {&rocksdb, name, false};
  dl_iterate_phdr(LookForProtean, &search);
  return search.found;
}

bool TagOf(const LoadedRocksDB& rocksdb, char* tag, size_t size) {
  void* version = rocksdb.Find(kVersionNew);
  const bool old_abi = version == nullptr;
  if (old_abi) version = rocksdb.Find(kVersionOld);
  if (version == nullptr) return false;
  using GetVersion = ReturnedString (*)(bool with_patch);
  const ReturnedString number = reinterpret_cast<GetVersion>(version)(true);
  snprintf(tag, size, "%s%s%s%s", number.data, old_abi ? "-oldabi" : "",
           rocksdb.Find(kSyncPoint) != nullptr ? "-assert" : "",
           rocksdb.Find(kTypeInfo) == nullptr ? "-nortti" : "");
  return true;
}

}  // namespace protean_loader
