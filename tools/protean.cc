// SPDX-License-Identifier: Apache-2.0

//  The main program of the `protean` command.

#include <unistd.h>

#include <exception>
#include <iostream>

#include "tools/command.h"

int main(int argc, char** argv) {
  using ROCKSDB_NAMESPACE::protean::kCouldNot;
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  // Runs at the lowest priority: the process that has the DB open comes first.
  if (nice(19) == -1) std::cerr << "protean: cannot lower its own priority\n";
  try {
    return ROCKSDB_NAMESPACE::protean::ProteanMain(arguments, std::cout,
                                                   std::cerr);
  } catch (const std::exception& e) {
    // An exception of the standard library, such as bad_alloc.
    std::cerr << "protean: " << e.what() << '\n';
    return kCouldNot;
  }
}
