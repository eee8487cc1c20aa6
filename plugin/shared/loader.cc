// SPDX-License-Identifier: Apache-2.0

//  libprotean.so.1: brings Protean into a process that already contains
//  RocksDB. The library is preloaded, linked, or loaded by dlopen. It looks for
//  the RocksDB in the process, and loads the library of Protean that was
//  compiled for it from its own folder (load_protean.h). If there is none, a
//  line on stderr says why, and nothing is changed. PROTEAN_QUIET=1 suppresses
//  that line: a preloaded library is also loaded into the programs that a
//  program starts.
//
//  The loader only looks at whether RocksDB exports a few symbols, and calls
//  the function that returns its version.

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "plugin/shared/load_protean.h"

namespace protean_loader {

namespace {

// Returns false if Protean was not loaded; `reason` then says why.
bool Load(char* reason, size_t size) {
  LoadedRocksDB rocksdb;
  const int count = FindRocksDB(nullptr, &rocksdb);
  if (count == 0) {
    snprintf(reason, size,
             "there is no RocksDB in this process that lets others see its "
             "symbols; libprotean is loaded after RocksDB or together with it");
    return false;
  }
  if (count > 1) {
    snprintf(reason, size,
             "there are %d RocksDBs in this process, %s is one of them", count,
             rocksdb.Path());
    return false;
  }
  char folder[kMaxPath];
  FolderOf(reinterpret_cast<const void*>(&Load), folder);
  return LoadProtean(rocksdb, folder, reason, size);
}

struct AtLoad {
  AtLoad() {
    char reason[3 * kMaxPath];
    if (Load(reason, sizeof(reason))) return;
    const char* const quiet = getenv("PROTEAN_QUIET");
    if (quiet != nullptr && strcmp(quiet, "1") == 0) return;
    fprintf(stderr, "protean: %s; Protean is not registered\n", reason);
  }
} at_load;

}  // namespace

}  // namespace protean_loader
