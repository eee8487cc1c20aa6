// SPDX-License-Identifier: Apache-2.0

//  Shared by the fault tests: a table of the injected faults, their numbers,
//  and their effects.

#pragma once

#include <gflags/gflags.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/own_folder.h"
#include "tests/table/random_runs.h"

namespace ROCKSDB_NAMESPACE::protean {

// The lines of the table, by what failed and where.
class FaultReport {
 public:
  struct Line {
    std::string what;
    std::string where;
    uint64_t injected = 0;
    // The observed effects and their numbers.
    std::vector<std::pair<std::string, uint64_t>> observed;

    void Count(const std::string& outcome, uint64_t times = 1) {
      if (times == 0) return;
      for (auto& [name, count] : observed) {
        if (name == outcome) {
          count += times;
          return;
        }
      }
      observed.emplace_back(outcome, times);
    }
  };

  static Line& At(const std::string& what, const std::string& where) {
    for (Line& line : Lines()) {
      if (line.what == what && line.where == where) return line;
    }
    Line line;
    line.what = what;
    line.where = where;
    Lines().push_back(std::move(line));
    return Lines().back();
  }

  // Prints the table in Markdown.
  static void Print() {
    if (Lines().empty()) return;
    std::stable_sort(
        Lines().begin(), Lines().end(), [](const Line& a, const Line& b) {
          return std::tie(a.where, a.what) < std::tie(b.where, b.what);
        });
    printf("\n| fault | where | injected | observed |\n|---|---|---:|---|\n");
    for (const Line& line : Lines()) {
      std::string observed;
      for (const auto& [name, count] : line.observed) {
        if (!observed.empty()) observed += ", ";
        observed += name + ": " + std::to_string(count);
      }
      printf("| %s | %s | %" PRIu64 " | %s |\n", line.what.c_str(),
             line.where.c_str(), line.injected, observed.c_str());
    }
  }

 private:
  static std::vector<Line>& Lines() {
    static auto* const lines = new std::vector<Line>;
    return *lines;
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
