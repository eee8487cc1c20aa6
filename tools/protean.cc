//  The operator's command.

#include <exception>
#include <iostream>

#include "tools/command.h"

int main(int argc, char** argv) {
  using ROCKSDB_NAMESPACE::protean::kCouldNot;
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  try {
    return ROCKSDB_NAMESPACE::protean::ProteanMain(arguments, std::cout,
                                                   std::cerr);
  } catch (const std::exception& e) {
    // The standard library's, such as for want of memory.
    std::cerr << "protean: " << e.what() << '\n';
    return kCouldNot;
  }
}
