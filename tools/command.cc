// SPDX-License-Identifier: Apache-2.0

#include "tools/command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "filter_policy/levels_policy.h"
#include "filter_policy/option_types.h"
#include "plugin/build_info.h"
#include "tools/output.h"
#include "util/string_util.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

bool TakesValue(const CLI::Option& option) {
  return option.get_expected_min() > 0;
}

// The help of a command: CLI11's list of flags, between the command's own
// texts.
class CommandHelp : public CLI::Formatter {
 public:
  explicit CommandHelp(const Command& command) : command_(command) {}

  std::string make_help(const CLI::App* app, std::string /*name*/,
                        CLI::AppFormatMode mode) const override {
    return std::string("Usage: protean ") + command_.usage() + "\n\n" +
           command_.summary() + "\n" + make_groups(app, mode) + "\n" +
           command_.help();
  }
  std::string make_option_opts(const CLI::Option* option) const override {
    return TakesValue(*option) ? "=" + option->get_type_name() : "";
  }
  std::string make_option_desc(const CLI::Option* option) const override {
    return Wrap(option->get_description(), 0, 74);
  }

 private:
  const Command& command_;
};

[[noreturn]] void Refuse(const std::string& name, const std::string& text,
                         const std::string& allowed) {
  throw CLI::ValidationError("--" + name + "=" + text +
                             " is not allowed; allowed: " + allowed);
}

// Such as " from 1 to 64" or " from 1 on"; empty if there are no bounds.
template <typename T>
std::string RangeText(T min, T max) {
  const auto from = static_cast<double>(min);
  if (max < std::numeric_limits<T>::max()) {
    return Format(" from %g to %g", from, static_cast<double>(max));
  }
  return min > std::numeric_limits<T>::lowest() ? Format(" from %g on", from)
                                                : "";
}

}  // namespace

Arguments::Arguments(Command* command) : app_(std::make_unique<CLI::App>()) {
  if (command == nullptr) return;
  app_->formatter(std::make_shared<CommandHelp>(*command));
  command->AddFlags(this);
}

Arguments::~Arguments() = default;

CLI::Option* Arguments::AddValue(const std::string& name,
                                 const std::string& value,
                                 const std::string& help, Set set) {
  const auto set_all = [set = std::move(set)](const CLI::results_t& texts) {
    for (const std::string& text : texts) set(text);
    return true;
  };
  return app_->add_option("--" + name, set_all, help)
      ->type_name(value)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void Arguments::Add(const std::string& name, const std::string& value,
                    const std::string& help, std::string* target) {
  AddValue(name, value, help,
           [target](const std::string& text) { *target = text; });
}

void Arguments::Add(const std::string& name, const std::string& value,
                    const std::string& help, std::vector<std::string>* target) {
  AddValue(name, value, help, [target](const std::string& text) {
    for (std::string& part : SplitPolicies(text)) {
      if (!part.empty()) target->push_back(std::move(part));
    }
  });
}

void Arguments::Add(const std::string& name, const std::string& value,
                    const std::string& help, double* target, double min,
                    double max) {
  AddValue(name, value, help, [=](const std::string& text) {
    char* end = nullptr;
    const double number = strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0' || !std::isfinite(number) ||
        number < min || number > max) {
      Refuse(name, text, "numbers" + RangeText(min, max));
    }
    *target = number;
  });
}

void Arguments::Add(const std::string& name, const std::string& value,
                    const std::string& help, uint64_t* target, uint64_t min,
                    uint64_t max) {
  AddValue(name, value, help, [=](const std::string& text) {
    if (!ParseWholeNumber(text, target) || *target < min || *target > max) {
      const bool is_bounded = max < std::numeric_limits<uint64_t>::max();
      Refuse(name, text,
             "whole numbers" + RangeText(min, max) +
                 (is_bounded ? "" : ", such as 1000, 64K, 20M, 2G or 1T"));
    }
  });
}

void Arguments::Add(const std::string& name, const std::string& help,
                    bool* target) {
  app_->add_flag("--" + name, *target, help)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

Status Arguments::Translate(const std::string& argument, bool is_last,
                            std::vector<std::string>* translated) const {
  const size_t equals = argument.find('=');
  std::string flag = argument.substr(0, equals);
  std::replace(flag.begin() + 2, flag.end(), '-', '_');
  const CLI::Option* const option = app_->get_option_no_throw(flag);
  if (option == nullptr) {
    std::vector<std::string> flags;
    for (const CLI::Option* known : app_->get_options()) {
      flags.push_back("--" + known->get_single_name());
    }
    return Status::InvalidArgument(
        "unknown flag " + argument.substr(0, equals) + "; the nearest one is " +
        Nearest(flag, flags) + ", and --help lists all");
  }
  translated->push_back(flag);
  const std::string text =
      equals == std::string::npos ? "" : argument.substr(equals + 1);
  if (TakesValue(*option)) {
    if (equals != std::string::npos) {
      translated->push_back(text);
    } else if (is_last) {
      return Status::InvalidArgument(flag + " needs a value: " + flag + "=" +
                                     option->get_type_name());
    }
  } else if (equals != std::string::npos) {
    if (text != "true" && text != "false") {
      return Status::InvalidArgument(argument +
                                     " is not allowed; allowed: true, false");
    }
    translated->back() += "=" + text;
  }
  return Status::OK();
}

Status Arguments::Parse(const std::vector<std::string>& arguments,
                        std::vector<std::string>* operands) {
  app_->add_option("operands", *operands);
  std::vector<std::string> translated;
  for (size_t i = 0; i < arguments.size(); i++) {
    const std::string& argument = arguments[i];
    if (argument == "--") {
      translated.insert(translated.end(), arguments.begin() + i,
                        arguments.end());
      break;
    }
    if (argument.size() > 2 && argument.compare(0, 2, "--") == 0) {
      const bool is_last = i + 1 == arguments.size();
      const size_t before = translated.size();
      const Status s = Translate(argument, is_last, &translated);
      if (!s.ok()) return s;
      const CLI::Option* const option =
          app_->get_option_no_throw(translated[before]);
      // The value is the next argument, whatever it looks like.
      if (option != nullptr && TakesValue(*option) &&
          translated.size() == before + 1) {
        translated.push_back(arguments[++i]);
      }
    } else if (argument.size() > 1 && argument[0] == '-') {
      return Status::InvalidArgument("unknown flag " + argument +
                                     "; flags begin with --, see --help");
    } else {
      translated.push_back(argument);
    }
  }
  std::reverse(translated.begin(), translated.end());  // as CLI11 takes them
  try {
    app_->parse(std::move(translated));
  } catch (const CLI::ParseError& e) {
    return Status::InvalidArgument(e.what());
  }
  return Status::OK();
}

std::string Arguments::Help() const { return app_->help(); }

namespace {

using MakeCommand = std::unique_ptr<Command> (*)();

// All commands, in the order of the help.
constexpr MakeCommand kCommands[] = {NewInspect, NewAdvise,    NewApply,
                                     NewRefresh, NewRollback,  NewVerify,
                                     NewSamples, NewStatistics};

void PrintUsage(std::ostream& out) {
  out << "Usage: protean COMMAND [FLAGS]\n\n"
         "Shows what Protean's range filters do in a RocksDB, and improves "
         "them.\n\nCommands:\n";
  for (const MakeCommand make : kCommands) {
    const std::unique_ptr<Command> command = make();
    out << Format("  %-12s%s\n", command->name(), command->summary());
  }
  out << "\nprotean COMMAND --help explains a command, with examples; protean "
         "--version prints the RocksDB version that it was compiled for.\n\n"
         "Exit code: 0 if all is well, 1 if something needs attention, 2 if "
         "the command failed.\n";
}

int RunCommand(Command* command, const std::vector<std::string>& rest,
               std::ostream& out, std::ostream& err) {
  Arguments arguments(command);
  for (const std::string& argument : rest) {
    if (argument == "--help" || argument == "-h") {
      out << arguments.Help();
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
  std::replace(message.begin(), message.end(), '\n', ' ');
  err << "protean " << command->name() << ": " << message << '\n';
  return kCouldNot;
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
  for (const MakeCommand make : kCommands) {
    const std::unique_ptr<Command> command = make();
    if (name == command->name()) {
      return RunCommand(command.get(), rest, out, err);
    }
    names.emplace_back(command->name());
  }
  std::string all;
  for (const std::string& each : names) all += (all.empty() ? "" : ", ") + each;
  err << "protean: unknown command " << name << "; the nearest one is "
      << Nearest(name, names) << "; commands: " << all << '\n';
  return kCouldNot;
}

}  // namespace ROCKSDB_NAMESPACE::protean
