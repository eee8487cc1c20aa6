// SPDX-License-Identifier: Apache-2.0

#include "tools/command.h"

#include <algorithm>

#include "plugin/build_info.h"

namespace ROCKSDB_NAMESPACE::protean {

int Command::Main(const std::vector<std::string>& arguments, std::ostream& out,
                  std::ostream& err) {
  flags_.Add({{"json", "", &json_, "print JSON, one object per line"}});
  const auto end = std::find(arguments.begin(), arguments.end(), "--");
  for (const char* help : {"--help", "-h"}) {
    if (std::find(arguments.begin(), end, help) == end) continue;
    out << flags_.Help();
    return kFine;
  }
  Status s = flags_.Parse(arguments, &operands_);
  if (s.ok()) {
    Output output(out, json_);
    out_ = &output;
    err_ = &err;
    s = Run();
  }
  out.flush();
  if (s.ok() && !out) s = Status::IOError("the output cannot be written");
  if (s.ok()) return found_ ? kFoundSomething : kFine;
  // The message says more than the code of the status would.
  std::string message = s.getState() == nullptr ? s.ToString() : s.getState();
  std::replace(message.begin(), message.end(), '\n', ' ');
  err << "protean " << text_.name << ": " << message << '\n';
  return kCouldNot;
}

Status Command::OpenTarget(bool or_files) {
  if (!or_files && (target_.db.empty() || !operands_.empty())) {
    return Status::InvalidArgument(
        "give --db=DIR" +
        (operands_.empty() ? "" : "; " + operands_[0] + " is not a flag"));
  }
  const Status s = target_.Open(operands_);
  if (s.ok() && or_files) {
    for (const std::string& note : target_.notes) err() << note << '\n';
  }
  return s;
}

namespace {

using MakeCommand = std::unique_ptr<Command> (*)();

// All commands, in the order of the help.
constexpr MakeCommand kCommands[] = {
    NewPreflight, NewInspect,  NewExplain, NewAdvise,  NewApply,
    NewRefresh,   NewRollback, NewVerify,  NewSamples, NewStatistics};

void PrintUsage(std::ostream& out) {
  out << "Usage: protean COMMAND [FLAGS]\n\n"
         "Shows what Protean's range filters do in a RocksDB, and improves "
         "them.\n\nCommands:\n";
  for (const MakeCommand make : kCommands) {
    const std::unique_ptr<Command> command = make();
    out << Format("  %-12s%s\n", command->text().name, command->text().summary);
  }
  out << "\nprotean COMMAND --help explains a command, with examples; protean "
         "--version prints the RocksDB version that it was compiled for.\n\n"
         "Exit code: 0 if all is well, 1 if something needs attention, 2 if "
         "the command failed.\n";
}

}  // namespace

int ProteanMain(const std::vector<std::string>& arguments, std::ostream& out,
                std::ostream& err) {
  const std::string name = arguments.empty() ? "" : arguments[0];
  std::vector<std::string> rest;
  if (!name.empty()) rest.assign(arguments.begin() + 1, arguments.end());
  if (name == "help" && rest.size() == 1) {
    return ProteanMain({rest[0], "--help"}, out, err);
  }
  if (name.empty() || name == "--help" || name == "-h" || name == "help") {
    PrintUsage(name.empty() ? err : out);
    return name.empty() ? kCouldNot : kFine;
  }
  if (name == "--version" || name == "-V") {
    out << GetBuildInfo().ToString() << '\n';
    return kFine;
  }
  std::vector<std::string> names;
  std::string all;
  for (const MakeCommand make : kCommands) {
    const std::unique_ptr<Command> command = make();
    if (name == command->text().name) {
      return command->Main(rest, out, err);
    }
    names.emplace_back(command->text().name);
    all += (all.empty() ? "" : ", ") + names.back();
  }
  err << "protean: unknown command " << name << "; the nearest one is "
      << Nearest(name, names) << "; commands: " << all << '\n';
  return kCouldNot;
}

}  // namespace ROCKSDB_NAMESPACE::protean
