// SPDX-License-Identifier: Apache-2.0

//  The shared library of Protean for one RocksDB, loaded by libprotean.so.1
//  (loader.cc) or because a program links to it. When it is loaded, it makes
//  sure that the RocksDB it has been bound to is the one it was compiled for,
//  and registers Protean. If it is another RocksDB, or if Protean is registered
//  already, a line on stderr says so, and nothing is changed.

#include <dlfcn.h>
#include <sys/auxv.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "plugin/build_info.h"
#include "plugin/checked_registration.h"
#include "plugin/version.h"
#include "rocksdb/utilities/object_registry.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// An ELF note in the library, for tools that only have the file: readelf -n, or
// strings. PROTEAN_TAG is BuildInfo::Tag(), as the build has it.
struct Note {
  uint32_t name_size;
  uint32_t text_size;
  uint32_t type;
  char name[8];
  char text[64];
};
[[gnu::section(".note.protean"), gnu::used,
  gnu::aligned(4)]] const Note note = {
    sizeof(note.name), sizeof(note.text), /*type=*/1, "Protean",
    PROTEAN_VERSION " for RocksDB " PROTEAN_TAG};

// Returns true if an address is in the program itself, not in a library.
bool IsInProgram(const void* address) {
  Dl_info info;
  Dl_info program;
  return dladdr(address, &info) != 0 &&
         dladdr(reinterpret_cast<void*>(getauxval(AT_ENTRY)), &program) != 0 &&
         info.dli_fbase == program.dli_fbase;
}

const bool registered = [] {
  // Static objects of a program are constructed after those of the libraries
  // loaded together with it, so a RocksDB in the program may not be ready yet.
  const Status s = RegisterChecked(
      !IsInProgram(reinterpret_cast<void*>(&ObjectLibrary::Default)));
  if (s.ok()) return true;
  const char* const quiet = getenv("PROTEAN_QUIET");
  if (quiet == nullptr || strcmp(quiet, "1") != 0) {
    fprintf(stderr, "protean: %s: %s; it is not registered%s\n",
            GetBuildInfo().ToString().c_str(),
            s.getState() == nullptr ? s.ToString().c_str() : s.getState(),
            s.IsNotSupported() ? "" : " (is this RocksDB a changed one?)");
  }
  return false;
}();

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean

extern "C" {

// Returns true if Protean has been registered, for programs that load this
// library themselves.
bool protean_is_registered() { return ROCKSDB_NAMESPACE::protean::registered; }

// An address in the RocksDB that this library is bound to, for the loader
// (load_protean.h).
const void* protean_rocksdb() {
  return reinterpret_cast<const void*>(
      &ROCKSDB_NAMESPACE::ObjectLibrary::Default);
}
}
