// SPDX-License-Identifier: Apache-2.0

#include "tools/arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "filter_policy/levels_policy.h"
#include "filter_policy/option_types.h"
#include "tools/output.h"
#include "util/string_util.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// The help of a command: CLI11's list of flags, between the command's own
// texts.
class CommandHelp : public CLI::Formatter {
 public:
  explicit CommandHelp(const CommandText& text) : text_(text) {}

  std::string make_help(const CLI::App* app, std::string /*name*/,
                        CLI::AppFormatMode mode) const override {
    return Format("Usage: protean %s %s  [FLAGS]\n\n%s\n", text_.name,
                  text_.usage, text_.summary) +
           make_groups(app, mode) + "\n" + text_.help;
  }
  // Not the other spelling.
  std::string make_option_name(const CLI::Option* option,
                               bool /*positional*/) const override {
    return "--" + option->get_single_name();
  }
  std::string make_option_opts(const CLI::Option* option) const override {
    return option->get_expected_min() > 0 ? "=" + option->get_type_name() : "";
  }
  std::string make_option_desc(const CLI::Option* option) const override {
    return Wrap(option->get_description(), 0, 74);
  }

 private:
  const CommandText& text_;
};

// The flag as CLI11 takes it, with both spellings.
std::string Spellings(const std::string& name) {
  std::string hyphens = name;
  std::replace(hyphens.begin(), hyphens.end(), '_', '-');
  return "--" + name + (hyphens == name ? "" : ",--" + hyphens);
}

// Such as " from 1 to 64" or " from 1 on"; empty if there are no bounds.
std::string RangeText(const Flag& flag) {
  const auto from = static_cast<double>(flag.min);
  if (std::isinf(from)) return "";
  return std::isinf(flag.max)
             ? Format(" from %g on", from)
             : Format(" from %g to %g", from, static_cast<double>(flag.max));
}

// Sets the target of a flag that has a value.
void Set(const Flag& flag, const std::string& text) {
  const auto is_within = [&flag](auto number) {
    return number >= flag.min && number <= flag.max;
  };
  std::string allowed;
  if (auto* const* list =
          std::get_if<std::vector<std::string>*>(&flag.target)) {
    const std::string levels =
        std::string(LevelsFilterPolicy::kNickName()) + ":";
    bool in_levels = false;  // whose list goes on to the end
    for (std::string& part : SplitPolicies(text)) {
      if (in_levels) {
        (*list)->back() += "," + part;
      } else if (!part.empty()) {
        in_levels = part.compare(0, levels.size(), levels) == 0;
        (*list)->push_back(std::move(part));
      }
    }
  } else if (auto* const* number = std::get_if<double*>(&flag.target)) {
    char* end = nullptr;
    const double parsed = strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0' || !std::isfinite(parsed) ||
        !is_within(parsed)) {
      allowed = "numbers" + RangeText(flag);
    }
    **number = parsed;
  } else if (auto* const* whole = std::get_if<uint64_t*>(&flag.target)) {
    if (!ParseWholeNumber(text, *whole) || !is_within(**whole)) {
      allowed =
          "whole numbers" + RangeText(flag) +
          (std::isinf(flag.max) ? ", such as 1000, 64K, 20M, 2G or 1T" : "");
    }
  } else {
    *std::get<std::string*>(flag.target) = text;
  }
  if (allowed.empty()) return;
  throw CLI::ValidationError(std::string("--") + flag.name + "=" + text +
                             " is not allowed; allowed: " + allowed);
}

}  // namespace

Arguments::Arguments(const CommandText& text)
    : app_(std::make_unique<CLI::App>()) {
  app_->allow_extras();
  app_->formatter(std::make_shared<CommandHelp>(text));
}

Arguments::~Arguments() = default;

void Arguments::Add(const std::vector<Flag>& flags) {
  for (const Flag& flag : flags) {
    if (auto* const* target = std::get_if<bool*>(&flag.target)) {
      app_->add_flag(Spellings(flag.name), **target, flag.help)
          ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
      continue;
    }
    const auto set = [flag](const CLI::results_t& texts) {
      for (const std::string& text : texts) Set(flag, text);
      return true;
    };
    app_->add_option(Spellings(flag.name), set, flag.help)
        ->type_name(flag.value)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  }
}

Status Arguments::Parse(std::vector<std::string> arguments,
                        std::vector<std::string>* operands) {
  // CLI11 would take the next argument for the value of "--name=".
  const auto end = std::find(arguments.begin(), arguments.end(), "--");
  for (auto empty = arguments.begin(); empty < end; ++empty) {
    if (empty->compare(0, 2, "--") != 0 ||
        empty->find('=') + 1 != empty->size()) {
      continue;
    }
    empty->pop_back();
    arguments.insert(empty + 1, "");
    return Parse(std::move(arguments), operands);
  }
  app_->add_option("operands", *operands);
  std::reverse(arguments.begin(), arguments.end());  // as CLI11 takes them
  try {
    app_->parse(std::move(arguments));
  } catch (const CLI::ConversionError& e) {
    return Status::InvalidArgument(std::string(e.what()) +
                                   " is not allowed; allowed: true, false");
  } catch (const CLI::ArgumentMismatch& e) {
    return Status::InvalidArgument(std::string(e.what()) +
                                   "; it needs a value");
  } catch (const CLI::ParseError& e) {
    return Status::InvalidArgument(e.what());
  }
  std::vector<std::string> unknown = app_->remaining();
  unknown.erase(std::remove(unknown.begin(), unknown.end(), "--"),
                unknown.end());
  if (unknown.empty()) return Status::OK();
  std::vector<std::string> flags;
  for (const CLI::Option* known : app_->get_options()) {
    flags.push_back("--" + known->get_single_name());
  }
  const std::string flag = unknown[0].substr(0, unknown[0].find('='));
  return Status::InvalidArgument(
      "unknown flag " + flag + "; the nearest one is " + Nearest(flag, flags) +
      ", and --help lists all");
}

std::string Arguments::Help() const { return app_->help(); }

}  // namespace ROCKSDB_NAMESPACE::protean
