// SPDX-License-Identifier: Apache-2.0

//  The commands of `protean` and their interface: flags, a help text that
//  teaches, and what the command does. A new command is a class, a function
//  below, and a line in command.cc.

#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "rocksdb/status.h"
#include "tools/output.h"
#include "tools/target.h"

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
  Status Parse(std::vector<std::string> arguments,
               std::vector<std::string>* operands);

  // What --help prints.
  std::string Help() const;

 private:
  using Set = std::function<void(const std::string& text)>;
  // Adds a flag with a value; `set` throws CLI::ValidationError.
  void AddValue(const std::string& name, const std::string& value,
                const std::string& help, Set set);

  const std::unique_ptr<CLI::App> app_;
};

class Command {
 public:
  struct Text {
    const char* name;
    const char* summary;  // one line
    // The command line behind the name, such as "--db=DIR | FILE...".
    const char* usage;
    // The column families that it looks at if --column_family is not given.
    const char* by_default;
    // The part of the help behind the flags: what the command prints, its exit
    // codes, and examples.
    const char* help;
  };

  explicit Command(const Text& text) : text_(text) {}
  virtual ~Command() = default;

  const Text& text() const { return text_; }
  // Adds the flags of the target, those of the command, and --json.
  void AddAllFlags(Arguments* arguments);
  // Called once, after the flags have been set. `*found` says whether the exit
  // code is kFoundSomething. An error is printed as one line; it says what was
  // wrong and what would work. Only the result is printed to `out`.
  Status Run(const std::vector<std::string>& operands, std::ostream& out,
             std::ostream& err, bool* found);

 protected:
  virtual void AddFlags(Arguments* arguments) = 0;
  // Does the work, once `operands_` and all flags have been set.
  virtual Status Run() = 0;

  Output& out() const { return *out_; }
  std::ostream& err() const { return *err_; }
  // Opens the target, which is a DB or, if `or_files`, SST files. Then prints
  // how it was read, if that is notable.
  Status OpenTarget(bool or_files);

  std::vector<std::string> operands_;
  Target target_;
  bool json_ = false;
  bool found_ = false;  // for the exit code

 private:
  const Text& text_;
  Output* out_ = nullptr;
  std::ostream* err_ = nullptr;
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
