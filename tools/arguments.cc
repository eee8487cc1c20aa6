// SPDX-License-Identifier: Apache-2.0

#include "tools/arguments.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>

#include "filter_policy/levels_policy.h"
#include "tools/output.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

Status Refuse(const std::string& name, const std::string& text,
              const std::string& allowed) {
  return Status::InvalidArgument("--" + name + "=" + text +
                                 " is not allowed; allowed: " + allowed);
}

bool ParseDouble(const std::string& text, double* number) {
  char* end = nullptr;
  *number = strtod(text.c_str(), &end);
  return !text.empty() && *end == '\0' && std::isfinite(*number);
}

bool ParseSize(const std::string& text, uint64_t* number) {
  if (text.empty() || text[0] < '0' || text[0] > '9') return false;
  char* end = nullptr;
  errno = 0;
  *number = strtoull(text.c_str(), &end, 10);
  if (errno != 0) return false;
  int shift = 0;
  if (*end != '\0') {
    const std::string units = "KMG";
    const size_t unit = units.find(*end);
    if (unit == std::string::npos || end[1] != '\0') return false;
    shift = 10 * static_cast<int>(unit + 1);
  }
  if ((*number << shift) >> shift != *number) return false;
  *number <<= shift;
  return true;
}

}  // namespace

void Arguments::Add(const std::string& name, const std::string& value,
                    const std::string& help, std::string* target) {
  flags_.push_back({{name, value, help}, [target](const std::string& text) {
                      *target = text;
                      return Status::OK();
                    }});
}

void Arguments::Add(const std::string& name, const std::string& value,
                    const std::string& help, std::vector<std::string>* target) {
  flags_.push_back({{name, value, help}, [target](const std::string& text) {
                      for (std::string& part : SplitPolicies(text)) {
                        if (!part.empty()) target->push_back(std::move(part));
                      }
                      return Status::OK();
                    }});
}

void Arguments::Add(const std::string& name, const std::string& value,
                    const std::string& help, double* target) {
  flags_.push_back(
      {{name, value, help}, [name, target](const std::string& text) {
         return ParseDouble(text, target) ? Status::OK()
                                          : Refuse(name, text, "numbers");
       }});
}

void Arguments::Add(const std::string& name, const std::string& value,
                    const std::string& help, uint64_t* target) {
  flags_.push_back(
      {{name, value, help}, [name, target](const std::string& text) {
         return ParseSize(text, target)
                    ? Status::OK()
                    : Refuse(name, text,
                             "whole numbers, such as 1000, 64K, 20M or 2G");
       }});
}

void Arguments::Add(const std::string& name, const std::string& help,
                    bool* target) {
  flags_.push_back({{name, "", help}, [name, target](const std::string& text) {
                      *target = text == "true";
                      return text == "true" || text == "false"
                                 ? Status::OK()
                                 : Refuse(name, text, "true, false");
                    }});
}

const Arguments::Flag* Arguments::Find(const std::string& name) const {
  const auto flag =
      std::find_if(flags_.begin(), flags_.end(),
                   [&name](const Flag& f) { return f.name == name; });
  return flag == flags_.end() ? nullptr : &*flag;
}

Status Arguments::Parse(const std::vector<std::string>& arguments,
                        std::vector<std::string>* operands) const {
  for (size_t i = 0; i < arguments.size(); i++) {
    const std::string& argument = arguments[i];
    if (argument == "--") {
      operands->insert(operands->end(), arguments.begin() + i + 1,
                       arguments.end());
      break;
    }
    if (argument.size() < 3 || argument.compare(0, 2, "--") != 0) {
      if (argument.size() > 1 && argument[0] == '-') {
        return Status::InvalidArgument("unknown flag " + argument +
                                       "; flags begin with --, see --help");
      }
      operands->push_back(argument);
      continue;
    }
    const size_t equals = argument.find('=');
    const std::string name =
        argument.substr(2, equals == std::string::npos ? equals : equals - 2);
    const Flag* flag = Find(name);
    if (flag == nullptr) {
      return Status::InvalidArgument("unknown flag --" + name +
                                     "; --help lists the flags");
    }
    std::string text;
    if (equals != std::string::npos) {
      text = argument.substr(equals + 1);
    } else if (flag->value.empty()) {
      text = "true";
    } else if (i + 1 < arguments.size()) {
      text = arguments[++i];
    } else {
      return Status::InvalidArgument("--" + name + " needs a value: --" + name +
                                     "=" + flag->value);
    }
    const Status s = flag->set(text);
    if (!s.ok()) return s;
  }
  return Status::OK();
}

std::vector<Arguments::Description> Arguments::Describe() const {
  return {flags_.begin(), flags_.end()};
}

std::string Arguments::Help() const {
  constexpr size_t kIndent = 26;
  constexpr size_t kWidth = 100;
  std::string text;
  for (const Flag& flag : flags_) {
    std::string line = "  --" + flag.name;
    if (!flag.value.empty()) line += "=" + flag.value;
    if (line.size() + 2 > kIndent) {
      text += line + "\n" + std::string(kIndent, ' ');
    } else {
      text += line + std::string(kIndent - line.size(), ' ');
    }
    text += Wrap(flag.help, kIndent, kWidth) + "\n";
  }
  return text;
}

}  // namespace ROCKSDB_NAMESPACE::protean
