//  What a command of `protean` is: flags, a help that teaches, and what it
//  does. A new one is a file of its own and a line in protean_main.cc.

#pragma once

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "rocksdb/status.h"
#include "tools/arguments.h"

namespace ROCKSDB_NAMESPACE::protean {

// What a command ends with.
enum ExitCode {
  kFine = 0,
  kFoundSomething = 1,  // that the operator must look at
  kCouldNot = 2,        // do what was asked, as a line on stderr says
};

class Command {
 public:
  virtual ~Command() = default;

  virtual const char* name() const = 0;
  // A line.
  virtual const char* summary() const = 0;
  // How it is called, without the program's name, such as
  // "inspect --db=DIR | FILE...".
  virtual const char* usage() const = 0;
  // What it tells, what its exit code says, and examples, after the flags.
  virtual const char* help() const = 0;
  virtual void AddFlags(Arguments* arguments) = 0;

  // Called once, after the flags have been set. `*found` is false; true makes
  // the exit code kFoundSomething. An error is printed as one line; it says
  // what was wrong and what would work. Nothing is printed to `out` but the
  // result.
  virtual Status Run(const std::vector<std::string>& operands,
                     std::ostream& out, std::ostream& err, bool* found) = 0;
};

// Runs the program with these arguments, which begin with the command. Returns
// an ExitCode.
int ProteanMain(const std::vector<std::string>& arguments, std::ostream& out,
                std::ostream& err);

}  // namespace ROCKSDB_NAMESPACE::protean
