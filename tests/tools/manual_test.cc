// SPDX-License-Identifier: Apache-2.0

//  What --help prints, and what bash makes of it.

#include <cstdlib>
#include <fstream>

#include "tests/tools/tool_db.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

std::vector<std::string> Commands() {
  std::istringstream lines(RunTool({"--help"}).out);
  std::vector<std::string> commands;
  bool listed = false;
  for (std::string line; std::getline(lines, line);) {
    if (listed && line.empty()) break;
    if (listed) commands.push_back(line.substr(2, line.find(' ', 2) - 2));
    listed = listed || line == "Commands:";
  }
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

void ExpectContains(const std::string& text, const std::string& part) {
  EXPECT_NE(std::string::npos, text.find(part)) << part << " in:\n" << text;
}

}  // namespace

TEST(ManualTest, EachCommandHasAHelp) {
  const std::vector<std::string> commands = Commands();
  EXPECT_EQ(
      (std::vector<std::string>{"inspect", "advise", "apply", "refresh",
                                "rollback", "verify", "samples", "statistics"}),
      commands);
  EXPECT_EQ(RunTool({"--help"}).out, RunTool({"help"}).out);
  for (const std::string& command : commands) {
    SCOPED_TRACE(command);
    const ToolRun help = RunTool({command, "--help"});
    EXPECT_EQ(kFine, help.code);
    EXPECT_EQ(help.out, RunTool({"help", command}).out);
    EXPECT_EQ(0u, help.out.find("Usage: protean " + command + " "));
    for (const char* part :
         {"\nOptions:\n", "\nExit code: ", "\nExamples:\n"}) {
      ExpectContains(help.out, part);
    }
    EXPECT_FALSE(FlagsOf(help.out).empty());
  }
}

TEST(ManualTest, FlagsAreReadAsWritten) {
  // Hyphens, spaces and repetitions; what is behind -- is no flag.
  RunTool({"inspect", "--levels-only", "--levels_only=false", "--db", "-x"})
      .ExpectRefused({"-x does not exist"});
  RunTool({"inspect", "--db=", "--", "--db"}).ExpectRefused({"--db cannot be"});
  RunTool({"inspect", "--db=/a", "--db=/no"}).ExpectRefused({"/no does not"});
  RunTool({"inspect", "--level-only"})
      .ExpectRefused({"unknown flag --level-only", "--levels_only"});
  RunTool({"inspect", "-j"}).ExpectRefused({"unknown flag -j"});
  RunTool({"inspect", "--json=maybe"})
      .ExpectRefused({"--json", "maybe", "not allowed; allowed: true, false"});
  RunTool({"inspect", "--db"})
      .ExpectRefused({"--db", "DIR missing", "needs a value"});
  RunTool({"inspct"}).ExpectRefused({"inspct", "nearest one is inspect"});
}

// Sizes are those of RocksDB's options, except for what RocksDB misreads.
TEST(ManualTest, Sizes) {
  for (const char* size : {"1", "20k", "20K", "2M", "2G", "1T", "1t"}) {
    RunTool({"refresh", "--db=/no", std::string("--max_bytes=") + size})
        .ExpectRefused({"/no does not exist"});
  }
  for (const char* size : {"", "-1", "K", "1x", "1KK", "0", "1.5G", "20000000T",
                           "99999999999999999999"}) {
    RunTool({"refresh", "--db=/no", std::string("--max_bytes=") + size})
        .ExpectRefused({" is not allowed; allowed: whole numbers from 1 on"});
  }
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
  std::ofstream(folder + "/--help") << RunTool({"--help"}).out;
  for (const std::string& name : Commands()) {
    std::ofstream(folder + "/" + name) << RunTool({name, "--help"}).out;
  }
  // The completions of a line that ends with `words`.
  const auto completions = [&](const std::string& words) {
    const std::string command =
        "cd " + folder +
        " && bash -c 'protean() { cat -- \"$1\"; }; . " PROTEAN_SOURCE_DIR
        "/tools/completion.bash && COMP_WORDS=(protean " +
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
  EXPECT_EQ((Lines{"--levels_only"}), completions("inspect --l"));
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
