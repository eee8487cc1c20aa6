// SPDX-License-Identifier: Apache-2.0

//  The commands of `protean` and their interface: flags, a help text that
//  teaches, and what the command does. A new command is a file of its own, a
//  function below, and a line in protean_main.cc.

#pragma once

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "rocksdb/status.h"
#include "tools/arguments.h"

namespace ROCKSDB_NAMESPACE::protean {

// The exit codes of the program.
enum ExitCode {
  kFine = 0,
  kFoundSomething = 1,  // something that needs the operator's attention
  kCouldNot = 2,        // the command failed; a line on stderr says why
};

class Command {
 public:
  virtual ~Command() = default;

  virtual const char* name() const = 0;
  // One line.
  virtual const char* summary() const = 0;
  // The command line without the program's name, such as "inspect --db=DIR |
  // FILE...".
  virtual const char* usage() const = 0;
  // The part of the help behind the flags: what the command prints, its exit
  // codes, and examples.
  virtual const char* help() const = 0;
  virtual void AddFlags(Arguments* arguments) = 0;

  // Called once, after the flags have been set. `*found` is false; setting it
  // makes the exit code kFoundSomething. An error is printed as one line; it
  // says what was wrong and what would work. Only the result is printed to
  // `out`.
  virtual Status Run(const std::vector<std::string>& operands,
                     std::ostream& out, std::ostream& err, bool* found) = 0;
};

std::unique_ptr<Command> NewInspect();
std::unique_ptr<Command> NewAdvise();
std::unique_ptr<Command> NewApply();
std::unique_ptr<Command> NewRefresh();
std::unique_ptr<Command> NewRollback();
std::unique_ptr<Command> NewVerify();
std::unique_ptr<Command> NewSamples();
std::unique_ptr<Command> NewStatistics();

// Runs the program with these arguments, of which the first is the command.
// Returns an ExitCode.
int ProteanMain(const std::vector<std::string>& arguments, std::ostream& out,
                std::ostream& err);

}  // namespace ROCKSDB_NAMESPACE::protean
