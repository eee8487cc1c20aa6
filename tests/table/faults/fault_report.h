// SPDX-License-Identifier: Apache-2.0

//  Shared by the fault tests: a table of the injected faults, their numbers,
//  and their effects.

#pragma once

#include <gflags/gflags.h>
#include <gtest/gtest.h>

#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <map>
#include <string>
#include <utility>

#include "tests/own_folder.h"
#include "tests/table/random_runs.h"

namespace ROCKSDB_NAMESPACE::protean {

// The lines of the table, by where something failed and what.
class FaultReport {
 public:
  struct Line {
    uint64_t injected = 0;
    std::map<std::string, uint64_t> observed;  // effects, and how often

    void Count(const std::string& outcome, uint64_t times = 1) {
      if (times > 0) observed[outcome] += times;
    }
  };

  static Line& At(const std::string& what, const std::string& where) {
    return Lines()[{where, what}];
  }

  // Prints the table in Markdown.
  static void Print() {
    if (Lines().empty()) return;
    printf("\n| fault | where | injected | observed |\n|---|---|---:|---|\n");
    for (const auto& [place, line] : Lines()) {
      std::string observed;
      for (const auto& [outcome, times] : line.observed) {
        if (!observed.empty()) observed += ", ";
        observed += outcome + ": " + std::to_string(times);
      }
      printf("| %s | %s | %" PRIu64 " | %s |\n", place.second.c_str(),
             place.first.c_str(), line.injected, observed.c_str());
    }
  }

 private:
  static std::map<std::pair<std::string, std::string>, Line>& Lines() {
    static auto& lines =
        *new std::map<std::pair<std::string, std::string>, Line>;
    return lines;
  }
};

// Makes a folder, and removes all that is in it.
inline void EmptyFolder(const std::string& path) {
  std::filesystem::remove_all(path);
  std::filesystem::create_directories(path);
}

// The main function of a fault test.
inline int RunFaultTests(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  // Files are in memory by default, since every fault makes a new DB.
  PutOwnFolderInMemory();
  const int result = RUN_ALL_TESTS();
  FaultReport::Print();
  return result;
}

}  // namespace ROCKSDB_NAMESPACE::protean
