#include "plugin/build_info.h"
#include "tools/advise.h"
#include "tools/command.h"
#include "tools/inspect.h"
#include "tools/output.h"
#include "tools/refresh.h"
#include "tools/samples.h"
#include "tools/verify.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

using MakeCommand = std::unique_ptr<Command> (*)();

template <typename C>
std::unique_ptr<Command> Make() {
  return std::make_unique<C>();
}

// All commands, in the order of the help.
constexpr MakeCommand kCommands[] = {
    Make<Inspect>, Make<Advise>,  Make<RefreshCommand>,
    Make<Verify>,  Make<Samples>,
};

void PrintUsage(std::ostream& out) {
  out << "protean COMMAND [FLAGS]: shows what Protean's range filters do in a "
         "RocksDB, and improves them\n\nCommands:\n";
  for (const MakeCommand make : kCommands) {
    const std::unique_ptr<Command> command = make();
    out << Format("  %-10s%s\n", command->name(), command->summary());
  }
  out << "\nprotean COMMAND --help explains a command, with examples; protean "
         "--version prints the RocksDB version that it was compiled for.\n"
         "Exit code: 0 if all is well, 1 if something needs attention, 2 if "
         "the command failed.\n";
}

void PrintHelp(const Command& command, const Arguments& arguments,
               std::ostream& out) {
  out << "protean " << command.usage() << "\n\n"
      << command.summary() << "\n\nFlags:\n"
      << arguments.Help() << '\n'
      << command.help();
}

int RunCommand(Command* command, const std::vector<std::string>& rest,
               std::ostream& out, std::ostream& err) {
  Arguments arguments;
  command->AddFlags(&arguments);
  for (const std::string& argument : rest) {
    if (argument == "--help" || argument == "-h") {
      PrintHelp(*command, arguments, out);
      return kFine;
    }
    if (argument == "--") break;
  }
  std::vector<std::string> operands;
  bool found = false;
  Status s = arguments.Parse(rest, &operands);
  if (s.ok()) s = command->Run(operands, out, err, &found);
  out.flush();
  if (s.ok() && !out) s = Status::IOError("the output cannot be written");
  if (s.ok()) return found ? kFoundSomething : kFine;
  // The message says more than the code of the status would.
  std::string message = s.getState() == nullptr ? s.ToString() : s.getState();
  for (char& c : message) {
    if (c == '\n') c = ' ';
  }
  err << "protean " << command->name() << ": " << message << '\n';
  return kCouldNot;
}

}  // namespace

int ProteanMain(const std::vector<std::string>& arguments, std::ostream& out,
                std::ostream& err) {
  if (arguments.empty()) {
    PrintUsage(err);
    return kCouldNot;
  }
  const std::string& name = arguments[0];
  if (name == "--help" || name == "-h" || name == "help") {
    PrintUsage(out);
    return kFine;
  }
  if (name == "--version" || name == "-V") {
    out << GetBuildInfo().ToString() << '\n';
    return kFine;
  }
  std::string names;
  for (const MakeCommand make : kCommands) {
    const std::unique_ptr<Command> command = make();
    if (name == command->name()) {
      return RunCommand(command.get(), {arguments.begin() + 1, arguments.end()},
                        out, err);
    }
    names += (names.empty() ? "" : ", ") + std::string(command->name());
  }
  err << "protean: unknown command " << name << "; commands: " << names << '\n';
  return kCouldNot;
}

}  // namespace ROCKSDB_NAMESPACE::protean
