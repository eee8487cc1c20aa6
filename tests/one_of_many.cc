// SPDX-License-Identifier: Apache-2.0

//  The main function of a program that has the tests of many files, such as
//  table_tests. Called by the name of one of them, such as count_test, it runs
//  the tests of that file; called by its own name, it runs all.

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <string_view>

namespace {

// Patterns of googletest's filter for the tests of a file, or for all others.
std::string Patterns(const std::string& file, bool of_file) {
  std::string patterns;
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (int i = 0; i < all.total_test_suite_count(); i++) {
    const testing::TestSuite& suite = *all.GetTestSuite(i);
    for (int k = 0; k < suite.total_test_count(); k++) {
      const testing::TestInfo& test = *suite.GetTestInfo(k);
      if ((std::filesystem::path(test.file()).stem() == file) != of_file)
        continue;
      patterns += std::string(suite.name()) + "." + test.name() + ":";
    }
  }
  return patterns;
}

// Has googletest run the tests of one file, of those that the user has chosen.
void RunFile(const std::string& file) {
  std::string& filter = testing::GTEST_FLAG(filter);
  if (filter == "*") {
    filter = Patterns(file, /*of_file=*/true);
    // A file may be for newer versions of RocksDB, and have no tests.
    if (filter.empty()) filter = "-*";
  } else {
    // What comes after a dash is left out.
    const bool has_dash = filter.find('-') != std::string::npos;
    filter += (has_dash ? ":" : "-") + Patterns(file, /*of_file=*/false);
  }
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  // A test's name ends with _test, and the program's own with _tests.
  const std::string name = std::filesystem::path(argv[0]).stem();
  constexpr std::string_view kEnd = "_test";
  if (name.size() > kEnd.size() &&
      name.compare(name.size() - kEnd.size(), kEnd.size(), kEnd) == 0) {
    RunFile(name);
  }
  return RUN_ALL_TESTS();
}
