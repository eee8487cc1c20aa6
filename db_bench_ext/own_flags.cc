// SPDX-License-Identifier: Apache-2.0

#include "db_bench_ext/own_flags.h"

#include <gflags/gflags.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr size_t kWidth = 80;

// Prints a flag's description in lines of up to kWidth characters.
void PrintDescription(const std::string& text) {
  const std::string indent(6, ' ');
  std::string line = indent;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = text.find(' ', begin);
    if (end == std::string::npos) end = text.size();
    const std::string word = text.substr(begin, end - begin);
    if (line.size() > indent.size() && line.size() + 1 + word.size() > kWidth) {
      printf("%s\n", line.c_str());
      line = indent;
    }
    line += (line.size() > indent.size() ? " " : "") + word;
    begin = end + 1;
  }
  printf("%s\n", line.c_str());
}

}  // namespace

void PrintOwnHelp(const std::string& program, const std::string& purpose) {
  printf("%s [--FLAG=VALUE ...]\n\n%s\n\n", program.c_str(), purpose.c_str());
  std::vector<gflags::CommandLineFlagInfo> flags;
  gflags::GetAllFlags(&flags);  // by file and name
  for (const gflags::CommandLineFlagInfo& flag : flags) {
    const bool is_own =
        flag.filename.find("db_bench_ext/") != std::string::npos ||
        flag.filename.find("sets/bench/") != std::string::npos;
    if (!is_own) continue;
    printf("  --%s (%s; default: %s)\n", flag.name.c_str(), flag.type.c_str(),
           flag.default_value.empty() ? "\"\"" : flag.default_value.c_str());
    PrintDescription(flag.description);
  }
}

void ParseOwnFlags(const std::string& program, const std::string& purpose,
                   int* argc, char*** argv) {
  gflags::SetUsageMessage(purpose);
  gflags::ParseCommandLineNonHelpFlags(argc, argv, /*remove_flags=*/true);
  std::string help;
  if (gflags::GetCommandLineOption("help", &help) && help == "true") {
    PrintOwnHelp(program, purpose);
    exit(0);
  }
  gflags::HandleCommandLineHelpFlags();
  if (*argc > 1) {
    fprintf(stderr,
            "%s: unknown argument '%s'; flags begin with --, see --help\n",
            program.c_str(), (*argv)[1]);
    exit(1);
  }
}

void Check(const Status& s) {
  if (s.ok()) return;
  fprintf(stderr, "%s: %s\n", gflags::ProgramInvocationShortName(),
          s.ToString().c_str());
  exit(1);
}

}  // namespace ROCKSDB_NAMESPACE::protean
