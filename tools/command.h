// SPDX-License-Identifier: Apache-2.0

//  The commands of `protean` and their interface: flags, a help text that
//  teaches, and what the command does. A new command is a class, a function
//  below, and a line in command.cc. What this header and its own ones include,
//  commands do not include again.

#pragma once

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "rocksdb/status.h"
#include "tools/arguments.h"
#include "tools/output.h"
#include "tools/target.h"

namespace ROCKSDB_NAMESPACE::protean {

// The exit codes of the program.
enum ExitCode {
  kFine = 0,
  kFoundSomething = 1,  // something that needs the operator's attention
  kCouldNot = 2,        // the command failed; a line on stderr says why
};

class Command {
 public:
  explicit Command(const CommandText& text) : flags_(text), text_(text) {
    target_.AddFlags(&flags_, text.by_default);
  }
  virtual ~Command() = default;

  const CommandText& text() const { return text_; }
  // Runs the command with the arguments behind its name, and returns an
  // ExitCode. An error is printed to `err` as one line; it says what was wrong
  // and what would work. Only the result is printed to `out`.
  int Main(const std::vector<std::string>& arguments, std::ostream& out,
           std::ostream& err);

 protected:
  // Does the work, once `operands_` and all flags have been set.
  virtual Status Run() = 0;

  Output& out() const { return *out_; }
  std::ostream& err() const { return *err_; }
  // Opens the target, which is a DB or, if `or_files`, SST files. Then prints
  // how it was read, if that is notable.
  Status OpenTarget(bool or_files);

  Arguments flags_;  // constructors add those of their commands
  std::vector<std::string> operands_;
  Target target_;
  bool json_ = false;
  bool found_ = false;  // for the exit code

 private:
  const CommandText& text_;
  Output* out_ = nullptr;
  std::ostream* err_ = nullptr;
};

std::unique_ptr<Command> NewPreflight();
std::unique_ptr<Command> NewInspect();
std::unique_ptr<Command> NewExplain();
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
