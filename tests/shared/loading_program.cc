// SPDX-License-Identifier: Apache-2.0

//  Loads shared libraries one after the other and prints the result:
//
//      loading_program [local|global] LIBRARY | close NUMBER ...
//
//  `local` (as in the Java VM) and `global` set the visibility of the symbols
//  of the following libraries; `close 1` closes the first one. The result is
//  whether Protean is registered, and whether all libraries of the process see
//  RocksDB's symbols.

#include <dlfcn.h>
#include <link.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

// Protean's library is visible to itself only, whatever has loaded it.
int LookForProtean(dl_phdr_info* object, size_t /*size*/, void* data) {
  void* const handle = dlopen(object->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return 0;
  using Registered = bool (*)();
  const auto registered =
      reinterpret_cast<Registered>(dlsym(handle, "protean_is_registered"));
  if (registered != nullptr && registered()) *static_cast<bool*>(data) = true;
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  int flags = RTLD_NOW | RTLD_LOCAL;
  std::vector<void*> handles;
  for (int i = 1; i < argc; i++) {
    const std::string word = argv[i];
    if (word == "local") {
      flags = RTLD_NOW | RTLD_LOCAL;
    } else if (word == "global") {
      flags = RTLD_NOW | RTLD_GLOBAL;
    } else if (word == "close" && i + 1 < argc) {
      dlclose(handles[atoi(argv[++i]) - 1]);
    } else {
      handles.push_back(dlopen(argv[i], flags));
      if (handles.back() == nullptr) {
        printf("%s\n", dlerror());
        return 1;
      }
    }
  }
  bool registered = false;
  dl_iterate_phdr(LookForProtean, &registered);
  // Visible to all libraries of the process.
  const bool visible =
      dlsym(RTLD_DEFAULT, "_ZN7rocksdb13ObjectLibrary7DefaultEv") != nullptr;
  printf("registered %s%s\n", registered ? "yes" : "no",
         visible ? ", visible" : "");
  return 0;
}
