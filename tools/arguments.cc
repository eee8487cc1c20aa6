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
                    const std::string& help, double* target, double min,
                    double max) {
  const auto set = [=](const std::string& text) {
    double number = 0;
    if (!ParseDouble(text, &number) || number < min || number > max) {
      return Refuse(name, text, "numbers" + RangeText(min, max));
    }
    *target = number;
    return Status::OK();
  };
  flags_.push_back({{name, value, help}, set});
}

void Arguments::Add(const std::string& name, const std::string& value,
                    const std::string& help, uint64_t* target, uint64_t min,
                    uint64_t max) {
  const auto set = [=](const std::string& text) {
    uint64_t number = 0;
    if (!ParseSize(text, &number) || number < min || number > max) {
      const bool is_bounded = max < std::numeric_limits<uint64_t>::max();
      return Refuse(name, text,
                    "whole numbers" + RangeText(min, max) +
                        (is_bounded ? "" : ", such as 1000, 64K, 20M or 2G"));
    }
    *target = number;
    return Status::OK();
  };
  flags_.push_back({{name, value, help}, set});
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
