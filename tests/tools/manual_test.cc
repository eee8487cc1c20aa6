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
  EXPECT_EQ((std::vector<std::string>{"preflight", "inspect", "explain",
                                      "advise", "apply", "refresh", "rollback",
                                      "verify", "samples", "statistics"}),
            commands);
  EXPECT_EQ(RunTool({"--help"}).out, RunTool({"help"}).out);
  EXPECT_EQ(kCouldNot, RunTool({}).code);
  for (const std::string& command : commands) {
    SCOPED_TRACE(command);
    const ToolRun help = RunTool({command, "--help"});
    EXPECT_EQ(kFine, help.code);
    EXPECT_EQ(help.out, RunTool({"help", command}).out);
    EXPECT_EQ(0u, help.out.find("Usage: protean " + command + " "));
    for (const char* part : {"\nOptions:\n", "--column_family=NAME",
                             "\nExit code: ", "\nExamples:\n"}) {
      ExpectContains(help.out, part);
    }
    EXPECT_FALSE(FlagsOf(help.out).empty());
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

}  // namespace ROCKSDB_NAMESPACE::protean
