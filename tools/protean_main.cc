// SPDX-License-Identifier: Apache-2.0

#include "plugin/build_info.h"
#include "tools/command.h"
#include "tools/manual.h"
#include "tools/output.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

using MakeCommand = std::unique_ptr<Command> (*)();

constexpr char kSummary[] =
    "shows what Protean's range filters do in a RocksDB, and improves them";
constexpr char kExitCodes[] =
    "0 if all is well, 1 if something needs attention, 2 if the command "
    "failed.";

std::unique_ptr<Command> MakeHelp();

// All commands, in the order of the help.
constexpr MakeCommand kCommands[] = {NewInspect, NewAdvise,     NewApply,
                                     NewRefresh, NewRollback,   NewVerify,
                                     NewSamples, NewStatistics, MakeHelp};

void PrintUsage(std::ostream& out) {
  out << "protean COMMAND [FLAGS]: " << kSummary << "\n\nCommands:\n";
  for (const MakeCommand make : kCommands) {
    const std::unique_ptr<Command> command = make();
    out << Format("  %-12s%s\n", command->name(), command->summary());
  }
  out << "\nprotean COMMAND --help explains a command, with examples; protean "
         "--version prints the RocksDB version that it was compiled for.\n"
         "Exit code: "
      << kExitCodes << '\n';
}

void PrintHelp(const Command& command, const Arguments& arguments,
               std::ostream& out) {
  out << "protean " << command.usage() << "\n\n"
      << command.summary() << "\n\nFlags:\n"
      << arguments.Help() << '\n'
      << command.help();
}

// Explains the other commands, and itself.
class Help : public Command {
 public:
  const char* name() const override { return "help"; }
  const char* summary() const override {
    return "Explains a command, as text or as a manual page.";
  }
  const char* usage() const override { return "help [COMMAND]  [FLAGS]"; }
  const char* help() const override {
    return "Explains the program if no command is given.\n\n"
           "Exit code: 0, or 2 if there is no such command.\n\n"
           "Examples:\n"
           "  protean help inspect\n"
           "  protean help inspect --man | man -l -\n"
           "  source <(protean help --bash_completion)\n";
  }
  void AddFlags(Arguments* arguments) override {
    arguments->Add("man", "print a manual page for man", &man_);
    arguments->Add("commands", "print the names of the commands, one a line",
                   &commands_);
    arguments->Add("bash_completion",
                   "print a script that makes bash complete protean's commands "
                   "and flags",
                   &bash_completion_);
  }
  Status Run(const std::vector<std::string>& operands, std::ostream& out,
             std::ostream& /*err*/, bool* /*found*/) override {
    const std::vector<ManualEntry> entries = AllEntries();
    if (commands_ || bash_completion_) {
      if (!operands.empty() || man_ || (commands_ && bash_completion_)) {
        return Status::InvalidArgument(
            "--commands and --bash_completion stand alone");
      }
      if (bash_completion_) out << BashCompletion(entries);
      for (const ManualEntry& entry : entries) {
        if (commands_) out << entry.command->name() << '\n';
      }
      return Status::OK();
    }
    if (operands.empty()) {
      if (man_) {
        out << ProgramPage(entries, kSummary, kExitCodes);
      } else {
        PrintUsage(out);
      }
      return Status::OK();
    }
    std::string names;
    for (const ManualEntry& entry : entries) {
      const std::string name = entry.command->name();
      names += (names.empty() ? "" : ", ") + name;
      if (operands.size() > 1 || name != operands[0]) continue;
      if (man_) {
        out << CommandPage(entry);
      } else {
        PrintHelp(*entry.command, entry.flags, out);
      }
      return Status::OK();
    }
    return Status::InvalidArgument("give one of the commands: " + names);
  }

 private:
  static std::vector<ManualEntry> AllEntries() {
    std::vector<ManualEntry> entries;
    for (const MakeCommand make : kCommands) {
      entries.push_back({make(), Arguments()});
      entries.back().command->AddFlags(&entries.back().flags);
    }
    return entries;
  }

  bool man_ = false;
  bool commands_ = false;
  bool bash_completion_ = false;
};

std::unique_ptr<Command> MakeHelp() { return std::make_unique<Help>(); }

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
  if (name == "--help" || name == "-h") {
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
