// SPDX-License-Identifier: Apache-2.0

//  Tests leave no folder of temporary databases behind.

#include <cstdlib>
#include <filesystem>
#include <string>

#include "rocksdb/env.h"
#include "test_util/testharness.h"

namespace ROCKSDB_NAMESPACE::protean {

TEST(OwnFolderTest, LeavesSomething) {
  ASSERT_OK(WriteStringToFile(Env::Default(), "a file",
                              test::PerThreadDBPath("something")));
}

TEST(OwnFolderTest, IsGoneWhenATestEnds) {
  const std::filesystem::path where = test::PerThreadDBPath("where");
  ASSERT_TRUE(std::filesystem::create_directory(where));
  const std::string command =
      "TEST_TMPDIR='" + where.string() + "' '" +
      std::filesystem::read_symlink("/proc/self/exe").string() +
      "' --gtest_filter=OwnFolderTest.LeavesSomething > /dev/null";
  ASSERT_EQ(0, system(command.c_str()));
  EXPECT_TRUE(std::filesystem::is_empty(where));
}

}  // namespace ROCKSDB_NAMESPACE::protean
