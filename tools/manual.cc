// SPDX-License-Identifier: Apache-2.0

#include "tools/manual.h"

#include <algorithm>
#include <cctype>
#include <sstream>

#include "plugin/version.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// ---- Manual pages ----

// A line of troff that shows the text as it is. Hyphens become minus signs, as
// they are typed in commands.
std::string Literal(const std::string& text) {
  std::string literal;
  if (!text.empty() && (text[0] == '.' || text[0] == '\'')) literal = "\\&";
  for (const char c : text) {
    if (c == '\\') {
      literal += "\\e";
    } else if (c == '-') {
      literal += "\\-";
    } else {
      literal += c;
    }
  }
  return literal;
}

std::string Header(const std::string& name) {
  std::string upper = name;
  for (char& c : upper) c = static_cast<char>(toupper(c));
  return ".TH " + Literal(upper) +
         " 1 \"\" \"protean " PROTEAN_VERSION "\" \"Protean\"\n";
}

std::string Section(const std::string& title) { return ".SH " + title + "\n"; }

std::string PageName(const Command& command) {
  return std::string("protean-") + command.name();
}

// Lays out a help as troff, in which sections begin where the help has titles.
class HelpLayout {
 public:
  // The text before the first section.
  const std::string& description() const { return description_; }
  // The sections, with their titles.
  const std::string& sections() const { return sections_; }

  explicit HelpLayout(const std::string& help) {
    std::istringstream lines(help);
    for (std::string line; std::getline(lines, line);) Add(line);
    EndLiteral();
  }

 private:
  void Add(const std::string& line) {
    constexpr char kExitCode[] = "Exit code: ";
    if (line.empty()) {
      EndLiteral();
      at_paragraph_ = true;
      return;
    }
    if (line.compare(0, 2, "  ") == 0) {
      BeginLiteral();
      *text_ += Literal(line.substr(2)) + "\n";
      at_paragraph_ = false;
      return;
    }
    EndLiteral();
    if (at_paragraph_ && line.back() == ':' &&
        line.find(' ') == std::string::npos) {
      std::string title = line.substr(0, line.size() - 1);
      for (char& c : title) c = static_cast<char>(toupper(c));
      BeginSection(title);
      return;
    }
    if (line.compare(0, sizeof(kExitCode) - 1, kExitCode) == 0) {
      BeginSection("EXIT STATUS");
      *text_ += Literal(line.substr(sizeof(kExitCode) - 1)) + "\n";
    } else {
      if (at_paragraph_ && !text_->empty()) *text_ += ".PP\n";
      *text_ += Literal(line) + "\n";
    }
    at_paragraph_ = false;
  }
  void BeginSection(const std::string& title) {
    text_ = &sections_;
    *text_ += Section(title);
  }
  void BeginLiteral() {
    if (is_literal_) return;
    is_literal_ = true;
    *text_ += ".PP\n.RS 4\n.nf\n";
  }
  void EndLiteral() {
    if (!is_literal_) return;
    is_literal_ = false;
    *text_ += ".fi\n.RE\n";
  }

  std::string description_;
  std::string sections_;
  std::string* text_ = &description_;
  bool at_paragraph_ = true;
  bool is_literal_ = false;
};

// ---- Completion ----

// The words that are operands, such as "show|export" in
// "samples show|export  [FILE...]".
std::string OperandWords(const Command& command) {
  std::istringstream usage(command.usage());
  std::string words;
  for (std::string word; usage >> word;) {
    if (word.find('|') == std::string::npos || !islower(word[0])) continue;
    std::replace(word.begin(), word.end(), '|', ' ');
    words += (words.empty() ? "" : " ") + word;
  }
  return words;
}

std::string FlagWords(const Arguments& flags) {
  std::string words = "--help";
  for (const Arguments::Description& flag : flags.Describe()) {
    words += " --" + flag.name + (flag.value.empty() ? "" : "=");
  }
  return words;
}

// The pattern of a case in the script: a command and a flag whose value is
// `value`, for all of them.
std::string FlagsWithValue(const std::vector<ManualEntry>& entries,
                           const std::string& value) {
  std::string pattern;
  for (const ManualEntry& entry : entries) {
    for (const Arguments::Description& flag : entry.flags.Describe()) {
      if (flag.value != value) continue;
      pattern += (pattern.empty() ? "\"" : " | \"") +
                 std::string(entry.command->name()) + " --" + flag.name + "\"";
    }
  }
  return pattern;
}

// The script of BashCompletion, with names between @ for what depends on the
// commands.
constexpr char kBashScript[] =
    R"bash(# Completion of protean for bash; printed by protean help --bash_completion.

_protean() {
  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
  local command=${COMP_WORDS[1]} flag="" flags="" words=""
  COMPREPLY=()
  if [ "$COMP_CWORD" = 1 ]; then
    mapfile -t COMPREPLY < <(compgen -W "@COMMANDS@ --help --version" -- "$current")
    return
  fi
  case $command in
@FLAGS@  esac
  if [ "$COMP_CWORD" = 2 ]; then
    case $command in
      help) words="@COMMANDS@" ;;
@OPERANDS@    esac
  fi
  # bash makes a word of its own of the "=" in --flag=value.
  if [ "$current" = "=" ]; then
    flag=$before current=""
  elif [ "$before" = "=" ]; then
    flag=${COMP_WORDS[COMP_CWORD - 2]}
  elif [[ " $flags " = *" $before= "* ]]; then
    flag=$before
  fi
  case "$command $flag" in
    @DIR_FLAGS@)
      compopt -o filenames 2>/dev/null
      mapfile -t COMPREPLY < <(compgen -d -- "$current")
      ;;
    @FILE_FLAGS@)
      compopt -o filenames 2>/dev/null
      mapfile -t COMPREPLY < <(compgen -f -- "$current")
      ;;
    "$command ")
      if [[ $current = -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$flags" -- "$current")
        [[ ${COMPREPLY[0]:-} != *= ]] || compopt -o nospace 2>/dev/null
      elif [ -n "$words" ]; then
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
      else
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
      fi
      ;;
  esac
}
complete -F _protean protean
)bash";

void Replace(const std::string& name, const std::string& text,
             std::string* script) {
  for (size_t at = 0; (at = script->find(name, at)) != std::string::npos;
       at += text.size()) {
    script->replace(at, name.size(), text);
  }
}

}  // namespace

std::string ProgramPage(const std::vector<ManualEntry>& entries,
                        const std::string& summary,
                        const std::string& exit_codes) {
  std::string page = Header("protean");
  page += Section("NAME") + "protean \\- " + Literal(summary) + "\n";
  page += Section("SYNOPSIS") +
          ".B protean\n.I COMMAND\n[\\fIFLAGS\\fR]\n.br\n"
          ".B protean \\-\\-version\n";
  page += Section("DESCRIPTION") +
          "The operator\\(aqs command of Protean, a RocksDB plugin that gives "
          "every SST file a range filter. Each command has a page of its own, "
          "such as\n.BR protean\\-" +
          Literal(entries.front().command->name()) + " (1).\n";
  page += Section("COMMANDS");
  std::string see_also;
  for (const ManualEntry& entry : entries) {
    const Command& command = *entry.command;
    page += ".TP\n.B " + Literal(command.name()) + "\n" +
            Literal(command.summary()) + "\n";
    see_also += (see_also.empty() ? "" : ",\n") + std::string(".BR ") +
                Literal(PageName(command)) + " (1)";
  }
  page += Section("EXIT STATUS") + Literal(exit_codes) + "\n";
  page += Section("SEE ALSO") + see_also + "\n";
  return page;
}

std::string CommandPage(const ManualEntry& entry) {
  const Command& command = *entry.command;
  const HelpLayout help(command.help());
  std::string page = Header(PageName(command));
  page += Section("NAME") + Literal(PageName(command)) + " \\- " +
          Literal(command.summary()) + "\n";
  page +=
      Section("SYNOPSIS") + ".B protean\n" + Literal(command.usage()) + "\n";
  page += Section("DESCRIPTION") + help.description();
  page += Section("OPTIONS");
  for (const Arguments::Description& flag : entry.flags.Describe()) {
    page += ".TP\n\\fB\\-\\-" + Literal(flag.name) + "\\fR";
    if (!flag.value.empty()) page += "=\\fI" + Literal(flag.value) + "\\fR";
    page += "\n" + Literal(flag.help) + "\n";
  }
  page += help.sections();
  page += Section("SEE ALSO") + ".BR protean (1)\n";
  return page;
}

std::string BashCompletion(const std::vector<ManualEntry>& entries) {
  std::string names;
  std::string flags;
  std::string operands;
  for (const ManualEntry& entry : entries) {
    const std::string name = entry.command->name();
    names += (names.empty() ? "" : " ") + name;
    flags += "    " + name + ") flags=\"" + FlagWords(entry.flags) + "\" ;;\n";
    const std::string words = OperandWords(*entry.command);
    if (words.empty()) continue;
    operands += "      " + name + ") words=\"" + words + "\" ;;\n";
  }
  std::string script = kBashScript;
  Replace("@COMMANDS@", names, &script);
  Replace("@FLAGS@", flags, &script);
  Replace("@OPERANDS@", operands, &script);
  Replace("@DIR_FLAGS@", FlagsWithValue(entries, "DIR"), &script);
  Replace("@FILE_FLAGS@", FlagsWithValue(entries, "FILE"), &script);
  return script;
}

}  // namespace ROCKSDB_NAMESPACE::protean
