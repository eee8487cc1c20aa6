//  The operator's command.

#include <unistd.h>

#include <exception>
#include <iostream>

#include "tools/command.h"

int main(int argc, char** argv) {
  using ROCKSDB_NAMESPACE::protean::kCouldNot;
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  // The process that has the DB open comes first.
  if (nice(19) == -1) std::cerr << "protean: runs at normal priority\n";
  try {
    return ROCKSDB_NAMESPACE::protean::ProteanMain(arguments, std::cout,
                                                   std::cerr);
  } catch (const std::exception& e) {
    // The standard library's, such as for want of memory.
    std::cerr << "protean: " << e.what() << '\n';
    return kCouldNot;
  }
}
