// SPDX-License-Identifier: Apache-2.0

//  Loads shared libraries one after the other and prints the result:
//
//      loading_program [local|global] LIBRARY | close NUMBER ...
//
//  `local` (as in the Java VM) and `global` set the visibility of the symbols
//  of the following libraries; `close 1` closes the first one.

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

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
  using Registered = bool (*)();
  void* found = nullptr;
  // The library that libprotean.so has loaded is visible to itself only.
  const char* const binding = getenv("BINDING");
  if (binding != nullptr) {
    void* const handle = dlopen(binding, RTLD_LAZY | RTLD_NOLOAD);
    if (handle != nullptr) found = dlsym(handle, "protean_is_registered");
  }
  printf(
      "registered %s\n",
      found != nullptr && reinterpret_cast<Registered>(found)() ? "yes" : "no");
  return 0;
}
