// SPDX-License-Identifier: Apache-2.0

//  The commands of `protean` and their interface: flags, a help text that
//  teaches, and what the command does. A new command is a file of its own, a
//  function below, and a line in command.cc.

#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "rocksdb/status.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace ROCKSDB_NAMESPACE::protean {

// The exit codes of the program.
enum ExitCode {
  kFine = 0,
  kFoundSomething = 1,  // something that needs the operator's attention
  kCouldNot = 2,        // the command failed; a line on stderr says why
};

class Command;

// The flags of a command, which CLI11 reads: --name=value or --name value; for
// booleans, --name or --name=false. A name may be written with hyphens for
// underscores. Other arguments are operands, and so are all behind --.
class Arguments {
 public:
  // Adds the flags of the command, which must outlive this object; none for
  // nullptr.
  explicit Arguments(Command* command = nullptr);
  ~Arguments();

  // Each Add adds a flag, in the order of the help. `value` is the placeholder
  // of the value in the help, such as DIR. `*target` holds the default, and
  // must outlive this object.
  void Add(const std::string& name, const std::string& value,
           const std::string& help, std::string* target);
  // A list: the flag may be repeated, and its values are separated by commas,
  // except for commas within braces.
  void Add(const std::string& name, const std::string& value,
           const std::string& help, std::vector<std::string>* target);
  // A number from `min` to `max`.
  void Add(const std::string& name, const std::string& value,
           const std::string& help, double* target,
           double min = -std::numeric_limits<double>::infinity(),
           double max = std::numeric_limits<double>::infinity());
  // A whole number from `min` to `max`, written as in RocksDB's options: 20K,
  // 2G or 1T.
  void Add(const std::string& name, const std::string& value,
           const std::string& help, uint64_t* target, uint64_t min = 0,
           uint64_t max = std::numeric_limits<uint64_t>::max());
  void Add(const std::string& name, const std::string& help, bool* target);

  // Sets the targets. InvalidArgument says which flag is unknown, with the
  // nearest one, lacks a value or has a bad one, with what is allowed.
  Status Parse(const std::vector<std::string>& arguments,
               std::vector<std::string>* operands);

  // What --help prints.
  std::string Help() const;

 private:
  using Set = std::function<void(const std::string& text)>;
  // Adds a flag with a value; `set` throws CLI::ValidationError.
  CLI::Option* AddValue(const std::string& name, const std::string& value,
                        const std::string& help, Set set);
  // Stores a flag in the form that CLI11 takes.
  Status Translate(const std::string& argument, bool is_last,
                   std::vector<std::string>* translated) const;

  const std::unique_ptr<CLI::App> app_;
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
