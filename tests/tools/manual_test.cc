// SPDX-License-Identifier: Apache-2.0

#include "tools/manual.h"

#include <cstdlib>
#include <fstream>

#include "tests/tools/tool_db.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

std::vector<std::string> Commands() {
  std::istringstream lines(RunTool({"help", "--commands"}).out);
  std::vector<std::string> commands;
  for (std::string line; std::getline(lines, line);) commands.push_back(line);
  return commands;
}

// The flags that a help shows, such as "--db".
std::vector<std::string> FlagsOf(const std::string& help) {
  std::vector<std::string> flags;
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) {
    if (line.compare(0, 4, "  --") != 0) continue;
    flags.push_back(line.substr(2, line.find_first_of("= ", 4) - 2));
  }
  return flags;
}

std::string WithoutEscapes(std::string page) {
  for (size_t at; (at = page.find("\\-")) != std::string::npos;) {
    page.erase(at, 1);
  }
  return page;
}

void ExpectContains(const std::string& text, const std::string& part) {
  EXPECT_NE(std::string::npos, text.find(part)) << part << " in:\n" << text;
}

}  // namespace

TEST(ManualTest, EachCommandHasAHelpAndAPage) {
  const std::vector<std::string> commands = Commands();
  EXPECT_EQ((std::vector<std::string>{"inspect", "advise", "apply", "refresh",
                                      "rollback", "verify", "samples",
                                      "statistics", "help"}),
            commands);
  const std::string program = WithoutEscapes(RunTool({"help", "--man"}).out);
  for (const std::string& command : commands) {
    SCOPED_TRACE(command);
    const ToolRun help = RunTool({command, "--help"});
    EXPECT_EQ(kFine, help.code);
    EXPECT_EQ(help.out, RunTool({"help", command}).out);
    const ToolRun man = RunTool({"help", command, "--man"});
    EXPECT_EQ(kFine, man.code);
    const std::string page = WithoutEscapes(man.out);
    EXPECT_EQ(0u, page.find(".TH PROTEAN-")) << page;
    for (const char* section : {"NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS",
                                "EXIT STATUS", "EXAMPLES", "SEE ALSO"}) {
      ExpectContains(page, std::string("\n.SH ") + section + "\n");
    }
    ExpectContains(program, ".BR protean-" + command + " (1)");
    const std::vector<std::string> flags = FlagsOf(help.out);
    EXPECT_FALSE(flags.empty());
    for (const std::string& flag : flags) {
      ExpectContains(page, "\n.TP\n\\fB" + flag + "\\fR");
    }
  }
}

TEST(ManualTest, TextOfAPage) {
  class Odd : public Command {
   public:
    const char* name() const override { return "odd"; }
    const char* summary() const override { return "A summary."; }
    const char* usage() const override { return "odd on|off  [FLAGS]"; }
    const char* help() const override {
      return "First\nparagraph.\n\nSecond one:\n  as  it\\is\n  "
             "'quoted\n.third\n\n"
             "Exit code: 0,\nor 2.\n\nExamples:\n  protean odd -x\n";
    }
    void AddFlags(Arguments* arguments) override {
      arguments->Add("dry_run", "only tries", &dry_run_);
      arguments->Add("file", "FILE", "reads this", &file_);
    }
    Status Run(const std::vector<std::string>&, std::ostream&, std::ostream&,
               bool*) override {
      return Status::OK();
    }

   private:
    bool dry_run_ = false;
    std::string file_;
  };
  std::vector<ManualEntry> entries;
  entries.push_back({std::make_unique<Odd>(), Arguments()});
  entries[0].command->AddFlags(&entries[0].flags);
  const std::string page = CommandPage(entries[0]);
  EXPECT_EQ(R"(.SH NAME
protean\-odd \- A summary.
.SH SYNOPSIS
.B protean
odd on|off  [FLAGS]
.SH DESCRIPTION
First
paragraph.
.PP
Second one:
.PP
.RS 4
.nf
as  it\eis
\&'quoted
.fi
.RE
\&.third
.SH OPTIONS
.TP
\fB\-\-dry_run\fR
only tries
.TP
\fB\-\-file\fR=\fIFILE\fR
reads this
.SH EXIT STATUS
0,
or 2.
.SH EXAMPLES
.PP
.RS 4
.nf
protean odd \-x
.fi
.RE
.SH SEE ALSO
.BR protean (1)
)",
            page.substr(page.find('\n') + 1));
}

// What bash completes, asked of bash itself.
TEST(ManualTest, BashCompletes) {
  if (system("bash -c 'compgen -W a' >/dev/null 2>&1") != 0) {
    GTEST_SKIP() << "there is no bash";
  }
  const std::string folder = test::PerThreadDBPath("manual_test");
  ASSERT_EQ(0, system(("rm -rf " + folder + " && mkdir -p " + folder +
                       "/some_dir && touch " + folder + "/some_file")
                          .c_str()));
  const std::string script = folder + "/script";
  std::ofstream(script) << RunTool({"help", "--bash_completion"}).out;
  // The completions of a line that ends with `words`.
  const auto completions = [&](const std::string& words) {
    const std::string command =
        "cd " + folder + " && bash -c '. ./script && COMP_WORDS=(protean " +
        words +
        ") && COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) && _protean; "
        "printf \"%s\\n\" \"${COMPREPLY[@]}\"' > out";
    EXPECT_EQ(0, system(command.c_str())) << command;
    std::ifstream out(folder + "/out");
    std::vector<std::string> lines;
    for (std::string line; std::getline(out, line);) lines.push_back(line);
    return lines;
  };
  using Lines = std::vector<std::string>;
  EXPECT_EQ((Lines{"inspect"}), completions("i"));
  EXPECT_EQ((Lines{"refresh", "rollback"}), completions("help r"));
  EXPECT_EQ((Lines{"rollback"}), completions("help ro"));
  EXPECT_EQ((Lines{"import"}), completions("samples i"));
  EXPECT_EQ((Lines{"show", "save"}), completions("samples s"));
  EXPECT_EQ((Lines{"--levels_only", "--log="}), completions("inspect --l"));
  EXPECT_EQ((Lines{"--dry_run", "--db="}),
            (Lines{completions("refresh --dr").at(0),
                   completions("refresh --db").at(0)}));
  EXPECT_EQ((Lines{"some_dir"}), completions("inspect --db = s"));
  EXPECT_EQ((Lines{"some_dir"}), completions("inspect --db some"));
  EXPECT_EQ((Lines{"some_file"}), completions("inspect --html = some_f"));
  EXPECT_EQ((Lines{"some_file"}), completions("verify some_f"));
}

TEST(ManualTest, Refusals) {
  RunTool({"help", "nothing"}).ExpectRefused({"inspect, advise"});
  RunTool({"help", "inspect", "verify"}).ExpectRefused({"inspect, advise"});
  RunTool({"help", "inspect", "--commands"}).ExpectRefused({"stand alone"});
}

// What the help says of the DBs that commands refuse, and of an import, is what
// refresh_command_test and samples_test find.
TEST(ManualTest, WhatIsRefused) {
  for (const char* command : {"refresh", "verify"}) {
    const std::string help = RunTool({command, "--help"}).out;
    ExpectContains(help, "TransactionDB (allow_2pc=true in its OPTIONS file)");
    EXPECT_EQ(std::string::npos, help.find("WRITE_COMMITTED")) << help;
  }
  const std::string help = RunTool({"samples", "--help"}).out;
  ExpectContains(help, "adds its new samples to the imported ones");
  EXPECT_EQ(std::string::npos, help.find("overwrites")) << help;
}

}  // namespace ROCKSDB_NAMESPACE::protean
